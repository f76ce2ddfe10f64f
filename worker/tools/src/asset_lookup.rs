//! The tool `asset_lookup`: machines, buckets, clusters, functions, databases and addresses of the organisation's
//! register.
//!
//! An approved row with an end clears an asset for the detections in `expected_findings`. Only an id or an address
//! can be cleared. Names are not unique, so a row found by name is shown and clears nothing.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::{Indicator, IndicatorKind, Role};
use nightshift_engine::exoneration::{Exoneration, Listed};
use nightshift_engine::tool::{CallContext, ToolError, ToolOutput, ToolSpec, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::approval::{self, Approval, Fit, Form};
use crate::arguments::{self, Arguments, Subject};
use crate::canonical::Named;
use crate::content::Content;
use crate::pattern::Pattern;
use crate::register::{Columns, Family, Fields, Problem, Record, Register, RegisterReport, Table};
use crate::status::Of;
use crate::tool::{Tool, spec};

const TYPES: [IndicatorKind; 9] = [
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
pub struct Config {
    /// The tool's name.
    pub name: String,
    /// The register, as CSV or JSON.
    pub path: Content,
}

const FORM: Form = Form {
    exoneration: "asset",
    bare: &[
        IndicatorKind::Instance,
        IndicatorKind::Bucket,
        IndicatorKind::Cluster,
        IndicatorKind::Database,
    ],
    dotted: &[IndicatorKind::Domain, IndicatorKind::Bucket],
    asked: &TYPES,
    names: &[
        ("subject", "id"),
        ("kind", "type"),
        ("addresses", "addresses"),
    ],
    status: Of::Standing,
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
struct Found<'a> {
    asset: &'a Asset,
    by: MatchedBy,
    /// The entries that name the value; empty when the row must not clear it.
    entries: Vec<&'a Pattern>,
}

impl Record for Asset {
    const COLUMNS: Columns = Columns {
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

    fn read(fields: &Fields<'_>) -> Result<Self, String> {
        Ok(Self {
            name: fields.text("name"),
            owner: fields.text("owner"),
            environment: fields.text("environment"),
            internet_facing: fields.flag("internet_facing")?,
            role: fields.text("role"),
            data: fields.text("data"),
            purpose: fields.text("purpose"),
            detection_wrong: fields.flag("detection_wrong")?.unwrap_or(false),
            more: fields.more(),
            approval: Approval::read(fields, &FORM)?,
        })
    }

    fn doubts(&self) -> Vec<String> {
        self.approval.doubts("valid_until")
    }

    fn conflicts(rows: &[(u64, Self)]) -> Vec<Problem> {
        approval::contradictions(rows.iter().map(|(line, row)| (*line, &row.approval)))
    }
}

impl Asset {
    fn find(&self, subject: &Subject) -> Option<Found<'_>> {
        let found = |by, entries| {
            Some(Found {
                asset: self,
                by,
                entries,
            })
        };
        let entries = &self.approval.entries;
        if let Some((entries, fit)) = self.approval.find(subject) {
            let by = match subject.ip {
                Some(_) => MatchedBy::Address,
                None => MatchedBy::Id,
            };
            return match fit {
                Fit::Whole => found(by, entries),
                Fit::Name => found(by, Vec::new()),
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
            (None, Listed::These(hosts)) if subject.kind == IndicatorKind::Domain => hosts
                .iter()
                .any(|host| Named::from_entry(host).text == subject.named.text),
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
        let Listed::These(addresses) = &self.approval.extent.addresses else {
            return Vec::new();
        };
        let typed = addresses.iter().filter_map(|text| {
            Indicator::parse(IndicatorKind::Ip, text, Role::Related)
                .or_else(|| Indicator::parse(IndicatorKind::Domain, text, Role::Related))
        });
        typed.collect()
    }

    fn exonerations(&self, subject: &Subject, entries: &[&Pattern]) -> Vec<Exoneration> {
        let id = self.approval.subject();
        let purpose = self.purpose.as_deref().unwrap_or("no purpose is told");
        let record = approval::Record {
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
    family: Family<Asset>,
}

impl AssetLookup {
    pub(crate) fn new(config: Config, family: &Family<Asset>) -> Self {
        let description = "Which of the organisation's assets an indicator is: owner, environment, role, data, whether it \
            faces the internet, and which findings are expected there. Use it for every machine, bucket, cluster, database \
            or address that an alert names, to tell ours from theirs. `found: 0` means that the register does not name it.";
        Self {
            spec: spec(
                &config.name,
                KIND,
                description,
                vec![arguments::indicator(
                    "indicator",
                    "the ip, arn, domain, instance, bucket, cluster, container, function or database",
                    &TYPES,
                )],
                &[
                    ("/found", Trust::Register),
                    ("/assets", Trust::Register),
                    ("/searched", Trust::Register),
                ],
            ),
            register: family.add(config.path),
            family: family.clone(),
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
        let subject = arguments.indicator("indicator", &TYPES)?;
        self.family
            .search(&self.register, move |name, table, others| {
                search(&subject, name, table, others)
            })
            .await
    }

    fn reports(&self) -> Vec<RegisterReport> {
        vec![self.register.report(&self.spec.name, KIND)]
    }
}

fn search(
    subject: &Subject,
    name: &str,
    table: &Table<Asset>,
    others: &[Arc<Table<Asset>>],
) -> ToolOutput {
    let rows: Vec<Found<'_>> = table
        .records
        .iter()
        .filter_map(|asset| asset.find(subject))
        .collect();
    let elsewhere = others.iter().flat_map(|table| &table.records);
    let elsewhere: Vec<Found<'_>> = elsewhere.filter_map(|row| row.find(subject)).collect();
    // An address can pass from a removed machine to another one; an id cannot.
    let is_no_more = |asset: &Asset| {
        let all = rows.iter().chain(&elsewhere);
        let mut by_id = all.filter(|row| row.by == MatchedBy::Id);
        by_id.any(|row| row.asset.approval.ends(&asset.approval))
    };
    let exonerations: Vec<Exoneration> = rows
        .iter()
        .filter(|row| !is_no_more(row.asset))
        .flat_map(|row| row.asset.exonerations(subject, &row.entries))
        .collect();
    let indicators = rows.iter().flat_map(|row| row.asset.indicators()).collect();
    let assets: Vec<Value> = rows.iter().map(|row| row.asset.row(row.by)).collect();
    let found = assets.len();
    let mut output = ToolOutput::of(json!({
        "indicator": subject.value,
        "type": subject.kind.as_str(),
        "found": found,
        "assets": assets,
        "searched": table.searched(name),
    }));
    output.rows = Some(found as u64);
    output.indicators = indicators;
    output.exonerations = exonerations;
    output
}

#[cfg(test)]
mod tests;
