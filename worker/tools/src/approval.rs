//! What makes a row of a register clear an alert: somebody approved it, it says what it covers, and it ends.
//!
//! A row without one of the three is shown to the analyst and clears nothing. Whether an exoneration concerns the alert at
//! hand (subject, type, time) is the engine's check, not ours.

use chrono::{DateTime, Utc};
use nightshift_engine::Exoneration;
use serde::Serialize;

use crate::arguments::Subject;
use crate::moment::Edge;
use crate::register::Fields;

/// The part of a row that says what it allows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Approval {
    /// Globs over finding types.
    pub(crate) expected_findings: Vec<String>,
    pub(crate) approved_by: Option<String>,
    pub(crate) valid_from: Option<DateTime<Utc>>,
    pub(crate) valid_until: Option<DateTime<Utc>>,
}

/// What an exoneration says beside its approval.
pub(crate) struct Record<'a> {
    pub(crate) kind: &'a str,
    pub(crate) reference: &'a str,
    pub(crate) statement: String,
    pub(crate) detection_wrong: bool,
}

impl Approval {
    /// Reads the columns; `from` and `until` name the window's.
    ///
    /// # Errors
    ///
    /// What is wrong with one of them.
    pub(crate) fn read(fields: &Fields<'_>, from: &str, until: &str) -> Result<Self, String> {
        let approval = Self {
            expected_findings: fields.list("expected_findings"),
            approved_by: fields.text("approved_by"),
            valid_from: fields.time(from, Edge::Start)?,
            valid_until: fields.time(until, Edge::End)?,
        };
        if let (Some(start), Some(end)) = (approval.valid_from, approval.valid_until)
            && end < start
        {
            return Err(format!("`{until}` is before `{from}`"));
        }
        for glob in &approval.expected_findings {
            if glob.chars().filter(|c| c.is_alphanumeric()).count() < 3 {
                return Err(format!(
                    "`expected_findings` has {glob:?}, which stands for nearly every finding: name the types"
                ));
            }
        }
        Ok(approval)
    }

    /// Why a row that means to allow something allows nothing.
    pub(crate) fn doubts(&self, until: &str) -> Vec<String> {
        let mut missing = Vec::new();
        if !self.expected_findings.is_empty() {
            if self.approved_by.is_none() {
                missing.push("approved_by");
            }
            if self.valid_until.is_none() {
                missing.push(until);
            }
        }
        missing
            .into_iter()
            .map(|column| format!("expects findings, but clears none: `{column}` is empty"))
            .collect()
    }

    /// Whether it clears anything at all.
    pub(crate) fn clears(&self) -> bool {
        self.approved_by.is_some()
            && self.valid_until.is_some()
            && !self.expected_findings.is_empty()
    }

    /// Whether it holds over the whole window.
    pub(crate) fn holds(&self, window: Option<(DateTime<Utc>, DateTime<Utc>)>) -> bool {
        window.is_some_and(|(first, last)| {
            self.valid_from.is_none_or(|from| from <= first)
                && self.valid_until.is_none_or(|until| last <= until)
        })
    }

    /// The exoneration that the row makes for `subject`; nothing where it is not approved, covers nothing, or never ends.
    pub(crate) fn exoneration(&self, subject: &Subject, record: Record<'_>) -> Option<Exoneration> {
        let approved_by = self.approved_by.clone()?;
        let until = self.valid_until?;
        (!self.expected_findings.is_empty()).then(|| Exoneration {
            kind: record.kind.to_owned(),
            subject_type: subject.kind,
            subject: subject.value.clone(),
            from: self.valid_from,
            until: Some(until),
            covers: self.expected_findings.clone(),
            approved_by,
            reference: record.reference.to_owned(),
            statement: record.statement,
            detection_wrong: record.detection_wrong,
            scope: nightshift_engine::Scope::default(),
            extent: nightshift_engine::Extent::default(),
            evidence: None,
        })
    }
}
