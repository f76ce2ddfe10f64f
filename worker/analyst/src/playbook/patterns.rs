//! Evaluates the patterns, which decide which techniques of attackers the typed fields of an alert show.
//!
//! The patterns are in `worker/analyst/patterns/*.toml`, each with its source. They read fields about the activity (a
//! command line, a parent process, a permission, a number of requests), never a title or a type. They are only evidence
//! of malice: no pattern clears an alert.

mod alert_fields;
mod condition;
mod countries;
mod files;
mod fragments;
mod normalise;
mod reader_programs;

use std::sync::LazyLock;

use nightshift_alert::Alert;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use alert_fields::{AlertField, AlertFields};
use condition::Condition;
use files::FILES;

/// Maximum number of values that one pattern lists.
const MAX_LISTED_VALUES: usize = 6;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PatternFile {
    /// [`fragments`] reads them.
    #[serde(default, rename = "fragments")]
    _fragments: IgnoredAny,
    #[serde(default)]
    pub(super) pattern: Vec<TechniquePattern>,
}

/// The strength of a pattern by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PatternStrength {
    /// The field shows an act of an attacker.
    Strong,
    /// Attackers use the technique, and other people rarely do.
    Weak,
    /// Administrators use the technique every day, and attackers do too. The report names it, but it gives no leaning
    /// by itself.
    Hint,
}

/// A technique, and the fields that show it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TechniquePattern {
    /// The id, unique among all patterns.
    pub(super) id: String,
    /// The technique of ATT&CK: `T1003.001 LSASS Memory`.
    pub(super) technique: String,
    pub(super) strength: PatternStrength,
    /// True if the pattern also sees what programs only read: the arguments of `grep`, editors and browsers.
    #[serde(default)]
    readers: bool,
    /// The statement about the fields, as the start of a sentence that the value continues.
    pub(super) says: String,
    /// The record or log that decides when the pattern alone does not.
    pub(super) decides: String,
    /// The source of the pattern.
    pub(super) source: String,
    /// Ids of the action catalogue, the most urgent first.
    pub(super) actions: Vec<String>,
    /// Conditions that must all hold.
    when: Vec<Condition>,
    /// Conditions of which none may hold.
    #[serde(default)]
    unless: Vec<Condition>,
    /// Groups of conditions. The pattern does not match when all conditions of one group hold, because they show
    /// together that the act is harmless.
    #[serde(default)]
    unless_all: Vec<Vec<Condition>>,
}

/// A pattern that an alert matches, as playbooks see it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct MatchedPattern {
    pub(super) id: &'static str,
    pub(super) technique: &'static str,
    pub(super) strong: bool,
    pub(super) hint: bool,
    pub(super) says: &'static str,
    pub(super) decides: &'static str,
    pub(super) source: &'static str,
    pub(super) actions: &'static [String],
    /// The value or values that show the technique.
    pub(super) value: String,
    /// The places of all these values, `E0:/details/3/value`.
    pub(super) places: Vec<String>,
}

static PATTERNS: LazyLock<Vec<TechniquePattern>> = LazyLock::new(|| {
    let files: Vec<PatternFile> = FILES
        .into_iter()
        .filter_map(|(_, text)| toml::from_str(text).ok())
        .collect();
    let mut patterns: Vec<TechniquePattern> =
        files.into_iter().flat_map(|file| file.pattern).collect();
    for pattern in &mut patterns {
        let groups = pattern.unless_all.iter_mut().flatten();
        for condition in pattern
            .when
            .iter_mut()
            .chain(&mut pattern.unless)
            .chain(groups)
        {
            condition.expand_fragments();
        }
    }
    patterns
});

pub(super) fn all_patterns() -> &'static [TechniquePattern] {
    &PATTERNS
}

/// Returns the patterns that the alert matches, strong ones first and hints last.
pub(super) fn matched(alert: &Alert) -> Vec<MatchedPattern> {
    let values = AlertFields::from_alert(alert);
    let mut matched: Vec<MatchedPattern> = all_patterns()
        .iter()
        .filter_map(|pattern| pattern.match_values(&values))
        .collect();
    matched.sort_by_key(|one| (!one.strong, one.hint));
    matched
}

impl TechniquePattern {
    fn match_values(&'static self, values: &AlertFields) -> Option<MatchedPattern> {
        let mut found: Vec<&AlertField> = Vec::new();
        for condition in &self.when {
            let met = condition.matching_fields(values, self.readers);
            if met.is_empty() {
                return None;
            }
            for field in met {
                if found.iter().all(|known| known.at != field.at) {
                    found.push(field);
                }
            }
        }
        let holds = |one: &Condition| !one.matching_fields(values, true).is_empty();
        let is_harmless = |group: &Vec<Condition>| group.iter().all(holds);
        if self.unless.iter().any(holds) || self.unless_all.iter().any(is_harmless) {
            return None;
        }
        Some(MatchedPattern {
            id: &self.id,
            technique: &self.technique,
            strong: self.strength == PatternStrength::Strong,
            hint: self.strength == PatternStrength::Hint,
            says: &self.says,
            decides: &self.decides,
            source: &self.source,
            actions: &self.actions,
            value: list_values(&found),
            places: found.into_iter().map(|field| field.at.clone()).collect(),
        })
    }

    /// Returns the expressions and field names of its conditions that are wrong.
    #[cfg(test)]
    pub(super) fn invalid_expressions(&self) -> Vec<String> {
        let groups = self.unless_all.iter().flatten();
        let all = self.when.iter().chain(&self.unless).chain(groups);
        all.flat_map(Condition::invalid_expressions).collect()
    }
}

/// Returns one value unchanged, and several values each with its label.
fn list_values(found: &[&AlertField]) -> String {
    if let [one] = found {
        return one.original.clone();
    }
    let mut list = String::new();
    let mut before = String::new();
    for field in found.iter().take(MAX_LISTED_VALUES) {
        if !list.is_empty() {
            list.push_str(", ");
        }
        let label = field.label();
        if label != before {
            list.push_str(&label);
            list.push(' ');
        }
        list.push_str(&field.original);
        before = label;
    }
    match found.len().saturating_sub(MAX_LISTED_VALUES) {
        0 => list,
        more => format!("{list} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
