//! Calls the Table API and interprets its answers.

use chrono::{DateTime, Utc};
use nightshift_pipeline::port::DeliveryError;
use reqwest::Method;
use serde_json::Value;

use super::super::http::{Answer, Repeat};
use super::super::rest::{Call, RestClient, Vendor, list, reset, text};
use super::super::tracker::TicketContents;

/// The properties of ServiceNow's API.
pub(super) static SERVICENOW: Vendor = Vendor {
    headers: &[],
    secret: "secret",
    hint,
    words,
    limited,
    limited_by: |_| None,
};

/// Returns what an operator can do about a status.
fn hint(status: u16) -> &'static str {
    match status {
        300..=399 => " (redirects are not followed: set `url` to the instance's own address)",
        400 => " (see what it names: `table`, or a column in `fields`)",
        401 => " (`user` and `secret` are not accepted, or the token has expired)",
        403 => {
            " (missing permission: the user must create, read and write the table, for example \
             with the role itil; set required columns in `fields`)"
        }
        404 => {
            " (no such table or record for this user: see `url` and `table`, and whether the incident was deleted)"
        }
        _ => "",
    }
}

/// Reads the message of `{"error": {"message": "…", "detail": "…"}, "status": "failure"}`.
fn words(body: &Value) -> Option<String> {
    let said = ["/error/message", "/error/detail"];
    let said: Vec<&str> = said.into_iter().filter_map(|at| text(body, at)).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Returns the seconds to wait at a limit. `x-ratelimit-reset` says when the limit ends, in seconds since 1970
/// ("Inbound REST API rate limiting").
fn limited(answer: &Answer, now: DateTime<Utc>) -> Option<u64> {
    let is_limit = answer.status().as_u16() == 429 && answer.after_secs().is_none();
    is_limit.then(|| reset(answer, now)).flatten()
}

/// Finds the oldest record of this case.
pub(super) async fn search(
    rest: &RestClient,
    table: &str,
    case: &str,
) -> Result<Option<String>, DeliveryError> {
    let query = format!("correlation_id={case}^ORDERBYsys_created_on");
    let query = [
        ("sysparm_query", query.as_str()),
        ("sysparm_fields", "sys_id,correlation_id"),
        ("sysparm_limit", "10"),
    ];
    let path = ["api", "now", "table", table];
    let found = rest.call(Call::get(&path, &query)).await?;
    let records = list(&found, "/result");
    // ServiceNow silently drops a condition on a column that does not exist or that the user may not read.
    if records
        .iter()
        .any(|record| text(record, "/correlation_id").is_none())
    {
        return Err(DeliveryError::Permanent {
            what: format!(
                "{} hides `correlation_id` of {table}: grant the user read access, because \
                 incidents are found by it",
                rest.caller.host()
            ),
        });
    }
    let is_it = |record: &&Value| text(record, "/correlation_id") == Some(case);
    let found = records.iter().find(is_it);
    Ok(found
        .and_then(|record| text(record, "/sys_id"))
        .map(str::to_owned))
}

pub(super) async fn create(
    rest: &RestClient,
    table: &str,
    fields: &Value,
) -> Result<String, DeliveryError> {
    let path = ["api", "now", "table", table];
    let made = rest.call(Call::add(&path, fields)).await?;
    let id = text(&made, "/result/sys_id").map(str::to_owned);
    id.ok_or_else(|| DeliveryError::Ambiguous {
        what: format!("{} created a record but returned no id", rest.caller.host()),
    })
}

/// Reads a record and its notes, which ServiceNow returns as one text. The record is done in state `resolved` or when
/// it is closed.
pub(super) async fn told(
    rest: &RestClient,
    table: &str,
    id: &str,
    resolved: Option<&str>,
) -> Result<TicketContents, DeliveryError> {
    let query = [
        ("sysparm_display_value", "all"),
        (
            "sysparm_fields",
            "work_notes,correlation_display,state,active",
        ),
    ];
    let path = ["api", "now", "table", table, id];
    let found = rest.call(Call::get(&path, &query)).await?;
    let texts = [
        "/result/correlation_display/value",
        "/result/work_notes/display_value",
    ];
    let texts = texts.map(|at| text(&found, at).unwrap_or_default().to_owned());
    Ok(TicketContents {
        texts: texts.into(),
        keeps: |text, key| text.lines().any(|line| line.trim() == key),
        // An instance closes resolved records after some days.
        is_done: resolved.is_some()
            && (text(&found, "/result/state/value") == resolved
                || text(&found, "/result/active/value") == Some("false")),
    })
}

/// Sets fields. This also adds notes, so a repetition would be visible.
pub(super) async fn set(
    rest: &RestClient,
    table: &str,
    id: &str,
    (fields, repeat): (&Value, Repeat),
) -> Result<(), DeliveryError> {
    let path = ["api", "now", "table", table, id];
    let call = Call {
        repeat,
        ..Call::set(Method::PATCH, &path, fields)
    };
    rest.call(call).await.map(|_| ())
}
