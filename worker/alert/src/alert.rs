//! Defines the normalised alert, which the other crates read instead of a vendor's JSON.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AlertKey, Caller, ContentHash, Detail, DetailKind, Direction, FindingClass, Indicator,
    IndicatorKind, IndicatorRole, JsonText, Outcome, Principal, Severity, TraceContext, short_name,
};

/// The feed of Nightshift's own canaries. No parser makes it, and no configured feed may have this name. Only an alert
/// that is signed with the configured key becomes a canary.
pub const CANARY_FEED: &str = "canary";

/// One normalised finding.
///
/// Every string comes from outside, and an attacker may have written it. Strings are redacted, bounded and free of
/// hidden characters, but they are data, never instructions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    /// The identity of the finding.
    pub key: AlertKey,
    /// The hash of the content, without counters and times.
    pub content: ContentHash,
    /// The feed that the finding was recognised as: `guardduty`, `scc`, `security_hub`, `ocsf`, or the name of a
    /// configured generic feed.
    pub feed: String,
    /// The finding type as its product writes it, e.g. `CryptoCurrency:EC2/BitcoinTool.B!DNS`.
    #[serde(rename = "type")]
    pub kind: String,
    /// One line for people.
    pub title: String,
    /// The product's own description, which may be empty.
    pub description: String,
    /// Severity on Nightshift's scale.
    pub severity: Severity,
    /// Severity as it was sent, e.g. `8` or `CRITICAL`.
    pub severity_sent: String,
    /// The cloud of the resources.
    pub provider: CloudProvider,
    /// Account id (AWS) or project id (Google Cloud).
    pub account: Option<String>,
    /// The account's name, where the alert has one.
    pub account_name: Option<String>,
    /// Region or zone.
    pub region: Option<String>,
    /// Class of the finding.
    #[serde(default)]
    pub class: FindingClass,
    /// The product's own name for the class, e.g. SCC's `MISCONFIGURATION`.
    #[serde(default)]
    pub class_sent: Option<String>,
    /// The action that was observed, e.g. `AWS_API_CALL ListBuckets` or `DNS_REQUEST`.
    pub action: Option<String>,
    /// Outcome of the action, where the product reports one.
    #[serde(default)]
    pub outcome: Option<Outcome>,
    /// Resources that the alert concerns. The first one is the main resource.
    pub resources: Vec<Resource>,
    /// Typed values, sorted and without duplicates.
    pub indicators: Vec<Indicator>,
    /// Kinds of the alert's principals, where the feed reports them. The list is sorted. A user and a role may share a
    /// name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub principals: Vec<Principal>,
    /// Addresses that the feed reports, in fields of their own, for the resource itself, such as a machine's
    /// interfaces. The list is sorted. Free text never adds one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Combinations of principal, key and address that the platform wrote together. The list is sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<Caller>,
    /// Direction of the connection, where the product reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// JSON pointers of fields that name an actor but cannot be read as a value. The list is sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// True if a limit dropped values that name an actor or target.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unseen: bool,
    /// Other typed facts that the product reports: ports, networks, threat lists, command lines. The list is sorted.
    #[serde(default)]
    pub details: Vec<Detail>,
    /// The product's own remediation advice.
    #[serde(default)]
    pub remediation: Option<String>,
    /// The finding's full id (an ARN or resource name), where the key holds a shorter one.
    #[serde(default)]
    pub finding_id: Option<String>,
    /// ATT&CK techniques that the product names.
    pub techniques: Vec<Technique>,
    /// Times of the events and of the finding.
    pub times: EventTimes,
    /// Number of times that the product saw the event; at least 1.
    pub count: u64,
    /// State of the finding at the feed.
    pub state: FeedState,
    /// Notes on how the alert was read.
    pub flags: Vec<ContentFlag>,
    /// The trace context of the message, if it has one. It is not part of the alert's content: see [`Alert::to_json`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
    /// The finding as it was sent, redacted and bounded, including fields that no parser reads.
    pub raw: JsonText,
}

impl Alert {
    /// Returns the alert as JSON for evidence, rules and prompts, without the trace context.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("trace");
        }
        value
    }

    /// Returns the same JSON without the raw finding.
    #[must_use]
    pub fn to_json_without_raw(&self) -> Value {
        let mut short = self.clone();
        short.raw = JsonText::from(Value::Null);
        short.to_json()
    }

    /// Returns the alert as JSON text. The raw finding is text already and is not parsed for this.
    #[must_use]
    pub fn to_json_text(&self) -> JsonText {
        JsonText::with(&self.to_json_without_raw(), "raw", &self.raw)
    }

    /// Returns the indicators that have this role.
    pub fn with_role(&self, role: IndicatorRole) -> impl Iterator<Item = &Indicator> {
        self.indicators
            .iter()
            .filter(move |indicator| indicator.role == role)
    }

    /// Returns the values of the details of this kind.
    pub fn details_of(&self, kind: DetailKind) -> impl Iterator<Item = &str> {
        self.details
            .iter()
            .filter(move |detail| detail.kind == kind)
            .map(|detail| detail.value.as_str())
    }

    /// Returns whether this principal is only named as one that was given a right, and not as a caller.
    #[must_use]
    pub fn is_only_grantee(&self, value: &str) -> bool {
        let mut callers = self.callers.iter();
        let mut grantees = self.details_of(DetailKind::Grantee);
        grantees.any(|one| one == value)
            && !callers.any(|one| one.principal.as_deref() == Some(value))
    }

    /// Returns whether the alert has this indicator.
    #[must_use]
    pub fn has_indicator(&self, kind: IndicatorKind, value: &str) -> bool {
        self.indicators
            .iter()
            .any(|indicator| indicator.kind == kind && indicator.value == value)
    }

    /// Returns whether the feed made this alert as a generated sample.
    #[must_use]
    pub fn is_sample(&self) -> bool {
        self.state.sample
    }

    /// Returns whether the severity is only assumed, because the feed's value has no known meaning.
    #[must_use]
    pub fn is_severity_assumed(&self) -> bool {
        let mut flags = self.flags.iter();
        flags.any(|flag| matches!(flag, ContentFlag::UnknownSeverity { .. }))
    }

    /// Returns whether the alert is one of Nightshift's own canaries.
    #[must_use]
    pub fn is_canary(&self) -> bool {
        self.feed == CANARY_FEED
    }

    /// Returns the severity by which the alert is queued. A canary takes the lane of high alerts, which must stay
    /// open during a flood.
    #[must_use]
    pub fn lane_severity(&self) -> Severity {
        if self.is_canary() {
            Severity::High
        } else {
            self.severity
        }
    }

    /// Returns a short name for what the alert is about: the main resource's name, else its id, else an actor.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.resources
            .first()
            .map(|resource| resource.name.as_deref().unwrap_or(&resource.id))
            .or_else(|| {
                self.indicators
                    .iter()
                    .find(|indicator| indicator.role <= IndicatorRole::Target)
                    .map(|indicator| indicator.value.as_str())
            })
    }
}

/// Cloud provider of an alert's resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloudProvider {
    /// Amazon Web Services.
    Aws,
    /// Google Cloud.
    Gcp,
    /// Microsoft Azure.
    Azure,
    /// Another provider, or none.
    Other,
}

impl CloudProvider {
    /// Returns the word used in JSON, playbooks and the action catalogue.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Gcp => "gcp",
            Self::Azure => "azure",
            Self::Other => "other",
        }
    }
}

/// A resource that an alert concerns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// Its type as the product writes it: `Instance`, `AccessKey`, `google.cloud.compute.Instance`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// The resource's id.
    pub id: String,
    /// The display name, if the resource has one.
    pub name: Option<String>,
    /// Tags or labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

impl Resource {
    /// Returns the part of the id that names the resource: the name in an ARN, a URI or a resource path.
    #[must_use]
    pub fn short_id(&self) -> &str {
        short_name(&self.id)
    }

    /// Returns whether both ids name one resource. An id may be an ARN, a path or the bare name at its end. Two
    /// different ARNs are two resources, even if the names match (services of two clusters).
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let is_bare = |resource: &Self| resource.short_id() == resource.id;
        self.id == other.id
            || ((is_bare(self) || is_bare(other)) && self.short_id() == other.short_id())
    }
}

/// An ATT&CK technique.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Technique {
    /// The technique's id, e.g. `T1496`, or `T?` when the product's name for it is not known here.
    pub id: String,
    /// The technique's name, where the product reports one.
    pub name: Option<String>,
}

/// Times of an alert's events and of its finding at the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EventTimes {
    /// First event.
    pub first_seen: Option<DateTime<Utc>>,
    /// Last event.
    pub last_seen: Option<DateTime<Utc>>,
    /// The time when the feed made the finding.
    pub created: Option<DateTime<Utc>>,
    /// The time when the feed last changed the finding.
    pub updated: Option<DateTime<Utc>>,
}

impl EventTimes {
    /// Returns the window of the alert's events, from first to last, by the times that are known.
    #[must_use]
    pub fn window(&self) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        let from = self.first_seen.or(self.created).or(self.last_seen)?;
        let told = self.created.max(self.updated);
        let until = self.last_seen.or(told).unwrap_or(from);
        Some((from.min(until), until.max(from)))
    }

    /// Widens the window so that it covers `from` to `until`, and returns whether it changed. An alert without any
    /// time is left as it is, because its window is unknown.
    pub fn widen(&mut self, from: DateTime<Utc>, until: DateTime<Utc>) -> bool {
        let Some((first, last)) = self.window() else {
            return false;
        };
        let is_wider = from < first || last < until;
        if is_wider {
            self.first_seen = Some(first.min(from));
            self.last_seen = Some(last.max(until));
        }
        is_wider
    }
}

/// State of the alert at its feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FeedState {
    /// Archived there.
    pub archived: bool,
    /// Inactive there.
    pub inactive: bool,
    /// Resolved there.
    pub resolved: bool,
    /// Muted or suppressed there.
    pub suppressed: bool,
    /// The check passed.
    pub passed: bool,
    /// A generated sample, not a real event.
    pub sample: bool,
}

impl FeedState {
    /// Returns the state at the feed as one word, or `None` while the alert is active there.
    #[must_use]
    pub const fn word(&self) -> Option<&'static str> {
        match self {
            Self { passed: true, .. } => Some("passed"),
            Self { archived: true, .. } => Some("archived"),
            Self { inactive: true, .. } => Some("inactive"),
            Self { resolved: true, .. } => Some("resolved"),
            Self {
                suppressed: true, ..
            } => Some("suppressed"),
            _ => None,
        }
    }
}

/// A note on how an alert was read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "flag", rename_all = "snake_case")]
pub enum ContentFlag {
    /// Text was cut, or a list or subtree was pruned.
    Truncated {
        /// JSON pointer of the text, list or subtree.
        path: String,
    },
    /// Bytes or numbers that JSON cannot hold were replaced.
    Replaced {
        /// JSON pointer of the value.
        path: String,
    },
    /// An object had the same key twice. The last one counts.
    DuplicateKey {
        /// JSON pointer of the key.
        path: String,
    },
    /// Secrets were redacted.
    Redacted {
        /// Number of secrets.
        count: usize,
    },
    /// Invisible characters were removed.
    HiddenText {
        /// Number of characters.
        count: usize,
    },
    /// Text addresses the analyst instead of describing the event.
    Instructions {
        /// JSON pointer of the text.
        path: String,
    },
    /// A severity on an unknown scale. A word counts as medium, and a number is read on a scale from 0 to 100.
    UnknownSeverity {
        /// The severity as it was sent.
        value: String,
    },
}
