//! Fakes the vendors that reports go to. They answer the doctor's requests as the vendors document them, and count
//! the requests that would change something; the count must be zero.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// `maria@example.com:hush`, as every vendor expects it.
const BASIC: &str = "Basic bWFyaWFAZXhhbXBsZS5jb206aHVzaA==";

/// The answer of a path: status, headers, body.
type VendorResponse = (u16, Vec<(&'static str, String)>, Value);

#[derive(Default)]
struct FakeVendorsState {
    responses: BTreeMap<String, VendorResponse>,
    requests: Vec<String>,
}

pub(super) struct FakeVendors {
    pub(super) url: String,
    inside: Arc<Mutex<FakeVendorsState>>,
    _tasks: JoinSet<()>,
}

impl FakeVendors {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let inside = Arc::new(Mutex::new(FakeVendorsState {
            responses: default_responses(),
            requests: Vec::new(),
        }));
        let app = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&inside));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            url,
            inside,
            _tasks: tasks,
        }
    }

    /// Sets the answer of a path.
    pub(super) fn set_response(&self, path: &str, status: u16, body: Value) {
        self.inside
            .lock()
            .unwrap()
            .responses
            .insert(path.to_owned(), (status, Vec::new(), body));
    }

    /// Sets the answer of a path, with headers.
    pub(super) fn set_response_headers(
        &self,
        path: &str,
        headers: &[(&'static str, &str)],
        body: Value,
    ) {
        let headers = headers.iter();
        let headers = headers.map(|(name, value)| (*name, (*value).to_owned()));
        let says = (200, headers.collect(), body);
        self.inside
            .lock()
            .unwrap()
            .responses
            .insert(path.to_owned(), says);
    }

    /// Restores the original answers.
    pub(super) fn reset(&self) {
        self.inside.lock().unwrap().responses = default_responses();
    }

    /// Returns the requests so far: method, path and query.
    pub(super) fn requests(&self) -> Vec<String> {
        self.inside.lock().unwrap().requests.clone()
    }
}

fn default_responses() -> BTreeMap<String, VendorResponse> {
    let scopes = "chat:write,channels:history,metadata.message:read".to_owned();
    let may = json!({ "havePermission": true });
    let permissions = json!({
        "BROWSE_PROJECTS": may, "CREATE_ISSUES": may, "EDIT_ISSUES": may, "ADD_COMMENTS": may, "TRANSITION_ISSUES": may,
    });
    let repository = json!({
        "private": true, "archived": false, "has_issues": true, "permissions": { "triage": true, "push": false },
    });
    [
        (
            "/slack/auth.test",
            (
                200,
                vec![("x-oauth-scopes", scopes)],
                json!({ "ok": true, "user": "nightshift", "team": "Acme" }),
            ),
        ),
        (
            "/slack/conversations.history",
            (200, vec![], json!({ "ok": true, "messages": [] })),
        ),
        (
            "/jira/rest/api/3/myself",
            (200, vec![], json!({ "displayName": "Nightshift" })),
        ),
        (
            "/jira/rest/api/3/mypermissions",
            (200, vec![], json!({ "permissions": permissions })),
        ),
        (
            "/jira/rest/api/3/issue/createmeta/SEC/issuetypes",
            (
                200,
                vec![],
                json!({ "issueTypes": [{ "name": "Task" }, { "name": "Bug" }] }),
            ),
        ),
        (
            "/snow/api/now/table/incident",
            (
                200,
                vec![],
                json!({ "result": [{ "sys_id": "1", "correlation_id": "" }] }),
            ),
        ),
        ("/github/repos/acme/soc", (200, vec![], repository)),
        ("/github/repos/acme/soc/issues", (200, vec![], json!([]))),
        (
            "/pager/v2/enqueue",
            (405, vec![], json!("method not allowed")),
        ),
        ("/hook", (405, vec![], json!(null))),
    ]
    .map(|(path, says)| (path.to_owned(), says))
    .into()
}

async fn answer(State(inside): State<Arc<Mutex<FakeVendorsState>>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let mut inside = inside.lock().unwrap();
    let asked = format!("{} {}", request.method(), request.uri());
    inside.requests.push(asked);
    let authorisation = request
        .headers()
        .get("authorization")
        .and_then(|it| it.to_str().ok())
        .unwrap_or_default();
    let vendor = path.split('/').nth(1).unwrap_or_default();
    let is_known = match vendor {
        "jira" | "snow" => authorisation == BASIC,
        "slack" | "github" => authorisation == "Bearer hush",
        _ => true,
    };
    if !is_known {
        let body = if vendor == "slack" {
            json!({ "ok": false, "error": "invalid_auth" })
        } else {
            json!({ "message": "no" })
        };
        let status = if vendor == "slack" {
            StatusCode::OK
        } else {
            StatusCode::UNAUTHORIZED
        };
        return (status, axum::Json(body)).into_response();
    }
    let Some((status, headers, body)) = inside.responses.get(&path) else {
        return (
            StatusCode::NOT_FOUND,
            axum::Json(json!({ "message": "Not Found" })),
        )
            .into_response();
    };
    let mut response = (
        StatusCode::from_u16(*status).unwrap(),
        axum::Json(body.clone()),
    )
        .into_response();
    for (name, value) in headers {
        response.headers_mut().insert(*name, value.parse().unwrap());
    }
    response
}
