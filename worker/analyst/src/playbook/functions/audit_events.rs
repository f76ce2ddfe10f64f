//! Filters over rows of audit logs by call, caller and source.

use minijinja::{Error, Value};
use nightshift_engine::audit_event::is_mutating;

use super::networks::in_any;

/// Services in which any change affects rights, keys, secrets or monitoring.
const SENSITIVE_SERVICES: [&str; 15] = [
    "iam.amazonaws.com",
    "organizations.amazonaws.com",
    "sso.amazonaws.com",
    "identitystore.amazonaws.com",
    "rolesanywhere.amazonaws.com",
    "cloudtrail.amazonaws.com",
    "guardduty.amazonaws.com",
    "securityhub.amazonaws.com",
    "secretsmanager.amazonaws.com",
    "kms.amazonaws.com",
    "iam.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "secretmanager.googleapis.com",
    "cloudkms.googleapis.com",
    "logging.googleapis.com",
];

/// Implements `entries | mutating_calls`, which returns the rows of audit logs that succeeded and are not known to be
/// read-only. Logs whose rows have no `read_only` column contain no such calls.
pub(super) fn mutating_calls(list: Value) -> Result<Vec<Value>, Error> {
    filter(list, |event| {
        let action = event.text("action")?;
        let reads = event.row.get_attr("read_only").ok()?;
        let failed =
            event.is_set("error") || event.text("outcome").is_some_and(|it| it != "success");
        let read_only = (!reads.is_none()).then(|| reads.is_true());
        Some(!reads.is_undefined() && !failed && is_mutating(&action, read_only))
    })
}

/// Implements `entries | sensitive_services`, which returns the rows of services that hold rights, keys and secrets, or
/// that monitor.
pub(super) fn sensitive_services(list: Value) -> Result<Vec<Value>, Error> {
    filter(list, |event| {
        Some(SENSITIVE_SERVICES.contains(&&*event.text("service")?))
    })
}

/// Implements `entries | not_from(networks)`, which returns the rows whose `source_ip` is not in one of these networks.
pub(super) fn not_from(list: Value, networks: &Value) -> Result<Vec<Value>, Error> {
    let is_in = |source| in_any(&Value::from(source), networks).unwrap_or_default();
    filter(list, |event| {
        Some(!event.text("source_ip").is_some_and(is_in))
    })
}

/// A row of a log.
pub(in crate::playbook) struct AuditEvent {
    row: Value,
    /// The address by which the search found the row, if the log has no column for addresses.
    searched_address: Option<String>,
}

impl AuditEvent {
    /// Reads the row of an entry. Only application logs have the address in any field, and a search finds it there
    /// too.
    pub(in crate::playbook) fn from_entry(entry: &Value) -> Result<Self, Error> {
        let text = |name: &str| {
            let value = entry.get_attr(name).ok()?;
            value.as_str().map(str::to_owned)
        };
        let is_application_log = text("kind").as_deref() == Some("log_search.json_lines");
        Ok(Self {
            searched_address: text("asked").filter(|_| is_application_log),
            row: entry.get_attr("row")?,
        })
    }

    /// Returns the text of a column, unless it is empty.
    pub(in crate::playbook) fn text(&self, column: &str) -> Option<String> {
        let value = self.row.get_attr(column).ok()?;
        let text = value.as_str().filter(|text| !text.is_empty());
        text.map(str::to_owned)
    }

    /// Returns the address that the call came from.
    pub(in crate::playbook) fn source_address(&self) -> Option<String> {
        let source = self.text("source_ip");
        source.or_else(|| self.searched_address.clone())
    }

    fn is_set(&self, column: &str) -> bool {
        self.row.get_attr(column).is_ok_and(|value| value.is_true())
    }
}

/// Returns the entries whose row the condition accepts.
fn filter(list: Value, accepts: impl Fn(&AuditEvent) -> Option<bool>) -> Result<Vec<Value>, Error> {
    let mut found = Vec::new();
    for entry in list.try_iter()? {
        if accepts(&AuditEvent::from_entry(&entry)?) == Some(true) {
            found.push(entry);
        }
    }
    Ok(found)
}
