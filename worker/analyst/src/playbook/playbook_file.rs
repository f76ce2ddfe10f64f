//! Defines the format of a playbook file. Spans are kept, so that every problem can name its line and column.
//!
//! Only the form is defined here. The module `check` decides whether names exist and expressions are valid.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use nightshift_alert::feed::BUILT_IN;
use nightshift_alert::{Alert, DetailKind, IndicatorKind, Severity};
use nightshift_engine::catalogue::ActionTemplate;
use nightshift_engine::conclusion::{Leaning, Verdict, VerdictReason};
use nightshift_engine::exoneration::type_matches;
use nightshift_engine::finding::FindingStance;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::patterns::{self, MatchedPattern};

/// Maximum number of calls of one step.
pub(super) const MAX_CALLS: usize = 20;

/// A text with its place in the file.
pub(super) type SpannedText = Spanned<String>;

/// A playbook: what to do about one kind of alert.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Playbook {
    /// The name, unique in a set: lower-case letters, digits and dashes.
    pub name: String,
    /// The version, which the owner increases. Every report names it.
    pub version: u32,
    /// The purpose of the playbook, in a few words.
    pub title: String,
    /// The person or team that answers for the playbook and approves `benign_when` rules that name nobody else.
    #[serde(default)]
    pub owner: String,
    /// The meaning of this kind of finding, in one sentence.
    pub meaning: String,
    /// The alerts that the playbook is for.
    #[serde(rename = "match")]
    pub matches: PlaybookMatch,
    pub(super) objective: SpannedText,
    /// Named expressions that several rules use. Each may use those above it.
    #[serde(rename = "let", default)]
    pub(super) lets: BTreeMap<String, SpannedText>,
    #[serde(rename = "step", default)]
    pub(super) steps: Vec<StepForm>,
    #[serde(rename = "finding", default)]
    pub(super) findings: Vec<FindingForm>,
    #[serde(rename = "benign_when", default)]
    pub(super) benign: Vec<BenignForm>,
    #[serde(rename = "verdict", default)]
    pub(super) verdicts: Vec<Spanned<VerdictForm>>,
    #[serde(default)]
    pub(super) otherwise: Option<Spanned<VerdictForm>>,
    #[serde(rename = "action", default)]
    pub(super) actions: Vec<Spanned<ActionTemplate>>,
}

impl Playbook {
    /// Returns the ids of the steps, in order.
    #[must_use]
    pub fn step_names(&self) -> Vec<&str> {
        self.steps
            .iter()
            .map(|step| step.id.get_ref().as_str())
            .collect()
    }

    /// Returns the name of the source in plans of this playbook.
    #[must_use]
    pub fn source(&self) -> String {
        format!("playbook {} {}", self.name, self.version)
    }

    pub(super) fn step(&self, id: &str) -> Option<&StepForm> {
        self.steps.iter().find(|step| step.id.get_ref() == id)
    }

    /// Returns the named expressions, in the order of the file.
    pub(super) fn lets(&self) -> Vec<(&String, &SpannedText)> {
        let mut lets: Vec<_> = self.lets.iter().collect();
        lets.sort_by_key(|(_, text)| text.span().start);
        lets
    }

    /// Returns a playbook without steps or rules, for when the generic one is missing.
    pub(super) fn last_resort() -> Self {
        Self {
            name: "generic".to_owned(),
            version: 0,
            title: "Any alert".to_owned(),
            owner: String::new(),
            meaning: String::new(),
            matches: PlaybookMatch::default(),
            objective: Spanned::new(0..0, "Find out what happened".to_owned()),
            lets: BTreeMap::new(),
            steps: Vec::new(),
            findings: Vec::new(),
            benign: Vec::new(),
            verdicts: Vec::new(),
            otherwise: None,
            actions: Vec::new(),
        }
    }
}

/// The alerts that a playbook is for. An empty field matches everything. All given fields must match, except that one
/// of `types`, `titles`, `shows` and `operations` is enough.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaybookMatch {
    /// Names of feeds.
    #[serde(default)]
    pub feeds: Vec<Spanned<String>>,
    /// Globs over finding types. Case is ignored, and `*` also spans `/` and `:`.
    #[serde(default)]
    pub types: Vec<Spanned<String>>,
    /// Globs over titles, for feeds whose types say little.
    #[serde(default)]
    pub titles: Vec<Spanned<String>>,
    /// Globs over techniques that the alert's typed fields show (`T1003*`). They match alerts of any type and title.
    #[serde(default)]
    pub shows: Vec<Spanned<String>>,
    /// Globs over operations as the platform's API names them, without their service (`StopLogging`). All operations
    /// that the alert names must match one.
    #[serde(default)]
    pub operations: Vec<Spanned<String>>,
    /// Lowest severity as sent.
    #[serde(default)]
    pub severity_at_least: Option<Severity>,
    /// Classes (`threat`, `posture`, …), or the product's own names for them.
    #[serde(default)]
    pub class: Vec<Spanned<String>>,
}

/// The part of an alert that a playbook matched, from least to most specific.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchedBy {
    /// The playbook asks for no type, title, operation or class.
    Anything,
    Title,
    /// The class alone.
    Class,
    /// A technique that the alert's typed fields show.
    Shown,
    /// The finding type.
    Type,
    /// The name of the operation.
    Operation,
}

/// The result of matching a playbook with an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchFit<'a> {
    pub by: MatchedBy,
    /// The weight of the match.
    rank: u8,
    /// Number of literal characters of the glob, plus one when the playbook names the feed.
    pub spelled: usize,
    /// The glob with the most literal characters, or `None` when the playbook asks for a class or for nothing.
    pub glob: Option<&'a str>,
}

impl MatchFit<'_> {
    /// Returns whether this match is closer. Of two equal matches, neither is.
    pub(super) fn is_closer_than(&self, other: &Self) -> bool {
        (self.rank, self.spelled) > (other.rank, other.spelled)
    }

    /// Returns whether no technique that an alert shows can be a closer match.
    pub(super) fn outranks_techniques(&self, alert: &Alert) -> bool {
        self.rank > MatchedBy::Shown.rank(BUILT_IN.contains(&alert.feed.as_str()))
    }
}

impl PlaybookMatch {
    /// Returns how closely the playbook fits the alert, or `None` when it does not match. A title counts least,
    /// because it is free text of the feed. An operation counts most.
    #[must_use]
    pub fn best_fit(&self, alert: &Alert) -> Option<MatchFit<'_>> {
        self.best_fit_with(alert, Some(&OnceCell::new()))
    }

    /// Returns the same with patterns that several playbooks share, which the first one that needs them matches.
    /// Without them, techniques are ignored.
    pub(super) fn best_fit_with(
        &self,
        alert: &Alert,
        shown: Option<&OnceCell<Vec<MatchedPattern>>>,
    ) -> Option<MatchFit<'_>> {
        let same = |list: &[SpannedText], value: &str| {
            let mut all = list.iter().map(Spanned::get_ref);
            list.is_empty() || all.any(|one| one.eq_ignore_ascii_case(value))
        };
        if !same(&self.feeds, &alert.feed)
            || !(same(&self.class, alert.class.as_str())
                || same(&self.class, alert.class_sent.as_deref().unwrap_or_default()))
            || self
                .severity_at_least
                .is_some_and(|least| alert.severity < least)
        {
            return None;
        }
        let feed = usize::from(!self.feeds.is_empty());
        let is_built_in = BUILT_IN.contains(&alert.feed.as_str());
        if !self.has_name_globs() {
            let by = if self.class.is_empty() {
                MatchedBy::Anything
            } else {
                MatchedBy::Class
            };
            return Some(MatchFit {
                by,
                rank: by.rank(is_built_in),
                spelled: feed,
                glob: None,
            });
        }
        let fit = |by: MatchedBy, (spelled, glob)| MatchFit {
            by,
            rank: by.rank(is_built_in),
            spelled: feed + spelled,
            glob: Some(glob),
        };
        let best = |by, globs, value| closest_glob(globs, value).map(|found| fit(by, found));
        let by_operation = closest_glob_of_all(&self.operations, &operations(alert))
            .map(|found| fit(MatchedBy::Operation, found));
        let by_name = best(MatchedBy::Type, &self.types, &alert.kind)
            .or_else(|| best(MatchedBy::Title, &self.titles, &alert.title));
        let shown: &[MatchedPattern] = match shown {
            Some(shown) if !self.shows.is_empty() => shown.get_or_init(|| patterns::matched(alert)),
            _ => &[],
        };
        shown
            .iter()
            .filter_map(|one| best(MatchedBy::Shown, &self.shows, one.technique))
            .chain(by_operation)
            .chain(by_name)
            .reduce(|best, next| {
                if next.is_closer_than(&best) {
                    next
                } else {
                    best
                }
            })
    }

    /// Returns whether the match asks for more than a feed, a class and a severity.
    fn has_name_globs(&self) -> bool {
        [&self.types, &self.titles, &self.shows, &self.operations]
            .iter()
            .any(|globs| !globs.is_empty())
    }
}

impl MatchedBy {
    /// Returns how much the match counts. Types of built-in feeds are well known. In a configured feed, a type is the
    /// freely chosen name of a rule, so the evidence of the fields counts more.
    const fn rank(self, feed_is_built_in: bool) -> u8 {
        match (self, feed_is_built_in) {
            (Self::Anything, _) => 0,
            (Self::Title, _) => 1,
            (Self::Class, _) => 2,
            (Self::Shown, true) | (Self::Type, false) => 3,
            (Self::Shown, false) | (Self::Type, true) => 4,
            (Self::Operation, _) => 5,
        }
    }
}

/// Returns the operations that an alert names, without their services: `cloudtrail.amazonaws.com StopLogging` is
/// `StopLogging`.
fn operations(alert: &Alert) -> Vec<&str> {
    let mut named: Vec<&str> = alert.details_of(DetailKind::Operation).collect();
    if named.is_empty() {
        named.extend(alert.action.as_deref());
    }
    named
        .into_iter()
        .filter_map(|name| name.rsplit([' ', ':']).next())
        .collect()
}

/// Returns the closest match of any value, if every value has a match.
fn closest_glob_of_all<'a>(
    globs: &'a [Spanned<String>],
    values: &[&str],
) -> Option<(usize, &'a str)> {
    let found: Option<Vec<_>> = values
        .iter()
        .map(|value| closest_glob(globs, value))
        .collect();
    found?.into_iter().max_by_key(|(spelled, _)| *spelled)
}

/// Returns the matching glob with the most literal characters, the first of equal ones.
fn closest_glob<'a>(globs: &'a [Spanned<String>], value: &str) -> Option<(usize, &'a str)> {
    globs
        .iter()
        .map(|glob| glob.get_ref().as_str())
        .filter(|glob| type_matches(glob, value))
        .map(|glob| (glob.chars().filter(|c| *c != '*').count(), glob))
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepForm {
    pub(super) id: SpannedText,
    pub(super) description: SpannedText,
    #[serde(default)]
    pub(super) expected: String,
    #[serde(default)]
    pub(super) depends_on: Vec<SpannedText>,
    /// True if a benign verdict requires that this step does not fail.
    #[serde(default)]
    pub(super) key: bool,
    /// The condition under which a reflection adds the step.
    #[serde(default)]
    pub(super) when: Option<SpannedText>,
    /// The reason why a conditional step is added.
    #[serde(default)]
    pub(super) because: Option<SpannedText>,
    #[serde(rename = "call", default)]
    pub(super) calls: Vec<CallForm>,
    /// The expression that says whether the expected result was found. By default, any call with rows counts.
    #[serde(default)]
    pub(super) met: Option<SpannedText>,
    #[serde(default)]
    pub(super) summary: Option<SpannedText>,
}

impl StepForm {
    /// Returns the condition of the step, or `None` when it is always made.
    pub(super) fn condition(&self) -> Option<&str> {
        self.when.as_ref().map(|when| when.get_ref().as_str())
    }
}

/// A call, or one for each item of a list.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallForm {
    pub(super) tool: SpannedText,
    #[serde(default)]
    pub(super) when: Option<SpannedText>,
    #[serde(default)]
    pub(super) for_each: Option<SpannedText>,
    #[serde(default)]
    pub(super) arguments: BTreeMap<String, Spanned<ArgumentForm>>,
}

/// An argument: a template or a literal value.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum ArgumentForm {
    /// A template. An argument that renders to nothing is left out.
    Template(String),
    Number(i64),
    Flag(bool),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FindingForm {
    pub(super) id: SpannedText,
    #[serde(default)]
    pub(super) for_each: Option<SpannedText>,
    /// Maximum number of findings that the rule makes.
    #[serde(default = "most_findings")]
    pub(super) most: usize,
    #[serde(default)]
    pub(super) when: Option<SpannedText>,
    pub(super) claim: SpannedText,
    pub(super) cite: Vec<SpannedText>,
    #[serde(default)]
    pub(super) stance: FindingStance,
    #[serde(default)]
    pub(super) techniques: Vec<SpannedText>,
}

const fn most_findings() -> usize {
    4
}

/// A rule that clears the alert.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BenignForm {
    #[serde(default = "benign_kind")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) for_each: Option<SpannedText>,
    pub(super) when: SpannedText,
    pub(super) subject: SpannedText,
    pub(super) subject_type: IndicatorKind,
    #[serde(rename = "ref")]
    pub(super) reference: SpannedText,
    pub(super) statement: SpannedText,
    pub(super) covers: Vec<SpannedText>,
    #[serde(default)]
    pub(super) approved_by: Option<SpannedText>,
    #[serde(default)]
    pub(super) detection_wrong: bool,
}

fn benign_kind() -> String {
    "benign_when".to_owned()
}

/// Splits an action of a verdict into its id and its condition.
pub(super) fn action_parts(text: &str) -> (&str, Option<&str>) {
    match text.split_once(" if ") {
        Some((id, when)) => (id.trim(), Some(when)),
        None => (text.trim(), None),
    }
}

/// A verdict and its texts. `[otherwise]` has the same form without `when` and `verdict`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VerdictForm {
    #[serde(default)]
    pub(super) when: Option<SpannedText>,
    #[serde(default)]
    pub(super) verdict: Option<Verdict>,
    #[serde(default)]
    pub(super) reason: Option<VerdictReason>,
    /// The leaning of an inconclusive verdict: `malicious`, `benign` or `none`.
    #[serde(default)]
    pub(super) leaning: Option<Leaning>,
    /// The severity after triage.
    #[serde(default)]
    pub(super) severity: Option<Severity>,
    /// Lower bound of the severity after triage, which is otherwise as sent.
    #[serde(default)]
    pub(super) severity_at_least: Option<Severity>,
    /// Ids of the catalogue. `id if expression` advises an action only if the expression holds.
    #[serde(default)]
    pub(super) actions: Vec<SpannedText>,
    /// An expression that gives ids of the catalogue, advised before `actions`.
    #[serde(default)]
    pub(super) advises: Option<SpannedText>,
    /// A list of values of the alert that the actions are about.
    #[serde(default)]
    pub(super) about: Option<SpannedText>,
    #[serde(default)]
    pub(super) gaps: Vec<SpannedText>,
    #[serde(default)]
    pub(super) would_decide: Vec<SpannedText>,
    #[serde(default)]
    pub(super) techniques: Vec<SpannedText>,
}
