use nightshift_alert::{IndicatorKind, Severity};
use nightshift_engine::conclusion::{Confidence, Leaning, Verdict, VerdictReason};
use nightshift_engine::plan::StepOutcome;
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::{made_for, mining_pod, pool_lookup, scc_miner};
use super::case_fixture::{ALL, DEFAULT, PlaybookCase, nothing, record};

fn pools(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    let asked = arguments["indicator"].as_str().unwrap_or_default();
    if kind == "watchlist" && asked.contains("minexmr.com") {
        return Ok(
            json!({"indicator": asked, "listed": true, "entries_searched": 60, "lists_searched": ["mining-pools"],
            "matches": [{"list": "mining-pools", "meaning": "mining_pool", "entry": "minexmr.com", "note": null}]}),
        );
    }
    Ok(nothing(kind, arguments))
}

#[test]
fn the_scc_sample_is_a_true_positive_with_the_default_tools() {
    let ran = PlaybookCase::with(&DEFAULT, pools).run(scc_miner());
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    assert!(ran.state.steps().len() >= 3);
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] Mining software runs on web-server-prod-01: /tmp/.xmrig/xmrig
    For [E4 E0] web-server-prod-01 connects to pool.minexmr.com, listed as a mining pool (watch list mining-pools, entry minexmr.com)
    For [E0] A miner's command line runs on web-server-prod-01: /tmp/.xmrig/xmrig -o pool.minexmr.com:4444 -u …
    For [E0] A scanner found mining software on web-server-prod-01: xmrig cryptocurrency miner
    For [E0] It mines for the wallet 4AdUndXHHZ6cfufTMvppY6JwXNouMBzSkbLYfpAV5Usx3skxNgYeYTRj5UzqtReoS44qo9mtmXCqY45DJ852K5Jv2684Rge
    ");
    insta::assert_snapshot!(ran.conclusion.coverage.missing.join("\n"), @r#"
    Asset register not read: no [[tool]] of kind asset_lookup is configured
    Change records not read: no [[tool]] of kind change_lookup is configured
    VPC flow logs not searched: no [[tool]] of kind log_search.vpc_flow is configured
    Cloud Audit Logs not searched: no [[tool]] of kind log_search.gcp_audit is configured
    "#);
    insta::assert_snapshot!(ran.steps(), @"
    process Some(Met): The alert tells of /tmp/.xmrig/xmrig, xmrig, /tmp/.xmrig/xmrig -o pool.minexmr.com:4444 -u … and 6 more.
    lists Some(Met): 10 look-ups, 2 rows.
    facts Some(Met): 5 look-ups, answered.
    ");
    let commands: Vec<_> = ran
        .conclusion
        .actions
        .iter()
        .map(|one| format!("{}: {}", one.id, one.command.as_deref().unwrap_or("-")))
        .collect();
    insta::assert_snapshot!(commands.join("\n"), @r#"
    snapshot-disk: gcloud compute disks snapshot web-server-prod-01 --project production-project-12345 --zone us-central1-a --snapshot-names nightshift-web-server-prod-01
    isolate-instance: gcloud compute firewall-rules create nightshift-isolate-out --project production-project-12345 --network "$NETWORK" --direction EGRESS --action DENY --rules all --priority 0 --target-tags nightshift-isolated && gcloud compute firewall-rules create nightshift-isolate-in --project production-project-12345 --network "$NETWORK" --direction INGRESS --action DENY --rules all --priority 0 --target-tags nightshift-isolated && gcloud compute instances add-tags web-server-prod-01 --project production-project-12345 --zone us-central1-a --tags nightshift-isolated
    deny-principal: for ROLE in $(gcloud projects get-iam-policy production-project-12345 --flatten 'bindings[].members' --filter 'bindings.members="user:attacker@external-domain.com"' --format 'value(bindings.role)'); do gcloud projects remove-iam-policy-binding production-project-12345 --member user:attacker@external-domain.com --role "$ROLE" --all; done
    review-principal-activity: gcloud logging read 'protoPayload.authenticationInfo.principalEmail="attacker@external-domain.com"' --project production-project-12345 --freshness 2d --limit 50 --format json
    block-domain: gcloud dns response-policies rules create nightshift-block --project production-project-12345 --response-policy "$RESPONSE_POLICY" --dns-name pool.minexmr.com. --local-data name=pool.minexmr.com.,type=A,ttl=300,rrdatas=0.0.0.0
    rotate-secrets: gcloud secrets versions add "$SECRET" --project production-project-12345 --data-file "$NEW_VALUE"
    "#);
}

#[test]
fn one_lookup_of_a_pool_leans_malicious_and_more_decide() {
    let once = PlaybookCase::with(&DEFAULT, pools)
        .run(pool_lookup(1))
        .conclusion;
    assert_eq!(
        (once.verdict, once.leaning),
        (Verdict::Inconclusive, Leaning::Malicious)
    );
    let often = PlaybookCase::with(&DEFAULT, pools)
        .run(pool_lookup(40))
        .conclusion;
    assert_eq!(often.verdict, Verdict::TruePositive);
}

#[test]
fn nothing_listed_and_nothing_logged_stays_open() {
    let ran = PlaybookCase::with(&ALL, |kind, arguments| Ok(nothing(kind, arguments)))
        .run(pool_lookup(40));
    let end = &ran.conclusion;
    assert_eq!(
        (end.verdict, end.leaning, end.reason),
        (
            Verdict::Inconclusive,
            Leaning::None,
            VerdictReason::MissingData
        )
    );
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The feed counted it 40 times: DNS_REQUEST
    For [E6] No change record covers it
    ");
    insta::assert_snapshot!(ran.would_decide(), @r#"
    A mining pool behind pool.minexmr.com: passive DNS or a current pool list
    VPC flow logs of i-11111111 around 2023-04-16T06:11:53Z
    The process list of i-11111111: which program made the connection
    A change or asset record that allows mining there, with who approved it
    "#);
}

#[test]
fn a_register_that_allows_it_makes_it_benign() {
    let allowed = record("asset", IndicatorKind::Instance, "i-11111111");
    let end = PlaybookCase::with(&ALL, pools)
        .clearing(allowed)
        .run(pool_lookup(40))
        .conclusion;
    assert_eq!(
        (end.verdict, end.reason),
        (
            Verdict::BenignTruePositive,
            VerdictReason::AuthorisedActivity
        )
    );
    assert_eq!(
        (end.assessed_severity, end.confidence),
        (Severity::Informational, Confidence::High)
    );
}

#[test]
fn a_register_that_could_not_be_read_clears_nothing() {
    let allowed = record("change", IndicatorKind::Instance, "i-11111111");
    let away: super::case_fixture::ToolAnswers = |kind, arguments| match kind {
        "asset_lookup" => Err(ToolError::Denied {
            what: "the register".to_owned(),
        }),
        _ => pools(kind, arguments),
    };
    let end = PlaybookCase::with(&ALL, away)
        .clearing(allowed)
        .run(pool_lookup(40))
        .conclusion;
    assert_eq!(
        (end.verdict, end.reason),
        (Verdict::Inconclusive, VerdictReason::ToolFailure)
    );
}

#[test]
fn traffic_to_a_listed_pool_asks_who_else_talks_to_it() {
    let answers: super::case_fixture::ToolAnswers = |kind, arguments| match kind {
        "watchlist" if arguments["indicator"] == "195.123.245.89" => {
            Ok(json!({"indicator": "195.123.245.89", "listed": true,
            "matches": [{"list": "bad", "meaning": "malicious", "entry": "195.123.245.0/24", "note": "x"}], "lists_searched": ["bad"], "entries_searched": 1}))
        }
        "log_search.vpc_flow" if arguments["ip"] == "195.123.245.89" => Ok(
            json!({"source": "vpc_flow", "rows_scanned": 9, "rows_matched": 1, "truncated": false,
            "rows": [{"at": "2025-11-08T05:30:00Z", "source_ip": "10.0.0.5", "destination_ip": "195.123.245.89", "destination_port": 4444, "outcome": "ACCEPT", "bytes": 900}]}),
        ),
        "asset_lookup" => Err(ToolError::Denied {
            what: "the register".to_owned(),
        }),
        _ => Ok(nothing(kind, arguments)),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(scc_miner());
    assert_eq!(ran.step("others").outcome, Some(StepOutcome::Unmet));
    insta::assert_snapshot!(ran.step("others").summary, @"1 row, of which hosts is not told.");
    assert_eq!(ran.step("asset").outcome, Some(StepOutcome::Failed));
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] Mining software runs on web-server-prod-01: /tmp/.xmrig/xmrig
    For [E3 E0] web-server-prod-01 connects to 195.123.245.89, listed as malicious (watch list bad, entry 195.123.245.0/24)
    For [E0] A miner's command line runs on web-server-prod-01: /tmp/.xmrig/xmrig -o pool.minexmr.com:4444 -u …
    For [E0] A scanner found mining software on web-server-prod-01: xmrig cryptocurrency miner
    For [E24] Traffic passed between 10.0.0.5 and the listed 195.123.245.89, port 4444, at 2025-11-08T05:30:00Z
    For [E0] It mines for the wallet 4AdUndXHHZ6cfufTMvppY6JwXNouMBzSkbLYfpAV5Usx3skxNgYeYTRj5UzqtReoS44qo9mtmXCqY45DJ852K5Jv2684Rge
    Against [E23] The flow logs that were searched show no traffic with 185.220.101.42the ip 185.220.101.42 does not stand in what it cites
    For [E20] No change record covers it
    ");
    insta::assert_snapshot!(ran.conclusion.gaps.join("\n"), @"Look web-server-prod-01 up in the asset register: owner, environment, purpose, findings that are expected of it failed: No answer: access denied: the register.");
}

#[test]
fn who_prepared_the_machine_ranks_before_other_miner_evidence() {
    let answers: super::case_fixture::ToolAnswers = |kind, arguments| match kind {
        "log_search.gcp_audit" => {
            let row = |at: &str, action: &str| json!({"at": at, "action": action, "principal": "d.keller@contractor.example", "source_ip": "203.0.113.66"});
            Ok(super::case_fixture::logged(
                kind,
                json!([
                    row("2025-11-08T05:03:18Z", "v1.compute.instances.stop"),
                    row("2025-11-08T05:04:55Z", "v1.compute.instances.setMetadata"),
                    row("2025-11-08T05:05:31Z", "v1.compute.instances.start"),
                ]),
            ))
        }
        _ => pools(kind, arguments),
    };
    let mut alert = scc_miner();
    let contractor = nightshift_alert::Indicator::new(
        IndicatorKind::Principal,
        "d.keller@contractor.example",
        nightshift_alert::IndicatorRole::Actor,
    );
    alert.indicators.push(contractor);
    let ran = PlaybookCase::with(&ALL, answers).run(alert);
    let first: Vec<_> = ran.conclusion.findings.iter().take(3).collect();
    assert!(first.iter().all(|finding| finding.supported), "{first:?}");
    insta::assert_snapshot!(first[2].claim, @"d.keller@contractor.example from 203.0.113.66 called v1.compute.instances.stop, v1.compute.instances.setMetadata, v1.compute.instances.start, first at 2025-11-08T05:03:18Z, as the audit log shows");
    insta::assert_snapshot!(ran.actions().join(" "), @"snapshot-disk isolate-instance deny-principal review-principal-activity block-domain rotate-secrets");
}

#[test]
fn only_another_host_at_the_pool_is_another_host() {
    let answers: super::case_fixture::ToolAnswers = |kind, arguments| match kind {
        "watchlist" if arguments["indicator"] == "195.123.245.89" => {
            Ok(super::case_fixture::on_list("mining_pool", arguments))
        }
        "log_search.vpc_flow" if arguments["ip"] == "195.123.245.89" => {
            let row = |instance: &str, source: &str| {
                json!({"at": "2025-11-08T05:30:00Z", "source_ip": source, "destination_ip": "195.123.245.89",
                "destination_port": 4444, "outcome": "accepted", "bytes": 900, "instance": instance})
            };
            Ok(super::case_fixture::logged(
                kind,
                json!([
                    row("web-server-prod-01", "10.0.0.5"),
                    row("billing-02", "10.0.0.77"),
                    row("billing-02", "10.0.0.77")
                ]),
            ))
        }
        _ => Ok(nothing(kind, arguments)),
    };
    let ran = PlaybookCase::with(&ALL, answers).run(scc_miner());
    assert_eq!(ran.step("others").outcome, Some(StepOutcome::Met));
    insta::assert_snapshot!(ran.step("others").summary, @"billing-02 too.");
    let claims = ran.claims();
    assert!(
        claims.contains("Another host talks to the listed 195.123.245.89: billing-02, at"),
        "{claims}"
    );
    assert!(
        !claims.contains("195.123.245.89: web-server-prod-01"),
        "{claims}"
    );
}

#[test]
fn service_account_that_prepared_the_machine_is_disabled() {
    let mut alert = scc_miner();
    let named = |one: &nightshift_alert::Indicator| {
        one.kind == IndicatorKind::Principal && one.role == nightshift_alert::IndicatorRole::Actor
    };
    for one in alert.indicators.iter_mut().filter(|one| named(one)) {
        one.value = "1-compute@developer.gserviceaccount.com".to_owned();
    }
    let ran = PlaybookCase::with(&ALL, pools).run(alert);
    insta::assert_snapshot!(ran.actions().join(" "), @"snapshot-disk isolate-instance disable-service-account review-principal-activity block-domain rotate-secrets");
    let disabled = ran.conclusion.actions[2].command.as_deref();
    insta::assert_snapshot!(disabled.unwrap_or_default(), @"gcloud iam service-accounts disable 1-compute@developer.gserviceaccount.com --project production-project-12345");
}

#[test]
fn a_container_that_mines_is_cut_off_by_what_its_cluster_knows() {
    let advised = |alert| {
        let ran = PlaybookCase::with(&DEFAULT, pools).run(alert);
        assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
        let command = ran.conclusion.actions[0].command.clone();
        (ran.actions().join(" "), command.unwrap_or_default())
    };
    let (actions, command) = advised(mining_pod());
    insta::assert_snapshot!(actions, @"isolate-workload block-domain rotate-secrets contact-owner");
    insta::assert_snapshot!(command, @r#"kubectl label pod "$POD" --namespace "$NAMESPACE" nightshift=isolated --overwrite"#);
    let (actions, command) = advised(made_for("guardduty-ecs-mining"));
    insta::assert_snapshot!(actions, @"isolate-task block-domain rotate-secrets contact-owner");
    insta::assert_snapshot!(command, @r#"aws ec2 modify-network-interface-attribute --region eu-west-1 --network-interface-id "$ENI" --groups "$ISOLATION_SG""#);
}
