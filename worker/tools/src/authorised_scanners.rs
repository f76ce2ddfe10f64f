//! Who may scan: penetration testers, vulnerability scanners, uptime checks, from a register.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::{Alert, IndicatorKind};
use nightshift_engine::{CallContext, Exoneration, ToolError, ToolOutput, ToolSpec, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::approval::{self, Approval};
use crate::arguments::{self, Arguments, Subject};
use crate::content::Content;
use crate::pattern::Pattern;
use crate::register::{Fields, Record, Register, RegisterReport, Table};
use crate::tool::{Tool, spec};

const TYPES: [IndicatorKind; 4] = [
    IndicatorKind::Ip,
    IndicatorKind::AccessKey,
    IndicatorKind::Domain,
    IndicatorKind::Principal,
];

const KIND: &str = "authorised_scanners";

/// Configuration of `authorised_scanners`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AuthorisedScanners")]
pub struct Config {
    /// The tool's name.
    pub name: String,
    /// The register, as CSV or JSON.
    pub path: Content,
}

#[derive(Debug, Serialize)]
struct Scanner {
    id: String,
    subject: String,
    owner: Option<String>,
    purpose: Option<String>,
    #[serde(flatten)]
    approval: Approval,
    more: Map<String, Value>,
    #[serde(skip)]
    pattern: Pattern,
}

impl Record for Scanner {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "subject",
        "owner",
        "purpose",
        "approved_by",
        "valid_from",
        "valid_until",
        "expected_findings",
    ];
    const REQUIRED: &'static [&'static str] = &["id", "subject"];

    fn read(fields: &Fields<'_>) -> Result<Self, String> {
        let subject = fields.needed("subject")?;
        Ok(Self {
            id: fields.needed("id")?,
            pattern: Pattern::parse(&subject).map_err(|error| format!("`subject` {error}"))?,
            subject,
            owner: fields.text("owner"),
            purpose: fields.text("purpose"),
            approval: Approval::read(fields, "valid_from", "valid_until")?,
            more: fields.more(),
        })
    }

    fn doubts(&self) -> Vec<String> {
        if self.approval.expected_findings.is_empty() {
            return vec!["clears no finding: `expected_findings` is empty".to_owned()];
        }
        self.approval.doubts("valid_until")
    }
}

impl Scanner {
    fn exoneration(&self, subject: &Subject) -> Option<Exoneration> {
        let owner = self.owner.as_deref().unwrap_or("nobody named");
        let purpose = self.purpose.as_deref().unwrap_or("no purpose is told");
        self.approval.exoneration(
            subject,
            approval::Record {
                kind: "authorised_scanner",
                reference: &self.id,
                statement: format!(
                    "{} is the authorised scanner {} of {owner}: {purpose}",
                    subject.value, self.id
                ),
                detection_wrong: false,
            },
        )
    }
}

/// The tool.
pub(crate) struct AuthorisedScanners {
    spec: ToolSpec,
    register: Arc<Register<Scanner>>,
}

impl AuthorisedScanners {
    pub(crate) fn new(config: Config) -> Self {
        let description = "Whether an address, domain, principal or access key belongs to a scanner or tester that the \
            organisation authorised, for which findings and how long; `valid_at_event` says whether that covers the alert's \
            events. Use it for every acting address of a scan, brute force or discovery finding. `found: 0` means that \
            nobody authorised it.";
        Self {
            spec: spec(
                &config.name,
                KIND,
                description,
                vec![arguments::indicator(
                    "indicator",
                    "the ip, domain, principal or access key that scanned",
                    &TYPES,
                )],
                &[
                    ("/found", Trust::Register),
                    ("/scanners", Trust::Register),
                    ("/searched", Trust::Register),
                ],
            ),
            register: Arc::new(Register::new(config.path)),
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
        let subject = arguments.indicator("indicator", &TYPES)?;
        let alert = Arc::clone(&context.alert);
        self.register
            .search(move |name, table| search(&subject, name, table, &alert))
            .await
    }

    fn reports(&self) -> Vec<RegisterReport> {
        vec![self.register.report(&self.spec.name, KIND)]
    }
}

fn search(subject: &Subject, name: &str, table: &Table<Scanner>, alert: &Alert) -> ToolOutput {
    let found: Vec<&Scanner> = table
        .records
        .iter()
        .filter(|scanner| scanner.pattern.matches(subject))
        .collect();
    let scanners: Vec<Value> = found
        .iter()
        .map(|scanner| {
            let mut row = json!(scanner);
            if let Some(row) = row.as_object_mut() {
                let valid = scanner.approval.holds(alert.times.window());
                row.insert("valid_at_event".to_owned(), Value::Bool(valid));
            }
            row
        })
        .collect();
    let mut output = ToolOutput::of(json!({
        "indicator": subject.value,
        "type": subject.kind.as_str(),
        "found": found.len(),
        "scanners": scanners,
        "searched": table.searched(name),
    }));
    output.rows = Some(found.len() as u64);
    output.exonerations = found
        .iter()
        .filter_map(|scanner| scanner.exoneration(subject))
        .collect();
    output
}

#[cfg(test)]
mod tests;
