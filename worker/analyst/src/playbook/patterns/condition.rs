//! Evaluates conditions of a pattern: a text in a field, a threshold of a number, a count of distinct values.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::alert_fields::{AlertField, AlertFields};
use super::fragments;

/// Maximum memory of one compiled expression.
const MAX_REGEX_BYTES: usize = 1 << 22;

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum FieldNames {
    One(String),
    Several(Vec<String>),
}

impl FieldNames {
    fn as_slice(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

/// The condition that the fields in `in` must meet.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Condition {
    /// Names of fields (as `values` of the pattern reads them).
    #[serde(rename = "in")]
    fields: FieldNames,
    /// Regular expressions. A value must match one of them.
    #[serde(default)]
    any: Vec<String>,
    /// Regular expressions that the same value must not match.
    #[serde(default)]
    none: Vec<String>,
    /// Lower bound of the largest number among the values.
    #[serde(default)]
    at_least: Option<f64>,
    /// Upper bound of the largest number among the values.
    #[serde(default)]
    at_most: Option<f64>,
    /// Minimum number of distinct values that match.
    #[serde(default)]
    distinct: Option<usize>,
    /// Maximum number of distinct values that match.
    #[serde(default)]
    distinct_at_most: Option<usize>,
    #[serde(skip)]
    compiled: OnceLock<CompiledCondition>,
}

#[derive(Debug)]
struct CompiledCondition {
    any: Option<Regex>,
    none: Option<Regex>,
}

impl Condition {
    /// Expands the named fragments in the expressions.
    pub(super) fn expand_fragments(&mut self) {
        for text in self.any.iter_mut().chain(&mut self.none) {
            *text = fragments::expand(text);
        }
    }

    /// Returns the values that meet the condition, or none when the condition does not hold. With `readers`, the
    /// arguments that programs only read count too.
    pub(super) fn matching_fields<'a>(
        &'a self,
        values: &'a AlertFields,
        readers: bool,
    ) -> Vec<&'a AlertField> {
        let mut matching = values
            .of_names(self.fields.as_slice())
            .filter(|field| self.matches(field, readers));
        if self.at_least.is_some() || self.at_most.is_some() {
            let greatest = matching
                .filter_map(|field| Some((field.number?, field)))
                .max_by(|(a, _), (b, _)| a.total_cmp(b));
            let is_reached = |number: f64| {
                self.at_least.is_none_or(|least| number >= least)
                    && self.at_most.is_none_or(|most| number <= most)
            };
            let reached = greatest.filter(|(number, _)| is_reached(*number));
            return reached.into_iter().map(|(_, field)| field).collect();
        }
        if self.distinct.is_none() && self.distinct_at_most.is_none() {
            return matching.next().into_iter().collect();
        }
        let different: BTreeMap<&str, &AlertField> =
            matching.map(|field| (field.first_text(), field)).collect();
        let is_enough = self.distinct.is_none_or(|least| different.len() >= least);
        let is_few = self
            .distinct_at_most
            .is_none_or(|most| different.len() <= most);
        if !is_enough || !is_few {
            return Vec::new();
        }
        different.into_values().collect()
    }

    fn matches(&self, field: &AlertField, readers: bool) -> bool {
        let compiled = self.compiled.get_or_init(|| self.compile());
        let texts = field.texts(readers);
        let holds = |regex: &Regex| texts.iter().any(|text| regex.is_match(text));
        // An expression that does not compile matches nothing. A test ensures that all compile.
        (self.any.is_empty() || compiled.any.as_ref().is_some_and(holds))
            && !compiled.none.as_ref().is_some_and(holds)
    }

    fn compile(&self) -> CompiledCondition {
        CompiledCondition {
            any: any_of(&self.any),
            none: any_of(&self.none),
        }
    }

    #[cfg(test)]
    pub(super) fn invalid_expressions(&self) -> Vec<String> {
        let mut faults: Vec<String> = [&self.any, &self.none]
            .into_iter()
            .flatten()
            .filter(|text| any_of(std::slice::from_ref(text)).is_none() || names_fragment(text))
            .cloned()
            .collect();
        let names = self.fields.as_slice().iter();
        faults.extend(names.filter(|name| !AlertFields::knows(name)).cloned());
        faults
    }
}

/// Returns whether the text names a fragment that no file defines.
#[cfg(test)]
fn names_fragment(text: &str) -> bool {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let mut rests = text.split('<').skip(1);
    rests.any(|rest| rest.split_once('>').is_some_and(|(name, _)| is_name(name)))
}

fn any_of(expressions: &[String]) -> Option<Regex> {
    if expressions.is_empty() {
        return None;
    }
    let all: Vec<String> = expressions
        .iter()
        .map(|expression| format!("(?:{expression})"))
        .collect();
    RegexBuilder::new(&all.join("|"))
        .size_limit(MAX_REGEX_BYTES)
        .build()
        .ok()
}
