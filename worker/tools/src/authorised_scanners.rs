//! Implements the tool `authorised_scanners`: penetration testers, vulnerability scanners and uptime checks that may
//! scan.

use nightshift_alert::{Alert, IndicatorKind};
use nightshift_engine::exoneration::Exoneration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::approval::{self, Approval, ApprovalSchema, SlackMins};
use crate::approval_status::StatusVocabulary;
use crate::arguments::Subject;
use crate::content::ContentSource;
use crate::pattern::Pattern;
use crate::register::{RegisterColumns, RegisterGroup, RegisterRecord, RowFields};
use crate::register_lookup::{LookupRecord, LookupSpec, MatchedBy, RegisterLookup};

/// Kinds that can be looked up, the strictest first.
const SUPPORTED_KINDS: [IndicatorKind; 6] = [
    IndicatorKind::Ip,
    IndicatorKind::AccessKey,
    IndicatorKind::Email,
    IndicatorKind::Domain,
    IndicatorKind::Principal,
    IndicatorKind::Instance,
];

/// Configuration of `authorised_scanners`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AuthorisedScanners")]
pub struct AuthorisedScannersConfig {
    /// The tool's name.
    pub name: String,
    /// The register, as CSV or JSON.
    pub path: ContentSource,
    /// Minutes by which an event may lie outside the window of a row, at most 15.
    #[serde(default)]
    pub slack_mins: SlackMins,
}

const APPROVAL_SCHEMA: ApprovalSchema = ApprovalSchema {
    exoneration: "authorised_scanner",
    bare_name_kinds: &[IndicatorKind::Principal, IndicatorKind::Email],
    dotted_name_kinds: &[IndicatorKind::Domain],
    supported_kinds: &SUPPORTED_KINDS,
    column_names: &[],
    status_vocabulary: StatusVocabulary::Permanent,
};

#[derive(Debug, Serialize)]
pub(crate) struct Scanner {
    id: String,
    owner: Option<String>,
    purpose: Option<String>,
    more: Map<String, Value>,
    #[serde(skip)]
    approval: Approval,
}

impl RegisterRecord for Scanner {
    const COLUMNS: RegisterColumns = RegisterColumns {
        own: &["id", "owner", "purpose"],
        shared: approval::COLUMNS,
        aliases: &[],
    };
    const REQUIRED: &'static [&'static str] = &["id", "subject"];

    fn from_fields(fields: &RowFields<'_>) -> Result<Self, String> {
        Ok(Self {
            id: fields.required("id")?,
            owner: fields.text("owner"),
            purpose: fields.text("purpose"),
            more: fields.extra_columns(),
            approval: Approval::from_fields(fields, &APPROVAL_SCHEMA)?,
        })
    }

    fn warnings(&self) -> Vec<String> {
        if self.approval.expected_findings.is_empty() {
            return vec!["clears no finding: `expected_findings` is empty".to_owned()];
        }
        self.approval.warnings("valid_until")
    }
}

impl LookupRecord for Scanner {
    const LOOKUP: LookupSpec = LookupSpec {
        kind: "authorised_scanners",
        description: "Whether an address, domain, principal, access key or instance belongs to a scanner or tester that the \
            organisation authorised, for which findings and how long; `valid_at_event` says whether that covers the alert's \
            events. Use it for every acting address of a scan, brute force or discovery finding. `found: 0` means that \
            nobody authorised it.",
        argument: (
            "indicator",
            "the ip, domain, principal, access key or instance that scanned",
        ),
        supported_kinds: &SUPPORTED_KINDS,
        rows: "scanners",
        has_time_range: false,
    };

    fn approval(&self) -> &Approval {
        &self.approval
    }

    fn computed_columns(
        &self,
        _matched_by: MatchedBy,
        alert: &Alert,
    ) -> Vec<(&'static str, Value)> {
        let is_valid = self.approval.covers_window(alert.times.window());
        vec![("valid_at_event", Value::Bool(is_valid))]
    }

    fn exonerations(
        &self,
        subject: &Subject,
        entries: &[&Pattern],
        _alert: &Alert,
    ) -> Vec<Exoneration> {
        let owner = self.owner.as_deref().unwrap_or("nobody named");
        let purpose = self.purpose.as_deref().unwrap_or("no purpose is told");
        let record = approval::ExonerationDetails {
            reference: &self.id,
            statement: format!(
                "{} is the authorised scanner {} of {owner}: {purpose}",
                subject.value, self.id
            ),
            detection_wrong: false,
        };
        self.approval.exonerations(subject, entries, &record)
    }
}

/// The tool `authorised_scanners`.
pub(crate) type AuthorisedScanners = RegisterLookup<Scanner>;

impl AuthorisedScanners {
    pub(crate) fn new(config: AuthorisedScannersConfig) -> Self {
        let slack = Some(config.slack_mins);
        Self::with_group(&config.name, config.path, slack, &RegisterGroup::default())
    }
}

#[cfg(test)]
mod tests;
