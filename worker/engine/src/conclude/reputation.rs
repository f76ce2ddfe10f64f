//! Determines the reputation of an address or a name in an action, by the registers and watch lists of the case.
//!
//! Advice to block is followed under pressure. If it names an egress address of the organisation, the advice causes the
//! outage.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

use crate::catalogue::Reputation;
use crate::evidence::Evidence;
use crate::hosts::{host_of, is_own};
use crate::state::CaseState;

/// Kinds of tools whose rows say who owns an address.
pub(super) const REGISTERS: [&str; 4] = [
    "asset_lookup",
    "identity_lookup",
    "authorised_scanners",
    "watchlist",
];
/// Fields of these rows that say who owns an address. Other fields may name a foreign one: `outside_usual_networks`
/// has the alert's addresses that are unusual for an identity.
const ADDRESS_FIELDS: [&str; 5] = ["addresses", "usual_networks", "subject", "entry", "id"];
/// Meanings of watch lists for the organisation's own addresses.
const OWN_MEANINGS: [&str; 3] = ["own", "vpn", "allowed"];
/// Widest networks that can have one owner, as prefix lengths of IPv4 and IPv6.
const MIN_PREFIX_LENGTHS: (u8, u8) = (8, 19);
/// Meanings of watch lists for malicious addresses and names.
const MALICIOUS_MEANINGS: [&str; 4] = ["malicious", "tor_exit", "mining_pool", "sinkhole"];

/// Facts of this case about addresses and names.
pub(super) struct Reputations<'a> {
    never_send: &'a [String],
    networks: Vec<IpNet>,
    own: BTreeSet<String>,
    malicious: BTreeSet<String>,
}

impl<'a> Reputations<'a> {
    pub(super) fn from_state(state: &'a CaseState) -> Self {
        let opened = state.setup.as_ref();
        let mut all = Self {
            never_send: opened.map_or(&[][..], |opened| &opened.options.never_send),
            networks: recorded_networks(state),
            own: state
                .exonerations
                .iter()
                .map(|fact| fact.subject.clone())
                .collect(),
            malicious: BTreeSet::new(),
        };
        for evidence in state.evidence.values() {
            if evidence.error.is_none() && REGISTERS.contains(&evidence.kind.as_str()) {
                all.add_register_answer(evidence);
            }
        }
        all
    }

    /// Adds the statements of an answer about the value that was asked for.
    fn add_register_answer(&mut self, evidence: &Evidence) {
        let asked = evidence.arguments.values().filter_map(Value::as_str);
        let asked: Vec<String> = asked.map(str::to_owned).collect();
        let body = evidence.body.value();
        if evidence.kind == "watchlist" {
            let matches = body.get("matches").and_then(Value::as_array);
            let matches = matches.into_iter().flatten();
            for meaning in matches.filter_map(|row| row.get("meaning")?.as_str()) {
                if OWN_MEANINGS.contains(&meaning) {
                    self.own.extend(asked.iter().cloned());
                } else if MALICIOUS_MEANINGS.contains(&meaning) {
                    self.malicious.extend(asked.iter().cloned());
                }
            }
        } else if evidence.rows.is_some_and(|rows| rows > 0) {
            self.own.extend(asked);
        }
    }

    /// Returns the reputation of a value. `Own` has precedence over `Malicious`, because a foreign list may hold an
    /// address of the organisation, and blocking that address stops its work.
    pub(super) fn reputation_of(&self, value: &str) -> Option<Reputation> {
        let host = host_of(value);
        let is_in = |names: &BTreeSet<String>| names.contains(value) || names.contains(host);
        let address = value.parse().or_else(|_| host.parse::<IpAddr>()).ok();
        let in_network = |ip: IpAddr| self.networks.iter().any(|network| network.contains(&ip));
        if is_in(&self.own) || is_own(value, self.never_send) || address.is_some_and(in_network) {
            Some(Reputation::Own)
        } else {
            is_in(&self.malicious).then_some(Reputation::Malicious)
        }
    }
}

/// Returns the addresses of clearing records and of register answers in this case. Expired and disabled rows count too,
/// because blocking an own address costs more than missing advice.
fn recorded_networks(state: &CaseState) -> Vec<IpNet> {
    let cleared = state.exonerations.iter().map(|fact| fact.subject.as_str());
    let mut networks: Vec<IpNet> = cleared.filter_map(parse_network).collect();
    for evidence in state.evidence.values() {
        if evidence.error.is_none() && REGISTERS.contains(&evidence.kind.as_str()) {
            collect_row_networks(&evidence.body.value(), &mut networks);
        }
    }
    networks
}

/// Collects the addresses and networks of a register's rows. The question, which the answer repeats, is not among the
/// rows.
fn collect_row_networks(body: &Value, networks: &mut Vec<IpNet>) {
    let lists = body.as_object().into_iter().flat_map(|map| map.values());
    for row in lists.filter_map(Value::as_array).flatten() {
        let meaning = row.get("meaning").and_then(Value::as_str);
        if meaning.is_none_or(|meaning| OWN_MEANINGS.contains(&meaning)) {
            let said = ADDRESS_FIELDS.iter().filter_map(|field| row.get(*field));
            said.for_each(|value| collect_networks(value, networks));
        }
    }
}

/// Collects networks from a text or a list of texts.
fn collect_networks(value: &Value, networks: &mut Vec<IpNet>) {
    match value {
        Value::String(text) => networks.extend(parse_network(text)),
        Value::Array(list) => networks.extend(
            list.iter()
                .filter_map(Value::as_str)
                .filter_map(parse_network),
        ),
        _ => {}
    }
}

fn parse_network(text: &str) -> Option<IpNet> {
    let text = text.trim();
    let alone = || text.parse::<IpAddr>().ok().map(IpNet::from);
    let wide = |net: &IpNet| match net {
        IpNet::V4(net) => net.prefix_len() < MIN_PREFIX_LENGTHS.0,
        IpNet::V6(net) => net.prefix_len() < MIN_PREFIX_LENGTHS.1,
    };
    let found = text.parse::<IpNet>().ok().or_else(alone);
    found.filter(|net| !wide(net))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::evidence::EvidenceId;
    use crate::fixture;
    use crate::strategy::TriageOptions;

    fn answer(kind: &str, asked: &str, body: Value, rows: u64) -> Evidence {
        let state = fixture::opened_state();
        let alert = state.evidence_of(EvidenceId::ALERT).unwrap();
        Evidence {
            kind: kind.to_owned(),
            arguments: json!({ "indicator": asked }).as_object().cloned().unwrap(),
            body: body.into(),
            rows: Some(rows),
            ..Evidence::clone(alert)
        }
    }

    #[test]
    fn own_lists_mark_values_as_own_and_bad_lists_as_bad() {
        let mut state = fixture::opened_state();
        let mut opened = fixture::opened(crate::limits::TriageLimits::default());
        opened.options = TriageOptions {
            never_send: vec!["larkspur.example".to_owned()],
            ..TriageOptions::default()
        };
        state.setup = Some(Arc::new(opened));
        let list = |meaning, entry| json!({ "matches": [{ "meaning": meaning, "entry": entry }] });
        let scanner = json!({ "scanners": [{ "subject": "192.0.2.193" }] });
        let identity = json!({ "identities": [{ "usual_networks": ["192.0.2.64/28"], "status": "disabled",
            "outside_usual_networks": ["198.51.100.7", "198.51.100.24"] }] });
        let malicious = list("malicious", "198.51.100.0/24");
        let allowed = list("allowed", "partner.example");
        let rows = json!({ "rows": [{}] });
        let answers = [
            ("identity_lookup", "ci-drift", identity, 1),
            ("watchlist", "203.0.113.9", list("own", "203.0.113.0/28"), 1),
            ("watchlist", "198.51.100.24", malicious, 1),
            ("watchlist", "partner.example", allowed, 1),
            ("authorised_scanners", "192.0.2.193", scanner, 1),
            ("asset_lookup", "shop.example", json!({ "assets": [{}] }), 1),
            ("asset_lookup", "evil.example", json!({ "assets": [] }), 0),
            ("log_search.vpc_flow", "203.0.113.99", rows, 1),
        ];
        for (number, (kind, asked, body, rows)) in (2..).zip(answers) {
            let mut evidence = answer(kind, asked, body, rows);
            evidence.id = EvidenceId(number);
            state.evidence.insert(evidence.id, Arc::new(evidence));
        }
        let standings = Reputations::from_state(&state);
        for ours in [
            "203.0.113.9",
            "203.0.113.14",
            "partner.example",
            "https://maria@partner.example/x",
            "192.0.2.193",
            "192.0.2.65",
            "shop.example",
            "www.larkspur.example",
        ] {
            assert_eq!(
                standings.reputation_of(ours),
                Some(Reputation::Own),
                "{ours}"
            );
        }
        assert_eq!(
            standings.reputation_of("198.51.100.24"),
            Some(Reputation::Malicious)
        );
        // The alert's own actor, a value unknown to a register, and a value of a log.
        for other in ["198.51.100.7", "evil.example", "203.0.113.99"] {
            assert_eq!(standings.reputation_of(other), None, "{other}");
        }
    }
}
