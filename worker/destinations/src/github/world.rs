//! Runs a fake GitHub repository for the tests. It refuses what GitHub refuses, and drops labels that the token may not
//! set.

use serde_json::{Value, json};

use super::super::fake::{FakeRequest, FakeResponse, World};
use super::super::trial::{Ticket, Tickets};
use super::body::{BODY, LABEL, TITLE};

pub(crate) struct FakeGitHubIssue {
    number: usize,
    pub(crate) title: String,
    body: String,
    pub(crate) labels: Vec<String>,
    pub(crate) comments: Vec<String>,
    pub(crate) state: Option<String>,
}

/// The rate limit that the repository answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    None,
    /// The calls of the hour are used up.
    Primary,
    /// There are too many calls at once. Only the message says so.
    Secondary,
}

pub(crate) struct Repo {
    pub(crate) issues: Vec<FakeGitHubIssue>,
    labels: Vec<String>,
    pub(crate) may_label: bool,
    pub(crate) has_issues: bool,
    pub(crate) is_moved: bool,
    pub(crate) limit: Limit,
}

impl Repo {
    pub(crate) fn new() -> Self {
        Self {
            issues: Vec::new(),
            labels: vec!["ai-triage".into()],
            may_label: true,
            has_issues: true,
            is_moved: false,
            limit: Limit::None,
        }
    }

    fn list(&self, ask: &FakeRequest) -> FakeResponse {
        assert_eq!(ask.q("state"), "all", "closed ones count too");
        let wanted = ask.q("labels");
        // Pull requests appear as issues in this list.
        let mut found =
            vec![json!({ "number": 999, "pull_request": {}, "labels": [{ "name": wanted }] })];
        let with = self
            .issues
            .iter()
            .filter(|one| one.labels.iter().any(|own| own == wanted));
        found.extend(with.map(FakeGitHubIssue::read));
        FakeResponse::new(200, json!(found))
    }

    fn label(&mut self, body: &Value) -> FakeResponse {
        let name = body["name"].as_str().unwrap().to_owned();
        if !self.may_label {
            return message(403, "Resource not accessible by personal access token");
        }
        if name.chars().count() > LABEL
            || body["description"].as_str().unwrap().chars().count() > 100
        {
            return invalid("Label", "name", "is too long");
        }
        if self.labels.contains(&name) {
            return FakeResponse::new(
                422,
                json!({ "message": "Validation Failed", "errors": [{ "resource": "Label", "code": "already_exists", "field": "name" }] }),
            );
        }
        self.labels.push(name);
        FakeResponse::new(201, json!({}))
    }

    fn create(&mut self, body: &Value) -> FakeResponse {
        let title = body["title"].as_str().unwrap().to_owned();
        if title.is_empty() || title.chars().count() > TITLE {
            return invalid(
                "Issue",
                "title",
                "title is too long (maximum is 256 characters)",
            );
        }
        let text = body["body"].as_str().unwrap().to_owned();
        if text.chars().count() > BODY {
            return invalid(
                "Issue",
                "body",
                "body is too long (maximum is 65536 characters)",
            );
        }
        let labels = body["labels"].as_array().unwrap().iter();
        let labels = labels.map(|label| label.as_str().unwrap().to_owned());
        let number = self.issues.len() + 1;
        self.issues.push(FakeGitHubIssue {
            number,
            title,
            body: text,
            // GitHub documents that "labels are silently dropped otherwise."
            labels: labels.filter(|_| self.may_label).collect(),
            comments: Vec::new(),
            state: None,
        });
        FakeResponse::new(201, json!({ "number": number }))
    }
}

impl FakeGitHubIssue {
    fn read(&self) -> Value {
        let labels: Vec<Value> = self
            .labels
            .iter()
            .map(|name| json!({ "name": name }))
            .collect();
        let state = if self.state.is_some() {
            "closed"
        } else {
            "open"
        };
        json!({ "number": self.number, "labels": labels, "state": state, "body": self.body })
    }

    fn answer(&mut self, ask: &FakeRequest, rest: &[&str]) -> FakeResponse {
        match (ask.method.as_str(), rest) {
            ("GET", []) => FakeResponse::new(200, self.read()),
            ("PATCH", []) => {
                let reason = ask.body["state_reason"].as_str().unwrap();
                self.state = match ask.body["state"].as_str() {
                    Some("closed") => Some(reason.to_owned()),
                    Some("open") if reason == "reopened" => None,
                    other => panic!("{other:?}"),
                };
                FakeResponse::new(200, self.read())
            }
            ("GET", ["comments"]) => {
                let number = |name: &str| ask.q(name).parse::<usize>().unwrap();
                let most = number("per_page").min(100);
                let page = self
                    .comments
                    .iter()
                    .skip((number("page") - 1) * most)
                    .take(most);
                let page: Vec<Value> = page.map(|body| json!({ "body": body })).collect();
                FakeResponse::new(200, json!(page))
            }
            ("POST", ["comments"]) => {
                let body = ask.body["body"].as_str().unwrap();
                if body.chars().count() > BODY {
                    return invalid("IssueComment", "body", "body is too long");
                }
                self.comments.push(body.to_owned());
                FakeResponse::new(201, json!({ "id": 1 }))
            }
            _ => message(404, "Not Found"),
        }
    }
}

fn message(status: u16, what: &str) -> FakeResponse {
    FakeResponse::new(status, json!({ "message": what, "documentation_url": "x" }))
}

fn invalid(resource: &str, field: &str, what: &str) -> FakeResponse {
    let error = json!({ "resource": resource, "code": "custom", "field": field, "message": what });
    FakeResponse::new(
        422,
        json!({ "message": "Validation Failed", "errors": [error] }),
    )
}

impl World for Repo {
    fn answer(&mut self, ask: &FakeRequest, _: u64) -> FakeResponse {
        assert!(
            ask.header("user-agent").starts_with("nightshift/"),
            "GitHub wants one"
        );
        assert_eq!(ask.header("x-github-api-version"), "2022-11-28");
        if ask.header("authorization") != "Bearer hush" {
            return message(401, "Bad credentials");
        }
        match self.limit {
            Limit::None => {}
            Limit::Primary => {
                // The limit ends ninety seconds after the clock of the tests.
                let headers = vec![
                    ("x-ratelimit-remaining", "0".to_owned()),
                    ("x-ratelimit-reset", "1795144530".to_owned()),
                ];
                return FakeResponse(
                    403,
                    json!({ "message": "API rate limit exceeded" }),
                    headers,
                );
            }
            Limit::Secondary => {
                return message(
                    403,
                    "You have exceeded a secondary rate limit. Please wait.",
                );
            }
        }
        if self.is_moved {
            return message(301, "Moved Permanently");
        }
        let parts = ask.parts();
        match (ask.method.as_str(), &parts[..]) {
            ("POST", ["repos", "acme", "soc", "labels"]) => self.label(&ask.body),
            (_, ["repos", "acme", "soc", "issues", ..]) if !self.has_issues => {
                message(410, "Issues are disabled for this repo")
            }
            ("GET", ["repos", "acme", "soc", "issues"]) => self.list(ask),
            ("POST", ["repos", "acme", "soc", "issues"]) => self.create(&ask.body),
            (_, ["repos", "acme", "soc", "issues", number, rest @ ..]) => {
                let is_it = |one: &&mut FakeGitHubIssue| one.number.to_string() == *number;
                match self.issues.iter_mut().find(is_it) {
                    Some(issue) => issue.answer(ask, rest),
                    None => message(404, "Not Found"),
                }
            }
            _ => message(404, "Not Found"),
        }
    }
}

impl Tickets for Repo {
    fn tickets_of(&self, case: &str) -> Vec<Ticket> {
        let label = format!("nightshift-{case}");
        let of_case = self.issues.iter().filter(|one| one.labels.contains(&label));
        of_case
            .map(|issue| Ticket {
                comments: issue.comments.clone(),
                is_open: issue.state.is_none(),
            })
            .collect()
    }
}
