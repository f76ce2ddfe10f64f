//! The normalised alert: what the rest of the house reads instead of a vendor's JSON.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Caller, Class, Content, Detail, DetailKind, Direction, Indicator, IndicatorKind, JsonText, Key,
    Outcome, Principal, Role, Severity, TraceContext, short_name,
};

/// The feed of our own canaries. No parser makes it and no configured feed may be called so: only what is signed with our
/// key becomes a canary.
pub const CANARY_FEED: &str = "canary";

/// One normalised finding.
///
/// Every string in it came from outside and may be written by an attacker: it is redacted, without hidden characters
/// and bounded, but it is data, never an instruction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    /// Which finding this is.
    pub key: Key,
    /// What it says, without counters and times.
    pub content: Content,
    /// Where it was born: `guardduty`, `scc`, `security_hub`, `ocsf`, or the name of a configured generic feed.
    pub feed: String,
    /// The finding type as its product writes it, e.g. `CryptoCurrency:EC2/BitcoinTool.B!DNS`.
    #[serde(rename = "type")]
    pub kind: String,
    /// One line for people.
    pub title: String,
    /// The product's own description; may be empty.
    pub description: String,
    /// Severity on our scale.
    pub severity: Severity,
    /// Severity as it was sent, e.g. `8` or `CRITICAL`.
    pub severity_sent: String,
    /// Which cloud the resources live in.
    pub provider: Provider,
    /// Account id (AWS) or project id (Google Cloud).
    pub account: Option<String>,
    /// The account's name, where the alert tells it.
    pub account_name: Option<String>,
    /// Region or zone.
    pub region: Option<String>,
    /// Class of the finding.
    #[serde(default)]
    pub class: Class,
    /// The product's own word for its class, e.g. SCC's `MISCONFIGURATION`, where there is one.
    #[serde(default)]
    pub class_sent: Option<String>,
    /// What was done, e.g. `AWS_API_CALL ListBuckets` or `DNS_REQUEST`.
    pub action: Option<String>,
    /// Outcome of that, where the product tells it.
    #[serde(default)]
    pub outcome: Option<Outcome>,
    /// What it concerns; the first one is the main one.
    pub resources: Vec<Resource>,
    /// Typed values, sorted and without doubles.
    pub indicators: Vec<Indicator>,
    /// What those of its principals are whose kind the feed told, sorted; a name may be a user's and a role's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub principals: Vec<Principal>,
    /// Those of its addresses that the feed told, in fields of their own, to be what it concerns: the interfaces of a
    /// machine. Sorted; a text never adds one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Tells who called with which key from where, as the platform wrote them together. Sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<Caller>,
    /// Tells who opened the connection, where the product does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// JSON pointers of fields that say who acted and cannot be read as a value. Sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// Tells that a limit dropped values that say who acted, or what it was done to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unseen: bool,
    /// What else the product told in fields of their own: ports, networks, threat lists, command lines. Sorted.
    #[serde(default)]
    pub details: Vec<Detail>,
    /// What the product advises to do about it, in its own words.
    #[serde(default)]
    pub remediation: Option<String>,
    /// The finding's id as its product writes it (a whole ARN or resource name), where the key holds a shorter one.
    #[serde(default)]
    pub finding_id: Option<String>,
    /// ATT&CK techniques that the product named.
    pub techniques: Vec<Technique>,
    /// When it happened and was told.
    pub times: Times,
    /// How often the product saw it; at least 1.
    pub count: u64,
    /// Its state at the feed.
    pub state: FeedState,
    /// What the reader of this alert should know about how it was read.
    pub flags: Vec<Flag>,
    /// Where in somebody's trace its message came from, if it says so. No part of what the alert says: see
    /// [`Alert::told`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
    /// The finding as it was sent, redacted and bounded, with every field that we do not know.
    pub raw: JsonText,
}

impl Alert {
    /// What it says, as JSON: evidence, facts of rules, prompts. Where its message came from is none of it.
    #[must_use]
    pub fn told(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("trace");
        }
        value
    }

    /// The same without the finding as it was sent, in whose place nothing stands.
    #[must_use]
    pub fn told_in_short(&self) -> Value {
        let mut short = self.clone();
        short.raw = JsonText::from(Value::Null);
        short.told()
    }

    /// What it says, as text; the finding as it was sent is text already and is not read for it.
    #[must_use]
    pub fn told_text(&self) -> JsonText {
        JsonText::with(&self.told_in_short(), "raw", &self.raw)
    }

    /// The indicators of one role.
    pub fn with_role(&self, role: Role) -> impl Iterator<Item = &Indicator> {
        self.indicators
            .iter()
            .filter(move |indicator| indicator.role == role)
    }

    /// The values of its details of one kind.
    pub fn details_of(&self, kind: DetailKind) -> impl Iterator<Item = &str> {
        self.details
            .iter()
            .filter(move |detail| detail.kind == kind)
            .map(|detail| detail.value.as_str())
    }

    /// Whether the alert itself names this value.
    #[must_use]
    pub fn knows(&self, kind: IndicatorKind, value: &str) -> bool {
        self.indicators
            .iter()
            .any(|indicator| indicator.kind == kind && indicator.value == value)
    }

    /// Whether the feed made this alert as a generated sample.
    #[must_use]
    pub fn is_sample(&self) -> bool {
        self.state.sample
    }

    /// Whether it is a canary of our own, which shows that alerts get through.
    #[must_use]
    pub fn is_canary(&self) -> bool {
        self.feed == CANARY_FEED
    }

    /// Among which alerts it waits. A canary is worth nothing, but goes the way that must be open whatever flood there is:
    /// that of high ones.
    #[must_use]
    pub fn lane_severity(&self) -> Severity {
        if self.is_canary() {
            Severity::High
        } else {
            self.severity
        }
    }

    /// What the alert is about, in a word or two: the main resource's name, else its id, else an actor.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.resources
            .first()
            .map(|resource| resource.name.as_deref().unwrap_or(&resource.id))
            .or_else(|| {
                self.indicators
                    .iter()
                    .find(|indicator| indicator.role <= Role::Target)
                    .map(|indicator| indicator.value.as_str())
            })
    }
}

/// The cloud that an alert's resources live in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Amazon Web Services.
    Aws,
    /// Google Cloud.
    Gcp,
    /// Microsoft Azure.
    Azure,
    /// Another one, or none.
    Other,
}

impl Provider {
    /// The word used in JSON, playbooks and the action catalogue.
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

/// A thing that an alert concerns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// Its type as the product writes it: `Instance`, `AccessKey`, `google.cloud.compute.Instance`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Its name for people, where there is one.
    pub name: Option<String>,
    /// Its tags or labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

impl Resource {
    /// Returns the part of its id that names it: the name in an ARN, a URI or a resource path.
    #[must_use]
    pub fn short_id(&self) -> &str {
        short_name(&self.id)
    }

    /// Whether both ids name one resource. Wrappings write an ARN or path, or the bare name at its end; two ARNs that differ
    /// are two resources, also with the same name: services of two clusters.
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
    /// Its id, e.g. `T1496`; `T?` where the product names one that is not known here.
    pub id: String,
    /// Its name, where the product told it.
    pub name: Option<String>,
}

/// When an alert's events happened and when the feed told of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Times {
    /// First event.
    pub first_seen: Option<DateTime<Utc>>,
    /// Last event.
    pub last_seen: Option<DateTime<Utc>>,
    /// When the feed made the finding.
    pub created: Option<DateTime<Utc>>,
    /// When the feed last changed it.
    pub updated: Option<DateTime<Utc>>,
}

impl Times {
    /// The window of the alert's events: first to last, by whatever times are known.
    #[must_use]
    pub fn window(&self) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        let from = self.first_seen.or(self.created).or(self.last_seen)?;
        let told = self.created.max(self.updated);
        let until = self.last_seen.or(told).unwrap_or(from);
        Some((from.min(until), until.max(from)))
    }

    /// Has its events begin and last so at least; whether that is wider than they were. Of an alert without any time nobody
    /// knows when its events were, whatever is known of others.
    pub fn cover(&mut self, from: DateTime<Utc>, until: DateTime<Utc>) -> bool {
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
    /// No longer active there.
    pub inactive: bool,
    /// Resolved there.
    pub resolved: bool,
    /// Muted or suppressed there.
    pub suppressed: bool,
    /// A check that passed.
    pub passed: bool,
    /// A generated sample, no real event.
    pub sample: bool,
}

impl FeedState {
    /// Returns what the feed has done with the alert, in a word; `None` while it is active there.
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

/// What a reader should know about how an alert was read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "flag", rename_all = "snake_case")]
pub enum Flag {
    /// Text was cut, or lists and depth were pruned, at this JSON pointer.
    Truncated {
        /// Where.
        path: String,
    },
    /// Bytes or numbers that JSON cannot hold were replaced, at this JSON pointer.
    Replaced {
        /// Where.
        path: String,
    },
    /// The same key stood twice in an object; the last one counts.
    DuplicateKey {
        /// Where.
        path: String,
    },
    /// Secrets were taken out.
    Redacted {
        /// How many.
        count: usize,
    },
    /// Characters that people do not see were taken out.
    HiddenText {
        /// How many.
        count: usize,
    },
    /// Text that talks to the analyst instead of about the event.
    Instructions {
        /// Where.
        path: String,
    },
    /// A severity of which neither the feed nor its product tells what it means: a word counts as medium, a number is
    /// taken to be one of 0 to 100.
    UnknownSeverity {
        /// As it was sent.
        value: String,
    },
}
