//! Implements the tool `asset_lookup`: machines, buckets, clusters, functions, databases and addresses of the
//! organisation's register.
//!
//! An approved row with an end clears an asset for the detections in `expected_findings`. Only an id or an address can
//! be cleared. Names are not unique, so a row found by name is shown and clears nothing.

use nightshift_alert::{Alert, Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::exoneration::{Exoneration, ListedValues};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::approval::{self, Approval, ApprovalSchema, MatchStrength};
use crate::approval_status::StatusVocabulary;
use crate::arguments::Subject;
use crate::canonical_name::CanonicalName;
use crate::content::ContentSource;
use crate::pattern::Pattern;
use crate::register::{Problem, RegisterColumns, RegisterGroup, RegisterRecord, RowFields};
use crate::register_lookup::{LookupRecord, LookupSpec, MatchedBy, RegisterLookup, RowMatch};

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

impl LookupRecord for Asset {
    const LOOKUP: LookupSpec = LookupSpec {
        kind: "asset_lookup",
        description: "Which of the organisation's assets an indicator is: owner, environment, role, data, whether it \
            faces the internet, and which findings are expected there. Use it for every machine, bucket, cluster, database \
            or address that an alert names, to tell ours from theirs. `found: 0` means that the register does not name it.",
        argument: (
            "indicator",
            "the ip, arn, domain, instance, bucket, cluster, container, function or database",
        ),
        supported_kinds: &SUPPORTED_KINDS,
        rows: "assets",
        has_time_range: false,
    };

    fn approval(&self) -> &Approval {
        &self.approval
    }

    fn find(&self, subject: &Subject) -> Option<RowMatch<'_>> {
        let found = |matched_by, entries, strength| {
            Some(RowMatch {
                matched_by,
                entries,
                strength,
            })
        };
        if let Some((entries, strength)) = self.approval.match_subject(subject) {
            let matched_by = match subject.ip {
                Some(_) => MatchedBy::Address,
                None => MatchedBy::Id,
            };
            return found(matched_by, entries, strength);
        }
        if self.has_address(subject) {
            let entries = self.approval.patterns.iter().collect();
            return found(MatchedBy::Address, entries, MatchStrength::Exact);
        }
        let name = self.name.as_deref()?;
        match name.eq_ignore_ascii_case(&subject.value) {
            true => found(MatchedBy::Name, Vec::new(), MatchStrength::NameOnly),
            false => None,
        }
    }

    fn computed_columns(
        &self,
        matched_by: MatchedBy,
        _alert: &Alert,
    ) -> Vec<(&'static str, Value)> {
        vec![("matched_by", json!(matched_by))]
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

    fn exonerations(
        &self,
        subject: &Subject,
        entries: &[&Pattern],
        _alert: &Alert,
    ) -> Vec<Exoneration> {
        let id = self.approval.subject();
        let purpose = self.purpose.as_deref().unwrap_or("no purpose is told");
        let record = approval::ExonerationDetails {
            statement: format!("{} is the asset {id}: {purpose}", subject.value),
            reference: &id,
            detection_wrong: self.detection_wrong && self.purpose.is_some(),
        };
        self.approval.exonerations(subject, entries, &record)
    }

    /// An address can pass from a removed machine to another one; an id cannot.
    fn withdraws_others(matched_by: MatchedBy) -> bool {
        matched_by == MatchedBy::Id
    }
}

impl Asset {
    fn has_address(&self, subject: &Subject) -> bool {
        match (subject.ip, &self.approval.extent.addresses) {
            (Some(ip), _) => self.approval.addresses.iter().any(|net| net.contains(&ip)),
            (None, ListedValues::These(hosts)) if subject.kind == IndicatorKind::Domain => hosts
                .iter()
                .any(|host| CanonicalName::from_entry(host).text == subject.name.text),
            _ => false,
        }
    }
}

/// The tool `asset_lookup`.
pub(crate) type AssetLookup = RegisterLookup<Asset>;

impl AssetLookup {
    pub(crate) fn new(config: AssetLookupConfig, group: &RegisterGroup<Asset>) -> Self {
        Self::with_group(&config.name, config.path, None, group)
    }
}

#[cfg(test)]
mod tests;
