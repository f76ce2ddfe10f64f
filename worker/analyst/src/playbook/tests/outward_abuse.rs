use nightshift_alert::{Alert, IndicatorKind};
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::made_for;
use super::case_fixture::{
    ALL, PlaybookCase, ToolAnswers, known_asset, logged, nothing, verdict_beside,
};

/// Returns an alert about `jump-1`, which sends to 192.0.2.61.
fn outward(kind: &str) -> Alert {
    let mut alert = made_for("guardduty-ssh-brute-force-outbound");
    kind.clone_into(&mut alert.kind);
    alert
}

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

#[test]
fn flooding_own_machine_leans_malicious_and_is_isolated() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "log_search.vpc_flow" => Ok(logged(
            kind,
            json!([{"at": "2026-03-02T02:31:00Z", "source_ip": "10.20.40.8", "destination_ip": "192.0.2.61", "destination_port": 53, "outcome": "accepted", "bytes": 9200000}]),
        )),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(outward("Backdoor:EC2/DenialOfService.Dns"));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::Malicious)
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] jump-1 is the one that sends: Backdoor:EC2/DenialOfService.Dns towards 192.0.2.61, 210 times
    For [E10 E0] Traffic passed from 10.20.40.8 to 192.0.2.61, port 53, 9200000 bytes, at 2026-03-02T02:31:00Z
    For [E7] No change record covers it
    ");
    insta::assert_snapshot!(ran.actions().join(" "), @"snapshot-disk isolate-instance contact-owner preserve-logs");
    insta::assert_snapshot!(ran.would_decide(), @"
    Which process on jump-1 sends it, and who signed in there before 2026-03-02T02:11:04Z
    An approved record that jump-1 may send it (asset or change: i-0c4e9a71d2b36f580; authorised scanner: 10.20.40.8, 52.18.4.77); one about whom it reaches is none
    ");
}

#[test]
fn a_mail_gateway_that_spams_is_told_as_one_that_may_be_used() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "asset_lookup" if arguments["indicator"] == "i-0c4e9a71d2b36f580" => Ok(known_asset(
            json!({"id": "i-0c4e9a71d2b36f580", "name": "jump-1", "role": "mail gateway"}),
            arguments,
        )),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(outward("Backdoor:EC2/Spambot"));
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] jump-1 is the one that sends: Backdoor:EC2/Spambot towards 192.0.2.61, 210 times
    Against [E2 E0] jump-1 sends or answers for others by the register (mail gateway): somebody may use it without having it
    For [E7] No change record covers it
    ");
    insta::assert_snapshot!(ran.would_decide(), @"
    Which process on jump-1 sends it, and who signed in there before 2026-03-02T02:11:04Z
    Flow logs of jump-1: how much it sends and to whom, and whether it answers requests that come from outside
    An approved record that jump-1 may send it (asset or change: i-0c4e9a71d2b36f580; authorised scanner: 10.20.40.8, 52.18.4.77); one about whom it reaches is none
    ");
}

#[test]
fn record_for_flood_target_clears_nothing_but_for_machine_does() {
    let cleared_by = |kind, subject_type, subject| {
        verdict_beside(
            outward("Backdoor:EC2/DenialOfService.Tcp"),
            kind,
            subject_type,
            subject,
        )
    };
    let victim = cleared_by("change", IndicatorKind::Ip, "192.0.2.61");
    assert_eq!(victim, Verdict::Inconclusive);
    let own = cleared_by("change", IndicatorKind::Instance, "i-0c4e9a71d2b36f580");
    assert_eq!(own, Verdict::BenignTruePositive);
    let own = cleared_by("authorised_scanner", IndicatorKind::Ip, "10.20.40.8");
    assert_eq!(own, Verdict::BenignTruePositive);
}
