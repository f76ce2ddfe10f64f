//! Reads ASFF fields beside resources: threats, malware, threat lists, processes, patches, notes.
//!
//! Values are related, because their role is unknown. A far end on a threat list is an actor or a remote, by the
//! direction of the finding.

use super::super::check_name::non_placeholder;
use super::super::{Draft, Node};
use crate::{DetailKind, Direction, FindingClass, IndicatorKind, IndicatorRole};

/// Maximum number of entries of a list that are read.
const MAX_ENTRIES: usize = 64;

/// Indicator kinds of threat lists, by type.
const THREAT_INTEL_TYPES: [(&str, IndicatorKind); 10] = [
    ("DOMAIN", IndicatorKind::Domain),
    ("EMAIL_ADDRESS", IndicatorKind::Email),
    ("HASH_MD5", IndicatorKind::Hash),
    ("HASH_SHA1", IndicatorKind::Hash),
    ("HASH_SHA256", IndicatorKind::Hash),
    ("HASH_SHA512", IndicatorKind::Hash),
    ("IPV4_ADDRESS", IndicatorKind::Ip),
    ("IPV6_ADDRESS", IndicatorKind::Ip),
    ("PROCESS", IndicatorKind::Process),
    ("URL", IndicatorKind::Url),
];

/// Counts of a patch run with their labels.
const PATCHES: [(&str, &str); 6] = [
    ("MissingCount", "missing"),
    ("FailedCount", "failed"),
    ("InstalledCount", "installed"),
    ("InstalledOtherCount", "installed outside the baseline"),
    ("InstalledRejectedCount", "installed though rejected"),
    ("InstalledPendingReboot", "waiting for a reboot"),
];

/// A reader of one entry of a list.
type EntryReader = fn(&mut Draft, Node<'_>);

/// Reads the fields that findings of any product may have.
pub(super) fn read_evidence(draft: &mut Draft, node: Node<'_>) {
    let lists: [(&str, EntryReader); 3] = [
        ("Threats", read_threat),
        ("Malware", read_malware),
        ("ThreatIntelIndicators", read_threat_intel),
    ];
    for (key, read) in lists {
        for one in bounded_entries(draft, node.at(key)) {
            read(draft, one);
        }
    }
    read_process(draft, node.at("Process"));
    let patches = patch_counts(node.at("PatchSummary"));
    draft.add_detail_text(DetailKind::Trait, &patches, None);
    let related = [
        "RelatedFindings/Id",
        "FindingProviderFields/RelatedFindings/Id",
    ];
    for id in related
        .iter()
        .flat_map(|path| node.descendants(path))
        .take(MAX_ENTRIES)
    {
        draft.add_detail(DetailKind::RelatedFinding, id);
    }
    draft.add_detail(DetailKind::Signature, node.path("GeneratorDetails/Name"));
    read_opinions(draft, node);
}

/// Returns the entries up to the limit. Dropped entries may name processes or actors, which is recorded.
fn bounded_entries<'a>(
    draft: &mut Draft,
    list: Node<'a>,
) -> impl Iterator<Item = Node<'a>> + use<'a> {
    draft.is_actor_dropped |= list.items().nth(MAX_ENTRIES).is_some();
    list.items().take(MAX_ENTRIES)
}

/// Returns the role of a value on a threat list: actor or remote. In a check it is neither.
fn role_in_connection(draft: &Draft, kind: IndicatorKind, value: Node<'_>) -> IndicatorRole {
    let is_end = matches!(
        kind,
        IndicatorKind::Ip | IndicatorKind::Domain | IndicatorKind::Url
    );
    let is_own = value.str().is_some_and(|text| draft.is_own_address(text));
    match draft.direction {
        _ if !is_end || is_own || draft.class != FindingClass::Threat => IndicatorRole::Related,
        Some(Direction::Inbound) => IndicatorRole::Actor,
        Some(Direction::Outbound) => IndicatorRole::Remote,
        None => IndicatorRole::Related,
    }
}

fn read_threat(draft: &mut Draft, threat: Node<'_>) {
    let mut about = None;
    for file in bounded_entries(draft, threat.at("FilePaths")) {
        let path = ["FilePath", "FileName"].map(|key| file.at(key));
        let path = path.into_iter().find(|path| path.str().is_some());
        let path = path.and_then(|path| draft.add_related(IndicatorKind::File, path));
        let hash = draft.add_related(IndicatorKind::Hash, file.at("Hash"));
        draft.add_related(IndicatorKind::Arn, file.at("ResourceId"));
        about = about.or(path).or(hash);
    }
    add_non_placeholder(
        draft,
        DetailKind::ThreatName,
        threat.at("Name"),
        about.as_deref(),
    );
    add_non_placeholder(
        draft,
        DetailKind::EventCount,
        threat.at("ItemCount"),
        about.as_deref(),
    );
}

fn read_malware(draft: &mut Draft, malware: Node<'_>) {
    let path = draft.add_related(IndicatorKind::File, malware.at("Path"));
    let path = path.as_deref();
    add_non_placeholder(draft, DetailKind::ThreatName, malware.at("Name"), path);
    let words = ["Type", "State"].map(|key| malware.at(key).str().and_then(non_placeholder));
    let words: Vec<&str> = words.into_iter().flatten().collect();
    if !words.is_empty() {
        let text = format!("malware: {}", words.join(", "));
        draft.add_detail_text(DetailKind::Trait, &text, path);
    }
}

fn read_threat_intel(draft: &mut Draft, hit: Node<'_>) {
    let value = hit.at("Value");
    let kind = hit.at("Type").str().unwrap_or_default();
    let mut listed = THREAT_INTEL_TYPES.iter();
    let about = match listed.find(|(name, _)| kind.eq_ignore_ascii_case(name)) {
        Some((_, kind)) => {
            let role = role_in_connection(draft, *kind, value);
            draft.add(*kind, role, value).pop()
        }
        None => {
            add_non_placeholder(draft, DetailKind::Signature, value, None);
            None
        }
    };
    let about = about.as_deref();
    add_non_placeholder(draft, DetailKind::ThreatList, hit.at("Source"), about);
    if let Some(category) = hit.at("Category").str().and_then(non_placeholder) {
        draft.add_detail_text(DetailKind::Trait, &format!("listed as {category}"), about);
    }
}

fn read_process(draft: &mut Draft, process: Node<'_>) {
    let name = draft.add_related(IndicatorKind::Process, process.at("Name"));
    let path = draft.add_related(IndicatorKind::File, process.at("Path"));
    let about = name.or(path);
    let numbers = [("Pid", "pid"), ("ParentPid", "parent pid")];
    let numbers = numbers.map(|(key, word)| Some(format!("{word} {}", process.at(key).text()?)));
    let numbers: Vec<String> = numbers.into_iter().flatten().collect();
    draft.add_detail_text(DetailKind::Trait, &numbers.join(", "), about.as_deref());
}

/// Returns `patches: 3 missing, 1 failed`, or an empty text where all counts are 0.
fn patch_counts(summary: Node<'_>) -> String {
    let counts = PATCHES.iter().filter_map(|(key, word)| {
        let count = summary.at(key).count().filter(|count| *count > 0)?;
        Some(format!("{count} {word}"))
    });
    let counts: Vec<String> = counts.collect();
    match counts.is_empty() {
        true => String::new(),
        false => format!("patches: {}", counts.join(", ")),
    }
}

/// Reads the opinions of people and of the product. A favourable one clears nothing.
fn read_opinions(draft: &mut Draft, node: Node<'_>) {
    if let Some(verified) = node.at("VerificationState").str().and_then(non_placeholder) {
        let kind = match verified {
            "FALSE_POSITIVE" | "BENIGN_POSITIVE" => DetailKind::Claim,
            _ => DetailKind::Trait,
        };
        draft.add_detail_text(kind, &format!("verified there as {verified}"), None);
    }
    if let Some(text) = node.path("Note/Text").str().and_then(non_placeholder) {
        let by = node.path("Note/UpdatedBy").str().unwrap_or("somebody");
        draft.add_detail_text(DetailKind::Trait, &format!("note by {by}: {text}"), None);
    }
    for key in ["Confidence", "Criticality"] {
        let given = [node.at(key), node.path("FindingProviderFields").at(key)];
        if let Some(value) = given.into_iter().find_map(Node::text) {
            let text = format!("{} {value}", key.to_ascii_lowercase());
            draft.add_detail_text(DetailKind::Trait, &text, None);
        }
    }
    let status = node
        .path("Compliance/Status")
        .str()
        .and_then(non_placeholder);
    if let Some(status) = status.filter(|status| !matches!(*status, "PASSED" | "FAILED")) {
        draft.add_detail_text(DetailKind::CheckResult, status, None);
    }
    // Security Hub tells the result of each control. Other products send only failed checks.
    let is_control = draft.class == FindingClass::Posture && draft.product == "securityhub";
    if is_control && status.is_none() {
        draft.add_detail_text(DetailKind::CheckResult, "no result was sent", None);
    }
    for reason in node
        .path("Compliance/StatusReasons")
        .items()
        .take(MAX_ENTRIES)
    {
        let words =
            ["ReasonCode", "Description"].map(|key| reason.at(key).str().and_then(non_placeholder));
        let words: Vec<&str> = words.into_iter().flatten().collect();
        draft.add_detail_text(DetailKind::Trait, &words.join(": "), None);
    }
}

/// Adds a detail, unless the value is a placeholder.
pub(super) fn add_non_placeholder(
    draft: &mut Draft,
    kind: DetailKind,
    node: Node<'_>,
    about: Option<&str>,
) {
    let text = node.text().unwrap_or_default();
    if let Some(text) = non_placeholder(&text) {
        draft.add_detail_text(kind, text, about);
    }
}
