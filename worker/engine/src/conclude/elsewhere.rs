//! Use elsewhere: calls by the alert's own key or identity from an address that nobody accounts for.
//!
//! A record clears what the alert is about. It says nothing about the same key at an address that the alert does not name:
//! where a log of this case has such calls, and they succeeded, the alert is not cleared, whatever an analyst makes of
//! them. What counts are columns that the platform wrote (`source_ip`, `access_key`, `principal`, `outcome`), so no text of
//! a caller has a say; an address is accounted for by the alert itself, by what clears it, or by a register. Nor is the
//! alert cleared where a search was cut and counts calls that it does not show.

mod unseen;

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use nightshift_alert::{Alert, IndicatorKind, Role, is_public};
use serde_json::Value;

use unseen::Unseen;

use super::coverage::may_hide;
use crate::catalogue::resource;
use crate::{Evidence, EvidenceId, State, Trust};

/// Kinds of tools whose rows say whose an address is.
pub(super) const REGISTERS: [&str; 4] = ["asset_lookup", "identity_lookup", SCANNERS, "watchlist"];
const SCANNERS: &str = "authorised_scanners";
/// Fields of their rows that say whose an address is. Others may name an address that is not: `outside_usual_networks` has
/// those of the alert that are strange to an identity.
const ADDRESSES: [&str; 5] = ["addresses", "usual_networks", "subject", "entry", "id"];
/// What a watch list must say of an address that is accounted for.
pub(super) const OURS: [&str; 3] = ["own", "vpn", "allowed"];
/// Widest networks that account for anything, in bits of IPv4 and IPv6.
const WIDEST: (u8, u8) = (8, 19);

/// A use of the alert's key or identity that nothing clears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    /// What stands in the way, in half a sentence.
    pub(super) text: String,
    /// What would decide it.
    pub(super) would_decide: String,
}

/// A call of a log.
struct Call {
    evidence: EvidenceId,
    who: String,
    source: String,
    action: String,
    at: String,
    reads: bool,
}

impl From<Call> for Elsewhere {
    fn from(call: Call) -> Self {
        Self {
            text: format!(
                "{} was also used from {}, which no record covers",
                call.who, call.source
            ),
            would_decide: format!(
                "Whose {} is, and whether {} from there at {} was allowed [{}]: a record that covers the address",
                call.source, call.action, call.at, call.evidence
            ),
        }
    }
}

/// The first call from elsewhere, of those that change something where there is one; else what a search does not show.
pub(crate) fn of(state: &State, alert: &Alert) -> Option<Elsewhere> {
    let who = Identities::of(alert);
    let (mut calls, mut unseen) = (Vec::new(), Vec::new());
    for evidence in state.evidence.values() {
        if evidence.error.is_none() && trust(state, evidence, "/rows/0/source_ip") > Trust::External
        {
            let body = evidence.body.value();
            let rows = body.get("rows").and_then(Value::as_array);
            let rows = rows.into_iter().flatten();
            calls.extend(rows.filter_map(|row| who.call(row, evidence.id)));
            if may_hide(state, evidence) {
                unseen.extend(Unseen::of(evidence, &body, &who));
            }
        }
    }
    if calls.is_empty() && unseen.is_empty() {
        return None;
    }
    let known = accounted_for(state, alert);
    let is_known = |source: &str| {
        public(source).is_none_or(|ip| known.iter().any(|network| network.contains(&ip)))
    };
    let calls = calls.into_iter().filter(|call| !is_known(&call.source));
    let first = calls.min_by_key(|call| call.reads).map(Elsewhere::from);
    first.or_else(|| unseen.into_iter().find_map(|one| one.elsewhere(&is_known)))
}

/// The address of a source, where that is one that is reached from everywhere.
fn public(source: &str) -> Option<IpAddr> {
    source.parse().ok().filter(|ip| is_public(*ip))
}

/// Keys and identities of the alert, as logs name them.
struct Identities<'a> {
    values: BTreeSet<&'a str>,
    account: Option<&'a str>,
}

impl<'a> Identities<'a> {
    fn of(alert: &'a Alert) -> Self {
        let acts = |kind, role| {
            kind == IndicatorKind::AccessKey && role != Role::Related
                || matches!(kind, IndicatorKind::Principal | IndicatorKind::Email)
                    && role == Role::Actor
        };
        let named = alert.indicators.iter();
        Self {
            values: named
                .filter(|one| acts(one.kind, one.role))
                .map(|one| one.value.as_str())
                .collect(),
            account: alert.account.as_deref(),
        }
    }

    /// The one of them that a log's value is: the same, or the ARN of what alerts give the bare name of.
    fn named(&self, value: &str) -> Option<&'a str> {
        let same = || self.values.get(value).copied();
        let by_name = || {
            let (account, name) = user_or_role(value)?;
            let is_ours = self.account.is_none_or(|ours| ours == account);
            let mut values = self.values.iter().copied();
            values.find(|known| is_ours && known.eq_ignore_ascii_case(name))
        };
        same().or_else(by_name)
    }

    /// The call of this row, if one of them made it, it succeeded, and it came from a public address.
    fn call(&self, row: &Value, evidence: EvidenceId) -> Option<Call> {
        let text = |column: &str| row.get(column).and_then(Value::as_str);
        let who = ["access_key", "principal"]
            .into_iter()
            .filter_map(text)
            .find_map(|who| self.named(who))?;
        let failed = row.get("error").is_some_and(|error| !error.is_null())
            || text("outcome").is_some_and(|outcome| outcome != "success");
        let source = text("source_ip").filter(|source| public(source).is_some())?;
        let reads = row.get("read_only").and_then(Value::as_bool);
        (!failed).then(|| Call {
            evidence,
            who: who.to_owned(),
            source: source.to_owned(),
            action: text("action").unwrap_or("a call").to_owned(),
            at: text("at").unwrap_or("an unknown time").to_owned(),
            reads: reads.unwrap_or_default(),
        })
    }
}

/// Account and name of a user, of the role that a session is of, or of the root user, by its ARN.
fn user_or_role(arn: &str) -> Option<(&str, &str)> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    if let ["arn", _, _, _, account, "root"] = parts.as_slice() {
        return Some((account, "Root"));
    }
    let name = match resource(arn)? {
        ("assumed-role", path) => path.split('/').next(),
        ("user", path) => path.rsplit('/').next(),
        _ => None,
    };
    arn.split(':').nth(4).zip(name)
}

/// Who wrote what stands there in an answer.
pub(super) fn trust(state: &State, evidence: &Evidence, path: &str) -> Trust {
    let opened = state.opened.as_ref();
    let mut tools = opened.iter().flat_map(|opened| opened.tools.iter());
    tools
        .find(|spec| spec.name == evidence.tool)
        .map_or(Trust::External, |spec| spec.trust_of(path))
}

/// The addresses of the alert itself, and those that records account for.
fn accounted_for(state: &State, alert: &Alert) -> Vec<IpNet> {
    let of_alert = alert
        .indicators
        .iter()
        .filter(|one| one.kind == IndicatorKind::Ip && one.role != Role::Related)
        .map(|one| one.value.as_str())
        .chain(alert.addresses.iter().map(String::as_str));
    of_alert
        .filter_map(network)
        .chain(recorded(state, in_force))
        .collect()
}

/// Whether a row of a register of this kind speaks for an address at the time of the alert: a test that is over or that
/// nobody approved, and an identity that was switched off, vouch for nobody.
fn in_force(kind: &str, row: &Value) -> bool {
    let text = |field: &str| row.get(field).and_then(Value::as_str);
    if kind == SCANNERS {
        let is_valid = row.get("valid_at_event").and_then(Value::as_bool);
        return is_valid == Some(true) && text("approved_by").is_some();
    }
    text("status").is_none_or(|status| status == "active")
}

/// The addresses of what clears the alert, and those that registers gave in this case, in rows that count.
pub(super) fn recorded(state: &State, counts: impl Fn(&str, &Value) -> bool) -> Vec<IpNet> {
    let cleared = state.exonerations.iter().map(|fact| fact.subject.as_str());
    let mut networks: Vec<IpNet> = cleared.filter_map(network).collect();
    for evidence in state.evidence.values() {
        if evidence.error.is_none() && REGISTERS.contains(&evidence.kind.as_str()) {
            let counts = |row: &Value| counts(&evidence.kind, row);
            told(&evidence.body.value(), counts, &mut networks);
        }
    }
    networks
}

/// The addresses and networks of a register's rows that count; the question, which the answer repeats, stands above them.
fn told(body: &Value, counts: impl Fn(&Value) -> bool, networks: &mut Vec<IpNet>) {
    let lists = body.as_object().into_iter().flat_map(|map| map.values());
    for row in lists.filter_map(Value::as_array).flatten() {
        let meaning = row.get("meaning").and_then(Value::as_str);
        if meaning.is_none_or(|meaning| OURS.contains(&meaning)) && counts(row) {
            let said = ADDRESSES.iter().filter_map(|field| row.get(*field));
            said.for_each(|value| collect(value, networks));
        }
    }
}

/// A text, or a list of texts.
fn collect(value: &Value, networks: &mut Vec<IpNet>) {
    match value {
        Value::String(text) => networks.extend(network(text)),
        Value::Array(list) => {
            networks.extend(list.iter().filter_map(Value::as_str).filter_map(network))
        }
        _ => {}
    }
}

fn network(text: &str) -> Option<IpNet> {
    let text = text.trim();
    let alone = || text.parse::<IpAddr>().ok().map(IpNet::from);
    let wide = |net: &IpNet| match net {
        IpNet::V4(net) => net.prefix_len() < WIDEST.0,
        IpNet::V6(net) => net.prefix_len() < WIDEST.1,
    };
    let found = text.parse::<IpNet>().ok().or_else(alone);
    found.filter(|net| !wide(net))
}

#[cfg(test)]
mod tests;
