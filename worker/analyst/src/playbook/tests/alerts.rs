//! Alerts made by hand, as the feeds' parsers make them of the samples.

use chrono::{DateTime, Utc};
use nightshift_alert::{
    Alert, Content, FeedState, Indicator, IndicatorKind, Key, Provider, Resource, Role, Severity,
    Times,
};
use serde_json::{Value, json};

fn time(text: &str) -> Option<DateTime<Utc>> {
    text.parse().ok()
}

pub(super) fn alert(feed: &str, kind: &str, indicators: &[(IndicatorKind, &str, Role)]) -> Alert {
    let mut indicators: Vec<_> = indicators
        .iter()
        .map(|(kind, value, role)| Indicator::new(*kind, *value, *role))
        .collect();
    indicators.sort();
    Alert {
        key: Key {
            product: feed.to_owned(),
            id: "f-1".to_owned(),
            account: "444455556666".to_owned(),
        },
        content: Content("c".to_owned()),
        feed: feed.to_owned(),
        kind: kind.to_owned(),
        title: kind.to_owned(),
        description: String::new(),
        severity: Severity::High,
        severity_sent: "8".to_owned(),
        provider: Provider::Aws,
        account: Some("444455556666".to_owned()),
        account_name: None,
        region: Some("eu-west-1".to_owned()),
        class: None,
        action: None,
        resources: Vec::new(),
        indicators,
        techniques: Vec::new(),
        times: Times {
            first_seen: time("2026-03-02T02:29:51Z"),
            last_seen: time("2026-03-02T02:38:40Z"),
            created: time("2026-03-02T02:36:02Z"),
            updated: None,
        },
        count: 1,
        state: FeedState::default(),
        flags: Vec::new(),
        raw: Value::Null,
    }
}

fn resource(kind: &str, id: &str, name: Option<&str>) -> Resource {
    Resource {
        kind: kind.to_owned(),
        id: id.to_owned(),
        name: name.map(str::to_owned),
        tags: std::collections::BTreeMap::new(),
    }
}

/// The SCC miner sample, in short.
pub(super) fn scc_miner() -> Alert {
    use IndicatorKind as K;
    let mut alert = alert(
        "scc",
        "Execution: Cryptocurrency Mining Hash Match",
        &[
            (K::Ip, "185.220.101.42", Role::Actor),
            (K::Ip, "195.123.245.89", Role::Remote),
            (K::Domain, "pool.minexmr.com", Role::Remote),
            (K::Domain, "xmr-pool-eu.hashvault.pro", Role::Remote),
            (K::Url, "stratum+tcp://pool.minexmr.com:4444", Role::Remote),
            (K::Principal, "attacker@external-domain.com", Role::Actor),
            (K::Instance, "web-server-prod-01", Role::Target),
            (K::Process, "xmrig", Role::Related),
        ],
    );
    alert.provider = Provider::Gcp;
    alert.severity = Severity::Critical;
    alert.account = Some("production-project-12345".to_owned());
    alert.region = Some("us-central1-a".to_owned());
    alert.resources = vec![resource(
        "google.cloud.compute.Instance",
        "//compute.googleapis.com/projects/production-project-12345/zones/us-central1-a/instances/web-server-prod-01",
        Some("web-server-prod-01"),
    )];
    alert.raw = json!({"finding": {
        "processes": [{"name": "xmrig", "binary": "/tmp/.xmrig/xmrig", "args": ["-o", "pool.minexmr.com:4444"],
            "script": {"contents": "#!/bin/bash\n/tmp/.xmrig/xmrig -o pool.minexmr.com:4444"}}],
    }});
    alert
}

/// A lookup of a pool's name by an EC2 instance.
pub(super) fn pool_lookup(count: u64) -> Alert {
    use IndicatorKind as K;
    let mut alert = alert(
        "guardduty",
        "CryptoCurrency:EC2/BitcoinTool.B!DNS",
        &[
            (K::Domain, "pool.minexmr.com", Role::Remote),
            (K::Instance, "i-0a1b2c3d4e5f60718", Role::Target),
        ],
    );
    alert.action = Some("DNS_REQUEST pool.minexmr.com".to_owned());
    alert.count = count;
    alert.resources = vec![resource("Instance", "i-0a1b2c3d4e5f60718", None)];
    alert.raw = json!({"service": {"action": {"dnsRequestAction": {"domain": "pool.minexmr.com", "blocked": false}}}});
    alert
}
