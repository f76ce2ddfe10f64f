//! Provides reports for the tests, in the form that the pipeline makes them.

// The paths are explicit because the tests of destinations include this file as well.
#[path = "fixture/foreign.rs"]
mod foreign;
#[path = "fixture/hostile.rs"]
mod hostile;

use chrono::{DateTime, Utc};
use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind, CaseWorkflow};
use nightshift_pipeline::delivery_payload::{DeliveredReport, DeliveryPayload};
use nightshift_pipeline::report::Report;
use serde_json::{Value, json};

use crate::TextOptions;

pub(crate) use foreign::{replace, strings};
pub(crate) use hostile::{POISON, hostile};

/// Returns a time twelve minutes after the last event of the alerts below.
pub(crate) fn now() -> DateTime<Utc> {
    DateTime::parse_from_rfc3339("2026-11-20T03:14:00Z")
        .unwrap()
        .to_utc()
}

/// Returns the options of a terminal without colours.
pub(crate) fn options(width: usize) -> TextOptions {
    TextOptions {
        width,
        colour: false,
        now: now(),
        local: None,
    }
}

fn read(value: Value) -> Report {
    serde_json::from_value(value).unwrap()
}

fn with(mut report: Value, changes: Value) -> Value {
    for (key, value) in changes.as_object().unwrap() {
        report[key] = value.clone();
    }
    report
}

fn quote(id: &str, quote: &str, path: &str) -> Value {
    json!({ "id": id, "quote": quote, "path": path })
}

fn finding(claim: &str, stance: &str, quotes: Vec<Value>) -> Value {
    json!({ "claim": claim, "supported": true, "stance": stance, "evidence": quotes })
}

fn evidence(id: &str, tool: &str, arguments: Value, rows: Option<u64>, body: Value) -> Value {
    json!({
        "id": id, "tool": tool, "arguments": arguments, "at": "2026-11-20T03:13:20Z", "rows": rows,
        "truncated": false, "error": null, "body": body,
    })
}

fn step(id: &str, description: &str, summary: &str, calls: Vec<Value>) -> Value {
    json!({
        "id": id, "description": description, "status": "done", "outcome": "met", "tools": [],
        "summary": summary, "wave": 1, "reason": null, "calls": calls,
    })
}

fn call(tool: &str, evidence: &str) -> Value {
    json!({ "tool": tool, "arguments": {}, "evidence": evidence, "rows": 1, "error": null })
}

fn miner_alert() -> Value {
    json!({
        "feed": "scc", "key": "scc b9c8d7e6f5a4b3c2d1e0 production-project-12345",
        "type": "Execution: Cryptocurrency Mining Hash Match", "title": "Crypto miner",
        "description": "", "provider": "gcp", "account": "production-project-12345", "account_name": null,
        "region": "us-central1-a", "resource_type": "google.compute.Instance", "subject": "web-server-prod-01",
        "action": null, "severity_sent": "HIGH", "first_seen": "2026-11-20T02:41:00Z",
        "last_seen": "2026-11-20T03:02:00Z", "count": 3, "sample": false, "flags": [],
    })
}

fn miner_actions() -> Value {
    json!([
        {
            "id": "gcp-snapshot", "text": "Snapshot the disk of web-server-prod-01 before anything else.",
            "command": "gcloud compute disks snapshot web-server-prod-01 --project production-project-12345 --zone us-central1-a --snapshot-names nightshift-web-server-prod-01",
            "side_effect": "Costs storage.",
            "undo": "gcloud compute snapshots delete nightshift-web-server-prod-01 --project production-project-12345",
        },
        {
            "id": "gcp-isolate", "text": "Isolate web-server-prod-01 from the network.",
            "command": "gcloud compute instances add-tags web-server-prod-01 --project production-project-12345 --zone us-central1-a --tags nightshift-isolated",
            "precondition": "A firewall rule that denies all traffic of the tag nightshift-isolated.",
            "side_effect": "The service on it is down.",
            "undo": "gcloud compute instances remove-tags web-server-prod-01 --project production-project-12345 --zone us-central1-a --tags nightshift-isolated",
        },
        { "id": "block", "text": "Block pool.minexmr.com at the resolver." },
        { "id": "ask-owner", "text": "Ask team-web whether they know of it." },
    ])
}

fn miner_findings() -> Value {
    json!([
        finding("pool.minexmr.com is on the watch list of mining pools.", "for",
            vec![quote("E3", "mining pool", "/matches/0/label")]),
        finding("web-server-prod-01 sent 41 MB to 185.220.101.42 on port 4444.", "for",
            vec![quote("E4", "185.220.101.42", "/rows/0/destination_ip"), quote("E4", "4444", "/rows/0/destination_port")]),
        finding("No change is recorded for web-server-prod-01 that night.", "for", vec![quote("E5", "0", "/found")]),
        { "claim": "The miner came in through CVE-2026-0001.", "supported": false, "stance": "for",
          "problem": "the quote does not stand in E4", "evidence": [{ "id": "E4", "quote": "CVE-2026-0001", "path": null }] },
        finding("The instance's service account was not used.", "against", vec![quote("E6", "0", "/found")]),
    ])
}

/// Returns a miner on a production server, with one unreadable source and one cancelled step.
pub(crate) fn true_positive() -> Report {
    let mut cancelled = step("s4", "Look up the image's owner.", "", vec![]);
    cancelled["status"] = json!("cancelled");
    cancelled["outcome"] = json!(null);
    cancelled["wave"] = json!(null);
    cancelled["reason"] = json!("the asset register already named the owner");
    let mut denied = step(
        "s3",
        "Read the VPC flow logs.",
        "access denied: vpc flow",
        vec![
            json!({ "tool": "vpc_flow", "arguments": {}, "evidence": "E7", "rows": null,
                "error": { "error": "denied", "what": "vpc flow" } }),
        ],
    );
    denied["status"] = json!("failed");
    denied["outcome"] = json!("failed");
    let mut unread = evidence(
        "E7",
        "vpc_flow",
        json!({ "ip": "185.220.101.42" }),
        None,
        json!(null),
    );
    unread["error"] = json!({ "error": "denied", "what": "vpc flow" });
    let report = json!({
        "schema": "nightshift.report/1", "case_id": "k3f9-x2mq-7d1w", "revision": 1, "status": "concluded",
        "alert": miner_alert(), "verdict": "true_positive", "leaning": "none", "reason": "suspicious_activity",
        "confidence": "high", "severity": "high", "assessed_severity": "critical", "urgency": "now",
        "title": "Crypto miner on web-server-prod-01",
        "summary": "Web-server-prod-01 runs xmrig and talks to pool.minexmr.com (185.220.101.42).",
        "meaning": "A program that is known to mine cryptocurrency was started on a virtual machine.",
        "findings": miner_findings(), "gaps": ["Read the VPC flow logs failed: access denied"],
        "would_decide": [], "actions": miner_actions(),
        "steps": [
            step("s1", "Look the pool and the address up.", "The pool is on the watch list.", vec![call("watchlist", "E3")]),
            step("s2", "Find out what the instance is.", "A production web server of team-web.", vec![call("asset_lookup", "E2"), call("change_lookup", "E5")]),
            denied, cancelled,
        ],
    });
    read(with(report, record(&unread)))
}

/// Returns the rest of the report: timeline, cost and evidence.
fn record(unread: &Value) -> Value {
    json!({
        "insights": ["The address belongs to a Tor exit."],
        "updates": [
            { "reflection": 1, "refused": null, "update": { "type": "cancel_step", "id": "s4", "reason": "the asset register already named the owner" } },
            { "reflection": 1, "refused": "s1 is finished", "update": { "type": "update_step", "id": "s1", "description": "Look again", "expected": null, "reason": "to be sure" } },
        ],
        "timeline": [
            { "at": "2026-11-20T02:41:00Z", "what": "first event of the alert", "evidence": "E0" },
            { "at": "2026-11-20T03:02:00Z", "what": "last event of the alert", "evidence": "E0" },
            { "at": "2026-11-20T03:05:10Z", "what": "connect by web-server-prod-01 to 185.220.101.42", "evidence": "E4" },
            { "at": "2026-11-20T03:13:00Z", "what": "triage began", "evidence": null },
        ],
        "since": { "logs": "events", "count": 1, "at_least": false, "last": "2026-11-20T03:05:10Z", "evidence": "E4" },
        "indicators": [
            { "type": "instance", "value": "web-server-prod-01", "role": "target" },
            { "type": "domain", "value": "pool.minexmr.com", "role": "remote" },
            { "type": "ip", "value": "185.220.101.42", "role": "remote" },
        ],
        "techniques": [{ "id": "T1496", "name": "Resource Hijacking" }], "exonerations": [],
        "cost": { "usd": 0.0, "input_tokens": 0, "cached_tokens": 0, "output_tokens": 0, "model_calls": 0 },
        "analyst": "playbook", "models": [], "source": "playbook crypto-mining 1", "degraded": false,
        "stopped_by": null, "failed": null, "overridden": [], "manipulation": false,
        "coverage": { "read": 4, "wanted": 5, "missing": ["vpc_flow: access denied: vpc flow"] },
        "reach": { "environment": "production", "internet_facing": true, "owner": "team-web", "role": "web server",
                   "data": null, "evidence": "E2", "other_cases": ["a1b2-c3d4-e5f6"] },
        "evidence": [
            evidence("E0", "alert", json!({}), None, json!({})),
            evidence("E3", "watchlist", json!({ "indicator": "pool.minexmr.com" }), Some(1), json!({ "matches": [{ "label": "mining pool" }] })),
            evidence("E4", "log_search", json!({ "ip": "185.220.101.42", "from": "2026-11-20T01:00:00Z" }), Some(12),
                json!({ "rows": [{ "destination_ip": "185.220.101.42", "destination_port": 4444 }] })),
            evidence("E5", "change_lookup", json!({ "indicator": "web-server-prod-01" }), Some(0), json!({ "found": 0 })),
            unread.clone(),
        ],
        "opened_at": "2026-11-20T03:13:00Z", "concluded_at": "2026-11-20T03:14:00Z", "took_ms": 12_400,
        "sender": { "version": "0.1.0" },
    })
}

/// Returns the miner after an inconclusive report an hour earlier.
pub(crate) fn again() -> Report {
    let changes = json!({
        "revision": 2,
        "again": {
            "revision": 1, "failed": false, "verdict": "inconclusive", "leaning": "none", "severity": "high",
            "urgency": "this_shift", "why": "severity",
            "new": [{ "type": "ip", "value": "203.0.113.99", "role": "actor" }],
        },
    });
    read(with(
        serde_json::to_value(true_positive()).unwrap(),
        changes,
    ))
}

/// Marks a report as not shown at three destinations, each for another reason.
pub(crate) fn handed_on(mut report: Report) -> Report {
    let missed = |why: &str| json!({ "why": why, "revision": 1 });
    report.instead_of = serde_json::from_value(json!({
        "old-desk": missed("removed"), "pager": missed("not_known"), "soc-oncall": missed("refused"),
    }))
    .unwrap();
    report
}

/// Returns a report about an authorised scanner.
pub(crate) fn benign() -> Report {
    let changes = json!({
        "verdict": "benign_true_positive", "reason": "authorised_activity", "severity": "medium",
        "assessed_severity": "low", "urgency": "none", "title": "Port scan from 203.0.113.50 on web-server-prod-01",
        "summary": "203.0.113.50 is the scanner of the security team, allowed until December.",
        "meaning": "A host was probed on many ports.",
        "findings": [finding("203.0.113.50 stands in the register of authorised scanners.", "against",
            vec![quote("E2", "203.0.113.50", "/scanners/0/address")])],
        "gaps": [], "actions": [], "insights": [], "updates": [],
        "steps": [step("s1", "Look the scanner up.", "It is authorised.", vec![call("authorised_scanners", "E2")])],
        "exonerations": [{
            "kind": "authorised_scanner", "subject_type": "ip", "subject": "203.0.113.50", "from": "2026-01-01T00:00:00Z",
            "until": "2026-12-31T00:00:00Z", "covers": ["Recon:*"], "approved_by": "maria@example.com",
            "ref": "SCAN-7", "statement": "203.0.113.50 is the scanner of the security team, allowed until December.",
            "detection_wrong": false, "evidence": "E2",
        }],
        "ledger": [{
            "subject_type": "ip", "subject": "203.0.113.50", "role": "actor", "required": true, "missing": null,
            "covered_by": { "kind": "authorised_scanner", "ref": "SCAN-7", "approved_by": "maria@example.com",
                            "until": "2026-12-31T00:00:00Z", "evidence": "E2" },
        }],
        "coverage": { "read": 2, "wanted": 2, "missing": [] },
        "indicators": [{ "type": "ip", "value": "203.0.113.50", "role": "actor" }],
        "techniques": [], "evidence": [evidence("E2", "authorised_scanners", json!({ "indicator": "203.0.113.50" }), Some(1),
            json!({ "scanners": [{ "address": "203.0.113.50" }] }))],
        "reach": { "environment": null, "internet_facing": null, "owner": null, "role": null, "data": null,
                   "evidence": null, "other_cases": [] },
    });
    read(with(
        serde_json::to_value(true_positive()).unwrap(),
        changes,
    ))
}

/// Returns a report whose benign answer was overridden: text in the data addresses the analyst, and no record clears
/// the alert.
pub(crate) fn overridden() -> Report {
    let changes = json!({
        "verdict": "inconclusive", "leaning": "benign", "reason": "suspected_manipulation", "confidence": "low",
        "severity": "high", "assessed_severity": "high", "urgency": "this_shift",
        "title": "Anomalous discovery by ci-deploy",
        "summary": "The user agent is the one that ci-deploy always sends. Not decided: the analyst said benign true positive; text in the data talks to the analyst, so nothing in it may clear the alert.",
        "meaning": "Somebody listed what an account holds, in a way that this account does not do.",
        "findings": [finding("The user agent is the one that ci-deploy always sends.", "against",
            vec![quote("E4", "aws-cli/2.15", "/rows/0/user_agent")])],
        "gaps": ["The identity register was not configured"],
        "ledger": [{
            "subject_type": "principal", "subject": "ci-deploy", "role": "actor", "required": true, "missing": null,
            "covered_by": { "kind": "identity", "ref": "ci-deploy", "approved_by": "grace", "until": null, "evidence": null },
        }, {
            "subject_type": "ip", "subject": "198.51.100.23", "role": "actor", "required": true, "covered_by": null,
            "missing": "Whether this was allowed: 198.51.100.23",
        }],
        "would_decide": ["An approved change for ci-deploy that covers that night", "The address it usually comes from"],
        "actions": [], "insights": [], "updates": [], "manipulation": true, "analyst": "model",
        "models": ["openai/gpt-x", "openai/gpt-x-mini"], "prompts": "1a2b3c4d5e6f7081", "source": "model",
        "overridden": [{ "rule": "suspected_manipulation",
            "text": "the analyst said benign true positive; text in the data talks to the analyst, so nothing in it may clear the alert" }],
        "cost": { "usd": 0.0312, "input_tokens": 5600, "cached_tokens": 4100, "output_tokens": 520, "model_calls": 7 },
        "timeline": [{ "at": "2026-11-20T02:41:00Z", "what": "ListUsers by ci-deploy from 198.51.100.7", "evidence": "E4" }],
        "since": { "logs": "nothing", "until": "2026-11-20T03:09:00Z", "evidence": "E4" },
        "steps": [step("s1", "Read CloudTrail.", "Two calls.", vec![call("log_search", "E4")])],
        "evidence": [evidence("E4", "log_search", json!({ "principal": "ci-deploy" }), Some(2),
            json!({ "rows": [{ "user_agent": "aws-cli/2.15" }] }))],
        "indicators": [{ "type": "principal", "value": "ci-deploy", "role": "actor" }, { "type": "ip", "value": "198.51.100.7", "role": "actor" }],
    });
    let mut report = with(serde_json::to_value(true_positive()).unwrap(), changes);
    report["alert"]["flags"] = json!([{ "flag": "instructions", "path": "/service/action/userAgent" }, { "flag": "hidden_text", "count": 4 }]);
    read(report)
}

/// Returns a failed run that looked at earlier cases and made no plan.
pub(crate) fn failed() -> Report {
    let changes = json!({
        "status": "failed", "verdict": "inconclusive", "leaning": "none", "reason": "tool_failure",
        "confidence": "low", "assessed_severity": "high", "urgency": "now", "degraded": true,
        "failed": "no plan could be made: the model gave no answer within 60 s",
        "summary": "Not triaged: No plan could be made: the model gave no answer within 60 s.",
        "findings": [], "gaps": [], "actions": [], "steps": [], "insights": [], "updates": [], "timeline": [],
        "since": { "logs": "not_known" },
        "coverage": { "read": 1, "wanted": 1, "missing": [] }, "evidence": [], "analyst": "model", "models": ["openai/gpt-x"],
        "source": "", "meaning": "", "cost": { "usd": 0.002, "input_tokens": 900, "cached_tokens": 0, "output_tokens": 0, "model_calls": 1 },
        "reach": { "environment": null, "internet_facing": null, "owner": null, "role": null, "data": null, "evidence": null, "other_cases": [] },
    });
    read(with(
        serde_json::to_value(true_positive()).unwrap(),
        changes,
    ))
}

/// Returns the delivery of a canary.
pub(crate) fn canary() -> DeliveryPayload {
    let mut report = benign();
    report.alert.feed = nightshift_alert::CANARY_FEED.to_owned();
    report.alert.sample = true;
    report.alert.title = "Canary 7: alerts get through".to_owned();
    report.title.clone_from(&report.alert.title);
    DeliveryPayload::new(report)
}

/// Marks a canary as seen, so that it is removed.
pub(crate) fn spend(showing: &mut DeliveryPayload, remote_id: Option<String>) {
    showing.version += 1;
    showing.delivered = Some(DeliveredReport::from_report(&showing.report));
    showing.remote_id = remote_id;
    showing.is_minor = true;
    showing.workflow = CaseWorkflow::from_actions(vec![CaseAction {
        at: now(),
        by: nightshift_pipeline::canary::CANARY_CLOSER.to_owned(),
        kind: CaseActionKind::Closed,
        note: String::new(),
    }]);
}
