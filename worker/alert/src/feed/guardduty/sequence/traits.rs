//! Reads common properties of the signals of a sequence, by GuardDuty's `IndicatorType`.
//!
//! <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_Indicator.html>

use super::MAX_LISTED;
use crate::feed::{Draft, Node};
use crate::{DetailKind, IndicatorKind, IndicatorRole, Technique};

/// Types whose values are indicators.
const INDICATORS: [(&str, IndicatorKind, IndicatorRole); 10] = [
    ("MALICIOUS_IP", IndicatorKind::Ip, IndicatorRole::Actor),
    ("TOR_IP", IndicatorKind::Ip, IndicatorRole::Actor),
    ("CRYPTOMINING_IP", IndicatorKind::Ip, IndicatorRole::Remote),
    (
        "MALICIOUS_DOMAIN",
        IndicatorKind::Domain,
        IndicatorRole::Remote,
    ),
    (
        "CRYPTOMINING_DOMAIN",
        IndicatorKind::Domain,
        IndicatorRole::Remote,
    ),
    (
        "MALICIOUS_PROCESS",
        IndicatorKind::Process,
        IndicatorRole::Related,
    ),
    (
        "SUSPICIOUS_PROCESS",
        IndicatorKind::Process,
        IndicatorRole::Related,
    ),
    (
        "CRYPTOMINING_PROCESS",
        IndicatorKind::Process,
        IndicatorRole::Related,
    ),
    (
        "MALICIOUS_FILE",
        IndicatorKind::File,
        IndicatorRole::Related,
    ),
    ("VULNERABILITY", IndicatorKind::Cve, IndicatorRole::Related),
];

/// Types whose values are details of their own kind. All others become traits with the type as label.
const DETAILS: [(&str, DetailKind); 5] = [
    ("HIGH_RISK_API", DetailKind::Operation),
    ("UNUSUAL_API_FOR_ACCOUNT", DetailKind::Operation),
    ("SUSPICIOUS_USER_AGENT", DetailKind::UserAgent),
    ("MALICIOUS_PACKAGE", DetailKind::Package),
    ("REACHABILITY", DetailKind::Exposure),
];

/// Reads `[{key, values, title}]`.
pub(super) fn read_traits(draft: &mut Draft, list: Node<'_>) {
    for indicator in list.items() {
        let key = indicator.at("key").str().unwrap_or_default();
        read_trait(draft, key, indicator.at("values"));
        if indicator.at("values").items().next().is_none() {
            draft.add_detail(DetailKind::Trait, indicator.at("title"));
        }
    }
}

/// Reads the values of one type.
pub(in crate::feed) fn read_trait(draft: &mut Draft, key: &str, values: Node<'_>) {
    let indicator = INDICATORS.iter().find(|(known, ..)| *known == key);
    let detail = DETAILS.iter().find(|(known, _)| *known == key);
    if let Some((_, kind, role)) = indicator {
        for value in values.items() {
            draft.add(*kind, *role, value);
        }
        return;
    }
    for node in values.items().take(4 * MAX_LISTED) {
        let Some(value) = node.str() else { continue };
        match (key, detail) {
            (_, Some((_, kind))) => draft.add_detail_text(*kind, value, None),
            ("ATTACK_TECHNIQUE", _) => draft.techniques.extend(technique(value)),
            _ => {
                let label = key.to_ascii_lowercase().replace('_', " ");
                draft.add_detail_text(DetailKind::Trait, &format!("{label}: {value}"), None);
            }
        }
    }
}

/// Parses `T1078.004`, or `T1078.004 - Valid Accounts: Cloud Accounts`.
pub(in crate::feed) fn technique(text: &str) -> Option<Technique> {
    let (id, name) = match text.split_once([' ', '/']) {
        Some((id, name)) => (
            id,
            Some(name.trim_start_matches(['-', ':', ' ']).to_owned()),
        ),
        None => (text, None),
    };
    let digits = id.strip_prefix('T')?;
    let is_id = digits.len() >= 4 && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    is_id.then(|| Technique {
        id: id.to_owned(),
        name: name.filter(|name| !name.is_empty()),
    })
}
