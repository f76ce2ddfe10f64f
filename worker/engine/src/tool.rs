//! Defines tools as the engine sees them: specifications, calls that are checked against them, and results.

use chrono::{DateTime, Utc};
use nightshift_alert::{ContentFlag, Indicator, IndicatorKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::exoneration::Exoneration;

/// Reach of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// The call reaches files, registers and services of the organisation.
    Internal,
    /// The call reaches a third party's service, which gets no free text and no name of the organisation.
    ThirdParty,
}

/// Trust in a value of a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Anybody may have written the value, even the attacker.
    #[default]
    External,
    /// The cloud platform wrote the value.
    Platform,
    /// The value comes from a register that the organisation keeps.
    Register,
}

/// Trust of everything at and below a path of a tool's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedPath {
    /// JSON pointer prefix; `*` matches any one segment.
    pub path: String,
    /// Trust at this path.
    pub trust: Trust,
}

/// Kind of value that an argument takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ArgumentKind {
    /// An indicator of one of these types, known to this case.
    Indicator {
        /// Types that the tool can look up.
        types: Vec<IndicatorKind>,
    },
    /// A list of indicators of these types, each known to this case.
    Indicators {
        /// Types that the tool can look up.
        types: Vec<IndicatorKind>,
        /// Maximum number of indicators.
        max: usize,
    },
    /// One of these words.
    Enum {
        /// Allowed words.
        values: Vec<String>,
    },
    /// A time in RFC 3339; it is clamped to the tool's range.
    Time,
    /// A whole number.
    Number {
        /// Minimum value.
        min: i64,
        /// Maximum value.
        max: i64,
    },
    /// Free text, only for tools of internal reach.
    Text {
        /// Maximum length in characters.
        max_chars: usize,
    },
}

/// One argument of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// Name of the argument.
    pub name: String,
    /// Meaning of the argument, for the analyst.
    pub description: String,
    /// Kind of value that the argument takes.
    pub kind: ArgumentKind,
    /// True if a call without it is refused.
    pub required: bool,
}

/// A tool as the analyst sees it and as the engine checks its calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name of the tool, unique in a profile.
    pub name: String,
    /// Kind of the adapter, such as `asset_lookup` or `log_search.cloudtrail`. Playbooks ask for kinds.
    pub kind: String,
    /// Purpose of the tool and when to use it.
    pub description: String,
    /// Arguments of the tool.
    pub arguments: Vec<Argument>,
    /// Reach of its calls.
    pub reach: Reach,
    /// Trusted paths of the output; all other paths are external.
    pub trust: Vec<TrustedPath>,
    /// Name or kind of a tool that must have answered in the case before this one may be called, so that a query is
    /// written over a known schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
    /// Families of questions that the tool answers beside its kind, such as `intel.ip`. Playbooks may ask for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub families: Vec<String>,
}

impl ToolSpec {
    /// Returns whether `wanted` names this tool: by its name, its kind, or a family of kinds.
    #[must_use]
    pub fn matches_request(&self, wanted: &str) -> bool {
        let is_wanted = |kind: &String| {
            kind.strip_prefix(wanted)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.name == wanted || is_wanted(&self.kind) || self.families.iter().any(is_wanted)
    }

    /// Returns the trust of the value at this JSON pointer.
    #[must_use]
    pub fn trust_of(&self, path: &str) -> Trust {
        self.trust
            .iter()
            .filter(|trusted| is_path_prefix(&trusted.path, path))
            .max_by_key(|trusted| trusted.path.len())
            .map_or(Trust::External, |trusted| trusted.trust)
    }
}

fn is_path_prefix(prefix: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    prefix.split('/').all(|want| {
        segments
            .next()
            .is_some_and(|got| want == "*" || want == got)
    })
}

/// A call that an analyst requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Name of the tool.
    pub tool: String,
    /// Arguments of the call.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

impl ToolCall {
    /// Creates a call with these arguments.
    #[must_use]
    pub fn new(tool: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self {
            tool: tool.into(),
            arguments,
        }
    }

    /// Returns a text that is the same for equal calls with any order of their arguments.
    #[must_use]
    pub fn identity(&self) -> String {
        let sorted: std::collections::BTreeMap<_, _> = self.arguments.iter().collect();
        let arguments = serde_json::to_string(&sorted).unwrap_or_default();
        format!("{}({arguments})", self.tool)
    }
}

/// Output of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// Answer: bounded, redacted, without hidden characters.
    pub body: Value,
    /// Number of rows, for tools that return rows; an explicit 0 is an answer.
    #[serde(default)]
    pub rows: Option<u64>,
    /// True if the answer was cut for its size.
    #[serde(default)]
    pub truncated: bool,
    /// Indicators that a parser took from the answer. They may be looked up from now on.
    #[serde(default)]
    pub indicators: Vec<Indicator>,
    /// Facts of a register that may clear the alert; the engine checks each.
    #[serde(default)]
    pub exonerations: Vec<Exoneration>,
    /// Marks for what was cut, redacted or suspicious in the answer.
    #[serde(default)]
    pub flags: Vec<ContentFlag>,
}

impl ToolOutput {
    /// Creates an output without rows, indicators or exonerations.
    #[must_use]
    pub const fn from_body(body: Value) -> Self {
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

/// Reason why a tool returned nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum ToolError {
    /// The profile has no tool of this name.
    #[error("there is no tool {name:?} here")]
    Unknown {
        /// Requested name.
        name: String,
    },
    /// An argument does not fit.
    #[error("argument {argument:?}: {problem}")]
    Argument {
        /// Name of the argument.
        argument: String,
        /// The problem, and what would fit.
        problem: String,
    },
    /// The tool may not be called yet, or not for this.
    #[error("not now: {what}")]
    NotAllowed {
        /// The step that must come first, or the reason.
        what: String,
    },
    /// The tool did not answer in time.
    #[error("no answer within {secs} s")]
    Timeout {
        /// Limit in seconds.
        secs: u64,
    },
    /// Access was denied.
    #[error("access denied: {what}")]
    Denied {
        /// The name of what was refused.
        what: String,
    },
    /// The source cannot be read.
    #[error("{what}")]
    Unavailable {
        /// Description of the problem.
        what: String,
    },
}

/// The facts about the calling case that a tool may use.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Id of the case, so that a look-up of earlier cases leaves it out.
    pub case_id: String,
    /// Alert of the case.
    pub alert: std::sync::Arc<nightshift_alert::Alert>,
    /// Current time of the driver's clock.
    pub now: DateTime<Utc>,
}
