//! Runs a fake Jira Cloud site for the tests. It refuses what Jira refuses, keeps what is sent, and its search lags.

use serde_json::{Value, json};

use super::super::fake::{FakeRequest, FakeResponse, World};
use super::super::trial::{Ticket, Tickets};
use super::page::{DOCUMENT, LABEL, SUMMARY};
use super::schema;

/// The credentials `maria@example.com:hush`.
const AUTHORISATION: &str = "Basic bWFyaWFAZXhhbXBsZS5jb206aHVzaA==";

pub(crate) struct FakeJiraIssue {
    pub(crate) key: String,
    pub(crate) fields: Value,
    properties: Value,
    at: u64,
    pub(crate) comments: Vec<Value>,
    is_done: bool,
}

/// The state of the site.
pub(crate) struct Site {
    pub(crate) issues: Vec<FakeJiraIssue>,
    pub(crate) lag: u64,
    pub(crate) priorities: Vec<&'static str>,
    pub(crate) may_browse: bool,
    pub(crate) may_transition: bool,
    /// The number of searches made.
    pub(crate) searches: u64,
}

impl Site {
    pub(crate) fn new(lag: u64) -> Self {
        Self {
            issues: Vec::new(),
            lag,
            priorities: vec!["Highest", "High", "Medium", "Low", "Lowest"],
            may_browse: true,
            may_transition: true,
            searches: 0,
        }
    }

    fn issue(&mut self, key: &str) -> Option<&mut FakeJiraIssue> {
        self.issues.iter_mut().find(|issue| issue.key == key)
    }

    fn search(&mut self, ask: &FakeRequest, now: u64) -> FakeResponse {
        self.searches += 1;
        let jql = ask.q("jql");
        let quoted: Vec<&str> = jql.split('"').collect();
        let [head, project, middle, label, tail] = quoted[..] else {
            return refused(&format!("Error in the JQL Query: {jql}"));
        };
        let form = (head, middle, tail);
        assert_eq!(
            form,
            ("project = ", " AND labels = ", " ORDER BY created ASC")
        );
        if project != "SEC" {
            return refused(&format!(
                "The value '{project}' does not exist for the field 'project'."
            ));
        }
        let found: Vec<Value> = self
            .issues
            .iter()
            .filter(|issue| issue.at + self.lag <= now && has_label(issue, label))
            .map(|issue| {
                let mut found = json!({ "id": "1", "key": issue.key });
                // Without `fields` the answer contains none.
                if ask.q("fields").split(',').any(|field| field == "labels") {
                    found["fields"] = json!({ "labels": issue.fields["labels"] });
                }
                found
            })
            .collect();
        FakeResponse::new(200, json!({ "issues": found, "isLast": true }))
    }

    fn create(&mut self, body: &Value, now: u64) -> FakeResponse {
        if let Err((field, what)) = self.check(body) {
            return FakeResponse::new(
                400,
                json!({ "errorMessages": [], "errors": { field: what } }),
            );
        }
        let key = format!("SEC-{}", self.issues.len() + 1);
        let properties = body["properties"].as_array().cloned().unwrap_or_default();
        self.issues.push(FakeJiraIssue {
            key: key.clone(),
            fields: body["fields"].clone(),
            properties: properties
                .iter()
                .map(|one| {
                    (
                        one["key"].as_str().unwrap().to_owned(),
                        one["value"].clone(),
                    )
                })
                .collect::<serde_json::Map<_, _>>()
                .into(),
            at: now,
            comments: Vec::new(),
            is_done: false,
        });
        FakeResponse::new(201, json!({ "id": "10000", "key": key, "self": "x" }))
    }

    fn check(&self, body: &Value) -> Result<(), (&'static str, String)> {
        let fields = body["fields"].as_object().unwrap();
        let known = [
            "project",
            "issuetype",
            "summary",
            "description",
            "labels",
            "priority",
        ];
        for name in fields.keys() {
            if !known.contains(&name.as_str()) {
                let what = format!(
                    "Field '{name}' cannot be set. It is not on the appropriate screen, or unknown."
                );
                return Err(("customfield", what));
            }
        }
        if fields["project"] != json!({ "key": "SEC" }) {
            return Err(("project", "valid project is required".into()));
        }
        if fields["issuetype"] != json!({ "name": "Task" }) {
            return Err(("issuetype", "The issue type selected is invalid.".into()));
        }
        let summary = fields["summary"].as_str().unwrap();
        if summary.is_empty() || summary.encode_utf16().count() > SUMMARY {
            return Err((
                "summary",
                "Summary must be less than 255 characters.".into(),
            ));
        }
        if summary.contains(['\n', '\r']) {
            let what = "The summary is invalid because it contains newline characters.";
            return Err(("summary", what.into()));
        }
        for label in fields["labels"].as_array().unwrap() {
            let label = label.as_str().unwrap();
            if label.contains(char::is_whitespace) || label.chars().count() > LABEL {
                return Err((
                    "labels",
                    format!("The label '{label}' contains spaces which is invalid."),
                ));
            }
        }
        if let Some(priority) = fields.get("priority")
            && !self.priorities.iter().any(|name| priority["name"] == *name)
        {
            return Err((
                "priority",
                "Specify the Priority (name) in string format".into(),
            ));
        }
        check_document(&fields["description"]).map_err(|what| ("description", what))
    }
}

fn check_document(document: &Value) -> Result<(), String> {
    if document.to_string().encode_utf16().count() > DOCUMENT {
        let limit =
            "The entered text is too long. It exceeds the allowed limit of 32,767 characters.";
        return Err(limit.into());
    }
    schema::check(document)
        .map_err(|what| format!("Operation value must be an Atlassian Document: {what}"))
}

fn has_label(issue: &FakeJiraIssue, label: &str) -> bool {
    let labels = issue.fields["labels"].as_array().unwrap();
    labels.iter().any(|own| own == label)
}

fn refused(what: &str) -> FakeResponse {
    FakeResponse::new(400, json!({ "errorMessages": [what], "errors": {} }))
}

fn gone() -> FakeResponse {
    let what = "Issue does not exist or you do not have permission to see it.";
    FakeResponse::new(404, json!({ "errorMessages": [what], "errors": {} }))
}

impl FakeJiraIssue {
    fn answer(&mut self, ask: &FakeRequest, rest: &[&str], may_transition: bool) -> FakeResponse {
        match (ask.method.as_str(), rest) {
            ("GET", []) => {
                let category = if self.is_done { "done" } else { "new" };
                let mut issue = json!({ "key": self.key, "fields": {
                    "status": { "name": "x", "statusCategory": { "key": category } },
                } });
                if ask.q("properties") == "nightshift" {
                    issue["properties"] = self.properties.clone();
                }
                FakeResponse::new(200, issue)
            }
            ("PUT", []) => {
                let labels = self.fields["labels"].as_array_mut().unwrap();
                for change in ask.body["update"]["labels"].as_array().unwrap() {
                    labels.retain(|label| *label != change["remove"] && *label != change["add"]);
                    labels.extend(change.get("add").cloned());
                }
                FakeResponse::new(204, Value::Null)
            }
            ("GET", ["comment"]) => {
                assert_eq!(ask.q("orderBy"), "-created");
                let number = |name: &str| ask.q(name).parse::<usize>().unwrap();
                let newest = self.comments.iter().rev();
                let page = newest
                    .skip(number("startAt"))
                    .take(number("maxResults").min(100));
                let comments: Vec<Value> = page.map(|body| json!({ "body": body })).collect();
                FakeResponse::new(
                    200,
                    json!({ "comments": comments, "total": self.comments.len() }),
                )
            }
            ("POST", ["comment"]) => match check_document(&ask.body["body"]) {
                Ok(()) => {
                    self.comments.push(ask.body["body"].clone());
                    FakeResponse::new(201, json!({ "id": "1" }))
                }
                Err(what) => refused(&what),
            },
            (_, ["transitions"]) => self.transitions(ask, may_transition),
            _ => FakeResponse::new(405, json!({})),
        }
    }

    fn transitions(&mut self, ask: &FakeRequest, may_transition: bool) -> FakeResponse {
        let offered = match self.is_done {
            _ if !may_transition => json!([]),
            true => json!([{ "id": "41", "name": "Back", "to": { "name": "To Do" } }]),
            false => json!([
                { "id": "11", "name": "Start", "to": { "name": "In Progress" } },
                { "id": "31", "name": "Finish", "to": { "name": "Done" } },
            ]),
        };
        if ask.method == "GET" {
            return FakeResponse::new(200, json!({ "transitions": offered }));
        }
        let from_here = if self.is_done { "41" } else { "31" };
        if ask.body != json!({ "transition": { "id": from_here } }) {
            let what =
                "It seems that you have tried to perform a workflow operation that is not valid.";
            return refused(what);
        }
        self.is_done = !self.is_done;
        FakeResponse::new(204, Value::Null)
    }
}

impl World for Site {
    fn answer(&mut self, ask: &FakeRequest, now: u64) -> FakeResponse {
        if ask.header("authorization") != AUTHORISATION {
            return FakeResponse::new(
                401,
                json!("Client must be authenticated to access this resource."),
            );
        }
        if ask.is_write() {
            assert_eq!(ask.header("content-type"), "application/json");
        }
        let parts = ask.parts();
        let Some(["rest", "api", "3"]) = parts.get(..3) else {
            return FakeResponse::new(404, json!("no such page"));
        };
        let may_transition = self.may_transition;
        match (ask.method.as_str(), &parts[3..]) {
            ("GET", ["search", "jql"]) if !self.may_browse => {
                FakeResponse::new(403, json!({ "errorMessages": ["Forbidden"], "errors": {} }))
            }
            ("GET", ["search", "jql"]) => self.search(ask, now),
            ("POST", ["issue"]) => self.create(&ask.body, now),
            (_, ["issue", key, rest @ ..]) => match self.issue(key) {
                Some(issue) => issue.answer(ask, rest, may_transition),
                None => gone(),
            },
            _ => FakeResponse::new(404, json!("no such page")),
        }
    }
}

impl Tickets for Site {
    fn tickets_of(&self, case: &str) -> Vec<Ticket> {
        let label = format!("nightshift-{case}");
        let issues = self.issues.iter().filter(|issue| has_label(issue, &label));
        issues
            .map(|issue| Ticket {
                comments: issue.comments.iter().map(Value::to_string).collect(),
                is_open: !issue.is_done,
            })
            .collect()
    }
}
