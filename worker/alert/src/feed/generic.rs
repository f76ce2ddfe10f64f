//! Feeds that the configuration describes: our fields by JSON pointers into the finding.
//!
//! `matches` must point to something for the feed to be recognised. Of [`FIELDS`], `id` and `type` are needed; all others
//! may be left out. A pointer to a list gives each of its elements.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Draft, Node};
use crate::envelope::describe;
use crate::key::OUR_PRODUCT;
use crate::{
    CANARY_FEED, Class, DetailKind, IndicatorKind, Outcome, Provider, ReadError, Role, Severity,
};

/// The fields that a generic feed can name, with what each is.
pub const FIELDS: &[(&str, &str)] = &[
    ("id", "the finding's id at its product; needed"),
    ("type", "the finding type; needed"),
    ("title", "one line for people"),
    ("description", "more lines"),
    (
        "severity",
        "a word (informational … critical) or a number: 0–10, or 0–100",
    ),
    ("provider", "aws, gcp or azure"),
    ("account", "account or project id"),
    ("account_name", "the account's name"),
    ("region", "region or zone"),
    ("action", "what was done"),
    ("time", "when it happened"),
    ("first_seen", "first event"),
    ("last_seen", "last event"),
    ("created", "when the finding was made"),
    ("updated", "when it was last changed"),
    ("count", "how often it was seen"),
    ("archived", "true when it is archived there"),
    ("resolved", "true when it is resolved there"),
    ("suppressed", "true when it is suppressed there"),
    ("sample", "true when it is a generated sample"),
    ("resource", "id of the main resource"),
    ("resource_name", "its name"),
    ("resource_type", "its type"),
    ("actor_ip", "address that acted"),
    ("principal", "who acted"),
    ("access_key", "id of the access key that was used"),
    ("target", "what it was done to (an instance)"),
    ("target_ip", "address of what it was done to"),
    ("remote_ip", "address of the far end"),
    ("domain", "name of the far end"),
    ("url", "URL of the far end"),
    ("email", "an email address named"),
    ("hash", "a digest named"),
    ("process", "a process named"),
    ("file", "a file named"),
    ("image", "a container image named"),
    ("container", "a container it was done to"),
    ("cluster", "a cluster it was done to"),
    ("bucket", "a bucket it was done to"),
    ("function", "a function it was done to"),
    ("database", "a database it was done to"),
    ("cve", "a vulnerability named"),
    ("wallet", "a wallet named"),
    ("technique", "an ATT&CK technique id"),
    (
        "class",
        "threat (the default), posture, vulnerability, sensitive_data or other",
    ),
    (
        "outcome",
        "succeeded, denied, failed, blocked or not_attempted",
    ),
    ("remediation", "what the product advises"),
];

/// A feed of the configuration (`[[feed]]`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GenericFeed {
    /// Its name: the alerts' feed.
    pub name: String,
    /// JSON pointer that must exist in a finding of this feed.
    pub matches: String,
    /// Our fields ([`FIELDS`]) to JSON pointers in the finding.
    pub fields: BTreeMap<String, String>,
    /// The product that made the finding, for its key; the feed's name if not given.
    pub product: Option<String>,
}

impl GenericFeed {
    /// Whether a finding is one of this feed.
    #[must_use]
    pub fn recognises(&self, value: &Value) -> bool {
        value
            .pointer(&self.matches)
            .is_some_and(|found| !found.is_null())
    }

    /// Whether a message is a finding of this feed, told by a field that does not stand in what is around findings too
    /// (`beside`), rather than something that holds findings.
    pub(crate) fn claims(&self, value: &Value, beside: &[&str]) -> bool {
        let first = self.matches.split('/').nth(1).unwrap_or_default();
        let has = |field: &str| self.node(value, field).text().is_some();
        !beside.contains(&first) && self.recognises(value) && has("id") && has("type")
    }

    /// What it names that is none of [`FIELDS`] and no [`DetailKind`].
    pub fn unknown_fields(&self) -> impl Iterator<Item = &str> {
        let named = self.fields.keys().map(String::as_str);
        named.filter(|field| {
            !FIELDS.iter().any(|(known, _)| known == field) && DetailKind::parse(field).is_none()
        })
    }

    /// Pointers that are none (they must begin with `/`), what is missing, and a name that is ours.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let pointers = std::iter::once(("match", &self.matches))
            .chain(
                self.fields
                    .iter()
                    .map(|(field, pointer)| (field.as_str(), pointer)),
            )
            .filter(|(_, pointer)| !pointer.starts_with('/'))
            .map(|(field, pointer)| {
                format!("{field} = {pointer:?} is no JSON pointer: begin with `/`")
            });
        let missing = ["id", "type"]
            .into_iter()
            .filter(|field| !self.fields.contains_key(*field))
            .map(|field| format!("{field} is needed"));
        let reserved = [(CANARY_FEED, "canaries"), (OUR_PRODUCT, "alerts")]
            .into_iter()
            .filter(|(name, _)| self.name == *name)
            .map(|(name, of)| format!("name = {name:?} is that of our own {of}: choose another"));
        pointers.chain(missing).chain(reserved).collect()
    }

    pub(crate) fn read(&self, value: &Value) -> Result<Draft, ReadError> {
        let id = self.required(value, "id")?;
        let kind = self.required(value, "type")?;
        let product = self.product.as_deref().unwrap_or(&self.name);
        let mut draft = Draft::new(&self.name, product, &id, &kind);
        let text = |field: &str| self.node(value, field).text();
        let flag = |field: &str| self.node(value, field).is_true();
        draft.title = text("title").unwrap_or_default();
        draft.description = text("description").unwrap_or_default();
        draft.severity_sent = text("severity").unwrap_or_default();
        draft.severity = severity(&draft.severity_sent);
        draft.provider = match text("provider")
            .map(|word| word.to_ascii_lowercase())
            .as_deref()
        {
            Some("aws") => Provider::Aws,
            Some("gcp") => Provider::Gcp,
            Some("azure") => Provider::Azure,
            _ => Provider::Other,
        };
        draft.account = text("account");
        draft.key_account = draft.account.clone().unwrap_or_default();
        draft.account_name = text("account_name");
        draft.region = text("region");
        draft.action = text("action");
        draft.class_sent = text("class");
        draft.class = draft
            .class_sent
            .as_deref()
            .and_then(Class::parse)
            .unwrap_or_default();
        draft.outcome = text("outcome").as_deref().and_then(Outcome::parse);
        draft.remediation = text("remediation");
        draft.count = self.node(value, "count").count().unwrap_or(1);
        draft.seen(self.node(value, "time"), self.node(value, "time"));
        draft.seen(
            self.node(value, "first_seen"),
            self.node(value, "last_seen"),
        );
        draft.times.created = self.node(value, "created").time();
        draft.times.updated = self.node(value, "updated").time();
        draft.state.archived = flag("archived");
        draft.state.resolved = flag("resolved");
        draft.state.suppressed = flag("suppressed");
        draft.state.sample = flag("sample");
        if let Some(id) = text("resource").or_else(|| text("target")) {
            let kind = text("resource_type").unwrap_or_else(|| "Resource".to_owned());
            draft.add_resource(
                &kind,
                &id,
                text("resource_name").as_deref(),
                BTreeMap::new(),
            );
        }
        self.entities(&mut draft, value);
        Ok(draft)
    }

    fn entities(&self, draft: &mut Draft, value: &Value) {
        for (field, kind, role) in [
            ("actor_ip", IndicatorKind::Ip, Role::Actor),
            ("principal", IndicatorKind::Principal, Role::Actor),
            ("access_key", IndicatorKind::AccessKey, Role::Actor),
            ("target", IndicatorKind::Instance, Role::Target),
            ("target_ip", IndicatorKind::Ip, Role::Target),
            ("container", IndicatorKind::Container, Role::Target),
            ("cluster", IndicatorKind::Cluster, Role::Target),
            ("bucket", IndicatorKind::Bucket, Role::Target),
            ("function", IndicatorKind::Function, Role::Target),
            ("database", IndicatorKind::Database, Role::Target),
            ("remote_ip", IndicatorKind::Ip, Role::Remote),
            ("domain", IndicatorKind::Domain, Role::Remote),
            ("url", IndicatorKind::Url, Role::Remote),
            ("email", IndicatorKind::Email, Role::Related),
            ("hash", IndicatorKind::Hash, Role::Related),
            ("process", IndicatorKind::Process, Role::Related),
            ("file", IndicatorKind::File, Role::Related),
            ("image", IndicatorKind::Image, Role::Related),
            ("cve", IndicatorKind::Cve, Role::Related),
            ("wallet", IndicatorKind::Wallet, Role::Related),
        ] {
            for node in self.node(value, field).items() {
                draft.add(kind, role, node);
            }
        }
        for kind in DetailKind::ALL.iter().copied() {
            for node in self.node(value, kind.as_str()).items() {
                draft.add_detail(kind, node);
            }
        }
        for id in self.node(value, "technique").items().filter_map(Node::text) {
            draft.techniques.insert(crate::Technique { id, name: None });
        }
    }

    fn node<'a>(&self, value: &'a Value, field: &str) -> Node<'a> {
        let pointer = self.fields.get(field);
        pointer
            .and_then(|pointer| value.pointer(pointer))
            .map_or_else(|| Node::of(&Value::Null), Node::of)
    }

    fn required(&self, value: &Value, field: &str) -> Result<String, ReadError> {
        self.node(value, field)
            .text()
            .ok_or_else(|| ReadError::Field {
                feed: self.name.clone(),
                path: self.fields.get(field).cloned().unwrap_or_default(),
                expected: format!("the finding's {field} (the feed's fields.{field} points there)"),
                found: describe(
                    self.fields
                        .get(field)
                        .and_then(|pointer| value.pointer(pointer)),
                ),
            })
    }
}

/// A word, or a number on a scale to 10 or to 100; what is neither counts as medium.
fn severity(sent: &str) -> Severity {
    if let Ok(known) = sent.parse() {
        return known;
    }
    match sent.trim().to_ascii_lowercase().as_str() {
        "info" | "note" => return Severity::Informational,
        "moderate" | "warning" => return Severity::Medium,
        "severe" | "error" | "important" => return Severity::High,
        "fatal" | "emergency" => return Severity::Critical,
        _ => {}
    }
    match sent.trim().parse::<f64>() {
        Ok(number) if number > 10.0 => super::guardduty::severity(number / 10.0),
        Ok(number) => super::guardduty::severity(number),
        Err(_) => Severity::Medium,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_fields_in_the_documents_is_that_of_the_program() {
        let page = include_str!("../../../../docs/sources.md");
        let (_, rest) = page.split_once("## Feeds of your own\n").unwrap();
        let section = rest.split("\n## ").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let known = FIELDS
            .iter()
            .map(|(name, what)| format!("| `{name}` | {what} |"));
        assert_eq!(rows.collect::<Vec<_>>(), known.collect::<Vec<_>>());
    }
}
