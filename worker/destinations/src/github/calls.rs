//! Calls GitHub's API and interprets its answers.

use chrono::{DateTime, Utc};
use nightshift_pipeline::port::DeliveryError;
use reqwest::Method;
use serde_json::{Value, json};

use super::super::http::Answer;
use super::super::rest::{Call, RestClient, Vendor, list, reset, text};
use super::super::tracker::TicketContents;
use super::body;
use super::config::split;

/// The number of comments per page. This is GitHub's maximum.
const COMMENTS: usize = 100;
/// The maximum number of pages of comments that are read.
const MOST_PAGES: usize = 50;
/// The wait at a secondary limit that names no time ("wait for at least one minute").
const SECONDARY_SECS: u64 = 60;

/// The properties of GitHub's API.
pub(super) static GITHUB: Vendor = Vendor {
    headers: &[
        ("accept", "application/vnd.github+json"),
        ("x-github-api-version", "2022-11-28"),
    ],
    secret: "token",
    hint,
    words,
    limited,
    limited_by,
};

/// Returns what an operator can do about a status.
fn hint(status: u16) -> &'static str {
    match status {
        301 => " (the repository was renamed: set `repo` to its new name)",
        401 => " (the token is invalid or has expired)",
        403 => {
            " (missing permission: the token needs Issues read and write on `repo`, and its user \
             at least the role Triage to set labels)"
        }
        404 => {
            " (no such repository or issue for this token: see `repo`, whether the token may reach it, and whether the issue was deleted)"
        }
        410 => " (issues are switched off in this repository, or this one was deleted)",
        422 => " (invalid request: check the named field)",
        _ => "",
    }
}

/// Reads the message of `{"message": "…", "errors": [{"field": "…", "message": "…"}]}`.
fn words(body: &Value) -> Option<String> {
    let message = text(body, "/message")?;
    let errors = list(body, "/errors").iter().map(|error| {
        let part = |at| text(error, at).unwrap_or_default();
        format!(
            "; {} {} {}",
            part("/field"),
            part("/code"),
            part("/message")
        )
    });
    Some(std::iter::once(message.to_owned()).chain(errors).collect())
}

/// Returns the seconds to wait at a limit. GitHub signals limits by 403 or 429, with `retry-after`, or with
/// `x-ratelimit-reset` when nothing remains.
fn limited(answer: &Answer, now: DateTime<Utc>) -> Option<u64> {
    let may_be = matches!(answer.status().as_u16(), 403 | 429);
    let is_used_up = answer.header("x-ratelimit-remaining") == Some("0");
    let secs = answer
        .after_secs()
        .or_else(|| is_used_up.then(|| reset(answer, now)).flatten());
    secs.filter(|_| may_be)
}

/// Returns the seconds to wait at a secondary limit that only its documented message reveals.
fn limited_by(body: &Value) -> Option<u64> {
    let says = text(body, "/message")?.to_ascii_lowercase();
    says.contains("secondary rate limit")
        .then_some(SECONDARY_SECS)
}

/// Finds the oldest issue with this label, open or closed.
pub(super) async fn search(
    rest: &RestClient,
    repo: &str,
    label: &str,
) -> Result<Option<String>, DeliveryError> {
    let (owner, name) = parts(repo)?;
    let query = [
        ("labels", label),
        ("state", "all"),
        ("sort", "created"),
        ("direction", "asc"),
        ("per_page", "10"),
    ];
    let path = ["repos", owner, name, "issues"];
    let found = rest.call(Call::get(&path, &query)).await?;
    let is_it = |issue: &&Value| issue.get("pull_request").is_none() && has_label(issue, label);
    let issue = list(&found, "").iter().find(is_it);
    Ok(issue.and_then(number))
}

fn has_label(issue: &Value, label: &str) -> bool {
    let is_it = |own: &Value| text(own, "/name").is_some_and(|own| own.eq_ignore_ascii_case(label));
    list(issue, "/labels").iter().any(is_it)
}

/// Creates the label of a case if it does not exist.
pub(super) async fn make_label(
    rest: &RestClient,
    repo: &str,
    label: &str,
) -> Result<(), DeliveryError> {
    let (owner, name) = parts(repo)?;
    let path = ["repos", owner, name, "labels"];
    let body = json!({ "name": label, "color": "5a5f73", "description": "The case of this issue in Nightshift" });
    let answer = rest.send(&Call::set(Method::POST, &path, &body)).await?;
    match answer.status().as_u16() {
        201 => Ok(()),
        // The label exists. Its name fits, so nothing else can be wrong with it.
        422 => Ok(()),
        _ => Err(rest.refusal(answer).await),
    }
}

pub(super) async fn create(
    rest: &RestClient,
    repo: &str,
    issue: &Value,
) -> Result<String, DeliveryError> {
    let (owner, name) = parts(repo)?;
    let path = ["repos", owner, name, "issues"];
    let made = rest.call(Call::add(&path, issue)).await?;
    number(&made).ok_or_else(|| DeliveryError::Ambiguous {
        what: format!(
            "{} created an issue but returned no number",
            rest.caller.host()
        ),
    })
}

fn number(issue: &Value) -> Option<String> {
    Some(issue.get("number")?.as_u64()?.to_string())
}

fn parts(repo: &str) -> Result<(&str, &str), DeliveryError> {
    split(repo).ok_or_else(|| DeliveryError::Permanent {
        what: format!("`repo` {repo:?} is no repository: write owner/name"),
    })
}

/// An issue of a repository.
pub(super) struct GitHubIssue<'a> {
    rest: &'a RestClient,
    path: [&'a str; 5],
}

impl<'a> GitHubIssue<'a> {
    pub(super) fn new(
        rest: &'a RestClient,
        repo: &'a str,
        number: &'a str,
    ) -> Result<Self, DeliveryError> {
        let (owner, name) = parts(repo)?;
        let path = ["repos", owner, name, "issues", number];
        Ok(Self { rest, path })
    }

    fn comments(&self) -> [&'a str; 6] {
        let [repos, owner, name, issues, number] = self.path;
        [repos, owner, name, issues, number, "comments"]
    }

    /// Reads the issue and its comments. Returns `None` when it belongs to another case or to nobody.
    pub(super) async fn told(&self, label: &str) -> Result<Option<TicketContents>, DeliveryError> {
        let issue = self.rest.call(Call::get(&self.path, &[])).await?;
        if !has_label(&issue, label) {
            return Ok(None);
        }
        let said = |of: &Value| text(of, "/body").map(str::to_owned);
        let mut told = TicketContents {
            texts: said(&issue).into_iter().collect(),
            keeps: body::keeps,
            is_done: text(&issue, "/state") != Some("open"),
        };
        for page in 1..=MOST_PAGES {
            let (page, most) = (page.to_string(), COMMENTS.to_string());
            let query = [("per_page", most.as_str()), ("page", &page)];
            let found = self.rest.call(Call::get(&self.comments(), &query)).await?;
            let comments = list(&found, "");
            told.texts.extend(comments.iter().filter_map(said));
            if comments.len() < COMMENTS {
                break;
            }
        }
        Ok(Some(told))
    }

    pub(super) async fn add_comment(&self, comment: &Value) -> Result<(), DeliveryError> {
        let path = self.comments();
        self.rest.call(Call::add(&path, comment)).await.map(|_| ())
    }

    /// Closes the issue with this reason.
    pub(super) async fn close(&self, reason: &str) -> Result<(), DeliveryError> {
        self.set(&json!({ "state": "closed", "state_reason": reason }))
            .await
    }

    /// Reopens the issue.
    pub(super) async fn reopen(&self) -> Result<(), DeliveryError> {
        self.set(&json!({ "state": "open", "state_reason": "reopened" }))
            .await
    }

    async fn set(&self, fields: &Value) -> Result<(), DeliveryError> {
        let call = Call::set(Method::PATCH, &self.path, fields);
        self.rest.call(call).await.map(|_| ())
    }
}
