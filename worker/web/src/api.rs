//! Implements the JSON API for programs: the data of the pages, with values that are not defanged. A report has the
//! format of `--format json`.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use nightshift_alert::text::strip_hidden;
use nightshift_pipeline::case::{CaseRow, CaseView, DeliveryRow, Sighting, StormMember};
use nightshift_pipeline::case_workflow::CaseWorkflow;
use nightshift_pipeline::feedback::PersonVerdict;
use nightshift_pipeline::language::Language;
use nightshift_pipeline::port::StoreError;
use nightshift_pipeline::report::Report;
use serde::Serialize;

use crate::app_state::AppState;
use crate::page::{CaseQuery, store_answer};
use crate::query::ListQuery;

#[derive(Serialize)]
struct CaseListJson {
    cases: Vec<CaseRow>,
    /// The query string of the next page; `None` at the end.
    next: Option<String>,
}

/// A case with the keys of `nightshift cases show --json`.
#[derive(Serialize)]
struct CaseJson {
    case: CaseRow,
    report: Option<Report>,
    sightings: Vec<Sighting>,
    members: Vec<StormMember>,
    person_verdicts: Vec<PersonVerdict>,
    desk: CaseWorkflow,
    deliveries: Vec<DeliveryRow>,
    events: usize,
    unreadable: Option<String>,
    cancelled_by: Option<String>,
}

#[derive(Serialize)]
struct ErrorJson<'a> {
    error: &'a str,
}

pub(crate) async fn list(
    State(site): State<Arc<AppState>>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Response {
    let query = match query {
        Ok(Query(query)) => query,
        Err(rejection) => return error_response(StatusCode::BAD_REQUEST, &rejection.body_text()),
    };
    let filter = match query.filter() {
        Ok(filter) => filter,
        Err(error) => {
            return error_response(StatusCode::BAD_REQUEST, &error.text(Language::En));
        }
    };
    match store_answer(site.parts.cases.list(&filter)).await {
        Ok(mut cases) => {
            let has_more = cases.len() > query.page_size();
            cases.truncate(query.page_size());
            let last = cases.last().filter(|_| has_more);
            let next = last.map(|row| query.next_page_query(&row.id));
            json_response(StatusCode::OK, &CaseListJson { cases, next })
        }
        Err(error) => store_error_response(&error),
    }
}

pub(crate) async fn case(
    State(site): State<Arc<AppState>>,
    Path(id): Path<String>,
    query: Result<Query<CaseQuery>, QueryRejection>,
) -> Response {
    let revision = match query {
        Ok(Query(query)) => query.revision,
        Err(rejection) => return error_response(StatusCode::BAD_REQUEST, &rejection.body_text()),
    };
    match site.view(&id, revision).await {
        Ok(Some(view)) => json_response(StatusCode::OK, &CaseJson::from(view)),
        Ok(None) => error_response(
            StatusCode::NOT_FOUND,
            "the case has no report of that revision",
        ),
        Err(StoreError::NoSuchCase(_)) => {
            error_response(StatusCode::NOT_FOUND, "there is no such case")
        }
        Err(error) => store_error_response(&error),
    }
}

impl From<CaseView> for CaseJson {
    fn from(view: CaseView) -> Self {
        Self {
            case: view.row,
            report: view.report,
            sightings: view.sightings,
            members: view.members,
            person_verdicts: view.person_verdicts,
            desk: view.workflow,
            deliveries: view.deliveries,
            events: view.events.len(),
            unreadable: view.unreadable,
            cancelled_by: view.cancelled_by,
        }
    }
}

fn store_error_response(error: &StoreError) -> Response {
    tracing::error!(
        error = error as &dyn std::error::Error,
        "store did not answer an API request"
    );
    error_response(
        StatusCode::SERVICE_UNAVAILABLE,
        "the database is unavailable; the log says why",
    )
}

fn error_response(status: StatusCode, error: &str) -> Response {
    json_response(status, &ErrorJson { error })
}

fn json_response(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_string(body) {
        Ok(text) => {
            let text = visible(&text) + "\n";
            (status, [(CONTENT_TYPE, "application/json")], text).into_response()
        }
        Err(error) => {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "cannot serialise an API response"
            );
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Escapes every invisible character of the JSON, so that it is safe on a terminal and has the same meaning.
fn visible(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut bytes, mut units) = ([0; 4], [0; 2]);
    for c in json.chars() {
        let is_visible = matches!(c, ' '..='~');
        if is_visible || strip_hidden(c.encode_utf8(&mut bytes)).1 == 0 {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}
