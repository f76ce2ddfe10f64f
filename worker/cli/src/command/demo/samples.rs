//! Provides the demo's data from `deploy/demo/`: messages as feeds deliver them, with registers, lists and logs.
//! `deploy/demo/README.md` says which record decides which alert.
//!
//! No verdict is stored here. Without a row of a register, the playbook decides differently.

use std::collections::BTreeMap;

use nightshift_tools::{
    AssetLookup, AuthorisedScanners, ChangeLookup, ContentSource, IdentityLookup, LogFormat,
    LogSearch, SlackMins, ToolConfig, Watchlist, WatchlistFile,
};

/// Includes a file below `deploy/demo/` as bytes.
macro_rules! bytes {
    ($path:literal) => {
        include_bytes!(concat!("../../../../../deploy/demo/", $path))
    };
}

/// Includes a file below `deploy/demo/` as content that reports cite by its path.
macro_rules! content {
    ($path:literal) => {
        ContentSource::embedded(
            concat!("demo/", $path),
            include_str!(concat!("../../../../../deploy/demo/", $path)),
        )
    };
}

/// The messages by name, in order of arrival.
pub(super) const MESSAGES: &[(&str, &[u8])] = &[
    (
        "01-crypto-miner",
        bytes!("alerts/01-crypto-miner.pubsub.json"),
    ),
    (
        "02-stolen-credentials",
        bytes!("alerts/02-stolen-credentials.eventbridge.json"),
    ),
    (
        "03-port-scan",
        bytes!("alerts/03-port-scan.eventbridge.json"),
    ),
    (
        "04-batch-behind-our-egress",
        bytes!("alerts/04-batch-behind-our-egress.securityhub.json"),
    ),
    (
        "05-impossible-travel",
        bytes!("alerts/05-impossible-travel.ocsf.json"),
    ),
    (
        "06-stolen-credentials-again",
        bytes!("alerts/06-stolen-credentials-again.sns.json"),
    ),
    (
        "07-injected-user-agent",
        bytes!("alerts/07-injected-user-agent.eventbridge.json"),
    ),
    ("08-truncated", bytes!("alerts/08-truncated.json")),
    (
        "09-three-findings",
        bytes!("alerts/09-three-findings.guardduty-api.json"),
    ),
    (
        "10-public-bucket",
        bytes!("alerts/10-public-bucket.guardduty.json"),
    ),
];

/// Returns the tools over the demo's registers, lists and logs.
pub(super) fn tools() -> Vec<ToolConfig> {
    vec![
        ToolConfig::AssetLookup(AssetLookup {
            name: "assets".to_owned(),
            path: content!("registers/assets.csv"),
        }),
        ToolConfig::IdentityLookup(IdentityLookup {
            name: "identities".to_owned(),
            path: content!("registers/identities.csv"),
        }),
        ToolConfig::ChangeLookup(ChangeLookup {
            name: "changes".to_owned(),
            path: content!("registers/changes.csv"),
            slack_mins: SlackMins::default(),
        }),
        ToolConfig::AuthorisedScanners(AuthorisedScanners {
            name: "scanners".to_owned(),
            path: content!("registers/scanners.csv"),
            slack_mins: SlackMins::default(),
        }),
        ToolConfig::Watchlist(Watchlist {
            name: "lists".to_owned(),
            lists: vec![
                list("threats", content!("lists/threats.csv"), "malicious"),
                list("vpn", content!("lists/vpn.txt"), "vpn"),
            ],
            mining_pools: true,
        }),
        log(
            "cloudtrail",
            LogFormat::Cloudtrail,
            content!("logs/cloudtrail.jsonl"),
        ),
        log("flows", LogFormat::VpcFlow, content!("logs/flows.log")),
        log(
            "gcp_audit",
            LogFormat::GcpAudit,
            content!("logs/gcp-audit.jsonl"),
        ),
        log(
            "sign_ins",
            LogFormat::JsonLines,
            content!("logs/sign-ins.jsonl"),
        ),
    ]
}

fn list(name: &str, path: ContentSource, meaning: &str) -> WatchlistFile {
    WatchlistFile {
        name: name.to_owned(),
        path,
        meaning: meaning.to_owned(),
    }
}

fn log(name: &str, format: LogFormat, path: ContentSource) -> ToolConfig {
    ToolConfig::LogSearch(LogSearch {
        name: name.to_owned(),
        format,
        path,
        fields: BTreeMap::new(),
        max_scan_bytes: 1024 * 1024,
    })
}
