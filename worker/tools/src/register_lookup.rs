//! Implements the tools that look up one subject in a register. What differs between registers is their
//! [`LookupRecord`].

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::{Alert, Indicator, IndicatorKind};
use nightshift_engine::exoneration::Exoneration;
use nightshift_engine::tool::{CallContext, ToolError, ToolOutput, ToolSpec, Trust};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::approval::{Approval, MatchStrength, SlackMins};
use crate::arguments::{self, Arguments, Subject};
use crate::content::ContentSource;
use crate::pattern::Pattern;
use crate::register::{Register, RegisterGroup, RegisterRecord, RegisterReport, Table};
use crate::timestamp::TimeRange;
use crate::tool::{Tool, spec};

/// The properties of a tool that looks up one subject.
pub(crate) struct LookupSpec {
    /// The kind of the tool.
    pub(crate) kind: &'static str,
    /// The description for a planner.
    pub(crate) description: &'static str,
    /// The name of the argument with the subject, and its description.
    pub(crate) argument: (&'static str, &'static str),
    /// Kinds of subjects that can be looked up, the strictest first.
    pub(crate) supported_kinds: &'static [IndicatorKind],
    /// The name of the rows in the answer.
    pub(crate) rows: &'static str,
    /// True if a call may limit the time in which a row holds.
    pub(crate) has_time_range: bool,
}

/// The kind of value by which a row was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MatchedBy {
    Id,
    Address,
    Name,
}

/// The way in which a row is about a subject.
pub(crate) struct RowMatch<'a> {
    pub(crate) matched_by: MatchedBy,
    /// The entries that name the value.
    pub(crate) entries: Vec<&'a Pattern>,
    /// Only an exact match can clear the subject.
    pub(crate) strength: MatchStrength,
}

impl<'a> RowMatch<'a> {
    /// Creates an exact match by the id of the row.
    pub(crate) const fn exact(entries: Vec<&'a Pattern>) -> Self {
        Self {
            matched_by: MatchedBy::Id,
            entries,
            strength: MatchStrength::Exact,
        }
    }
}

impl Approval {
    /// Returns how the subjects of the row name this one.
    pub(crate) fn find(&self, subject: &Subject) -> Option<RowMatch<'_>> {
        let (entries, strength) = self.match_subject(subject)?;
        Some(RowMatch {
            matched_by: MatchedBy::Id,
            entries,
            strength,
        })
    }
}

/// A row of a register in which subjects are looked up.
pub(crate) trait LookupRecord: RegisterRecord + Serialize {
    const LOOKUP: LookupSpec;

    /// Returns the columns that all registers share.
    fn approval(&self) -> &Approval;

    /// Returns how the row is about the subject, or `None` if it is not.
    fn find(&self, subject: &Subject) -> Option<RowMatch<'_>> {
        self.approval().find(subject)
    }

    /// Returns the columns of the answer that are computed for this alert.
    fn computed_columns(&self, matched_by: MatchedBy, alert: &Alert) -> Vec<(&'static str, Value)>;

    /// Returns other names of the subject that the row tells.
    fn indicators(&self) -> Vec<Indicator> {
        Vec::new()
    }

    /// Returns what an exact match clears.
    fn exonerations(
        &self,
        subject: &Subject,
        entries: &[&Pattern],
        alert: &Alert,
    ) -> Vec<Exoneration>;

    /// Returns whether a row that was found in this way and has ended withdraws other rows about the subject.
    fn withdraws_others(_matched_by: MatchedBy) -> bool {
        false
    }
}

/// A tool that looks up one subject.
pub(crate) struct RegisterLookup<R> {
    spec: ToolSpec,
    register: Arc<Register<R>>,
    group: RegisterGroup<R>,
    slack: Option<SlackMins>,
}

impl<R: LookupRecord> RegisterLookup<R> {
    /// Creates the tool and adds its register to the group.
    pub(crate) fn with_group(
        name: &str,
        path: ContentSource,
        slack: Option<SlackMins>,
        group: &RegisterGroup<R>,
    ) -> Self {
        let (argument, text) = R::LOOKUP.argument;
        let subject = arguments::indicator_argument(argument, text, R::LOOKUP.supported_kinds);
        let mut arguments = vec![subject];
        if R::LOOKUP.has_time_range {
            arguments.extend([
                arguments::time_argument(
                    "since",
                    "start; a day before the first event if left out",
                ),
                arguments::time_argument("until", "end; a day after the last event if left out"),
            ]);
        }
        let rows = format!("/{}", R::LOOKUP.rows);
        let trust = ["/found", &rows, "/searched"].map(|path| (path, Trust::Register));
        Self {
            spec: spec(
                name,
                R::LOOKUP.kind,
                R::LOOKUP.description,
                arguments,
                &trust,
            ),
            register: group.add(path),
            group: group.clone(),
            slack,
        }
    }
}

#[async_trait]
impl<R: LookupRecord> Tool for RegisterLookup<R> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(
        &self,
        arguments: Arguments<'_>,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let (argument, _) = R::LOOKUP.argument;
        let subject = arguments.required_indicator(argument, R::LOOKUP.supported_kinds)?;
        let range = match R::LOOKUP.has_time_range {
            true => Some(arguments.range(context.now)?),
            false => None,
        };
        let alert = Arc::clone(&context.alert);
        let output = self
            .group
            .search(&self.register, move |name, table, others| {
                search(&subject, range, name, table, others, &alert)
            })
            .await?;
        Ok(match self.slack {
            Some(slack) => slack.apply(output),
            None => output,
        })
    }

    fn reports(&self) -> Vec<RegisterReport> {
        vec![self.register.to_report(&self.spec.name, R::LOOKUP.kind)]
    }
}

/// Searches one register. Rows of other registers of the group can withdraw what its rows clear.
fn search<R: LookupRecord>(
    subject: &Subject,
    range: Option<TimeRange>,
    name: &str,
    table: &Table<R>,
    others: &[Arc<Table<R>>],
    alert: &Alert,
) -> ToolOutput {
    let find = |row| R::find(row, subject).map(|matched| (row, matched));
    let found: Vec<(&R, RowMatch<'_>)> = table
        .records
        .iter()
        .filter(|row| range.is_none_or(|range| row.approval().overlaps(range)))
        .filter_map(find)
        .collect();
    let elsewhere = others.iter().flat_map(|table| &table.records);
    let withdrawing: Vec<&Approval> = found
        .iter()
        .map(|(row, matched)| (*row, matched.matched_by))
        .chain(
            elsewhere
                .filter_map(find)
                .map(|(row, matched)| (row, matched.matched_by)),
        )
        .filter(|(_, matched_by)| R::withdraws_others(*matched_by))
        .map(|(row, _)| row.approval())
        .collect();
    let is_withdrawn = |row: &R| withdrawing.iter().any(|one| one.revokes(row.approval()));
    let rows = found
        .iter()
        .map(|(row, matched)| to_row(*row, matched.matched_by, alert));

    let mut body = Map::new();
    body.insert(R::LOOKUP.argument.0.to_owned(), json!(subject.value));
    body.insert("type".to_owned(), json!(subject.kind.as_str()));
    body.insert("found".to_owned(), json!(found.len()));
    body.insert(R::LOOKUP.rows.to_owned(), rows.collect());
    let mut searched = table.search_summary(name);
    if let Some(range) = range {
        searched.insert("from".to_owned(), json!(range.from));
        searched.insert("until".to_owned(), json!(range.until));
    }
    body.insert("searched".to_owned(), Value::Object(searched));

    let mut output = ToolOutput::from_body(Value::Object(body));
    output.rows = Some(found.len() as u64);
    output.indicators = found.iter().flat_map(|(row, _)| row.indicators()).collect();
    output.exonerations = found
        .iter()
        .filter(|(row, matched)| matched.strength == MatchStrength::Exact && !is_withdrawn(row))
        .flat_map(|(row, matched)| row.exonerations(subject, &matched.entries, alert))
        .collect();
    output
}

fn to_row<R: LookupRecord>(record: &R, matched_by: MatchedBy, alert: &Alert) -> Value {
    let mut row = record.approval().row();
    if let Value::Object(own) = json!(record) {
        row.extend(own);
    }
    let computed = record.computed_columns(matched_by, alert);
    row.extend(
        computed
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value)),
    );
    Value::Object(row)
}
