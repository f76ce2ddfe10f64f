//! Serves the pages: a list of cases, a case, and error pages.
//!
//! A handler reads a port, builds a view and renders a template. Views hold Nightshift's own words, numbers and
//! [`Line`](nightshift_render::Line); templates escape everything and build every link themselves.

mod case;
mod display;
mod list;
mod templates;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse, Response};
use chrono::TimeDelta;
use nightshift_engine::fold::fold;
use nightshift_engine::journal::read_event;
use nightshift_pipeline::case::CaseView;
use nightshift_pipeline::mutes::LedgerCount;
use nightshift_pipeline::port::StoreError;
use nightshift_pipeline::report::{Report, build as build_report};
use serde::{Deserialize, Serialize};

use crate::app_state::AppState;
use crate::query::ListQuery;
pub(crate) use templates::Templates;

/// The time that a page or the API waits for the store. It must be shorter than the timeout of a response: then the reader
/// is told that the database is unavailable.
pub(crate) const STORE_TIMEOUT: Duration = Duration::from_secs(7);
/// The time that a page waits for the count of alerts without a case.
const LEDGER_TIMEOUT: Duration = Duration::from_secs(2);
const STYLE: &str = include_str!("../templates/style.css");

#[derive(Debug, Serialize)]
struct ErrorPage {
    title: &'static str,
    text: String,
}

pub(crate) async fn style() -> Response {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE).into_response()
}

pub(crate) async fn list(
    State(site): State<Arc<AppState>>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Response {
    let query = match query {
        Ok(Query(query)) => query,
        Err(_) => {
            return site.bad_request(site.language.pick(
                "A filter stands there twice, or is no number.",
                "同じ絞り込みが二つあるか、数ではありません。",
            ));
        }
    };
    let filter = match query.filter() {
        Ok(filter) => filter,
        Err(error) => return site.bad_request(&error.text(site.language)),
    };
    let read = async {
        let cases = site.parts.cases.list(&filter).await?;
        let grave = site.high_priority_counts(&query).await?;
        Ok::<_, StoreError>((cases, grave))
    };
    let (read, places) = tokio::join!(store_answer(read), site.ledger_counts());
    match read {
        Ok((cases, grave)) => {
            let now = site.parts.clock.now();
            let page =
                list::ListPage::new(&query, cases, grave, places.as_deref(), site.language, now);
            site.render(StatusCode::OK, "list.html", page)
        }
        Err(error) => site.store_error_page(&error),
    }
}

/// The query string of a case.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CaseQuery {
    pub(crate) revision: Option<u32>,
}

pub(crate) async fn case(
    State(site): State<Arc<AppState>>,
    Path(id): Path<String>,
    query: Result<Query<CaseQuery>, QueryRejection>,
) -> Response {
    let Ok(Query(query)) = query else {
        return site.bad_request(
            site.language
                .pick("A revision is a number.", "改訂は数で指定します。"),
        );
    };
    match site.view(&id, query.revision).await {
        Ok(None) => site.render(
            StatusCode::NOT_FOUND,
            "problem.html",
            ErrorPage {
                title: site.language.pick("No such revision", "改訂がありません"),
                text: site
                    .language
                    .pick(
                        "This case has no report of that revision.",
                        "このケースにその改訂のレポートはありません。",
                    )
                    .to_owned(),
            },
        ),
        Ok(Some(view)) => {
            let page = case::CasePage::new(
                &view,
                &site.parts.links,
                site.language,
                site.parts.clock.now(),
            );
            site.render(StatusCode::OK, "case.html", page)
        }
        Err(StoreError::NoSuchCase(_)) => site.render(
            StatusCode::NOT_FOUND,
            "problem.html",
            ErrorPage {
                title: site.language.pick("No such case", "ケースがありません"),
                text: site
                    .language
                    .pick(
                        "No case has this id, or its first letters fit several. The list shows those there are.",
                        "この ID のケースがないか、先頭の文字が複数のケースに一致します。一覧を確認してください。",
                    )
                    .to_owned(),
            },
        ),
        Err(error) => site.store_error_page(&error),
    }
}

pub(crate) async fn not_found(State(site): State<Arc<AppState>>) -> Response {
    let problem = ErrorPage {
        title: site.language.pick("Nothing here", "ページがありません"),
        text: site
            .language
            .pick(
                "There is no page at this address.",
                "このアドレスにページはありません。",
            )
            .to_owned(),
    };
    site.render(StatusCode::NOT_FOUND, "problem.html", problem)
}

/// Waits for an answer of the store, no longer than [`STORE_TIMEOUT`].
pub(crate) async fn store_answer<T>(
    read: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::time::timeout(STORE_TIMEOUT, read)
        .await
        .unwrap_or_else(|_| {
            Err(StoreError::Database {
                doing: "answer a page",
                cause: format!("no answer within {} s", STORE_TIMEOUT.as_secs()).into(),
            })
        })
}

impl AppState {
    /// Counts the alerts of the last day by their row in the ledger of alerts. Returns `None` when counting takes too
    /// long; the cases are then shown without the counts.
    async fn ledger_counts(&self) -> Option<Vec<LedgerCount>> {
        let since = self.parts.clock.now() - TimeDelta::hours(24);
        let counting = self.parts.ledger.ledger_counts(since);
        match tokio::time::timeout(LEDGER_TIMEOUT, counting).await {
            Ok(Ok(places)) => Some(places),
            Ok(Err(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(
                    error,
                    "cannot count alerts for a page; showing it without the counts"
                );
                None
            }
            Err(_) => None,
        }
    }

    /// Counts the unassigned high-priority cases of each kind, up to one more than a page holds. A flood of lesser
    /// cases may hide them from the first page. Returns nothing for a filtered list.
    async fn high_priority_counts(
        &self,
        query: &ListQuery,
    ) -> Result<Vec<list::HighPriorityCount>, StoreError> {
        let mut all = Vec::new();
        if query.is_filtered() {
            return Ok(all);
        }
        for (query, words, words_ja) in ListQuery::high_priority_queries() {
            // These filters are constants of this program, so they always parse.
            let Ok(filter) = query.filter() else { continue };
            let cases = self.parts.cases.list(&filter).await?.len();
            let words = self.language.pick(words, words_ja);
            all.extend(list::HighPriorityCount::new(&query, words, cases));
        }
        Ok(all)
    }

    fn render(&self, status: StatusCode, template: &str, view: impl Serialize) -> Response {
        match self.templates.render(template, view) {
            Ok(html) => (status, Html(html)).into_response(),
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    template,
                    "a page cannot be written"
                );
                let told = "this page cannot be written; the log says why\n";
                (StatusCode::INTERNAL_SERVER_ERROR, told).into_response()
            }
        }
    }

    fn bad_request(&self, why: &str) -> Response {
        let problem = ErrorPage {
            title: self
                .language
                .pick("This filter cannot be used", "この絞り込みは使えません"),
            text: why.to_owned(),
        };
        self.render(StatusCode::BAD_REQUEST, "problem.html", problem)
    }

    fn store_error_page(&self, error: &StoreError) -> Response {
        tracing::error!(
            error = error as &dyn std::error::Error,
            "the store did not answer a page"
        );
        let problem = ErrorPage {
            title: self
                .language
                .pick("The database is unavailable", "データベースに接続できません"),
            text: self
                .language
                .pick(
                    "Cases cannot be read now. The log of the worker says why, and /readyz when it is over.",
                    "今はケースを読めません。理由はワーカーのログに、復旧は /readyz に表示されます。",
                )
                .to_owned(),
        };
        self.render(StatusCode::SERVICE_UNAVAILABLE, "problem.html", problem)
    }

    /// Returns a case, with the report of the given revision if one is given, or `None` when the case has no such
    /// report.
    pub(crate) async fn view(
        &self,
        id: &str,
        revision: Option<u32>,
    ) -> Result<Option<CaseView>, StoreError> {
        let read = async {
            let mut view = self.parts.cases.view(id).await?;
            if let Some(number) = revision {
                view.report = self.earlier(&view, number).await?;
            }
            Ok(Some(view).filter(|view| revision.is_none() || view.report.is_some()))
        };
        store_answer(read).await
    }

    /// Returns the report of a revision: the stored one if it is the latest, else one rebuilt from the journal, whose
    /// fold is exact. Returns `None` when there is no such revision or it has no conclusion.
    async fn earlier(&self, view: &CaseView, number: u32) -> Result<Option<Report>, StoreError> {
        if let Some(report) = view.report.as_ref().filter(|one| one.revision == number) {
            return Ok(Some(report.clone()));
        }
        let lines = self.parts.cases.journal(&view.row.id, Some(number)).await?;
        let mut events = Vec::with_capacity(lines.len());
        for line in &lines {
            let unreadable = |cause| StoreError::Unreadable(view.row.id.0.clone(), Box::new(cause));
            events.push(read_event(&line.event).map_err(unreadable)?);
        }
        Ok(build_report(&fold(&events), &self.parts.producer))
    }
}

#[cfg(test)]
mod tests;
