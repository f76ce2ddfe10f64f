//! Finds addresses on watch lists of threats.

use nightshift_alert::{Alert, DetailKind};

use crate::state::CaseState;

/// Meanings of watch lists for malicious addresses.
const MALICIOUS_MEANINGS: [&str; 4] = ["malicious", "tor_exit", "mining_pool", "sinkhole"];

/// Returns the addresses that a watch list of the case, or the feed itself, calls malicious.
pub(crate) fn malicious_addresses(state: &CaseState, alert: &Alert) -> Vec<String> {
    let mut listed = feed_listed_addresses(alert);
    for evidence in state.evidence.values() {
        if evidence.kind != "watchlist" || evidence.error.is_some() {
            continue;
        }
        let body = evidence.body.value();
        let matches = body.get("matches").and_then(|rows| rows.as_array());
        let meanings = matches
            .into_iter()
            .flatten()
            .filter_map(|row| row.get("meaning")?.as_str());
        if meanings
            .into_iter()
            .any(|meaning| MALICIOUS_MEANINGS.contains(&meaning))
        {
            let asked = evidence
                .arguments
                .values()
                .filter_map(|value| value.as_str());
            listed.extend(asked.map(str::to_owned));
        }
    }
    listed
}

/// Returns the addresses that the feed found on a list of threats.
pub(crate) fn feed_listed_addresses(alert: &Alert) -> Vec<String> {
    let lists = alert.details.iter();
    let lists = lists.filter(|detail| detail.kind == DetailKind::ThreatList);
    lists.filter_map(|detail| detail.about.clone()).collect()
}
