//! The organisation's assets: machines, buckets, clusters, functions, databases and addresses, from a register.
//!
//! An asset that is known to set off a detection (`expected_findings`, approved, with an end) clears it. Only an id or an
//! address does: names are not unique, so a row found by its name is shown and clears nothing.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use ipnet::IpNet;
use nightshift_alert::{Alert, Indicator, IndicatorKind, Role};
use nightshift_engine::{CallContext, Exoneration, ToolError, ToolOutput, ToolSpec, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::approval::{self, Approval};
use crate::arguments::{self, Arguments, Subject};
use crate::content::Content;
use crate::pattern::network;
use crate::register::{Fields, Record, Register, RegisterReport, Table};
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

#[derive(Debug, Serialize)]
struct Asset {
    id: String,
    name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    account: Option<String>,
    owner: Option<String>,
    environment: Option<String>,
    internet_facing: Option<bool>,
    role: Option<String>,
    data: Option<String>,
    addresses: Vec<String>,
    purpose: Option<String>,
    #[serde(flatten)]
    approval: Approval,
    detection_wrong: bool,
    more: Map<String, Value>,
    #[serde(skip)]
    nets: Vec<IpNet>,
    /// The address that is its id, if one is.
    #[serde(skip)]
    id_address: Option<IpAddr>,
}

/// By what a row was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum MatchedBy {
    Id,
    Address,
    Name,
}

impl Record for Asset {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "name",
        "type",
        "account",
        "owner",
        "environment",
        "internet_facing",
        "role",
        "data",
        "addresses",
        "purpose",
        "expected_findings",
        "approved_by",
        "valid_from",
        "valid_until",
        "detection_wrong",
    ];
    const REQUIRED: &'static [&'static str] = &["id"];

    fn read(fields: &Fields<'_>) -> Result<Self, String> {
        let addresses = fields.list("addresses");
        let nets: Vec<IpNet> = addresses.iter().filter_map(|text| network(text)).collect();
        if let Some(wide) = nets.iter().find(|net| net.prefix_len() < 8) {
            return Err(format!("`addresses` has {wide}, which is no asset"));
        }
        let id = fields.needed("id")?;
        Ok(Self {
            id_address: id.parse().ok(),
            id,
            name: fields.text("name"),
            kind: fields.text("type"),
            account: fields.text("account"),
            owner: fields.text("owner"),
            environment: fields.text("environment"),
            internet_facing: fields.flag("internet_facing")?,
            role: fields.text("role"),
            data: fields.text("data"),
            addresses,
            purpose: fields.text("purpose"),
            approval: Approval::read(fields, "valid_from", "valid_until")?,
            detection_wrong: fields.flag("detection_wrong")?.unwrap_or(false),
            more: fields.more(),
            nets,
        })
    }

    fn doubts(&self) -> Vec<String> {
        self.approval.doubts("valid_until")
    }
}

impl Asset {
    fn matches(&self, subject: &Subject) -> Option<MatchedBy> {
        if let Some(ip) = subject.ip {
            let holds = self.nets.iter().any(|net| net.contains(&ip));
            let is_id = self.id_address == Some(ip);
            return (holds || is_id).then_some(MatchedBy::Address);
        }
        let same = |text: &str| text.eq_ignore_ascii_case(&subject.value);
        if same(&self.id) || self.is_arn(&subject.value) {
            return Some(MatchedBy::Id);
        }
        if subject.kind == IndicatorKind::Domain && self.addresses.iter().any(|text| same(text)) {
            return Some(MatchedBy::Address);
        }
        self.name
            .as_deref()
            .is_some_and(same)
            .then_some(MatchedBy::Name)
    }

    /// Whether an ARN or a full resource name is that of this asset, and tells no other account.
    fn is_arn(&self, name: &str) -> bool {
        let told = if name.starts_with("arn:") {
            self.account_of_arn(name)
        } else {
            self.project_of_name(name)
        };
        match (told, self.account.as_deref()) {
            (None, _) => false,
            // Buckets have no account: arn:aws:s3:::name.
            (Some(""), _) | (_, None) => true,
            (Some(told), Some(account)) => told == account,
        }
    }

    /// The account of an ARN that names this asset. Who takes on a role names the session, and who writes an object its key:
    /// what ends in an id by such a name is no asset.
    fn account_of_arn<'a>(&self, arn: &'a str) -> Option<&'a str> {
        let mut parts = arn.splitn(6, ':').skip(2);
        let (service, _region, account, resource) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        if matches!(service, "sts" | "iam") {
            return None;
        }
        let behind_its_type = || {
            let kind = resource.strip_suffix(self.id.as_str())?;
            kind.strip_suffix(['/', ':'])
                .filter(|kind| !kind.is_empty() && !kind.contains(['/', ':']))
        };
        let is_it = resource == self.id || (service != "s3" && behind_its_type().is_some());
        is_it.then_some(account)
    }

    /// The project of a full resource name of Google Cloud that names this asset; empty where it has none.
    fn project_of_name<'a>(&self, name: &'a str) -> Option<&'a str> {
        let (service, path) = name.strip_prefix("//")?.split_once('/')?;
        let segments: Vec<&str> = path.split('/').collect();
        let project = match segments.as_slice() {
            ["projects", project, ..] => *project,
            _ => "",
        };
        let named_by_anybody = service == "iam.googleapis.com"
            || segments
                .iter()
                .any(|part| matches!(*part, "k8s" | "objects"));
        let is_last = segments.last() == Some(&self.id.as_str());
        let in_storage = service == "storage.googleapis.com";
        let is_bucket = matches!(segments.as_slice(), [_] | ["projects", _, "buckets", _]);
        let is_it = is_last && !named_by_anybody && (!in_storage || is_bucket);
        // Buckets are of the project `_`, which is none.
        is_it.then_some(if project == "_" { "" } else { project })
    }

    fn exoneration(&self, subject: &Subject, by: MatchedBy, alert: &Alert) -> Option<Exoneration> {
        // Private addresses and ids recur in other accounts.
        let other_account = match (&self.account, &alert.account) {
            (Some(ours), Some(theirs)) => ours != theirs,
            _ => false,
        };
        if by == MatchedBy::Name || other_account {
            return None;
        }
        let purpose = self.purpose.as_deref().unwrap_or("no purpose is told");
        self.approval.exoneration(
            subject,
            approval::Record {
                kind: "asset",
                reference: &self.id,
                statement: format!("{} is the asset {}: {purpose}", subject.value, self.id),
                detection_wrong: self.detection_wrong && self.purpose.is_some(),
            },
        )
    }
}

/// The tool.
pub(crate) struct AssetLookup {
    spec: ToolSpec,
    register: Arc<Register<Asset>>,
}

impl AssetLookup {
    pub(crate) fn new(config: Config) -> Self {
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
            register: Arc::new(Register::new(config.path)),
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

fn search(subject: &Subject, name: &str, table: &Table<Asset>, alert: &Alert) -> ToolOutput {
    let mut assets = Vec::new();
    let mut exonerations = Vec::new();
    let mut indicators = Vec::new();
    for asset in &table.records {
        let Some(by) = asset.matches(subject) else {
            continue;
        };
        let mut row = json!(asset);
        if let Some(row) = row.as_object_mut() {
            row.insert("matched_by".to_owned(), json!(by));
        }
        assets.push(row);
        exonerations.extend(asset.exoneration(subject, by, alert));
        indicators.extend(asset.addresses.iter().filter_map(|text| {
            Indicator::parse(IndicatorKind::Ip, text, Role::Related)
                .or_else(|| Indicator::parse(IndicatorKind::Domain, text, Role::Related))
        }));
    }
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
