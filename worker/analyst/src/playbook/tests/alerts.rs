//! Provides the sample alerts as the feeds' parsers read them, and some variations.

use nightshift_alert::{Alert, Indicator, IndicatorKind, IndicatorRole, ReadOptions, read_message};

/// Returns the first alert of a sample.
pub(in crate::playbook) fn sample(name: &str) -> Alert {
    first(&format!("alerts/{name}"))
}

/// Returns the first alert of a finding with rare fields.
pub(super) fn finding(name: &str) -> Alert {
    first(&format!("findings/{name}"))
}

/// Returns the first alert of a case from the field.
pub(super) fn case(name: &str) -> Alert {
    first(&format!("cases/{name}"))
}

/// Returns the first alert of a finding that was made for one playbook.
pub(in crate::playbook) fn made_for(name: &str) -> Alert {
    first(&format!("playbooks/{name}"))
}

/// Returns the first alert of a finding as its vendor sends it.
pub(super) fn vendor(name: &str) -> Alert {
    first(&format!("vendor/{name}"))
}

fn first(name: &str) -> Alert {
    let path = format!(
        "{}/../../tests/fixtures/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    read_message(&bytes, &ReadOptions::default())
        .unwrap()
        .alerts
        .remove(0)
}

/// Returns an alert about a miner on a Google Cloud instance, with its process.
pub(super) fn scc_miner() -> Alert {
    sample("scc-crypto-miner")
}

/// Returns an alert about an EC2 instance that only looked up the name of a pool, `count` times.
pub(super) fn pool_lookup(count: u64) -> Alert {
    let mut alert = dns("CryptoCurrency:EC2/BitcoinTool.B!DNS", "pool.minexmr.com");
    alert.count = count;
    alert
}

/// Returns an alert about an EC2 instance that looked up a name.
pub(in crate::playbook) fn dns(kind: &str, domain: &str) -> Alert {
    let mut alert = sample("guardduty-eventbridge-dns");
    kind.clone_into(&mut alert.kind);
    alert.state.sample = false;
    alert
        .indicators
        .retain(|one| one.kind != IndicatorKind::Domain);
    alert.indicators.push(Indicator::new(
        IndicatorKind::Domain,
        domain,
        IndicatorRole::Remote,
    ));
    alert.indicators.sort();
    alert
}

/// Returns an alert about a pod that looked up the name of a pool.
pub(super) fn mining_pod() -> Alert {
    let task = made_for("guardduty-ecs-mining");
    let pod = made_for("guardduty-runtime-reverse-shell");
    let far = task.with_role(IndicatorRole::Remote).cloned();
    let mut indicators: Vec<_> = pod.indicators.iter().cloned().chain(far).collect();
    indicators.sort();
    Alert {
        kind: task.kind.clone(),
        count: task.count,
        action: task.action.clone(),
        indicators,
        ..pod
    }
}
