//! Reads the simple fields of a finding, which are rows of a table.

use super::super::{Draft, Node};
use super::fields::FieldMapping::{self, Detail, Flag, Labelled, Member, Record, Resource, Value};
use super::fields::{for_each_descendant, non_default};
use crate::DetailKind::{
    AiModel, Application, Control, CustomRule, ErrorCode, EventCount, Exposure, FixedVersion,
    RelatedFinding, SecurityGroup, Signature, ThreatName, Trait, Vpc,
};
use crate::{IndicatorKind, IndicatorRole};

/// Fields by their record. `/` separates names, and lists on the way are opened.
///
/// <https://cloud.google.com/security-command-center/docs/reference/rest/v2/organizations.sources.locations.findings>
const RECORDS: &[(&str, &[(&str, FieldMapping)])] = &[
    (
        "agent",
        &[
            ("displayName", Detail(AiModel)),
            ("id", Labelled(AiModel, "agent")),
        ],
    ),
    (
        "agentSessions",
        &[("sessionId", Labelled(AiModel, "session"))],
    ),
    (
        "agentAnomaly",
        &[
            (
                "confidenceScore",
                Labelled(Trait, "confidence of the anomaly"),
            ),
            ("detectorReferences", Record(detector)),
            (
                "invocationReferences/invocationId",
                Labelled(Trait, "invocation"),
            ),
        ],
    ),
    (
        "aiModel",
        &[
            ("name", Detail(AiModel)),
            ("displayName", Detail(AiModel)),
            ("publisher", Labelled(AiModel, "publisher")),
            ("library", Labelled(AiModel, "library")),
            ("domain", Labelled(AiModel, "domain")),
            ("deploymentPlatform", Labelled(AiModel, "platform")),
        ],
    ),
    (
        "vertexAi",
        &[
            ("datasets/name", Resource(IndicatorRole::Related)),
            ("datasets/displayName", Labelled(AiModel, "data set")),
            (
                "datasets/source",
                Labelled(AiModel, "source of the data set"),
            ),
            ("pipelines/name", Resource(IndicatorRole::Related)),
            ("pipelines/displayName", Labelled(AiModel, "pipeline")),
        ],
    ),
    (
        "application",
        &[
            ("fullUri", Value(IndicatorKind::Url, IndicatorRole::Target)),
            ("baseUri", Detail(Application)),
        ],
    ),
    (
        "attackExposure",
        &[
            ("score", Labelled(Exposure, "attack exposure score")),
            (
                "exposedHighValueResourcesCount",
                Labelled(Exposure, "exposed resources of high value:"),
            ),
        ],
    ),
    (
        "backupDisasterRecovery",
        &[
            ("host", Labelled(Trait, "backup host")),
            ("applications", Labelled(Trait, "backup application")),
            ("backupTemplate", Labelled(Trait, "backup template")),
            ("policies", Labelled(Trait, "backup policy")),
            ("policyOptions", Labelled(Trait, "backup policy option")),
            ("profile", Labelled(Trait, "backup profile")),
            ("storagePool", Labelled(Trait, "backup storage pool")),
            ("appliance", Labelled(Trait, "backup appliance")),
            ("backupType", Labelled(Trait, "backup type")),
        ],
    ),
    ("chokepoint", &[("relatedFindings", Detail(RelatedFinding))]),
    (
        "cloudArmor",
        &[
            ("securityPolicy/name", Detail(SecurityGroup)),
            (
                "securityPolicy/preview",
                Flag(Trait, "security policy in preview: it blocks nothing"),
            ),
            ("requests/shortTermAllowed", Detail(EventCount)),
            (
                "requests/shortTermAllowed",
                Labelled(Trait, "requests allowed, short term:"),
            ),
            (
                "requests/longTermAllowed",
                Labelled(Trait, "requests allowed, long term:"),
            ),
            (
                "requests/longTermDenied",
                Labelled(Trait, "requests denied, long term:"),
            ),
            ("requests/ratio", Labelled(Trait, "ratio of requests")),
            (
                "adaptiveProtection/confidence",
                Labelled(Trait, "confidence of the attack"),
            ),
            ("attack/classification", Detail(ThreatName)),
            (
                "attack/volumePpsLong",
                Labelled(Trait, "packets per second:"),
            ),
            ("attack/volumePps", Labelled(Trait, "packets per second:")),
            ("attack/volumeBpsLong", Labelled(Trait, "bytes per second:")),
            ("attack/volumeBps", Labelled(Trait, "bytes per second:")),
            ("threatVector", Labelled(Trait, "threat vector")),
            ("duration", Labelled(Trait, "duration")),
        ],
    ),
    (
        "cloudDlpDataProfile",
        &[("dataProfile", Labelled(Trait, "data profile"))],
    ),
    (
        "cloudDlpInspection",
        &[
            ("infoType", Labelled(Trait, "type of data")),
            ("infoTypeCount", Detail(EventCount)),
            ("inspectJob", Labelled(Trait, "inspection job")),
        ],
    ),
    (
        "complianceDetails",
        &[
            ("cloudControl/cloudControlName", Detail(Control)),
            ("frameworks/displayName", Labelled(Control, "framework")),
            ("frameworks/name", Labelled(Control, "framework")),
        ],
    ),
    (
        "dataRetentionDeletionEvents",
        &[
            ("eventType", Labelled(Trait, "retention event")),
            ("dataObjectCount", Detail(EventCount)),
            (
                "maxRetentionAllowed",
                Labelled(Trait, "longest retention allowed:"),
            ),
        ],
    ),
    (
        "disk",
        &[
            ("name", Resource(IndicatorRole::Related)),
            ("name", Labelled(Trait, "disk")),
        ],
    ),
    (
        "affectedResources",
        &[("count", Labelled(Trait, "affected resources:"))],
    ),
    ("groupMemberships", &[("groupId", Record(group))]),
    (
        "job",
        &[
            ("name", Resource(IndicatorRole::Related)),
            ("name", Labelled(Trait, "job")),
            ("state", Labelled(Trait, "job state")),
            ("errorCode", Detail(ErrorCode)),
            ("location", Labelled(Trait, "job location")),
        ],
    ),
    (
        "kernelRootkit",
        &[
            ("name", Detail(ThreatName)),
            (
                "unexpectedCodeModification",
                Flag(Trait, "unexpected modification of kernel code"),
            ),
            (
                "unexpectedReadOnlyDataModification",
                Flag(Trait, "unexpected modification of read-only kernel data"),
            ),
            (
                "unexpectedFtraceHandler",
                Flag(Trait, "unexpected ftrace handler"),
            ),
            (
                "unexpectedKprobeHandler",
                Flag(Trait, "unexpected kprobe handler"),
            ),
            (
                "unexpectedKernelCodePages",
                Flag(Trait, "unexpected kernel code pages"),
            ),
            (
                "unexpectedSystemCallHandler",
                Flag(Trait, "unexpected system call handler"),
            ),
            (
                "unexpectedInterruptHandler",
                Flag(Trait, "unexpected interrupt handler"),
            ),
            (
                "unexpectedProcessesInRunqueue",
                Flag(Trait, "unexpected processes in the run queue"),
            ),
        ],
    ),
    (
        "loadBalancers",
        &[
            ("name", Resource(IndicatorRole::Related)),
            ("name", Labelled(Trait, "load balancer")),
        ],
    ),
    ("logEntries", &[("cloudLoggingEntry", Record(log_entry))]),
    ("networks", &[("name", Detail(Vpc))]),
    (
        "notebook",
        &[
            ("lastAuthor", Member(IndicatorRole::Actor)),
            ("name", Resource(IndicatorRole::Related)),
            ("name", Labelled(Trait, "notebook")),
            ("service", Detail(Application)),
        ],
    ),
    ("orgPolicies", &[("name", Detail(Control))]),
    ("risks", &[("riskCategory", Labelled(Trait, "risk"))]),
    (
        "securityPosture",
        &[
            ("policy", Detail(Control)),
            ("changedPolicy", Detail(Control)),
            ("policySet", Labelled(Control, "policy set")),
            ("name", Labelled(Control, "posture")),
            ("policyDriftDetails", Record(drift)),
        ],
    ),
    (
        "toxicCombination",
        &[
            ("relatedFindings", Detail(RelatedFinding)),
            (
                "attackExposureScore",
                Labelled(Exposure, "attack exposure score"),
            ),
        ],
    ),
    (
        "vulnerability",
        &[
            ("cve/id", Value(IndicatorKind::Cve, IndicatorRole::Related)),
            (
                "cve/exploitationActivity",
                Labelled(Exposure, "exploitation activity:"),
            ),
            (
                "cve/observedInTheWild",
                Flag(Exposure, "exploited in the wild"),
            ),
            ("cve/zeroDay", Flag(Exposure, "zero day")),
            (
                "cve/upstreamFixAvailable",
                Flag(Trait, "a fix is available"),
            ),
            ("cve/impact", Labelled(Trait, "impact:")),
            ("cve/cvssv3/baseScore", Labelled(Trait, "CVSS")),
            ("cve/cvssv3/attackVector", Record(attack_vector)),
            ("reachable", Flag(Exposure, "reachable")),
            ("cwes/id", Labelled(Trait, "weakness")),
            ("securityBulletin/bulletinId", Labelled(Trait, "bulletin")),
            (
                "securityBulletin/suggestedUpgradeVersion",
                Detail(FixedVersion),
            ),
        ],
    ),
];

/// Reads the fields of [`RECORDS`].
pub(super) fn read_records(draft: &mut Draft, finding: Node<'_>) {
    for (record, fields) in RECORDS {
        let record = finding.at(record);
        if !record.exists() {
            continue;
        }
        for (path, reading) in *fields {
            for_each_descendant(record, path, &mut |node| reading.apply(draft, node));
        }
    }
    // A custom detector of a folder or project is called `…/customModules/<id>`.
    if let Some(module) = finding
        .at("moduleName")
        .str()
        .filter(|name| name.contains("/customModules/"))
    {
        draft.add_detail_text(CustomRule, module, None);
    }
}

/// Adds the group of another finding. The leading finding of a group names itself, which is skipped.
fn group(draft: &mut Draft, id: Node<'_>) {
    if id.str().is_some_and(|id| id != draft.id) {
        draft.add_detail(RelatedFinding, id);
    }
}

/// Adds the attack vector of a vulnerability: `NETWORK`, with a prefix in API v1 and v2.
fn attack_vector(draft: &mut Draft, vector: Node<'_>) {
    if let Some(word) = non_default(vector) {
        let word = word.strip_prefix("ATTACK_VECTOR_").unwrap_or(&word);
        draft.add_detail_text(Exposure, &format!("attack vector: {word}"), None);
    }
}

/// Adds the detector of an agent's anomaly, with its reason.
fn detector(draft: &mut Draft, detector: Node<'_>) {
    let name = detector
        .at("detectorId")
        .str()
        .or(detector.at("displayName").str());
    let Some(name) = name else { return };
    draft.add_detail_text(Signature, name, None);
    for key in ["explanation", "recommendation"] {
        if let Some(text) = detector.at(key).str() {
            draft.add_detail_text(Trait, &format!("{name}: {text}"), None);
        }
    }
}

/// Adds the location of the log entry behind a finding.
pub(super) fn log_entry(draft: &mut Draft, entry: Node<'_>) {
    let Some(id) = entry.at("insertId").str() else {
        return;
    };
    let of = |key: &str, word: &str| {
        let text = entry.at(key).str();
        text.map_or_else(String::new, |text| format!(" {word} {text}"))
    };
    let (log, container) = (of("logId", "of log"), of("resourceContainer", "in"));
    draft.add_detail_text(Trait, &format!("log entry {id}{log}{container}"), None);
}

/// Adds the drift of a policy from a posture.
pub(super) fn drift(draft: &mut Draft, drift: Node<'_>) {
    let text = |keys: [&str; 2]| {
        let told = keys.iter().find_map(|key| drift.path(key).text());
        told.unwrap_or_else(|| "nothing".to_owned())
    };
    let field = text(["field", "fieldName"]);
    let expected = text(["expectedValue", "driftDetails/expectedConfiguration"]);
    let detected = text(["detectedValue", "driftDetails/detectedConfiguration"]);
    let written = format!("{field}: expected {expected}, detected {detected}");
    draft.add_detail_text(Trait, &written, None);
}
