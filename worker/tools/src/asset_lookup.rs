//! Implements the tool `asset_lookup`: machines, buckets, clusters, functions, databases and addresses of the
//! organisation's register.
//!
//! An approved row with an end clears an asset for the detections in `expected_findings`. Only an id or an address can
//! be cleared. Names are not unique, so a row found by name is shown and clears nothing.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::exoneration::{Exoneration, ListedValues};
use nightshift_engine::tool::{CallContext, ToolError, ToolOutput, ToolSpec, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::approval::{self, Approval, ApprovalSchema, MatchStrength};
use crate::approval_status::StatusVocabulary;
use crate::arguments::{self, Arguments, Subject};
use crate::canonical_name::CanonicalName;
use crate::content::ContentSource;
use crate::pattern::Pattern;
use crate::register::{
    Problem, Register, RegisterColumns, RegisterGroup, RegisterRecord, RegisterReport, RowFields,
    Table,
};
use crate::tool::{Tool, spec};

const SUPPORTED_KINDS: [IndicatorKind; 9] = [
    IndicatorKind::Ip,
    IndicatorKind::Arn,
    IndicatorKind::Domain,
    IndicatorKind::Instance,
    IndicatorKind::Bucket,
    IndicatorKind::Cluster,
    IndicatorKind::Container,
    IndicatorKind::Function,
    IndicatorKind::Database,
];

const KIND: &str = "asset_lookup";

/// Configuration of `asset_lookup`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AssetLookup")]
pub struct AssetLookupConfig {
    /// The tool's name.
    pub name: String,
    /// The register, as CSV or JSON.
    pub path: ContentSource,
}

const APPROVAL_SCHEMA: ApprovalSchema = ApprovalSchema {
    exoneration: "asset",
    bare_name_kinds: &[
        IndicatorKind::Instance,
        IndicatorKind::Bucket,
        IndicatorKind::Cluster,
        IndicatorKind::Database,
    ],
    dotted_name_kinds: &[IndicatorKind::Domain, IndicatorKind::Bucket],
    supported_kinds: &SUPPORTED_KINDS,
    column_names: &[
        ("subject", "id"),
        ("kind", "type"),
        ("addresses", "addresses"),
    ],
    status_vocabulary: StatusVocabulary::Permanent,
};

#[derive(Debug, Serialize)]
pub(crate) struct Asset {
    name: Option<String>,
    owner: Option<String>,
    environment: Option<String>,
    internet_facing: Option<bool>,
    role: Option<String>,
    data: Option<String>,
    purpose: Option<String>,
    detection_wrong: bool,
    more: Map<String, Value>,
    #[serde(skip)]
    approval: Approval,
}

/// The kind of value by which a row was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum MatchedBy {
    Id,
    Address,
    Name,
}

/// A row that was found.
struct AssetMatch<'a> {
    asset: &'a Asset,
    matched_by: MatchedBy,
    /// The entries that name the value; empty when the row must not clear it.
    entries: Vec<&'a Pattern>,
}

impl RegisterRecord for Asset {
    const COLUMNS: RegisterColumns = RegisterColumns {
        own: &[
            "name",
            "owner",
            "environment",
            "internet_facing",
            "role",
            "data",
            "purpose",
            "detection_wrong",
        ],
        shared: approval::COLUMNS,
        aliases: &[("id", "subject"), ("type", "kind")],
    };
    const REQUIRED: &'static [&'static str] = &["subject"];

    fn from_fields(fields: &RowFields<'_>) -> Result<Self, String> {
        Ok(Self {
            name: fields.text("name"),
            owner: fields.text("owner"),
            environment: fields.text("environment"),
            internet_facing: fields.boolean("internet_facing")?,
            role: fields.text("role"),
            data: fields.text("data"),
            purpose: fields.text("purpose"),
            detection_wrong: fields.boolean("detection_wrong")?.unwrap_or(false),
            more: fields.extra_columns(),
            approval: Approval::from_fields(fields, &APPROVAL_SCHEMA)?,
        })
    }

    fn warnings(&self) -> Vec<String> {
        self.approval.warnings("valid_until")
    }

    fn conflicts(rows: &[(u64, Self)]) -> Vec<Problem> {
        approval::find_contradictions(rows.iter().map(|(line, row)| (*line, &row.approval)))
    }
}

impl Asset {
    fn find(&self, subject: &Subject) -> Option<AssetMatch<'_>> {
        let found = |by, entries| {
            Some(AssetMatch {
                asset: self,
                matched_by: by,
                entries,
            })
        };
        let entries = &self.approval.patterns;
        if let Some((entries, fit)) = self.approval.match_subject(subject) {
            let by = match subject.ip {
                Some(_) => MatchedBy::Address,
                None => MatchedBy::Id,
            };
            return match fit {
                MatchStrength::Exact => found(by, entries),
                MatchStrength::NameOnly => found(by, Vec::new()),
            };
        }
        if self.has_address(subject) {
            return found(MatchedBy::Address, entries.iter().collect());
        }
        let name = self.name.as_deref()?;
        match name.eq_ignore_ascii_case(&subject.value) {
            true => found(MatchedBy::Name, Vec::new()),
            false => None,
        }
    }

    fn has_address(&self, subject: &Subject) -> bool {
        match (subject.ip, &self.approval.extent.addresses) {
            (Some(ip), _) => self.approval.addresses.iter().any(|net| net.contains(&ip)),
            (None, ListedValues::These(hosts)) if subject.kind == IndicatorKind::Domain => hosts
                .iter()
                .any(|host| CanonicalName::from_entry(host).text == subject.name.text),
            _ => false,
        }
    }

    fn row(&self, by: MatchedBy) -> Value {
        let mut row = self.approval.row();
        if let Value::Object(own) = json!(self) {
            row.extend(own);
        }
        row.insert("matched_by".to_owned(), json!(by));
        Value::Object(row)
    }

    fn indicators(&self) -> Vec<Indicator> {
        let ListedValues::These(addresses) = &self.approval.extent.addresses else {
            return Vec::new();
        };
        let typed = addresses.iter().filter_map(|text| {
            Indicator::parse(IndicatorKind::Ip, text, IndicatorRole::Related)
                .or_else(|| Indicator::parse(IndicatorKind::Domain, text, IndicatorRole::Related))
        });
        typed.collect()
    }

    fn exonerations(&self, subject: &Subject, entries: &[&Pattern]) -> Vec<Exoneration> {
        let id = self.approval.subject();
        let purpose = self.purpose.as_deref().unwrap_or("no purpose is told");
        let record = approval::ExonerationDetails {
            statement: format!("{} is the asset {id}: {purpose}", subject.value),
            reference: &id,
            detection_wrong: self.detection_wrong && self.purpose.is_some(),
        };
        self.approval.exonerations(subject, entries, &record)
    }
}

pub(crate) struct AssetLookup {
    spec: ToolSpec,
    register: Arc<Register<Asset>>,
    group: RegisterGroup<Asset>,
}

impl AssetLookup {
    pub(crate) fn new(config: AssetLookupConfig, family: &RegisterGroup<Asset>) -> Self {
        let description = "Which of the organisation's assets an indicator is: owner, environment, role, data, whether it \
            faces the internet, and which findings are expected there. Use it for every machine, bucket, cluster, database \
            or address that an alert names, to tell ours from theirs. `found: 0` means that the register does not name it.";
        Self {
            spec: spec(
                &config.name,
                KIND,
                description,
                vec![arguments::indicator_argument(
                    "indicator",
                    "the ip, arn, domain, instance, bucket, cluster, container, function or database",
                    &SUPPORTED_KINDS,
                )],
                &[
                    ("/found", Trust::Register),
                    ("/assets", Trust::Register),
                    ("/searched", Trust::Register),
                ],
            ),
            register: family.add(config.path),
            group: family.clone(),
        }
    }
}

#[async_trait]
impl Tool for AssetLookup {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(
        &self,
        arguments: Arguments<'_>,
        _context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let subject = arguments.required_indicator("indicator", &SUPPORTED_KINDS)?;
        self.group
            .search(&self.register, move |name, table, others| {
                search(&subject, name, table, others)
            })
            .await
    }

    fn reports(&self) -> Vec<RegisterReport> {
        vec![self.register.to_report(&self.spec.name, KIND)]
    }
}

fn search(
    subject: &Subject,
    name: &str,
    table: &Table<Asset>,
    others: &[Arc<Table<Asset>>],
) -> ToolOutput {
    let rows: Vec<AssetMatch<'_>> = table
        .records
        .iter()
        .filter_map(|asset| asset.find(subject))
        .collect();
    let elsewhere = others.iter().flat_map(|table| &table.records);
    let elsewhere: Vec<AssetMatch<'_>> = elsewhere.filter_map(|row| row.find(subject)).collect();
    // An address can pass from a removed machine to another one; an id cannot.
    let is_no_more = |asset: &Asset| {
        let all = rows.iter().chain(&elsewhere);
        let mut by_id = all.filter(|row| row.matched_by == MatchedBy::Id);
        by_id.any(|row| row.asset.approval.revokes(&asset.approval))
    };
    let exonerations: Vec<Exoneration> = rows
        .iter()
        .filter(|row| !is_no_more(row.asset))
        .flat_map(|row| row.asset.exonerations(subject, &row.entries))
        .collect();
    let indicators = rows.iter().flat_map(|row| row.asset.indicators()).collect();
    let assets: Vec<Value> = rows
        .iter()
        .map(|row| row.asset.row(row.matched_by))
        .collect();
    let found = assets.len();
    let mut output = ToolOutput::from_body(json!({
        "indicator": subject.value,
        "type": subject.kind.as_str(),
        "found": found,
        "assets": assets,
        "searched": table.search_summary(name),
    }));
    output.rows = Some(found as u64);
    output.indicators = indicators;
    output.exonerations = exonerations;
    output
}

#[cfg(test)]
mod tests;
