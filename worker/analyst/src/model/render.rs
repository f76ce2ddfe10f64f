//! Renders the blocks of prompts: the alert's facts, its raw finding, the plan, and results of calls.
//!
//! All JSON is built by serde. All external text, including a model's own sentences, is inside a data block. The same
//! case gives the same bytes, so that its requests share their prefix.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use memchr::memmem;
use nightshift_alert::{
    Alert, ContentFlag, EventTimes, IndicatorRole, Outcome, Principal, Resource, Technique,
};
use nightshift_engine::evidence::EvidenceId;
use nightshift_engine::evidence_read;
use nightshift_engine::plan::Step;
use nightshift_engine::question::{CallView, RemainingBudget};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::excerpt::{
    ExcerptRange, MAX_FIELD_BYTES, answer_tokens, bounded_text, compact, excerpt,
};
use super::fence::Fence;
use super::tokens::fair_share;
use super::tools::ToolNames;

/// Fields of raw findings (lower case) that say nothing about the event: links, advice of the vendor, the vendor's
/// own names for the finding. `evidence_read` shows them.
const OMITTED_FIELDS: &[&str] = &[
    "nextsteps",
    "externaluri",
    "contexturis",
    "canonicalname",
    "moduleproperties",
    "notificationconfigname",
    "compliances",
    "contacts",
    "mute",
    "muteupdatetime",
    "parent",
    "parentname",
    "schemaversion",
    "partition",
    "remediation",
    "productfields",
];

/// Size in bytes from which a text is shown only once.
const MIN_REPEATED_BYTES: usize = 40;

/// The alert in typed fields. Its keys and values are those of `E0`, so that quotes from it resolve.
#[derive(Serialize)]
struct AlertFacts<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    title: Option<&'a str>,
    severity: &'a str,
    severity_sent: Option<&'a str>,
    feed: &'a str,
    provider: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<&'a str>,
    class: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    times: EventTimes,
    count: u64,
    resources: &'a [Resource],
    indicators: BTreeMap<&'static str, BTreeMap<&'static str, Vec<&'a str>>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    details: BTreeMap<&'static str, Vec<&'a str>>,
    #[serde(skip_serializing_if = "<[Technique]>::is_empty")]
    techniques: &'a [Technique],
    #[serde(skip_serializing_if = "<[Principal]>::is_empty")]
    principals: &'a [Principal],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// Returns the typed facts of an alert, each once.
pub(super) fn render_alert(alert: &Alert) -> String {
    let mut indicators: BTreeMap<_, BTreeMap<_, Vec<&str>>> = BTreeMap::new();
    for role in [
        IndicatorRole::Actor,
        IndicatorRole::Target,
        IndicatorRole::Remote,
        IndicatorRole::Related,
    ] {
        for indicator in alert.with_role(role) {
            indicators
                .entry(role.as_str())
                .or_default()
                .entry(indicator.kind.as_str())
                .or_default()
                .push(&indicator.value);
        }
    }
    let facts = AlertFacts {
        kind: &alert.kind,
        title: Some(alert.title.as_str()).filter(|title| *title != alert.kind),
        severity: alert.severity.as_str(),
        severity_sent: Some(alert.severity_sent.as_str())
            .filter(|sent| !sent.eq_ignore_ascii_case(alert.severity.as_str())),
        feed: &alert.feed,
        provider: alert.provider.as_str(),
        account: alert.account.as_deref(),
        account_name: alert
            .account_name
            .as_deref()
            .filter(|name| Some(*name) != alert.account.as_deref()),
        region: alert.region.as_deref(),
        class: alert.class.as_str(),
        action: alert.action.as_deref(),
        outcome: alert.outcome.map(Outcome::as_str),
        times: alert.times,
        count: alert.count,
        resources: &alert.resources,
        indicators,
        details: details(alert),
        techniques: &alert.techniques,
        principals: &alert.principals,
        warnings: alert.flags.iter().filter_map(warning).collect(),
    };
    let mut value = serde_json::to_value(facts).unwrap_or_default();
    drop_nulls(&mut value);
    compact(&value)
}

/// Returns the details by kind, each value once, without values that are indicators.
fn details(alert: &Alert) -> BTreeMap<&'static str, Vec<&str>> {
    let mut by_kind: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    let is_indicator = |value: &str| alert.indicators.iter().any(|one| one.value == value);
    for detail in alert.details.iter().filter(|one| !is_indicator(&one.value)) {
        let values = by_kind.entry(detail.kind.as_str()).or_default();
        if !values.contains(&detail.value.as_str()) {
            values.push(&detail.value);
        }
    }
    by_kind
}

fn warning(flag: &ContentFlag) -> Option<String> {
    match flag {
        ContentFlag::Instructions { path } => Some(format!("text at {path} talks to the analyst")),
        ContentFlag::HiddenText { count } => {
            Some(format!("{count} hidden characters were taken out"))
        }
        ContentFlag::Truncated { path } => Some(format!("cut at {path}")),
        ContentFlag::Redacted { count } => Some(format!("{count} secrets were taken out")),
        ContentFlag::UnknownSeverity { value } => Some(format!(
            "the severity {value:?} is on no known scale; what it counts as is a guess"
        )),
        ContentFlag::Replaced { .. } | ContentFlag::DuplicateKey { .. } => None,
    }
}

fn drop_nulls(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|_, inner| !inner.is_null());
        map.values_mut().for_each(drop_nulls);
    } else if let Value::Array(list) = value {
        list.iter_mut().for_each(drop_nulls);
    }
}

/// Returns the finding as it was sent, without fields that say nothing about the event and without long texts that
/// are shown above.
pub(super) fn render_raw(alert: &Alert, facts: &str, most_tokens: u64) -> String {
    let sent = alert.raw.value();
    let brief = ShownTexts::new(facts).trim(&sent);
    let description = alert.description.as_str();
    let adds = !description.is_empty() && {
        let finder = memmem::Finder::new(description);
        finder.find(facts.as_bytes()).is_none() && !holds(&sent, &finder)
    };
    let text = if adds {
        let description = bounded_text(description);
        serde_json::to_string(&RawFinding {
            description,
            raw: brief,
        })
    } else {
        serde_json::to_string(&brief)
    };
    let text = text.unwrap_or_default();
    let end = super::tokens::head_length(&text, most_tokens);
    if end == text.len() {
        return text;
    }
    let shown = text.get(..end).unwrap_or_default();
    format!("{shown}\n[cut: more with evidence_read {{\"id\": \"E0\", \"filter\": …}}]")
}

/// The shown part of a value, borrowed from the alert.
enum TrimmedJson<'a> {
    Text(Cow<'a, str>),
    Scalar(&'a Value),
    List(Vec<Self>),
    Map(Vec<(&'a str, Self)>),
}

impl Serialize for TrimmedJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Scalar(value) => value.serialize(serializer),
            Self::List(list) => serializer.collect_seq(list),
            Self::Map(map) => serializer.collect_map(map.iter().map(|(key, value)| (key, value))),
        }
    }
}

#[derive(Serialize)]
struct RawFinding<'a> {
    description: Cow<'a, str>,
    raw: Option<TrimmedJson<'a>>,
}

/// Texts that a prompt already shows.
struct ShownTexts<'a> {
    facts: &'a str,
    /// Hashes of the four-byte runs in the facts. They rule out most texts at once.
    runs: Vec<bool>,
    seen: HashSet<&'a str>,
}

/// Number of possible hashes of a four-byte run.
const RUN_HASHES: usize = 1 << HASH_BITS;
const HASH_BITS: u32 = 13;
/// Maximum number of runs of a text that are checked.
const MAX_CHECKED_RUNS: usize = 24;

impl<'a> ShownTexts<'a> {
    fn new(facts: &'a str) -> Self {
        let mut runs = vec![false; RUN_HASHES];
        for run in facts.as_bytes().windows(4) {
            if let Some(place) = runs.get_mut(hash(run)) {
                *place = true;
            }
        }
        Self {
            facts,
            runs,
            seen: HashSet::new(),
        }
    }

    fn trim(&mut self, value: &'a Value) -> Option<TrimmedJson<'a>> {
        match value {
            Value::Null => None,
            Value::String(text) if text.is_empty() => None,
            Value::Object(map) => {
                let kept: Vec<_> = map
                    .iter()
                    .filter(|(key, _)| key.len() <= MAX_FIELD_BYTES && !is_left_out(key))
                    .filter_map(|(key, inner)| match inner {
                        Value::String(text) if self.is_repeated(text) => None,
                        inner => Some((key.as_str(), self.trim(inner)?)),
                    })
                    .collect();
                (!kept.is_empty()).then_some(TrimmedJson::Map(kept))
            }
            Value::Array(list) => {
                let kept: Vec<_> = list.iter().filter_map(|inner| self.trim(inner)).collect();
                (!kept.is_empty()).then_some(TrimmedJson::List(kept))
            }
            Value::String(text) => Some(TrimmedJson::Text(bounded_text(text))),
            scalar => Some(TrimmedJson::Scalar(scalar)),
        }
    }

    fn is_repeated(&mut self, text: &'a str) -> bool {
        text.len() >= MIN_REPEATED_BYTES && (self.is_in_facts(text) || !self.seen.insert(text))
    }

    fn is_in_facts(&self, text: &str) -> bool {
        let mut runs = text.as_bytes().windows(4).take(MAX_CHECKED_RUNS);
        runs.all(|run| self.runs.get(hash(run)) == Some(&true))
            && memmem::find(self.facts.as_bytes(), text.as_bytes()).is_some()
    }
}

/// Hashes a four-byte run by multiplication.
fn hash(run: &[u8]) -> usize {
    let word = run
        .iter()
        .fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
    (word.wrapping_mul(0x9E37_79B1) >> (u32::BITS - HASH_BITS)) as usize
}

fn is_left_out(key: &str) -> bool {
    OMITTED_FIELDS
        .iter()
        .any(|one| key.eq_ignore_ascii_case(one))
}

fn holds(value: &Value, wanted: &memmem::Finder<'_>) -> bool {
    match value {
        Value::String(text) => wanted.find(text.as_bytes()).is_some(),
        Value::Array(list) => list.iter().any(|inner| holds(inner, wanted)),
        Value::Object(map) => map.values().any(|inner| holds(inner, wanted)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Writes values, one per line.
pub(super) fn json_lines(values: impl IntoIterator<Item = Value>) -> String {
    let lines: Vec<String> = values.into_iter().map(|value| compact(&value)).collect();
    lines.join("\n")
}

/// Returns a step as plans show it, with its status.
pub(super) fn step_fields(step: &Step, status: &str) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("id".to_owned(), json!(step.id));
    map.insert("status".to_owned(), json!(status));
    map.insert("description".to_owned(), json!(step.description));
    if !step.depends_on.is_empty() {
        map.insert("depends_on".to_owned(), json!(step.depends_on));
    }
    map
}

/// Several calls with their results, limited to `budget` tokens together and `most` tokens each.
pub(super) struct ResultRenderer {
    most: u64,
    seen: BTreeSet<EvidenceId>,
}

impl ResultRenderer {
    pub(super) fn with_budget<'a>(
        calls: impl Iterator<Item = &'a CallView>,
        most: u64,
        budget: u64,
    ) -> Self {
        let mut known = BTreeSet::new();
        let sizes: Vec<u64> = calls
            .filter_map(|view| view.evidence.as_ref())
            .filter(|evidence| known.insert(evidence.id))
            .map(|evidence| answer_tokens(evidence).min(most))
            .collect();
        Self {
            most: most.min(fair_share(&sizes, budget)),
            seen: BTreeSet::new(),
        }
    }

    /// Returns a call and its result, one per line. The same evidence is shown once.
    pub(super) fn render_call(&mut self, view: &CallView, names: &ToolNames) -> String {
        let mut head = Map::new();
        head.insert("tool".to_owned(), json!(names.model_name(&view.call.tool)));
        head.insert("arguments".to_owned(), json!(view.call.arguments));
        let mut body = None;
        if let Some(refused) = &view.refused {
            head.insert("refused".to_owned(), json!(refused.to_string()));
        } else if let Some(evidence) = &view.evidence {
            head.insert("evidence".to_owned(), json!(evidence.id));
            let look = excerpt_range(view);
            if let Some(error) = &evidence.error {
                head.insert("error".to_owned(), json!(error.to_string()));
            } else if self.seen.insert(evidence.id) || look.is_follow_up() {
                head.insert("rows".to_owned(), json!(evidence.rows));
                body = Some(excerpt(evidence, look, self.most));
            } else {
                head.insert("note".to_owned(), json!("shown above"));
            }
        } else {
            head.insert("note".to_owned(), json!("no answer"));
        }
        head.retain(|_, value| !value.is_null());
        let head = compact(&Value::Object(head));
        match body {
            Some(body) => format!("{head}\n{body}"),
            None => head,
        }
    }
}

/// Returns the part of the evidence that a call requests.
fn excerpt_range(view: &CallView) -> ExcerptRange<'_> {
    if view.call.tool == evidence_read::TOOL_NAME {
        ExcerptRange::from_arguments(&view.call.arguments)
    } else {
        ExcerptRange::default()
    }
}

/// Returns the result of one call, for the conversation that made it, and whether the call failed.
pub(super) fn render_result(view: &CallView, fence: &Fence, most: u64) -> (String, bool) {
    if let Some(refused) = &view.refused {
        return (fence.block("refused", &refused.to_string()), true);
    }
    let Some(evidence) = &view.evidence else {
        return ("No answer came.\n".to_owned(), true);
    };
    let id = evidence.id.to_string();
    if let Some(error) = &evidence.error {
        return (fence.block(&id, &format!("no answer: {error}")), true);
    }
    let text = excerpt(evidence, excerpt_range(view), most);
    let mut block = fence.block(&id, &text);
    if evidence.rows == Some(0) {
        block.push_str("0 rows: looked for and not found there.\n");
    }
    (block, false)
}

/// Describes the rest of the caps.
pub(super) fn describe_budget(left: &RemainingBudget) -> String {
    format!(
        "{} model calls, {} tokens, {:.2} USD, {} steps",
        left.calls, left.tokens, left.usd, left.steps
    )
}
