//! Answers the worked example of reference R1 as a model would, as a function of the question.

use nightshift_tests::Sandbox;
use nightshift_tests::model::{Answer, RecordedRequest};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    Plan,
    Turn,
    Decide,
    Reflect,
    Conclude,
}

impl Question {
    pub(super) const ALL: [Self; 5] = [
        Self::Plan,
        Self::Turn,
        Self::Decide,
        Self::Reflect,
        Self::Conclude,
    ];

    /// Returns the question of a request, by the heading of its task.
    pub(crate) fn from_request(seen: &RecordedRequest) -> Self {
        let text = seen.text();
        let (_, task) = text
            .rsplit_once("# Your task now: ")
            .expect("every request has a task");
        let heads = ["plan", "one step", "judge", "reflect", "conclude"];
        let found = heads.iter().position(|head| task.starts_with(head));
        Self::ALL[found.unwrap_or_else(|| panic!("no such task: {task}"))]
    }
}

/// Returns a step of a plan.
pub(super) fn step(id: &str, description: &str, tool: &str) -> Value {
    json!({"id": id, "description": description, "expected": "a hit", "tools": [tool], "calls": [],
        "depends_on": [], "key": false})
}

fn result(outcome: &str, summary: &str) -> Answer {
    Answer::value(json!({"outcome": outcome, "summary": summary, "findings": []}))
}

/// Answers a turn: the first call of a step, then its result.
fn turn(seen: &RecordedRequest) -> Answer {
    let text = seen.text();
    let (_, block) = text.rsplit_once(" step>\n").expect("a turn has a step");
    let has = |id: &str| {
        let line = block.lines().next().unwrap_or_default();
        line.contains(&format!(r#""id":"{id}""#))
    };
    let ip = json!({"ip": "185.220.101.42"});
    match (
        ["s1", "s2", "s3", "s4"].into_iter().position(has),
        seen.results().is_empty(),
    ) {
        (Some(0), true) => Answer::call("watchlist", json!({"indicator": "185.220.101.42"}))
            .with_call("watchlist", json!({"indicator": "pool.minexmr.com"})),
        (Some(0), false) => result(
            "met",
            "pool.minexmr.com is on a list of mining pools; 185.220.101.42 is on none.",
        ),
        (Some(1), true) => Answer::call("audit_logs", ip),
        (Some(1), false) => result("unmet", "No audit record names 185.220.101.42."),
        (Some(2), true) => Answer::call("past_cases", json!({})),
        (Some(2), false) => result("met", "There was no such alert before."),
        (Some(_), true) => Answer::call("system_logs", ip),
        (Some(_), false) => result("met", "deploy signed in from 185.220.101.42 at 05:15:30."),
        (None, _) => panic!("which step? {block}"),
    }
}

/// Returns the evidence number of this call from the prompt of the conclusion, if the call has evidence.
fn evidence(text: &str, tool: &str, value: &str) -> Option<Value> {
    let head = |line: &&str| {
        line.contains(&format!(r#""tool":"{tool}""#)) && line.contains(&format!(r#"":"{value}""#))
    };
    let head: Value = serde_json::from_str(text.lines().find(head)?).ok()?;
    head.get("evidence").cloned()
}

fn conclusion(seen: &RecordedRequest) -> Answer {
    let text = seen.text();
    let claims = [
        (
            "pool.minexmr.com is a mining pool",
            "watchlist",
            "pool.minexmr.com",
            "listed: true",
        ),
        (
            "Somebody signed in from 185.220.101.42",
            "system_logs",
            "185.220.101.42",
            "185.220.101.42",
        ),
    ];
    let findings: Vec<Value> = claims
        .into_iter()
        .filter_map(|(claim, tool, value, quote)| {
            let quotes = json!([{"evidence": evidence(&text, tool, value)?, "quote": quote}]);
            Some(json!({"claim": claim, "stance": "for", "quotes": quotes}))
        })
        .collect();
    let verdict = if findings.is_empty() {
        "inconclusive"
    } else {
        "true_positive"
    };
    Answer::value(json!({
        "findings": findings,
        "reasoning": "The pool is known, and the address signed in minutes before.",
        "verdict": verdict, "leaning": "malicious", "reason": "suspicious_activity", "severity": "critical",
        "gaps": ["The audit logs do not say how the miner came onto web-server-prod-01."],
        "would_decide": [], "techniques": ["T1496"], "meaning": "A program mines for somebody else.",
        "actions": [{"id": "isolate-instance", "values": ["web-server-prod-01"]}],
    }))
}

/// Answers a question as the model of the example does.
pub(crate) fn answer(seen: &RecordedRequest) -> Answer {
    match Question::from_request(seen) {
        Question::Plan => Answer::value(json!({
            "reasoning": "It claims mining; a list, the logs and the past decide it.", "mode": "planned",
            "objective": "Does web-server-prod-01 mine for pool.minexmr.com, and how did the miner come there?",
            "steps": [
                step("s1", "Reputation of 185.220.101.42 and pool.minexmr.com", "watchlist"),
                step("s2", "Audit logs of web-server-prod-01", "audit_logs"),
                step("s3", "Earlier alerts like this one", "past_cases"),
            ],
        })),
        Question::Turn => turn(seen),
        Question::Reflect => Answer::value(json!({
            "achieved": false,
            "insights": ["The audit logs do not show how the miner came onto web-server-prod-01."],
            "plan_updates": [{"type": "add_step", "reason": "the audit logs had nothing", "id": null,
                "step": step("n1", "System and application logs of web-server-prod-01", "system_logs")}],
        })),
        Question::Decide => Answer::value(json!({
            "judgement": null, "reasoning": "Nothing is left to look at.", "next": null,
        })),
        Question::Conclude => conclusion(seen),
    }
}

/// Returns a place with the logs of the example and further configuration.
pub(super) fn place(more: &str) -> Sandbox {
    let place = Sandbox::new().unwrap();
    let tools = logs(&place);
    place
        .write_file("nightshift.toml", format!("{more}\n{tools}"))
        .unwrap();
    place
}

/// Writes the logs of the example and returns the configuration of the tools that read them.
pub(crate) fn logs(place: &Sandbox) -> String {
    let audit = json!({
        "logName": "projects/production-project-12345/logs/cloudaudit.googleapis.com%2Factivity",
        "timestamp": "2025-11-08T05:02:11Z",
        "resource": {"type": "gce_instance", "labels": {"instance_id": "1111111111111111111"}},
        "protoPayload": {"serviceName": "compute.googleapis.com", "methodName": "v1.compute.instances.get",
            "authenticationInfo": {"principalEmail": "ops@example.com"},
            "requestMetadata": {"callerIp": "198.51.100.9"}},
    });
    let system = json!({
        "timestamp": "2025-11-08T05:15:30Z", "event": "sign-in", "user": "deploy",
        "source_ip": "185.220.101.42", "outcome": "success", "host": "web-server-prod-01",
    });
    place
        .write_file("audit.jsonl", format!("{audit}\n"))
        .unwrap();
    place
        .write_file("system.jsonl", format!("{system}\n"))
        .unwrap();
    let log = |name: &str, format: &str, path: &str| {
        format!(
            "[[tool]]\nname = \"{name}\"\nkind = \"log_search\"\nformat = \"{format}\"\npath = \"{path}\"\n\n"
        )
    };
    let tools = [
        log("audit_logs", "gcp_audit", "audit.jsonl"),
        log("system_logs", "json_lines", "system.jsonl"),
    ];
    tools.concat()
}
