//! Reads threat data: malware, vulnerabilities and threat intelligence.

use super::super::{Draft, Node};
use super::{descendants, process};
use crate::{DetailKind, IndicatorKind, IndicatorRole};

/// Classifications of malware by their numbers: <https://schema.ocsf.io/1.8.0/objects/malware>.
const MALWARE: [(u64, &str); 21] = [
    (1, "Adware"),
    (2, "Backdoor"),
    (3, "Bot"),
    (4, "Bootkit"),
    (5, "DDOS"),
    (6, "Downloader"),
    (7, "Dropper"),
    (8, "Exploit-Kit"),
    (9, "Keylogger"),
    (10, "Ransomware"),
    (11, "Remote-Access-Trojan"),
    (13, "Resource-Exploitation"),
    (14, "Rogue-Security-Software"),
    (15, "Rootkit"),
    (16, "Screen-Capture"),
    (17, "Spyware"),
    (18, "Trojan"),
    (19, "Virus"),
    (20, "Webshell"),
    (21, "Wiper"),
    (22, "Worm"),
];

/// Indicator kinds of open-source intelligence, by `type_id`: <https://schema.ocsf.io/1.8.0/objects/osint>.
const OSINT: [(u64, IndicatorKind); 7] = [
    (1, IndicatorKind::Ip),
    (2, IndicatorKind::Domain),
    (3, IndicatorKind::Domain),
    (4, IndicatorKind::Hash),
    (5, IndicatorKind::Url),
    (9, IndicatorKind::Email),
    (10, IndicatorKind::Cve),
];

/// Details that open-source intelligence gives about a value.
const OSINT_DETAILS: [(&str, DetailKind); 7] = [
    ("vendor_name", DetailKind::ThreatList),
    ("malware/name", DetailKind::ThreatName),
    ("threat_actor/name", DetailKind::ThreatName),
    ("campaign/name", DetailKind::ThreatName),
    ("intrusion_sets", DetailKind::ThreatName),
    ("category", DetailKind::Trait),
    ("detection_pattern", DetailKind::Signature),
];

pub(super) fn read_threats(draft: &mut Draft, node: Node<'_>) {
    for malware in node.at("malware").items() {
        read_malware(draft, malware);
    }
    for vulnerability in node.at("vulnerabilities").items() {
        read_vulnerability(draft, vulnerability);
    }
    for osint in node.at("osint").items() {
        read_osint(draft, osint);
    }
}

fn read_malware(draft: &mut Draft, malware: Node<'_>) {
    let name = malware.at("name").str();
    draft.add_detail(DetailKind::ThreatName, malware.at("name"));
    draft.add(
        IndicatorKind::File,
        IndicatorRole::Related,
        malware.at("path"),
    );
    for file in malware.at("files").items() {
        process::read_file(draft, file);
    }
    for cve in ["cves/uid", "cves"]
        .iter()
        .flat_map(|path| descendants(malware, path))
    {
        draft.add(IndicatorKind::Cve, IndicatorRole::Related, cve);
    }
    let words = descendants(malware, "classifications");
    for word in &words {
        draft.add_detail_about(DetailKind::Trait, *word, name);
    }
    if words.is_empty() {
        for id in descendants(malware, "classification_ids")
            .into_iter()
            .filter_map(Node::count)
        {
            let mut known = MALWARE.iter().filter(|(known, _)| *known == id);
            let word = known.next().map_or("", |(_, word)| *word);
            draft.add_detail_text(DetailKind::Trait, word, name);
        }
    }
}

fn read_vulnerability(draft: &mut Draft, vulnerability: Node<'_>) {
    let cve = vulnerability.at("cve");
    draft.add(IndicatorKind::Cve, IndicatorRole::Related, cve.at("uid"));
    let id = cve.at("uid").str();
    for package in ["affected_packages", "packages"]
        .iter()
        .flat_map(|path| descendants(vulnerability, path))
    {
        let words = ["name", "version"].map(|key| package.at(key).text());
        let text = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
        draft.add_detail_text(DetailKind::Package, &text, id);
        let fixed = package.at("fixed_in_version");
        draft.add_detail_about(DetailKind::FixedVersion, fixed, package.at("name").str());
    }
    for file in descendants(vulnerability, "affected_code/file") {
        process::read_file(draft, file);
    }
    let mut exposure = |text: &str| draft.add_detail_text(DetailKind::Exposure, text, id);
    if vulnerability.at("is_exploit_available").is_true() {
        exposure("an exploit is available");
    }
    let fix = ["is_fix_available", "fix_available"].map(|key| vulnerability.at(key));
    if fix.iter().any(|fix| fix.is_true()) {
        exposure("a fix is available");
    } else if fix.iter().any(|fix| fix.exists()) {
        exposure("no fix is available");
    }
    for (label, path) in [("EPSS", "epss/score"), ("CVSS", "cvss/base_score")] {
        let mut scores = descendants(cve, path).into_iter();
        if let Some(score) = scores.find_map(Node::text) {
            exposure(&format!("{label} {score}"));
        }
    }
}

/// Reads a value of threat intelligence with its source and details.
fn read_osint(draft: &mut Draft, osint: Node<'_>) {
    let value = osint.at("value").str();
    let known = OSINT
        .iter()
        .find(|(id, _)| osint.at("type_id").count() == Some(*id));
    if let (Some((_, kind)), Some(value)) = (known, value) {
        draft.add_text(*kind, IndicatorRole::Related, value);
    } else if let Some(value) = value {
        draft.add_from_text(value);
    }
    process::read_file(draft, osint.at("file"));
    for (path, kind) in OSINT_DETAILS {
        for told in descendants(osint, path) {
            draft.add_detail_about(kind, told, value);
        }
    }
}
