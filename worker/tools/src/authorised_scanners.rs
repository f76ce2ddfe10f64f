//! Implements the tool `authorised_scanners`: penetration testers, vulnerability scanners and uptime checks that may
//! scan.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::{Alert, IndicatorKind};
use nightshift_engine::exoneration::Exoneration;
use nightshift_engine::tool::{CallContext, ToolError, ToolOutput, ToolSpec, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::approval::{self, Approval, ApprovalSchema, MatchStrength, SlackMins};
use crate::approval_status::StatusVocabulary;
use crate::arguments::{self, Arguments, Subject};
use crate::content::ContentSource;
use crate::pattern::Pattern;
use crate::register::{
    Register, RegisterColumns, RegisterRecord, RegisterReport, RowFields, Table,
};
use crate::tool::{Tool, spec};

/// Kinds that can be looked up, the strictest first.
const SUPPORTED_KINDS: [IndicatorKind; 6] = [
    IndicatorKind::Ip,
    IndicatorKind::AccessKey,
    IndicatorKind::Email,
    IndicatorKind::Domain,
    IndicatorKind::Principal,
    IndicatorKind::Instance,
];

const KIND: &str = "authorised_scanners";

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
struct Scanner {
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

impl Scanner {
    fn row(&self, alert: &Alert) -> Value {
        let mut row = self.approval.row();
        if let Value::Object(own) = json!(self) {
            row.extend(own);
        }
        let is_valid = self.approval.covers_window(alert.times.window());
        row.insert("valid_at_event".to_owned(), Value::Bool(is_valid));
        Value::Object(row)
    }

    fn exonerations(&self, subject: &Subject, entries: &[&Pattern]) -> Vec<Exoneration> {
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

pub(crate) struct AuthorisedScanners {
    spec: ToolSpec,
    register: Arc<Register<Scanner>>,
    slack: SlackMins,
}

impl AuthorisedScanners {
    pub(crate) fn new(config: AuthorisedScannersConfig) -> Self {
        let description = "Whether an address, domain, principal, access key or instance belongs to a scanner or tester that the \
            organisation authorised, for which findings and how long; `valid_at_event` says whether that covers the alert's \
            events. Use it for every acting address of a scan, brute force or discovery finding. `found: 0` means that \
            nobody authorised it.";
        Self {
            spec: spec(
                &config.name,
                KIND,
                description,
                vec![arguments::indicator_argument(
                    "indicator",
                    "the ip, domain, principal, access key or instance that scanned",
                    &SUPPORTED_KINDS,
                )],
                &[
                    ("/found", Trust::Register),
                    ("/scanners", Trust::Register),
                    ("/searched", Trust::Register),
                ],
            ),
            register: Arc::new(Register::new(config.path)),
            slack: config.slack_mins,
        }
    }
}

#[async_trait]
impl Tool for AuthorisedScanners {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(
        &self,
        arguments: Arguments<'_>,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let subject = arguments.required_indicator("indicator", &SUPPORTED_KINDS)?;
        let alert = Arc::clone(&context.alert);
        self.register
            .search(move |name, table| search(&subject, name, table, &alert))
            .await
            .map(|output| self.slack.apply(output))
    }

    fn reports(&self) -> Vec<RegisterReport> {
        vec![self.register.to_report(&self.spec.name, KIND)]
    }
}

fn search(subject: &Subject, name: &str, table: &Table<Scanner>, alert: &Alert) -> ToolOutput {
    let found: Vec<(&Scanner, (Vec<&Pattern>, MatchStrength))> = table
        .records
        .iter()
        .filter_map(|scanner| Some((scanner, scanner.approval.match_subject(subject)?)))
        .collect();
    let rows = found.iter().map(|(scanner, _)| scanner.row(alert));
    let mut output = ToolOutput::from_body(json!({
        "indicator": subject.value,
        "type": subject.kind.as_str(),
        "found": found.len(),
        "scanners": rows.collect::<Vec<Value>>(),
        "searched": table.search_summary(name),
    }));
    output.rows = Some(found.len() as u64);
    output.exonerations = found
        .iter()
        .filter(|(_, (_, fit))| *fit == MatchStrength::Exact)
        .flat_map(|(scanner, (entries, _))| scanner.exonerations(subject, entries))
        .collect();
    output
}

#[cfg(test)]
mod tests;
