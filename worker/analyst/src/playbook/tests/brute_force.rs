use nightshift_alert::IndicatorKind;
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::made_for;
use super::case_fixture::{
    ALL, DEFAULT, PlaybookCase, ToolAnswers, logged, nothing, record, verdict_beside,
};

const INWARD: &str = "guardduty-ssh-brute-force";

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

fn login(outcome: &str) -> Value {
    json!({"at": "2026-03-02T02:31:00Z", "action": "sshd", "principal": "deploy", "source_ip": "203.0.113.201", "outcome": outcome})
}

#[test]
fn a_success_among_the_guesses_is_a_true_positive() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "log_search.json_lines" => Ok(logged(kind, json!([login("failure"), login("success")]))),
        "log_search.cloudtrail" => Ok(logged(
            kind,
            json!([{"at": "2026-03-02T02:50:00Z", "action": "ListBuckets", "principal": "arn:aws:sts::444455556666:assumed-role/jump/i-0c4e9a71d2b36f580"}]),
        )),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(made_for(INWARD));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"
    For [E9 E0] A sign-in from 203.0.113.201 succeeded at 2026-03-02T02:31:00Z as deploy
    For [E12 E0] The audit log shows ListBuckets by arn:aws:sts::444455556666:assumed-role/jump/i-0c4e9a71d2b36f580 about i-0c4e9a71d2b36f580 at 2026-03-02T02:50:00Z
    For [E0] The alert reports NETWORK_CONNECTION INBOUND with 203.0.113.201, 96 times
    For [E2 E0] The register of authorised scanners does not know 203.0.113.201
    ");
    insta::assert_snapshot!(ran.actions().join(" "), @"isolate-instance snapshot-disk block-source-ip rotate-login-credentials close-remote-access contact-owner");
}

#[test]
fn database_login_after_many_guesses_is_a_true_positive() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(made_for("guardduty-rds-brute-force"));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The feed reports that a sign-in from 203.0.113.201 succeeded
    For [E0] The feed reports that sign-ins as reporting succeeded (1)
    For [E0] The feed reports that sign-ins as reporting failed (418)
    For [E0] The alert reports RDS_LOGIN_ATTEMPT with 203.0.113.201, once
    ");
    insta::assert_snapshot!(ran.actions().join(" "), @"restrict-database-access block-source-ip rotate-login-credentials contact-owner");
}

#[test]
fn a_success_that_google_counted_is_a_true_positive() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(made_for("scc-brute-force-ssh"));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The feed reports that a sign-in from 203.0.113.201 succeeded
    For [E0] The feed reports that sign-ins as admin succeeded (SUCCESS)
    For [E0] The feed reports that sign-ins as root failed (FAIL)
    ");
    let gaps = ran.conclusion.gaps.join("; ");
    assert!(!gaps.contains("could not be evaluated"), "{gaps}");
}

#[test]
fn own_guessing_machine_that_is_answered_is_a_true_positive() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "log_search.vpc_flow" => Ok(logged(
            kind,
            json!([{"at": "2026-03-02T02:31:00Z", "source_ip": "10.20.40.8", "destination_ip": "192.0.2.61", "destination_port": 22, "outcome": "accepted", "bytes": 4200}]),
        )),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(made_for("guardduty-ssh-brute-force-outbound"));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] jump-1 is the one that guesses: NETWORK_CONNECTION OUTBOUND towards 192.0.2.61, 210 times
    For [E14 E0] 192.0.2.61 was reached by 10.20.40.8 on port 22 at 2026-03-02T02:31:00Z
    For [E2 E0] The register of authorised scanners does not know 10.20.40.8
    ");
    assert_eq!(ran.step("after").name, "after");
}

#[test]
fn an_authorised_scanner_is_benign() {
    let scanner = record("authorised_scanner", IndicatorKind::Ip, "203.0.113.201");
    let end = PlaybookCase::with(&ALL, quiet)
        .clearing(scanner)
        .run(made_for(INWARD))
        .conclusion;
    assert_eq!(end.verdict, Verdict::BenignTruePositive);
}

#[test]
fn failures_alone_lean_benign() {
    let answers: ToolAnswers = |kind, arguments| match kind {
        "log_search.json_lines" => Ok(logged(kind, json!([login("failure"), login("failure")]))),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(made_for(INWARD));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::Benign)
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The alert reports NETWORK_CONNECTION INBOUND with 203.0.113.201, 96 times
    Against [E9] None of the sign-ins of the source that the logs show succeeded (2 tried)
    For [E2 E0] The register of authorised scanners does not know 203.0.113.201
    ");
}

#[test]
fn without_logs_the_sign_in_log_would_decide() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(made_for(INWARD));
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::None)
    );
    insta::assert_snapshot!(ran.would_decide(), @"
    The sign-in log of jump-1 (sshd, or Windows events 4624 and 4625): whether a sign-in from 203.0.113.201 succeeded
    Flow logs of jump-1: whether the source was let through, and whether a connection carried data
    The register of authorised scanners: whether 203.0.113.201 is ours
    Whether jump-1 is meant to face the internet: its line in the asset register
    ");
}

#[test]
fn what_we_sent_to_the_source_is_no_session_of_it() {
    let ours: ToolAnswers = |kind, arguments| match kind {
        "log_search.vpc_flow" => Ok(logged(
            kind,
            json!([{"at": "2026-03-02T02:31:00Z", "source_ip": "10.20.40.8", "destination_ip": "203.0.113.201", "destination_port": 443, "outcome": "accepted", "bytes": 151000}]),
        )),
        _ => quiet(kind, arguments),
    };
    let claims = PlaybookCase::with(&ALL, ours)
        .run(made_for(INWARD))
        .claims();
    assert!(
        !claims.contains("151000") && !claims.contains("was reached"),
        "{claims}"
    );
}

#[test]
fn a_scanner_that_google_names_as_actor_and_far_end_is_benign() {
    let scanner = record("authorised_scanner", IndicatorKind::Ip, "203.0.113.201");
    let ran = PlaybookCase::with(&ALL, quiet)
        .clearing(scanner)
        .clearing(record(
            "authorised_scanner",
            IndicatorKind::Principal,
            "admin",
        ))
        .run(made_for("scc-brute-force-ssh"));
    assert_eq!(ran.conclusion.verdict, Verdict::BenignTruePositive);
}

#[test]
fn record_for_victim_clears_no_own_guesses_but_for_guesser_does() {
    let cleared_by = |kind, subject_type, subject| {
        verdict_beside(
            made_for("guardduty-ssh-brute-force-outbound"),
            kind,
            subject_type,
            subject,
        )
    };
    for kind in ["asset", "change", "authorised_scanner"] {
        assert_eq!(
            cleared_by(kind, IndicatorKind::Ip, "192.0.2.61"),
            Verdict::Inconclusive,
            "{kind}"
        );
        assert_eq!(
            cleared_by(kind, IndicatorKind::Ip, "10.20.40.8"),
            Verdict::BenignTruePositive,
            "{kind}"
        );
    }
    assert_eq!(
        cleared_by("asset", IndicatorKind::Instance, "i-0c4e9a71d2b36f580"),
        Verdict::BenignTruePositive
    );
}
