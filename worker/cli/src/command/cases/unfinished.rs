//! Shows a case without a report: the facts of its alert and its progress.

use nightshift_alert::text::sanitize_value;
use nightshift_pipeline::case::CaseView;
use nightshift_pipeline::report::Report;

use crate::output::sanitize_line;
use crate::progress::plan_lines;

/// Maximum number of indicators that are listed.
const MAX_INDICATORS: usize = 20;

/// Renders the case as text.
pub(super) fn render_unfinished(view: &CaseView) -> String {
    let (row, report) = (&view.row, view.early_report());
    let mut lines = vec![format!(
        "{} {}: {} ({})",
        row.id,
        row.status.as_str(),
        sanitize_line(&report.title, 200),
        row.shown_severity()
    )];
    lines.extend(facts(&report));
    let state = nightshift_engine::fold::fold(&view.events);
    if let Some(plan) = &state.plan {
        lines.extend(plan_lines(plan));
        for step in &plan.steps {
            let (status, summary) = (step.status.as_str(), sanitize_line(&step.summary, 200));
            lines.push(format!("  {} {status} {summary}", step.id));
        }
    }
    lines.join("\n") + "\n"
}

/// Returns the known facts of the alert, one per line.
fn facts(report: &Report) -> Vec<String> {
    let alert = &report.alert;
    let time = |at: chrono::DateTime<chrono::Utc>| at.format("%Y-%m-%d %H:%M UTC").to_string();
    let named = |value: &Option<String>| value.as_deref().map(|value| sanitize_line(value, 120));
    let known = [
        ("alert", Some(sanitize_line(&alert.key, 160))),
        ("type", Some(sanitize_line(&alert.kind, 120))),
        ("account", named(&alert.account)),
        ("region", named(&alert.region)),
        ("resource", named(&alert.subject)),
        ("action", named(&alert.action)),
        ("first seen", alert.first_seen.map(time)),
        ("last seen", alert.last_seen.map(time)),
        ("times seen", Some(alert.count.to_string())),
        ("it says", Some(sanitize_line(&alert.description, 600))),
    ];
    let mut lines: Vec<String> = known
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)))
        .map(|(name, value)| format!("  {name:<11} {value}"))
        .collect();
    for one in report.indicators.iter().take(MAX_INDICATORS) {
        let value = sanitize_value(one.kind, &one.value, 120);
        lines.push(format!("  {} {} {value}", one.role.as_str(), one.kind));
    }
    let left = report.indicators.len().saturating_sub(MAX_INDICATORS);
    if left > 0 {
        lines.push(format!("  … and {left} more"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use nightshift_alert::ReadOptions;
    use nightshift_pipeline::case::{CaseId, CaseRow, CaseStatus};
    use nightshift_pipeline::case_workflow::CaseWorkflow;
    use nightshift_pipeline::intake::read_message;
    use nightshift_pipeline::port::Message;

    use super::*;

    const MINER: &[u8] =
        include_bytes!("../../../../../tests/fixtures/alerts/scc-crypto-miner.json");

    fn queued() -> CaseView {
        let message = Message {
            id: "1".into(),
            bytes: MINER.to_vec(),
            attributes: BTreeMap::new(),
        };
        let now = "2026-11-20T03:14:00Z".parse().unwrap();
        let arrival = read_message("test", &message, &ReadOptions::default(), now).remove(0);
        let alert = (*arrival.alert).clone();
        let row = serde_json::json!({
            "id": CaseId("k3f9-x2mq-7d1w".into()), "revision": 1, "status": CaseStatus::Queued, "feed": "scc",
            "key": "scc 1", "type": alert.kind, "title": alert.title, "account": alert.account,
            "severity": alert.severity, "assessed_severity": null, "verdict": null, "leaning": null,
            "opened_at": now, "concluded_at": null, "sightings": 0, "members": 0, "usd": 0.0, "desk": "open",
            "owner": null,
        });
        CaseView {
            row: serde_json::from_value::<CaseRow>(row).unwrap(),
            alert,
            events: Vec::new(),
            unreadable: None,
            cancelled_by: None,
            report: None,
            sightings: Vec::new(),
            members: Vec::new(),
            person_verdicts: Vec::new(),
            workflow: CaseWorkflow::default(),
            deliveries: Vec::new(),
        }
    }

    #[test]
    fn a_case_that_waits_says_what_its_alert_says() {
        insta::assert_snapshot!(render_unfinished(&queued()), @"
        k3f9-x2mq-7d1w queued: Execution: Cryptocurrency Mining Hash Match on web-server-prod-01 (critical)
          alert       scc/production-project-12345/b9c8d7e6f5a4b3c2d1e0
          type        Execution: Cryptocurrency Mining Hash Match
          account     production-project-12345
          region      us-central1-a
          resource    web-server-prod-01
          action      v1.compute.instances.start
          first seen  2025-11-08 05:23 UTC
          last seen   2025-11-08 05:23 UTC
          times seen  1
          it says     Cryptocurrency mining software (XMRig) detected running on Compute Engine instance 'web-server-prod-01' in zone us-central1-a. The instance is connecting to known Monero mining pool 'pool.minexmr[.]com' and consuming 98.5% CPU resources. The mining process was launched from /tmp/.xmrig/ directory, indicating potential compromise. The instance appears to have been compromised through exploitation of CVE-2023-32784 vulnerability. Unauthorized access originated from IP address 185.220.101[.]42 (Romania). This represents a critical security incident requiring immediate investigation and remediation.
          actor ip 185.220.101[.]42
          remote ip 185.220.101[.]42
          remote ip 195.123.245[.]89
          related domain malicious-cdn[.]com
          remote domain pool.minexmr[.]com
          remote domain xmr-pool-eu.hashvault[.]pro
          related url hxxp://malicious-cdn[.]com/xmrig
          remote url stratum+tcp[://]pool.minexmr[.]com:4444
          actor principal attacker@external-domain[.]com
          target arn //compute.googleapis.com/projects/production-project-12345/zones/us-central1-a/instances/web-server-prod-01
          related instance 5678901234567890123
          target instance web-server-prod-01
          target container xmrig-miner
          related image malicious-cdn[.]com/xmrig
          related image sha256:a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6
          related process xmrig
          related file /lib/x86_64-linux-gnu/libc.so.6
          related file /lib/x86_64-linux-gnu/libpthread.so.0
          related file /tmp/.xmrig/xmrig
          related cve CVE-2023-32784
          … and 1 more
        ");
    }
}
