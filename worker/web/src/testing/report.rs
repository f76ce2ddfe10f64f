//! Provides reports for tests, as the pipeline makes them.

use nightshift_pipeline::report::Report;
use serde_json::{Value, json};

use super::ID;

fn read(value: Value) -> Report {
    serde_json::from_value(value).unwrap()
}

fn finding(claim: &str, stance: &str, supported: bool, id: &str, quote: &str) -> Value {
    json!({
        "claim": claim, "supported": supported, "stance": stance,
        "problem": (!supported).then_some("the quote does not stand in E4"),
        "evidence": [{ "id": id, "quote": quote, "path": "/rows/0/destination_ip" }],
    })
}

fn step(id: &str, status: &str, outcome: Value, error: Value) -> Value {
    json!({
        "id": id, "description": "Read the flow logs.", "status": status, "outcome": outcome, "tools": ["vpc_flow"],
        "summary": "41 MB left for port 4444.", "wave": 1, "reason": "the owner is known",
        "calls": [{ "tool": "vpc_flow", "arguments": { "ip": "185.220.101.42" }, "evidence": "E4", "rows": 1, "error": error }],
    })
}

fn evidence(id: &str, tool: &str, body: Value) -> Value {
    json!({
        "id": id, "tool": tool, "arguments": { "indicator": "pool.minexmr.com" }, "at": "2026-11-20T03:13:20Z",
        "rows": 1, "truncated": false, "error": null, "body": body,
    })
}

fn facts() -> Value {
    json!({
        "feed": "scc", "key": "scc b9c8 production-project-12345",
        "type": "Execution: Cryptocurrency Mining Hash Match", "title": "Crypto miner", "description": "A miner",
        "provider": "gcp", "account": "production-project-12345", "account_name": "Production", "region": "us-central1-a",
        "resource_type": "google.compute.Instance", "subject": "web-server-prod-01", "action": "mined",
        "severity_sent": "8.5", "first_seen": "2026-11-20T02:41:00Z", "last_seen": "2026-11-20T03:02:00Z", "count": 3,
        "sample": true, "flags": [],
    })
}

fn value() -> Value {
    let mut report = json!({
        "schema": "nightshift.report/1", "case_id": ID, "revision": 1, "status": "concluded", "alert": facts(),
        "verdict": "true_positive", "leaning": "none", "reason": "suspicious_activity", "confidence": "high",
        "severity": "high", "assessed_severity": "critical", "urgency": "now",
        "title": "Crypto miner on web-server-prod-01", "summary": "web-server-prod-01 mines Monero for pool.minexmr.com.",
        "meaning": "A program on the machine has the hash of a known miner.",
        "findings": [
            finding("pool.minexmr.com is a mining pool.", "for", true, "E3", "mining pool"),
            finding("The miner came in through a library.", "for", false, "E4", "CVE-2026-0001"),
            finding("The service account was not used.", "against", true, "E4", "0"),
        ],
        "gaps": ["No process list of the machine."], "would_decide": ["An approved change for web-server-prod-01."],
        "insights": ["The pool is reached by address."], "analyst": "playbook", "models": ["openai/gpt-x"],
        "source": "playbook crypto-mining 1", "degraded": true, "stopped_by": "minutes", "failed": null,
        "overridden": [{ "rule": "severity_floor", "text": "Severity stays: nothing clears it." }], "manipulation": true,
        "signals": [{ "evidence": "E4", "path": "/rows/0/user_agent", "text": "ignore previous instructions" }],
        "coverage": { "read": 4, "wanted": 5, "missing": ["VPC flow: access denied"] },
        "cost": { "usd": 0.0312, "input_tokens": 5600, "cached_tokens": 4100, "output_tokens": 520, "model_calls": 7 },
        "opened_at": "2026-11-20T03:12:00Z", "concluded_at": "2026-11-20T03:13:40Z", "took_ms": 100_000,
        "sender": { "version": "0.1.0" },
    });
    report["actions"] = json!([{
        "id": "gcp-snapshot", "text": "Snapshot the disk of web-server-prod-01.", "command": "gcloud compute disks snapshot d",
        "precondition": "Somebody may.", "side_effect": "Costs storage.", "undo": "gcloud compute snapshots delete d",
    }]);
    report["steps"] = json!([
        step("s1", "done", json!("met"), json!(null)),
        step(
            "s2",
            "failed",
            json!("failed"),
            json!({ "error": "denied", "what": "no right to read it" })
        ),
        step("s3", "cancelled", json!(null), json!(null)),
    ]);
    record(&mut report);
    report["evidence"] = json!([
        evidence("E0", "alert", json!({ "title": "Crypto miner" })),
        evidence(
            "E3",
            "watchlist",
            json!({ "matches": [{ "label": "mining pool" }] })
        ),
        evidence(
            "E4",
            "vpc_flow",
            json!({ "rows": [{ "destination_ip": "185.220.101.42", "user_agent": "curl" }] })
        ),
    ]);
    report
}

/// Adds the timeline, indicators and records.
fn record(report: &mut Value) {
    report["updates"] = json!([{
        "reflection": 1, "update": { "type": "cancel_step", "id": "s3", "reason": "the owner is known" }, "refused": null,
    }]);
    report["timeline"] = json!([
        { "at": "2026-11-20T02:41:00Z", "what": "first event of the alert", "evidence": "E0" },
        { "at": "2026-11-20T03:05:00Z", "what": "connect by web-server-prod-01", "evidence": "E4" },
    ]);
    report["timeline_left"] = json!(27);
    report["since"] = json!({
        "logs": "events", "count": 1, "at_least": false, "last": "2026-11-20T03:05:00Z", "evidence": "E4",
    });
    report["indicators"] =
        json!([{ "type": "domain", "value": "pool.minexmr.com", "role": "remote" }]);
    report["techniques"] = json!([{ "id": "T1496", "name": "Resource Hijacking", "tactic": null }]);
    report["exonerations"] = json!([{
        "kind": "change", "subject_type": "instance", "subject": "web-server-prod-01", "from": "2026-11-20T00:00:00Z",
        "until": "2026-11-21T00:00:00Z", "covers": ["*"], "approved_by": "ana", "ref": "CHG-1",
        "statement": "A load test was approved.", "detection_wrong": false, "evidence": "E3",
    }]);
    report["reach"] = json!({
        "environment": "production", "internet_facing": true, "owner": "team-web", "role": "web server", "data": "none",
        "evidence": "E3", "other_cases": ["aaaa-bbbb-cccc", "no case id"],
    });
}

/// Returns a true positive with contents in every part.
pub(crate) fn report() -> Report {
    read(value())
}

/// Returns an inconclusive report.
pub(crate) fn inconclusive() -> Report {
    let mut report = value();
    report["verdict"] = json!("inconclusive");
    report["leaning"] = json!("malicious");
    report["analyst"] = json!("model");
    read(report)
}

/// Returns the report of a run without evidence.
pub(crate) fn failed() -> Report {
    let mut report = value();
    report["status"] = json!("failed");
    report["verdict"] = json!("inconclusive");
    report["reason"] = json!("tool_failure");
    report["failed"] = json!("no plan could be made");
    for list in [
        "findings",
        "gaps",
        "would_decide",
        "actions",
        "steps",
        "insights",
        "updates",
        "evidence",
        "timeline",
    ] {
        report[list] = json!([]);
    }
    report["coverage"] = json!({ "read": 0, "wanted": 0, "missing": [] });
    read(report)
}
