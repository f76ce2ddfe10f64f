//! Provides registers and lists full of true rows about others, and past cases of others that people cleared.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::port::{Clock, PastCase, PastCases, PastQuery, PersonDecision};
use nightshift_tools::{ConfiguredToolbox, ContentSource, ToolConfig, WatchlistFile};
use serde_json::{Value, json};

use super::fixture::{HostileSetup, NoonClock};

const ASSETS: &str = "id,name,type,account,owner,environment,addresses,purpose,expected_findings,approved_by,valid_from,valid_until\n\
    a-1,other-1,instance,999988887777,team-x,prod,198.18.7.7,scanner host,*Recon*,x.yz,2020-01-01,2099-01-01\n\
    a-2,other-2,instance,999988887777,team-x,prod,198.18.7.8,miner,*Crypto*,x.yz,2020-01-01,2099-01-01\n";
const SCANNERS: &str = "id,subject,owner,purpose,approved_by,valid_from,valid_until,expected_findings\n\
    s-1,198.18.7.7,team-x,scan,x.yz,2020-01-01,2099-01-01,*Recon*\n\
    s-2,198.18.8.0/24,team-x,scan,x.yz,2020-01-01,2099-01-01,*Discovery*\n";
const CHANGES: &str = "id,subject,actor,from,until,status,approved_by,summary,expected_findings\n\
    c-1,other-1,,2020-01-01T00:00:00Z,2099-01-01T00:00:00Z,implemented,x.yz,all of it,*Access*\n";
const IDENTITIES: &str = "principal,aliases,kind,owner,mfa,usual_networks,access_keys,status,expected_findings,approved_by,valid_from,valid_until\n\
    other-role,arn:aws:iam::999988887777:role/other-role,role,team-x,false,198.18.0.0/16,AKIAOTHER00000000001,active,*Recon*; *Discovery*; *Access*; *Travel*,x.yz,2020-01-01,2099-01-01\n\
    a.other,a.other@other.example,person,team-x,true,198.18.0.0/16,,active,*Recon*; *Discovery*; *Access*; *Travel*,x.yz,2020-01-01,2099-01-01\n";
/// The organisation's own networks, including the addresses of the attacked machines.
const OWN: &str = "10.0.0.0/8\n172.16.0.0/12\n192.168.0.0/16\n198.18.0.0/15\n";
const ALLOWED: &str = "198.18.7.9\nallowed.other.example\n";

/// A past case of another actor that code and a person called benign.
pub(super) struct FakePastCases;

#[async_trait]
impl PastCases for FakePastCases {
    async fn similar_cases(&self, query: &PastQuery) -> Result<Vec<PastCase>, String> {
        Ok(vec![PastCase {
            case_id: "other".to_owned(),
            key: "other/f-1".to_owned(),
            same_key: false,
            kind: query.kind.clone(),
            account: query.account.clone(),
            opened_at: NoonClock.now(),
            severity: nightshift_alert::Severity::Low,
            status: "concluded".to_owned(),
            verdict: Some(Verdict::BenignTruePositive),
            person_verdict: Some(Verdict::FalsePositive),
            shared: Default::default(),
            failed_tools: Vec::new(),
            similarity: None,
        }])
    }

    async fn last_person_decision(
        &self,
        query: &PastQuery,
    ) -> Result<Option<PersonDecision>, String> {
        Ok(Some(PersonDecision {
            case_id: "other".to_owned(),
            verdict: Verdict::FalsePositive,
            by: "ana".to_owned(),
            at: NoonClock.now(),
            kind: query.kind.clone(),
            account: query.account.clone(),
            actors: vec![
                Indicator::new(IndicatorKind::Ip, "198.18.7.7", IndicatorRole::Actor),
                Indicator::new(IndicatorKind::Principal, "other-role", IndicatorRole::Actor),
            ],
            targets: Vec::new(),
            remotes: Vec::new(),
            resources: Vec::new(),
            severity: nightshift_alert::Severity::Critical,
            first_seen: None,
            ended_at: None,
        }))
    }
}

/// Returns the configuration of each tool; the contents are put in afterwards.
fn configs(setup: &HostileSetup) -> Vec<Value> {
    let register = |kind: &str, name: &str| json!({"kind": kind, "name": name, "path": "x.csv"});
    let list = |meaning: &str| json!({"name": meaning, "path": "x.txt", "meaning": meaning});
    let log = |name: &str, format: &str| json!({"kind": "log_search", "name": name, "format": format, "path": "x.jsonl"});
    let mut configs = vec![
        json!({"kind": "indicator_facts", "name": "facts"}),
        json!({"kind": "watchlist", "name": "lists", "lists": [list("own"), list("allowed")]}),
        json!({"kind": "past_cases", "name": "past_cases"}),
        register("asset_lookup", "assets"),
        register("identity_lookup", "identities"),
        register("authorised_scanners", "scanners"),
        register("change_lookup", "changes"),
    ];
    if !setup.log.is_empty() {
        configs.push(log("logs", "json_lines"));
    }
    if !setup.trail.is_empty() {
        configs.push(log("trail", "cloudtrail"));
    }
    configs
}

/// Builds the tools over these past cases and the setup of the case.
pub(super) fn tools(past: Arc<dyn PastCases>, setup: &HostileSetup) -> ConfiguredToolbox {
    let read = |config| serde_json::from_value(config).unwrap();
    let mut configs: Vec<ToolConfig> = configs(setup).into_iter().map(read).collect();
    for config in &mut configs {
        match config {
            ToolConfig::AssetLookup(config) => {
                config.path = ContentSource::embedded("a.csv", ASSETS)
            }
            ToolConfig::IdentityLookup(config) => {
                config.path = ContentSource::embedded("i.csv", IDENTITIES)
            }
            ToolConfig::AuthorisedScanners(config) => {
                let rows = format!("{SCANNERS}{}", setup.scanners);
                config.path = ContentSource::embedded("s.csv", rows.leak())
            }
            ToolConfig::ChangeLookup(config) => {
                config.path = ContentSource::embedded("c.csv", CHANGES)
            }
            ToolConfig::Watchlist(config) => config.lists.iter_mut().for_each(embed),
            ToolConfig::LogSearch(config) if config.name == "trail" => {
                config.path = ContentSource::embedded("trail.jsonl", setup.trail)
            }
            ToolConfig::LogSearch(config) => {
                config.path = ContentSource::embedded("log.jsonl", setup.log.clone().leak())
            }
            _ => {}
        }
    }
    ConfiguredToolbox::build(&configs, past, Path::new("")).unwrap()
}

fn embed(list: &mut WatchlistFile) {
    let entries = if list.meaning == "own" { OWN } else { ALLOWED };
    list.path = ContentSource::embedded("list.txt", entries);
}
