//! Defines the file of a declared tool.
//!
//! Texts that are expressions, JSON pointers or templates keep their position in the file, for errors.

use std::collections::BTreeMap;

use nightshift_alert::IndicatorKind;
use nightshift_engine::tool::{Reach, Trust};
use serde::Deserialize;
use toml::Spanned;

/// The name of the secret that `api_key` of a `[[tool]]` table gives.
pub(crate) const API_KEY: &str = "api_key";

/// The argument that a file without `[[argument]]` has.
pub(super) const INDICATOR: &str = "indicator";

/// A text with its position in the file.
pub(super) type SpannedText = Spanned<String>;

/// The file of one declared tool.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub(super) name: SpannedText,
    /// Name of the service for people.
    pub title: String,
    /// Purpose of the tool and when to use it, for the analyst.
    pub description: String,
    /// Page of the vendor that documents the request.
    #[serde(default)]
    pub(super) page: Option<SpannedText>,
    /// Date on which the file was compared with that page.
    #[serde(default)]
    pub(super) checked: Option<SpannedText>,
    /// Terms of use and costs that whoever configures the tool must know.
    #[serde(default)]
    pub terms: Option<String>,
    pub(super) host: SpannedText,
    #[serde(default = "third_party")]
    pub(super) reach: Reach,
    /// Trust of paths of the answer. All other paths are external.
    #[serde(default)]
    pub(super) trust: BTreeMap<String, Trust>,
    #[serde(default)]
    pub(super) auth: Option<Spanned<AuthTable>>,
    #[serde(default, rename = "argument")]
    pub(super) arguments: Vec<ArgumentTable>,
    #[serde(rename = "request")]
    pub(super) requests: Vec<Spanned<RequestTable>>,
    #[serde(default)]
    pub(super) answer: AnswerTable,
    #[serde(default, rename = "outcome")]
    pub(super) outcomes: Vec<Spanned<OutcomeTable>>,
    #[serde(default)]
    pub(super) limits: Option<Spanned<LimitsTable>>,
}

const fn third_party() -> Reach {
    Reach::ThirdParty
}

impl Manifest {
    /// Returns the name, which is the `kind` of a `[[tool]]` table.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.get_ref()
    }

    /// Returns the host that is asked.
    #[must_use]
    pub fn host(&self) -> &str {
        self.host.get_ref()
    }

    /// Returns the page of the vendor that documents the request.
    #[must_use]
    pub fn page(&self) -> Option<&str> {
        self.page.as_ref().map(|page| page.get_ref().as_str())
    }

    /// Returns the date on which the file was compared with that page.
    #[must_use]
    pub fn checked(&self) -> Option<&str> {
        self.checked.as_ref().map(|date| date.get_ref().as_str())
    }

    /// Returns the limits of the tool.
    #[must_use]
    pub fn limits(&self) -> LimitsTable {
        let limits = self.limits.as_ref();
        limits.map_or_else(LimitsTable::default, |limits| limits.get_ref().clone())
    }

    /// Returns whether calls leave the organisation.
    #[must_use]
    pub fn is_third_party(&self) -> bool {
        self.reach == Reach::ThirdParty
    }

    /// Returns the kind of authentication and the names of the secrets that it needs.
    #[must_use]
    pub fn secrets(&self) -> Vec<&str> {
        let auth = self.auth.iter().map(Spanned::get_ref);
        auth.flat_map(|auth| auth.user.as_deref().into_iter().chain([auth.secret()]))
            .collect()
    }

    /// Returns the families that the requests belong to, without duplicates.
    #[must_use]
    pub fn families(&self) -> Vec<String> {
        let mut families: Vec<String> = Vec::new();
        for request in &self.requests {
            let family = request.get_ref().family.iter();
            for family in family.filter(|one| !one.is_empty()) {
                if !families.contains(family) {
                    families.push(family.clone());
                }
            }
        }
        families
    }

    /// Returns the types of indicators that the requests take, without duplicates.
    #[must_use]
    pub fn types(&self) -> Vec<IndicatorKind> {
        let mut types = Vec::new();
        for request in &self.requests {
            for kind in &request.get_ref().types {
                if !types.contains(kind) {
                    types.push(*kind);
                }
            }
        }
        types
    }

    /// Returns the way in which the tool authenticates itself, for people.
    #[must_use]
    pub fn auth_text(&self) -> String {
        self.auth
            .as_ref()
            .map_or_else(|| "no key".to_owned(), |auth| auth.get_ref().describe())
    }
}

/// The way in which requests are authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AuthKind {
    /// A header holds the secret.
    Header,
    /// A parameter of the query holds the secret.
    Query,
    /// HTTP Basic, with the secrets `user` and `secret`.
    Basic,
    /// `Authorization: Bearer`.
    Bearer,
}

/// `[auth]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuthTable {
    pub(super) kind: AuthKind,
    /// Name of the header or of the parameter.
    #[serde(default)]
    pub(super) name: Option<String>,
    /// Name of the secret. The default is `api_key`.
    #[serde(default)]
    secret: Option<String>,
    /// Name of the secret that holds the user, for `basic`.
    #[serde(default)]
    pub(super) user: Option<String>,
}

impl AuthTable {
    /// Returns the name of the secret.
    pub(super) fn secret(&self) -> &str {
        self.secret.as_deref().unwrap_or(API_KEY)
    }

    fn describe(&self) -> String {
        let secret = self.secret();
        match (self.kind, self.name.as_deref()) {
            (AuthKind::Header, Some(name)) => format!("`{secret}` in the header `{name}`"),
            (AuthKind::Query, Some(name)) => format!("`{secret}` in the parameter `{name}`"),
            (AuthKind::Basic, _) => format!("HTTP Basic with `{secret}`"),
            (AuthKind::Bearer, _) => format!("`{secret}` as bearer token"),
            (AuthKind::Header | AuthKind::Query, None) => format!("`{secret}`"),
        }
    }
}

/// Kind of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ArgumentWord {
    Indicator,
    Enum,
    Time,
    Number,
    Text,
}

/// `[[argument]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArgumentTable {
    pub(super) name: SpannedText,
    pub(super) description: String,
    pub(super) kind: Spanned<ArgumentWord>,
    /// Types of an indicator.
    #[serde(default)]
    pub(super) types: Vec<IndicatorKind>,
    /// Words of an enumeration.
    #[serde(default)]
    pub(super) values: Vec<String>,
    #[serde(default)]
    pub(super) min: Option<i64>,
    #[serde(default)]
    pub(super) max: Option<i64>,
    #[serde(default)]
    pub(super) max_chars: Option<usize>,
    #[serde(default = "yes")]
    pub(super) required: bool,
}

const fn yes() -> bool {
    true
}

/// Method of a request. Look-ups only read: POST is for services that take questions so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum RequestMethod {
    #[default]
    Get,
    Post,
}

/// `[[request]]`: the first one that fits the argument is sent.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RequestTable {
    /// Types of the indicator for which this request is sent. Empty: for all.
    #[serde(default)]
    pub(super) types: Vec<IndicatorKind>,
    /// Condition on the arguments.
    #[serde(default)]
    pub(super) when: Option<SpannedText>,
    /// Family of questions that this request answers, such as `intel.ip`.
    #[serde(default)]
    pub(super) family: Option<String>,
    #[serde(default)]
    pub(super) method: RequestMethod,
    pub(super) path: SpannedText,
    #[serde(default)]
    pub(super) query: BTreeMap<String, SpannedText>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, SpannedText>,
    #[serde(default)]
    pub(super) form: BTreeMap<String, SpannedText>,
    #[serde(default)]
    pub(super) json: Option<toml::Table>,
    /// A template of the vendor's page about the indicator. Its parts are encoded as those of `path`.
    #[serde(default)]
    pub(super) link: Option<SpannedText>,
}

/// `[answer]`: each text is a JSON pointer into the answer, or an expression.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerTable {
    /// The rows, where the answer has some.
    #[serde(default)]
    pub(super) rows: Option<SpannedText>,
    /// True if the service knows the indicator. If it is left out, rows decide, or else that the answer is an object.
    #[serde(default)]
    pub(super) found: Option<SpannedText>,
    /// A number from 0 to 100; 100 is the worst.
    #[serde(default)]
    pub(super) score: Option<SpannedText>,
    /// `malicious`, `suspicious`, `harmless`, or nothing.
    #[serde(default)]
    pub(super) verdict_hint: Option<SpannedText>,
    #[serde(default)]
    pub(super) first_seen: Option<SpannedText>,
    #[serde(default)]
    pub(super) last_seen: Option<SpannedText>,
    #[serde(default)]
    pub(super) tags: Option<SpannedText>,
    /// A text that says what the answer lacks, or nothing.
    #[serde(default)]
    pub(super) gap: Option<SpannedText>,
    /// Further fields that are kept.
    #[serde(default)]
    pub(super) detail: BTreeMap<String, SpannedText>,
    /// Fields of a row that are kept, in expressions over `row`. Empty: whole rows.
    #[serde(default)]
    pub(super) row: BTreeMap<String, SpannedText>,
    /// Place where the service writes what went wrong.
    #[serde(default)]
    pub(super) message: Option<SpannedText>,
}

/// Meaning of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Meaning {
    /// `[answer]` reads it.
    Answer,
    /// The service does not know the indicator, which says nothing about it.
    Unknown,
    /// The key is missing, wrong or not allowed this.
    Denied,
    /// There were too many requests.
    RateLimited,
    /// The service does not take this value.
    Refused,
    /// The service is not working.
    Unavailable,
}

/// `[[outcome]]`: the first one that fits an answer says what it means.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutcomeTable {
    /// Statuses. Empty: all.
    #[serde(default)]
    pub(super) status: Vec<u16>,
    /// Condition on the answer.
    #[serde(default)]
    pub(super) when: Option<SpannedText>,
    #[serde(rename = "is")]
    pub(super) meaning: Meaning,
}

/// `[limits]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsTable {
    /// Requests per second.
    pub per_second: Option<u32>,
    /// Requests per minute.
    pub per_minute: Option<u32>,
    /// Requests per day.
    pub per_day: Option<u32>,
    /// Requests at the same time.
    pub concurrent: usize,
    /// Seconds that one call may take, with its second try.
    pub timeout_secs: u64,
    /// Most bytes of an answer that are read, after decompression.
    pub max_bytes: usize,
    /// Seconds for which an answer serves other cases, too.
    pub cache_secs: u32,
}

impl Default for LimitsTable {
    fn default() -> Self {
        Self {
            per_second: None,
            per_minute: None,
            per_day: None,
            concurrent: 4,
            timeout_secs: 20,
            max_bytes: 1024 * 1024,
            cache_secs: 3600,
        }
    }
}
