//! What a tool is to the engine: a specification, calls that are checked against it, and results.

use chrono::{DateTime, Utc};
use nightshift_alert::{Flag, Indicator, IndicatorKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Exoneration;

/// How far a call reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Files, registers and services of the organisation.
    Internal,
    /// Somebody else's service: no free text and no name of the organisation goes there.
    ThirdParty,
}

/// How much a value in a result may be believed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Anybody may have written it, the attacker too.
    #[default]
    External,
    /// The cloud platform wrote it.
    Platform,
    /// A register that the organisation keeps.
    Register,
}

/// Trust of everything at and below a path of a tool's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedPath {
    /// JSON pointer prefix; `*` stands for any one segment.
    pub path: String,
    /// How much is believed there.
    pub trust: Trust,
}

/// What an argument may hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ArgumentKind {
    /// An indicator of one of these types, known to this case.
    Indicator {
        /// The types that the tool can look up.
        types: Vec<IndicatorKind>,
    },
    /// One of these words.
    Enum {
        /// The words.
        values: Vec<String>,
    },
    /// A moment in RFC 3339; clamped to the tool's range.
    Time,
    /// A whole number.
    Number {
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
    },
    /// Free text, only for tools of internal reach.
    Text {
        /// Greatest length in characters.
        max_chars: usize,
    },
}

/// One argument of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// What it means to somebody who plans.
    pub description: String,
    /// What it may hold.
    pub kind: ArgumentKind,
    /// Whether a call without it is refused.
    pub required: bool,
}

/// A tool as the analyst sees it and as the engine checks it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name, unique in a profile.
    pub name: String,
    /// Which adapter it is, e.g. `asset_lookup` or `log_search.cloudtrail`: playbooks ask for kinds.
    pub kind: String,
    /// What it finds out and when to use it.
    pub description: String,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// How far a call reaches.
    pub reach: Reach,
    /// What may be believed; every path that is not named is external.
    pub trust: Vec<TrustedPath>,
    /// Name or kind of the tool whose answer a case must have read before it may ask this one: a query is written over
    /// a schema that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
}

impl ToolSpec {
    /// Whether a playbook or profile that asks for `wanted` means this tool: its name, its kind, or a family of kinds.
    #[must_use]
    pub fn answers_to(&self, wanted: &str) -> bool {
        self.name == wanted
            || self.kind == wanted
            || self
                .kind
                .strip_prefix(wanted)
                .is_some_and(|rest| rest.starts_with('.'))
    }

    /// How far the value at this JSON pointer may be believed.
    #[must_use]
    pub fn trust_of(&self, path: &str) -> Trust {
        self.trust
            .iter()
            .filter(|trusted| covers(&trusted.path, path))
            .max_by_key(|trusted| trusted.path.len())
            .map_or(Trust::External, |trusted| trusted.trust)
    }
}

fn covers(prefix: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    prefix.split('/').all(|want| {
        segments
            .next()
            .is_some_and(|got| want == "*" || want == got)
    })
}

/// A call as an analyst asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

impl ToolCall {
    /// A call with these arguments.
    #[must_use]
    pub fn new(tool: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self {
            tool: tool.into(),
            arguments,
        }
    }

    /// Equal for equal calls, whatever the order of their arguments.
    #[must_use]
    pub fn identity(&self) -> String {
        let sorted: std::collections::BTreeMap<_, _> = self.arguments.iter().collect();
        let arguments = serde_json::to_string(&sorted).unwrap_or_default();
        format!("{}({arguments})", self.tool)
    }
}

/// What a tool gave back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The answer: bounded, redacted, without hidden characters.
    pub body: Value,
    /// How many rows were found, for tools that find rows; an explicit 0 is an answer.
    #[serde(default)]
    pub rows: Option<u64>,
    /// Whether something was left out for its size.
    #[serde(default)]
    pub truncated: bool,
    /// Indicators that a parser took from the answer; they may be looked up from now on.
    #[serde(default)]
    pub indicators: Vec<Indicator>,
    /// Facts of a register that may clear the alert; the engine checks each.
    #[serde(default)]
    pub exonerations: Vec<Exoneration>,
    /// What was cut, redacted or suspicious in the answer.
    #[serde(default)]
    pub flags: Vec<Flag>,
}

impl ToolOutput {
    /// An answer without rows, indicators or exonerations.
    #[must_use]
    pub const fn of(body: Value) -> Self {
        Self {
            body,
            rows: None,
            truncated: false,
            indicators: Vec::new(),
            exonerations: Vec::new(),
            flags: Vec::new(),
        }
    }
}

/// Why a tool gave nothing back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum ToolError {
    /// No tool of this name in the profile.
    #[error("there is no tool {name:?} here")]
    Unknown {
        /// The name that was asked for.
        name: String,
    },
    /// An argument does not fit.
    #[error("argument {argument:?}: {problem}")]
    Argument {
        /// Its name.
        argument: String,
        /// What is wrong and what would fit.
        problem: String,
    },
    /// It may not be asked yet, or not for this.
    #[error("not now: {what}")]
    NotAllowed {
        /// What must come first, or why not.
        what: String,
    },
    /// It did not answer in time.
    #[error("no answer within {secs} s")]
    Timeout {
        /// The limit in seconds.
        secs: u64,
    },
    /// It may not be read.
    #[error("access denied: {what}")]
    Denied {
        /// What was refused.
        what: String,
    },
    /// It cannot be read.
    #[error("{what}")]
    Unavailable {
        /// What is wrong.
        what: String,
    },
}

/// Everything a tool may know about the case that calls it.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The case, so that a look-up of earlier cases leaves it out.
    pub case_id: String,
    /// The alert.
    pub alert: std::sync::Arc<nightshift_alert::Alert>,
    /// The time by the driver's clock.
    pub now: DateTime<Utc>,
}
