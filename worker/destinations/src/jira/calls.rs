//! Calls Jira's API and interprets its answers.

use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::port::DeliveryError;
use reqwest::Method;
use serde_json::{Value, json};

use super::super::rest::{Call, RestClient, Vendor, list, text};
use super::super::tracker::TicketContents;
use super::page::{PROPERTY, verdict_label};

/// The number of comments per page.
const COMMENTS: u64 = 50;
/// The maximum number of pages. An issue has at most 5,000 comments ("Issue limits").
const MOST_PAGES: u64 = 100;

/// The properties of Jira's API.
pub(super) static JIRA: Vendor = Vendor {
    headers: &[],
    secret: "token",
    hint,
    words,
    limited: |_, _| None,
    limited_by: |_| None,
};

/// Returns what an operator can do about a status.
fn hint(status: u16) -> &'static str {
    match status {
        300..=399 => " (redirects are not followed: set `url` to the site's own address)",
        400 => {
            " (see which field it names: `project`, `issue_type`, `priorities`, or what it requires in `fields`)"
        }
        401 => {
            " (the token is not accepted: an API token needs `email` and expires after at most a \
             year)"
        }
        403 => {
            " (missing permission: the user needs Browse projects, Create issues, Edit issues, Add \
             comments and Transition issues)"
        }
        404 => {
            " (no such site, project or issue for this user: see `url`, `project`, and whether the issue was deleted)"
        }
        413 | 422 => " (the issue does not fit this project)",
        _ => "",
    }
}

/// Reads the messages of `{"errorMessages": ["…"], "errors": {"field": "…"}}`.
fn words(body: &Value) -> Option<String> {
    let said = list(body, "/errorMessages")
        .iter()
        .filter_map(Value::as_str);
    let fields = body.get("errors")?.as_object()?;
    let fields = fields
        .iter()
        .map(|(name, what)| format!("{name}: {}", what.as_str().unwrap_or_default()));
    Some(
        said.map(str::to_owned)
            .chain(fields)
            .collect::<Vec<_>>()
            .join("; "),
    )
}

/// Finds the oldest issue of this project with this label. Neither value contains anything that JQL reads as syntax.
pub(super) async fn search(
    rest: &RestClient,
    project: &str,
    label: &str,
) -> Result<Option<String>, DeliveryError> {
    let jql = format!("project = \"{project}\" AND labels = \"{label}\" ORDER BY created ASC");
    let query = [
        ("jql", jql.as_str()),
        ("fields", "labels"),
        ("maxResults", "10"),
    ];
    let path = ["rest", "api", "3", "search", "jql"];
    let found = rest.call(Call::get(&path, &query)).await?;
    let carries = |issue: &&Value| {
        list(issue, "/fields/labels")
            .iter()
            .any(|own| own.as_str() == Some(label))
    };
    let issue = list(&found, "/issues").iter().find(carries);
    Ok(issue
        .and_then(|issue| text(issue, "/key"))
        .map(str::to_owned))
}

pub(super) async fn create(rest: &RestClient, issue: &Value) -> Result<String, DeliveryError> {
    let path = ["rest", "api", "3", "issue"];
    let made = rest.call(Call::add(&path, issue)).await?;
    let key = text(&made, "/key").map(str::to_owned);
    key.ok_or_else(|| DeliveryError::Ambiguous {
        what: format!(
            "{} created an issue but returned no key",
            rest.caller.host()
        ),
    })
}

/// Reads an issue and its comments. Unlike the search, neither lags.
pub(super) async fn told(rest: &RestClient, key: &str) -> Result<TicketContents, DeliveryError> {
    let path = ["rest", "api", "3", "issue", key];
    let query = [("fields", "status"), ("properties", PROPERTY)];
    let issue = rest.call(Call::get(&path, &query)).await?;
    let category = text(&issue, "/fields/status/statusCategory/key");
    let property = text(&issue, &format!("/properties/{PROPERTY}/told"));
    let mut told = TicketContents {
        texts: property.map(str::to_owned).into_iter().collect(),
        keeps: |text, key| text == key,
        is_done: category == Some("done"),
    };
    let path = ["rest", "api", "3", "issue", key, "comment"];
    for page in 0..MOST_PAGES {
        let (start, most) = ((page * COMMENTS).to_string(), COMMENTS.to_string());
        let query = [
            ("startAt", start.as_str()),
            ("maxResults", &most),
            ("orderBy", "-created"),
        ];
        let comments = rest.call(Call::get(&path, &query)).await?;
        let items = list(&comments, "/comments");
        for comment in items {
            collect(comment.get("body"), &mut told.texts);
        }
        let total = comments.get("total").and_then(Value::as_u64).unwrap_or(0);
        if items.is_empty() || (page + 1) * COMMENTS >= total {
            break;
        }
    }
    Ok(told)
}

/// Collects the last paragraph of a document, which contains our key.
fn collect(document: Option<&Value>, texts: &mut Vec<String>) {
    let last = document.map(|document| list(document, "/content"));
    let Some(last) = last.and_then(<[Value]>::last) else {
        return;
    };
    texts.extend(text(last, "/content/0/text").map(str::to_owned));
}

pub(super) async fn add_comment(
    rest: &RestClient,
    key: &str,
    comment: &Value,
) -> Result<(), DeliveryError> {
    let path = ["rest", "api", "3", "issue", key, "comment"];
    rest.call(Call::add(&path, comment)).await.map(|_| ())
}

/// Replaces the verdict labels of an issue with this one.
pub(super) async fn set_verdict(
    rest: &RestClient,
    key: &str,
    verdict: Verdict,
) -> Result<(), DeliveryError> {
    let mut changes: Vec<Value> = Verdict::ALL
        .into_iter()
        .filter(|other| *other != verdict)
        .map(|other| json!({ "remove": verdict_label(other) }))
        .collect();
    changes.push(json!({ "add": verdict_label(verdict) }));
    let path = ["rest", "api", "3", "issue", key];
    let body = json!({ "update": { "labels": changes } });
    let call = Call::set(Method::PUT, &path, &body);
    rest.call(call).await.map(|_| ())
}

/// Moves an issue by the transition that has this name or leads to a status of this name.
pub(super) async fn transition(
    rest: &RestClient,
    key: &str,
    (setting, wanted): (&str, &str),
) -> Result<(), DeliveryError> {
    let path = ["rest", "api", "3", "issue", key, "transitions"];
    let found = rest.call(Call::get(&path, &[])).await?;
    let transitions = list(&found, "/transitions");
    let is_it = |one: &&Value| {
        ["/name", "/to/name"]
            .into_iter()
            .filter_map(|pointer| text(one, pointer))
            .any(|name| name.eq_ignore_ascii_case(wanted))
    };
    let id = transitions
        .iter()
        .find(is_it)
        .and_then(|one| text(one, "/id"));
    let Some(id) = id else {
        let names: Vec<_> = transitions
            .iter()
            .filter_map(|one| text(one, "/name"))
            .collect();
        return Err(DeliveryError::Permanent {
            what: format!(
                "issue {key} has no transition {wanted:?} from its current status: set \
                 `{setting}` to one of {names:?}, or grant the user Transition issues"
            ),
        });
    };
    let body = json!({ "transition": { "id": id } });
    let call = Call::set(Method::POST, &path, &body);
    rest.call(call).await.map(|_| ())
}
