//! The shape of a playbook file. Spans are kept, so that every complaint can name its line and column.
//!
//! What stands here is form only: whether names exist and expressions hold together is decided in `check`.

use std::collections::BTreeMap;

use nightshift_alert::feed::BUILT_IN;
use nightshift_alert::{Alert, DetailKind, IndicatorKind, Severity};
use nightshift_engine::{ActionTemplate, Leaning, Reason, Stance, Verdict, type_matches};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::patterns;

/// Calls that one step makes at the most.
pub(super) const MAX_CALLS: usize = 20;

/// A text with its place in the file.
pub(super) type Text = Spanned<String>;

/// A playbook: what to do about one sort of alert.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Playbook {
    /// Its name, unique in a set: small letters, digits and dashes.
    pub name: String,
    /// Counted up by its owner; named in every report.
    pub version: u32,
    /// What it is for, in a few words.
    pub title: String,
    /// Who answers for it; approves its `benign_when` rules that name nobody else.
    #[serde(default)]
    pub owner: String,
    /// What this sort of finding means, in one sentence.
    pub meaning: String,
    /// Which alerts it is for.
    #[serde(rename = "match")]
    pub matches: Match,
    pub(super) objective: Text,
    /// Names for expressions that several rules use; each may use those above it.
    #[serde(rename = "let", default)]
    pub(super) lets: BTreeMap<String, Text>,
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
    /// The ids of its steps, in order.
    #[must_use]
    pub fn step_names(&self) -> Vec<&str> {
        self.steps
            .iter()
            .map(|step| step.id.get_ref().as_str())
            .collect()
    }

    /// What a plan of this playbook says it comes from.
    #[must_use]
    pub fn source(&self) -> String {
        format!("playbook {} {}", self.name, self.version)
    }

    pub(super) fn step(&self, id: &str) -> Option<&StepForm> {
        self.steps.iter().find(|step| step.id.get_ref() == id)
    }

    /// The named expressions, in the order of the file.
    pub(super) fn lets(&self) -> Vec<(&String, &Text)> {
        let mut lets: Vec<_> = self.lets.iter().collect();
        lets.sort_by_key(|(_, text)| text.span().start);
        lets
    }

    /// A playbook that does nothing and decides nothing: it stands where the generic one should be.
    pub(super) fn last_resort() -> Self {
        Self {
            name: "generic".to_owned(),
            version: 0,
            title: "Any alert".to_owned(),
            owner: String::new(),
            meaning: String::new(),
            matches: Match::default(),
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

/// Which alerts a playbook is for. What is empty matches everything; all that is given must match, one of `types`, `titles`,
/// `shows` and `operations`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Match {
    /// Names of feeds.
    #[serde(default)]
    pub feeds: Vec<Spanned<String>>,
    /// Globs over finding types; case does not matter, `*` also spans `/` and `:`.
    #[serde(default)]
    pub types: Vec<Spanned<String>>,
    /// Globs over titles, for feeds whose types say little.
    #[serde(default)]
    pub titles: Vec<Spanned<String>>,
    /// Globs over techniques that the alert's typed fields show (`T1003*`), whatever its type and title say.
    #[serde(default)]
    pub shows: Vec<Spanned<String>>,
    /// Globs over operations as the platform's API calls them, without their service (`StopLogging`). All operations that
    /// the alert names must match one.
    #[serde(default)]
    pub operations: Vec<Spanned<String>>,
    /// Least severity as sent.
    #[serde(default)]
    pub severity_at_least: Option<Severity>,
    /// Classes (`threat`, `posture`, …), or the product's own words for them.
    #[serde(default)]
    pub class: Vec<Spanned<String>>,
}

/// What of an alert a playbook matched, from least to most telling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchedBy {
    /// It asks for no type, title, operation or class.
    Anything,
    /// The title.
    Title,
    /// The class alone.
    Class,
    /// A technique that its typed fields show.
    Shown,
    /// The finding type.
    Type,
    /// What was done, by the name of the operation.
    Operation,
}

/// How a playbook matched an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit<'a> {
    /// By what.
    pub by: MatchedBy,
    /// How much that counts.
    rank: u8,
    /// How many characters of it the glob spells out, and one more where the feed is asked for by name.
    pub spelled: usize,
    /// The glob that spells out most; none where the playbook asks for a class or for nothing.
    pub glob: Option<&'a str>,
}

impl Fit<'_> {
    /// Whether this is the closer match; of two that are alike neither is.
    pub(super) fn is_closer_than(&self, other: &Self) -> bool {
        (self.rank, self.spelled) > (other.rank, other.spelled)
    }
}

impl Match {
    /// How closely it fits the alert; none where it does not match. A title, which is free text of the feed, counts least;
    /// what was done counts most.
    #[must_use]
    pub fn fits(&self, alert: &Alert) -> Option<Fit<'_>> {
        let same = |list: &[Text], value: &str| {
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
        if !self.asks_for_a_name() {
            let by = if self.class.is_empty() {
                MatchedBy::Anything
            } else {
                MatchedBy::Class
            };
            return Some(Fit {
                by,
                rank: by.rank(is_built_in),
                spelled: feed,
                glob: None,
            });
        }
        let fit = |by: MatchedBy, (spelled, glob)| Fit {
            by,
            rank: by.rank(is_built_in),
            spelled: feed + spelled,
            glob: Some(glob),
        };
        let best = |by, globs, value| closest(globs, value).map(|found| fit(by, found));
        let by_operation = closest_to_all(&self.operations, &operations(alert))
            .map(|found| fit(MatchedBy::Operation, found));
        let by_name = best(MatchedBy::Type, &self.types, &alert.kind)
            .or_else(|| best(MatchedBy::Title, &self.titles, &alert.title));
        let shown = match self.shows.is_empty() {
            true => Vec::new(),
            false => patterns::matched(alert),
        };
        shown
            .into_iter()
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

    /// Whether it asks for more than a feed, a class and a severity.
    fn asks_for_a_name(&self) -> bool {
        [&self.types, &self.titles, &self.shows, &self.operations]
            .iter()
            .any(|globs| !globs.is_empty())
    }
}

impl MatchedBy {
    /// How much it counts. The types of products are well known; in a feed of one's own, a type is the name that somebody
    /// gave a rule, and what the fields show counts more.
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

/// The operations that an alert names, without their services: `cloudtrail.amazonaws.com StopLogging` is `StopLogging`.
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

/// The closest match of any value, where each has one.
fn closest_to_all<'a>(globs: &'a [Spanned<String>], values: &[&str]) -> Option<(usize, &'a str)> {
    let found: Option<Vec<_>> = values.iter().map(|value| closest(globs, value)).collect();
    found?.into_iter().max_by_key(|(spelled, _)| *spelled)
}

/// The glob that matches and spells out most characters, the first of several alike.
fn closest<'a>(globs: &'a [Spanned<String>], value: &str) -> Option<(usize, &'a str)> {
    globs
        .iter()
        .map(|glob| glob.get_ref().as_str())
        .filter(|glob| type_matches(glob, value))
        .map(|glob| (glob.chars().filter(|c| *c != '*').count(), glob))
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
}

/// A step.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepForm {
    pub(super) id: Text,
    pub(super) description: Text,
    #[serde(default)]
    pub(super) expected: String,
    #[serde(default)]
    pub(super) depends_on: Vec<Text>,
    /// Whether a benign verdict needs this step not to fail.
    #[serde(default)]
    pub(super) key: bool,
    /// Held back until a reflection finds that this holds.
    #[serde(default)]
    pub(super) when: Option<Text>,
    /// Why such a step is added.
    #[serde(default)]
    pub(super) because: Option<Text>,
    #[serde(rename = "call", default)]
    pub(super) calls: Vec<CallForm>,
    /// Whether what was expected was found; by default, whether any call found rows.
    #[serde(default)]
    pub(super) met: Option<Text>,
    #[serde(default)]
    pub(super) summary: Option<Text>,
}

impl StepForm {
    /// What must hold for this step to be made; none where it always is.
    pub(super) fn condition(&self) -> Option<&str> {
        self.when.as_ref().map(|when| when.get_ref().as_str())
    }
}

/// A call, or one for each item of a list.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallForm {
    pub(super) tool: Text,
    #[serde(default)]
    pub(super) when: Option<Text>,
    #[serde(default)]
    pub(super) for_each: Option<Text>,
    #[serde(default)]
    pub(super) arguments: BTreeMap<String, Spanned<ArgumentForm>>,
}

/// An argument: a template, or a value as it stands.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum ArgumentForm {
    /// Rendered; an argument that renders to nothing is left out.
    Template(String),
    /// Given as it stands.
    Number(i64),
    /// Given as it stands.
    Flag(bool),
}

/// A finding.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FindingForm {
    pub(super) id: Text,
    #[serde(default)]
    pub(super) for_each: Option<Text>,
    /// How many items make a finding of their own.
    #[serde(default = "most_findings")]
    pub(super) most: usize,
    #[serde(default)]
    pub(super) when: Option<Text>,
    pub(super) claim: Text,
    pub(super) cite: Vec<Text>,
    #[serde(default)]
    pub(super) stance: Stance,
    #[serde(default)]
    pub(super) techniques: Vec<Text>,
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
    pub(super) for_each: Option<Text>,
    pub(super) when: Text,
    pub(super) subject: Text,
    pub(super) subject_type: IndicatorKind,
    #[serde(rename = "ref")]
    pub(super) reference: Text,
    pub(super) statement: Text,
    pub(super) covers: Vec<Text>,
    #[serde(default)]
    pub(super) approved_by: Option<Text>,
    #[serde(default)]
    pub(super) detection_wrong: bool,
}

fn benign_kind() -> String {
    "benign_when".to_owned()
}

/// The id and the condition of an action that a verdict names.
pub(super) fn action_parts(text: &str) -> (&str, Option<&str>) {
    match text.split_once(" if ") {
        Some((id, when)) => (id.trim(), Some(when)),
        None => (text.trim(), None),
    }
}

/// A verdict with what goes with it; `[otherwise]` has the same shape without `when` and `verdict`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VerdictForm {
    #[serde(default)]
    pub(super) when: Option<Text>,
    #[serde(default)]
    pub(super) verdict: Option<Verdict>,
    #[serde(default)]
    pub(super) reason: Option<Reason>,
    /// An expression that gives `malicious`, `benign` or `none`, or one of these words.
    #[serde(default)]
    pub(super) leaning: Option<Leaning>,
    /// The severity after triage.
    #[serde(default)]
    pub(super) severity: Option<Severity>,
    /// As sent, but at least this.
    #[serde(default)]
    pub(super) severity_at_least: Option<Severity>,
    /// Ids of the catalogue; `id if expression` advises it only where the expression holds.
    #[serde(default)]
    pub(super) actions: Vec<Text>,
    /// An expression that gives ids of the catalogue, advised before `actions`.
    #[serde(default)]
    pub(super) advises: Option<Text>,
    /// Values that the actions are about: a list of values of the alert.
    #[serde(default)]
    pub(super) about: Option<Text>,
    #[serde(default)]
    pub(super) gaps: Vec<Text>,
    #[serde(default)]
    pub(super) would_decide: Vec<Text>,
    #[serde(default)]
    pub(super) techniques: Vec<Text>,
}
