//! Tests over cloud calls that switch off, weaken or destroy something. Their playbooks conclude from typed fields,
//! with evidence and without.

use nightshift_alert::{
    Alert, Detail, DetailKind, Indicator, IndicatorKind, IndicatorRole, Outcome, Severity,
};
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::{case, dns, finding, sample};
use super::case_fixture::{
    ALL, DEFAULT, PlaybookCase, PlaybookRun, ToolAnswers, logged, nothing, on_list, record,
    verdict_beside,
};

const TRAIL: &str = "arn:aws:cloudtrail:eu-west-1:444455556666:trail/org";

fn quiet(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(nothing(kind, arguments))
}

fn bad_address(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    match kind {
        "watchlist" if arguments["indicator"] == "198.51.100.23" => {
            Ok(on_list("malicious", arguments))
        }
        _ => quiet(kind, arguments),
    }
}

fn detail(kind: DetailKind, value: &str) -> Detail {
    Detail {
        kind,
        value: value.to_owned(),
        about: None,
    }
}

/// Returns an alert about a user whose key made this call, or about no named call.
fn called(kind: &str, operation: &str) -> Alert {
    let mut alert = sample("securityhub-eventbridge-discovery");
    kind.clone_into(&mut alert.kind);
    alert.action = None;
    alert.severity = Severity::Low;
    alert.details.clear();
    if !operation.is_empty() {
        alert.details.push(detail(DetailKind::Operation, operation));
    }
    alert
}

fn on(mut alert: Alert, kind: IndicatorKind, target: &str) -> Alert {
    alert
        .indicators
        .push(Indicator::new(kind, target, IndicatorRole::Target));
    alert.indicators.sort();
    alert
}

fn denied(mut alert: Alert) -> Alert {
    alert.outcome = Some(Outcome::Denied);
    alert
        .details
        .push(detail(DetailKind::ErrorCode, "AccessDenied"));
    alert
}

fn end(ran: &PlaybookRun) -> (Verdict, Leaning, Severity) {
    let end = &ran.conclusion;
    (end.verdict, end.leaning, end.assessed_severity)
}

/// Answers that the same key made only a read-only call.
fn only_read(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    match kind {
        "log_search.cloudtrail" => Ok(logged(
            kind,
            json!([{"at": "2026-03-02T02:55:00Z", "action": "ListUsers", "service": "iam.amazonaws.com",
                "principal": "arn:aws:iam::444455556666:user/ci-deployer", "access_key": "AKIAEXAMPLE00000001",
                "source_ip": "198.51.100.23", "outcome": "success", "error": null, "resource": null, "read_only": true}]),
        )),
        _ => quiet(kind, arguments),
    }
}

/// A type, its operation, and the leaning when nothing but the call is known.
const ROWS: [(&str, &str, Leaning); 5] = [
    (
        "Stealth:IAMUser/CloudTrailLoggingDisabled",
        "cloudtrail.amazonaws.com StopLogging",
        Leaning::Malicious,
    ),
    (
        "Stealth:IAMUser/PasswordPolicyChange",
        "iam.amazonaws.com UpdateAccountPasswordPolicy",
        Leaning::None,
    ),
    (
        "Stealth:IAMUser/PasswordPolicyChange",
        "iam.amazonaws.com DeleteAccountPasswordPolicy",
        Leaning::Malicious,
    ),
    (
        "Impact:S3/AnomalousBehavior.Delete",
        "s3.amazonaws.com DeleteObjects",
        Leaning::Malicious,
    ),
    (
        "Impact:IAMUser/CostHarvesting",
        "bedrock.amazonaws.com InvokeModel",
        Leaning::None,
    ),
];

#[test]
fn call_by_an_unknown_identity_is_a_true_positive() {
    for (kind, operation, _) in ROWS {
        let ran = PlaybookCase::with(&ALL, quiet).run(called(kind, operation));
        assert_eq!(
            end(&ran),
            (Verdict::TruePositive, Leaning::None, Severity::High),
            "{operation}"
        );
    }
}

#[test]
fn call_alone_is_not_decided() {
    for (kind, operation, leaning) in ROWS {
        let ran = PlaybookCase::with(&DEFAULT, quiet).run(called(kind, operation));
        assert_eq!(end(&ran).0, Verdict::Inconclusive, "{operation}");
        assert_eq!(end(&ran).1, leaning, "{operation}");
    }
}

#[test]
fn name_without_a_call_leans_nowhere() {
    for (kind, ..) in ROWS {
        let ran = PlaybookCase::with(&DEFAULT, quiet).run(called(kind, ""));
        assert_eq!(end(&ran).0, Verdict::Inconclusive, "{kind}");
        assert_eq!(end(&ran).1, Leaning::None, "{kind}");
        assert!(!ran.would_decide().is_empty(), "{kind}");
    }
}

#[test]
fn denied_call_was_tried_and_changed_nothing() {
    for (kind, operation, leaning) in ROWS {
        let ran = PlaybookCase::with(&DEFAULT, quiet).run(denied(called(kind, operation)));
        assert_eq!(end(&ran).0, Verdict::Inconclusive, "{operation}");
        assert_eq!(end(&ran).1, leaning, "{operation}");
        let claims = ran.claims();
        assert!(
            claims.contains("did not get through (denied, AccessDenied)"),
            "{claims}"
        );
        for word in ["stopped", "changed", "deleted", "took"] {
            assert!(!claims.contains(word), "{claims}");
        }
    }
}

#[test]
fn record_of_the_caller_clears_the_call() {
    for (kind, operation, _) in ROWS {
        for (detection_wrong, verdict) in [
            (false, Verdict::BenignTruePositive),
            (true, Verdict::FalsePositive),
        ] {
            let mut known = record("identity", IndicatorKind::Principal, "ci-deployer");
            known.detection_wrong = detection_wrong;
            let ran = PlaybookCase::with(&ALL, only_read)
                .clearing(known)
                .run(called(kind, operation));
            assert_eq!(ran.conclusion.verdict, verdict, "{operation}");
        }
        // If the log does not contain the call, other activity is unknown too.
        let verdict = verdict_beside(
            called(kind, operation),
            "identity",
            IndicatorKind::Principal,
            "ci-deployer",
        );
        assert_eq!(verdict, Verdict::Inconclusive, "{operation}");
    }
}

#[test]
fn stopped_trail_is_at_least_high_and_can_be_switched_on() {
    let alert = on(called(ROWS[0].0, ROWS[0].1), IndicatorKind::Arn, TRAIL);
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(alert);
    assert_eq!(end(&ran).2, Severity::High);
    insta::assert_snapshot!(ran.claims(), @"For [E0] ci-deployer stopped or deleted what records or watches: StopLogging on arn:aws:cloudtrail:eu-west-1:444455556666:trail/org from 198.51.100.23");
    insta::assert_snapshot!(ran.advised(), @"
    See whether the trails of 444455556666 record: IsLogging, and the time of the last delivery.
    Switch trail arn:aws:cloudtrail:eu-west-1:444455556666:trail/org on again.
    List what access key AKIAEXAMPLE00000001 did.
    Keep the logs of ci-deployer beyond their retention.
    Ask the owner of ci-deployer whether this was planned.
    ");
    insta::assert_snapshot!(ran.would_decide(), @"
    Whether arn:aws:cloudtrail:eu-west-1:444455556666:trail/org records now, and since when: its status, and its configuration before the call
    A change or request that names ci-deployer and covers 2026-03-02T02:50:00Z, with who approved it
    The audit log of AKIAEXAMPLE00000001: what else was done
    ");
    let start = ran
        .conclusion
        .actions
        .iter()
        .find(|one| one.id == "start-trail")
        .unwrap();
    insta::assert_snapshot!(start.command.as_deref().unwrap(), @"aws cloudtrail start-logging --region eu-west-1 --name arn:aws:cloudtrail:eu-west-1:444455556666:trail/org");
}

#[test]
fn detector_that_was_narrowed_is_not_said_to_be_off() {
    let ran = PlaybookCase::with(&DEFAULT, quiet)
        .run(called("Odd call", "guardduty.amazonaws.com UpdateDetector"));
    assert_eq!(
        end(&ran),
        (Verdict::Inconclusive, Leaning::Malicious, Severity::High)
    );
    insta::assert_snapshot!(ran.claims(), @"For [E0] ci-deployer changed what is recorded or watched: UpdateDetector from 198.51.100.23; whether it still records is not told");
    assert!(ran.actions().contains(&"restore-detector"));
}

#[test]
fn deleted_sink_of_google_cloud_names_commands_of_google_cloud() {
    let mut alert = finding("scc-data-access");
    alert.kind = "Defense Evasion: Log Sink Deleted".to_owned();
    alert.details.clear();
    alert.details.push(detail(
        DetailKind::Operation,
        "logging.googleapis.com google.logging.v2.ConfigServiceV2.DeleteSink",
    ));
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(alert);
    insta::assert_snapshot!(ran.claims(), @"For [E0] contractor@corp.example stopped or deleted what records or watches: google.logging.v2.ConfigServiceV2.DeleteSink on //storage.googleapis.com/payroll and 1 more");
    insta::assert_snapshot!(ran.advised(), @"
    See whether the log sinks of shop-prod are there, enabled and without new exclusions.
    Put the log sink of shop-prod back: enabled, with its destination, and without the new exclusion.
    List what contractor@corp.example did in Cloud Audit Logs around the alert.
    Keep the logs of payroll beyond their retention.
    Ask the owner of payroll whether this was planned.
    ");
}

#[test]
fn root_from_a_listed_address_is_a_true_positive() {
    let root = || {
        let mut alert = called(
            "Policy:IAMUser/RootCredentialUsage",
            "iam.amazonaws.com CreateAccessKey",
        );
        alert
            .indicators
            .retain(|one| one.kind != IndicatorKind::Principal);
        alert.principals.clear();
        alert.indicators.push(Indicator::new(
            IndicatorKind::Principal,
            "Root",
            IndicatorRole::Actor,
        ));
        alert.indicators.sort();
        alert
    };
    let ran = PlaybookCase::with(&ALL, bad_address).run(root());
    assert_eq!(
        end(&ran),
        (Verdict::TruePositive, Leaning::None, Severity::High)
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The root user of 444455556666 called CreateAccessKey from 198.51.100.23, 6 times
    For [E2 E0] 198.51.100.23 is listed as malicious (watch list threats)
    ");
    let alone = PlaybookCase::with(&DEFAULT, quiet).run(root());
    assert_eq!(
        end(&alone),
        (Verdict::Inconclusive, Leaning::None, Severity::Medium)
    );
    insta::assert_snapshot!(alone.would_decide(), @"
    Who holds the password and the second factor of root of 444455556666: whether they signed in at 2026-03-02T02:50:00Z
    A change or request that names Root and covers 2026-03-02T02:50:00Z, with who approved it
    The audit log of AKIAEXAMPLE00000001: what else was done
    ");
}

#[test]
fn ransom_note_beside_deleted_objects_is_a_true_positive() {
    let mut alert = on(
        called(ROWS[3].0, ROWS[3].1),
        IndicatorKind::Bucket,
        "invoices-prod",
    );
    alert.indicators.push(Indicator::new(
        IndicatorKind::File,
        "how_to_decrypt.txt",
        IndicatorRole::Related,
    ));
    alert.indicators.sort();
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(alert);
    assert_eq!(
        end(&ran),
        (Verdict::TruePositive, Leaning::None, Severity::High)
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] ci-deployer deleted or made unreadable: DeleteObjects on invoices-prod from 198.51.100.23, 6 times
    For [E0] The name of how_to_decrypt.txt is that of a ransom note
    ");
    insta::assert_snapshot!(ran.advised(), @"
    Keep old versions of the objects in invoices-prod before anything else is deleted, and take lifecycle rules off that nobody knows.
    See whether a lifecycle rule lets the objects of invoices-prod expire, and take it away before it runs at midnight UTC.
    List what was deleted in invoices-prod and can be brought back: objects whose latest version is a delete marker.
    Protect the backups and snapshots that 444455556666 has left: copy them to an account that ci-deployer cannot reach, and lock them.
    Deactivate access key AKIAEXAMPLE00000001 of user ci-deployer.
    Stop user ci-deployer altogether by attaching AWSDenyAll.
    ");
}

#[test]
fn models_used_from_a_listed_address_are_a_true_positive() {
    let mut alert = called(ROWS[4].0, "");
    alert
        .details
        .push(detail(DetailKind::AiModel, "anthropic.claude"));
    let alone = PlaybookCase::with(&DEFAULT, quiet).run(alert.clone());
    assert_eq!(end(&alone).1, Leaning::None);
    let listed: ToolAnswers = |kind, arguments| match kind {
        "watchlist" => Ok(on_list("malicious", arguments)),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&DEFAULT, listed).run(alert);
    assert_eq!(end(&ran).0, Verdict::TruePositive);
    assert!(ran.claims().contains("The alert tells of anthropic.claude"));
}

#[test]
fn rebinding_name_asks_for_imdsv2() {
    let rebind = || {
        dns(
            "UnauthorizedAccess:EC2/MetadataDNSRebind",
            "rebind.bad.example",
        )
    };
    let alone = PlaybookCase::with(&DEFAULT, quiet).run(rebind());
    assert_eq!(
        (end(&alone).0, end(&alone).1),
        (Verdict::Inconclusive, Leaning::Malicious)
    );
    insta::assert_snapshot!(alone.claims(), @"For [E0] i-11111111 looked up rebind.bad.example, which the feed saw lead to the metadata service, once");
    insta::assert_snapshot!(alone.advised(), @"
    Require IMDSv2 on i-11111111, so that a forged request can no longer read its credentials.
    Block rebind.bad.example for all VPCs in Route 53 Resolver DNS Firewall.
    Ask the owner of i-11111111 whether this was planned.
    Keep the logs of i-11111111 beyond their retention.
    ");
    let listed: ToolAnswers = |kind, arguments| match kind {
        "watchlist" => Ok(on_list("malicious", arguments)),
        _ => quiet(kind, arguments),
    };
    let ran = PlaybookCase::with(&DEFAULT, listed).run(rebind());
    assert_eq!(end(&ran).0, Verdict::TruePositive);
    let mut nameless = rebind();
    nameless
        .indicators
        .retain(|one| one.kind != IndicatorKind::Domain);
    let nameless = PlaybookCase::with(&DEFAULT, quiet).run(nameless);
    assert_eq!(
        (end(&nameless).0, end(&nameless).1),
        (Verdict::Inconclusive, Leaning::None)
    );
    let host = rebind()
        .with_role(IndicatorRole::Target)
        .find(|one| one.kind == IndicatorKind::Instance)
        .unwrap()
        .value
        .clone();
    let verdict = verdict_beside(rebind(), "change", IndicatorKind::Instance, &host);
    assert_eq!(verdict, Verdict::BenignTruePositive);
}

#[test]
fn miner_in_memory_is_a_true_positive() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(finding("scc-memory-hash-signature"));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"For [E0] A scanner found mining software on batch-9: XMRig in memory: xmrig, pages matched: 1.0");
}

#[test]
fn probe_of_a_database_is_no_guessed_password() {
    let mut alert = super::alerts::made_for("guardduty-rds-brute-force");
    for kind in [
        "Discovery:RDS/TorIPCaller",
        "CredentialAccess:RDS/TorIPCaller.FailedLogin",
    ] {
        kind.clone_into(&mut alert.kind);
        alert.outcome = Some(Outcome::NotAttempted);
        alert.raw = nightshift_alert::JsonText::from(Value::Null);
        alert.details.clear();
        let ran = PlaybookCase::with(&DEFAULT, quiet).run(alert.clone());
        assert!(
            ran.claims()
                .contains("and no authentication attempt was made"),
            "{}",
            ran.claims()
        );
        let techniques = format!("{:?}", ran.conclusion.techniques);
        assert!(!techniques.contains("T1110"), "{techniques}");
        assert_ne!(ran.conclusion.verdict, Verdict::TruePositive);
    }
}

#[test]
fn address_that_got_in_is_the_one_to_block() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(finding("scc-ssh-brute-force"));
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The feed reports that a sign-in from 203.0.113.71 succeeded
    For [E0] The feed reports that sign-ins as admin succeeded (SUCCESS)
    For [E0] The feed reports that sign-ins as root failed (FAIL)
    ");
    let block = ran
        .conclusion
        .actions
        .iter()
        .find(|one| one.id == "block-source-ip")
        .unwrap();
    insta::assert_snapshot!(block.text, @"Deny all traffic from 203.0.113.71 in the network.");
}

#[test]
fn who_added_a_member_and_who_was_added_are_told_apart() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(finding("scc-external-member"));
    assert_eq!(ran.conclusion.leaning, Leaning::Malicious);
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] mallory@example.com added eve@example.net to admins@example.com
    For [E0] The alert tells of a grant of roles/owner, a role with power over others, to user:eve@example.net
    ");
    insta::assert_snapshot!(ran.advised(), @"
    Ask the owner of admins@example.com whether this was planned.
    List what mallory@example.com did in Cloud Audit Logs around the alert.
    ");
}

#[test]
fn denied_grant_raised_nothing() {
    let alert = denied(called(
        "Persistence:IAMUser/AnomalousBehavior",
        "iam.amazonaws.com CreateAccessKey",
    ));
    let mut alert = alert;
    alert.action = Some("AWS_API_CALL CreateAccessKey".to_owned());
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(alert);
    assert_eq!(
        (end(&ran).0, end(&ran).1),
        (Verdict::Inconclusive, Leaning::None)
    );
    insta::assert_snapshot!(ran.claims(), @"For [E0] ci-deployer tried CreateAccessKey from 198.51.100.23 and did not get through (denied, AccessDenied), 6 times");
}

/// Returns how bad a conclusion is: true positive, leaning malicious, anything else; then its severity.
fn judgement(ran: &PlaybookRun) -> (u8, Severity) {
    let (verdict, leaning, severity) = end(ran);
    let rank = match (verdict, leaning) {
        (Verdict::TruePositive, _) => 2,
        (Verdict::Inconclusive, Leaning::Malicious) => 1,
        _ => 0,
    };
    (rank, severity)
}

#[test]
fn call_without_effect_is_never_judged_worse() {
    let calls = [
        ("Stealth:IAMUser/CloudTrailLoggingDisabled", "UpdateTrail"),
        (
            "Stealth:IAMUser/PasswordPolicyChange",
            "UpdateAccountPasswordPolicy",
        ),
        (
            "Stealth:IAMUser/PasswordPolicyChange",
            "DeleteAccountPasswordPolicy",
        ),
        ("Stealth:S3/ServerAccessLoggingDisabled", "PutBucketLogging"),
        ("Impact:S3/AnomalousBehavior.Delete", "DeleteObjects"),
        ("Impact:IAMUser/CostHarvesting", "InvokeModel"),
        ("Policy:IAMUser/RootCredentialUsage", "GetCallerIdentity"),
        ("Policy:S3/BucketAnonymousAccessGranted", "PutBucketPolicy"),
        ("Exfiltration:S3/AnomalousBehavior", "GetObject"),
        ("Persistence:IAMUser/AnomalousBehavior", "CreateAccessKey"),
        (
            "PrivilegeEscalation:IAMUser/AnomalousBehavior",
            "AttachUserPolicy",
        ),
        ("Discovery:IAMUser/AnomalousBehavior", "ListUsers"),
        (
            "UnauthorizedAccess:IAMUser/MaliciousIPCaller",
            "RunInstances",
        ),
        ("Something/Else", "ScheduleKeyDeletion"),
    ];
    let tools: [(&[_], ToolAnswers); 3] = [(&DEFAULT, quiet), (&ALL, quiet), (&ALL, bad_address)];
    let mut faults = Vec::new();
    for (kind, call) in calls {
        for (offered, answers) in tools {
            let judged = |outcome| {
                let mut alert = called(kind, &format!("example.amazonaws.com {call}"));
                alert.action = Some(format!("AWS_API_CALL {call}"));
                alert.outcome = outcome;
                judgement(&PlaybookCase::with(offered, answers).run(alert))
            };
            let done = judged(Some(Outcome::Succeeded)).min(judged(None));
            for outcome in Outcome::ALL
                .into_iter()
                .filter(|one| one.is_without_effect())
            {
                let without_effect = judged(Some(outcome));
                if without_effect > done {
                    faults.push(format!(
                        "{kind} {call} {outcome}: {without_effect:?} > {done:?}"
                    ));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn listed_caller_and_stopped_trail_are_a_true_positive() {
    let mut alert = called(ROWS[0].0, ROWS[0].1);
    alert.indicators.push(Indicator::new(
        IndicatorKind::Ip,
        "198.51.100.23",
        IndicatorRole::Actor,
    ));
    alert.indicators.sort();
    let ran = PlaybookCase::with(&DEFAULT, bad_address).run(alert);
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
}

#[test]
fn trail_that_alice_stopped_is_told_as_guardduty_sends_it() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(case("45-guardduty-trail-stopped-by-alice"));
    assert_eq!(
        end(&ran),
        (Verdict::Inconclusive, Leaning::Malicious, Severity::High)
    );
    insta::assert_snapshot!(ran.claims(), @"For [E0] alice stopped or deleted what records or watches: StopLogging on arn:aws:cloudtrail:eu-west-1:111122223333:trail/org from 203.0.113.20");
    insta::assert_snapshot!(ran.advised(), @"
    See whether the trails of 111122223333 record: IsLogging, and the time of the last delivery.
    Switch trail arn:aws:cloudtrail:eu-west-1:111122223333:trail/org on again.
    List what access key AKIAEXAMPLECASE00001 did.
    Keep the logs of org beyond their retention.
    Ask the owner of org whether this was planned.
    ");
}

#[test]
fn denied_call_is_told_as_guardduty_sends_it() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(case("46-guardduty-call-that-failed"));
    assert_eq!(
        (end(&ran).0, end(&ran).1),
        (Verdict::Inconclusive, Leaning::None)
    );
    insta::assert_snapshot!(ran.claims(), @"For [E0] alice tried CreateAccessKey from 203.0.113.20 and did not get through (denied, AccessDenied), twice");
}

#[test]
fn probe_of_a_database_is_told_as_guardduty_sends_it() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(case("44-guardduty-rds-probe-without-login"));
    assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive);
    insta::assert_snapshot!(ran.claims(), @"For [E0] 198.51.100.9 probed orders-db, and no authentication attempt was made, twice");
    insta::assert_snapshot!(ran.advised(), @"
    Ask the owner of orders-db whether this was planned.
    Block traffic from 198.51.100.9 in the network ACL of the subnet.
    ");
    insta::assert_snapshot!(ran.would_decide(), @"
    The register of authorised scanners: whether 198.51.100.9 is ours
    Flow logs of orders-db: whether the source was let through, and on which port
    The sign-in logs of orders-db: whether any attempt succeeded
    ");
}

#[test]
fn scanned_object_names_its_threat() {
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(case("01-guardduty-s3-object-scan-result"));
    insta::assert_snapshot!(ran.claims(), @"For [E0] The feed names what it found: Trojan.Generic.Sample");
}

#[test]
fn actor_named_as_resource_is_neither_trail_nor_lost_data() {
    let alice = "arn:aws:iam::444455556666:user/alice";
    let stopped = called(
        "TTPs/Defense Evasion/CloudTrailLoggingDisabled",
        "cloudtrail.amazonaws.com StopLogging",
    );
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(on(stopped, IndicatorKind::Arn, alice));
    assert_eq!(end(&ran).1, Leaning::Malicious);
    let actions = ran.actions();
    assert!(
        actions.contains(&"start-logging") && !actions.contains(&"start-trail"),
        "{actions:?}"
    );
    assert!(!ran.claims().contains("user/alice"), "{}", ran.claims());
    assert!(
        !ran.would_decide().contains("user/alice"),
        "{}",
        ran.would_decide()
    );

    let deleted = called(
        "Impact:S3/AnomalousBehavior.Delete",
        "kms.amazonaws.com ScheduleKeyDeletion",
    );
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(on(deleted, IndicatorKind::Arn, alice));
    let decides = ran.would_decide();
    assert!(
        decides.contains("What is left of what the call took away"),
        "{decides}"
    );
}

#[test]
fn operation_that_is_none_of_logging_is_told_by_its_name() {
    for (kind, operation) in [
        (
            "Impair Defenses: Two Step Verification Disabled",
            "google.login.LoginService.2svDisable",
        ),
        (
            "Defense Evasion: Modify VPC Service Control",
            "AccessContextManager.UpdateServicePerimeter",
        ),
    ] {
        let ran = PlaybookCase::with(&DEFAULT, quiet).run(called(kind, operation));
        let decides = ran.would_decide();
        assert!(decides.contains(operation), "{decides}");
        assert!(!decides.contains("names no operation"), "{decides}");
        assert!(
            !ran.actions().contains(&"check-logging"),
            "{:?}",
            ran.actions()
        );
    }
}
