use nightshift_engine::{Exoneration, Leaning, Reason, StepOutcome, ToolError, Verdict};
use serde_json::{Value, json};

use super::alerts::{pool_lookup, scc_miner};
use super::drive::{ALL, DEFAULT, nothing, run};

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
    let ran = run(scc_miner(), &DEFAULT, Vec::new(), &pools);
    assert_eq!(ran.draft.verdict, Verdict::TruePositive);
    assert!(ran.plan.steps.len() >= 3);
    assert_eq!(ran.plan.source, "playbook crypto-mining 1");
    insta::assert_snapshot!(ran.claims(), @r#"
    For [E4 E4 E0] pool.minexmr.com, a far end of web-server-prod-01, is on watch list mining-pools as mining pool (minexmr.com)
    For [E0] Mining software runs on web-server-prod-01: /tmp/.xmrig/xmrig
    For [E0] A command line or script on web-server-prod-01 is that of a miner: #!/bin/bash /tmp/.xmrig/xmrig -o pool.minexmr.com:4444
    "#);
    insta::assert_snapshot!(ran.plan.not_covered.join("\n"), @r#"
    Asset register not read: no [[tool]] of kind asset_lookup is configured
    Change records not read: no [[tool]] of kind change_lookup is configured
    VPC flow logs not searched: no [[tool]] of kind log_search.vpc_flow is configured
    Cloud Audit Logs not searched: no [[tool]] of kind log_search.gcp_audit is configured
    "#);
    let steps: Vec<_> = ran
        .steps
        .iter()
        .map(|view| {
            format!(
                "{}: {:?}: {}",
                view.step.name, view.step.outcome, view.step.summary
            )
        })
        .collect();
    insta::assert_snapshot!(steps.join("\n"), @r#"
    process: Some(Met): The alert tells of /tmp/.xmrig/xmrig, xmrig, #!/bin/bash /tmp/.xmrig/xmrig -o pool.minexmr.com:4444 and 2 more.
    lists: Some(Met): 5 look-ups, 2 rows.
    facts: Some(Met): 4 look-ups, 0 rows.
    "#);
    assert_eq!(ran.step("process").step.outcome, Some(StepOutcome::Met));
    assert_eq!(
        ran.actions(),
        [
            "snapshot-disk",
            "isolate-instance",
            "block-domain",
            "rotate-secrets",
            "contact-owner"
        ]
    );
}

#[test]
fn one_lookup_of_a_pool_leans_malicious_and_more_decide() {
    let once = run(pool_lookup(1), &DEFAULT, Vec::new(), &pools);
    assert_eq!(
        (once.draft.verdict, once.draft.leaning),
        (Verdict::Inconclusive, Leaning::Malicious)
    );
    insta::assert_snapshot!(once.draft.would_decide.join("\n"), @r#"
    The process list of i-0a1b2c3d4e5f60718, or its CPU use since 2026-03-02T02:29:51Z: a miner uses all of it
    VPC flow logs of i-0a1b2c3d4e5f60718: steady traffic to the far end on one port is mining
    A change or asset record that allows mining there, with who approved it
    "#);
    let often = run(pool_lookup(40), &DEFAULT, Vec::new(), &pools);
    assert_eq!(often.draft.verdict, Verdict::TruePositive);
}

#[test]
fn nothing_listed_and_nothing_logged_stays_open() {
    let ran = run(pool_lookup(40), &ALL, Vec::new(), &|kind, arguments| {
        Ok(nothing(kind, arguments))
    });
    assert_eq!(
        (ran.draft.verdict, ran.draft.leaning, ran.draft.reason),
        (Verdict::Inconclusive, Leaning::None, Reason::MissingData)
    );
    insta::assert_snapshot!(ran.claims(), @r#"
    For [E0 E0] The feed saw it 40 times: DNS_REQUEST pool.minexmr.com
    Against [E2] No value of the alert is on a watch list as a pool or as malicious (1 looked up)
    For [E5] No change record covers it
    "#);
    insta::assert_snapshot!(ran.draft.would_decide.join("\n"), @r#"
    A mining pool behind pool.minexmr.com: passive DNS or a current pool list
    VPC flow logs of i-0a1b2c3d4e5f60718 around 2026-03-02T02:29:51Z
    The process list of i-0a1b2c3d4e5f60718: which program made the connection
    A change or asset record that allows mining there, with who approved it
    "#);
}

#[test]
fn a_register_that_allows_it_makes_it_benign() {
    let alert = pool_lookup(40);
    let given = vec![Exoneration {
        kind: "asset".to_owned(),
        subject_type: nightshift_alert::IndicatorKind::Instance,
        subject: "i-0a1b2c3d4e5f60718".to_owned(),
        from: None,
        until: None,
        covers: vec!["CryptoCurrency:*".to_owned()],
        approved_by: "m.lopez".to_owned(),
        reference: "asset-7".to_owned(),
        statement: "Mining research host".to_owned(),
        detection_wrong: false,
        evidence: None,
    }];
    let ran = run(alert, &ALL, given, &pools);
    assert_eq!(
        (ran.draft.verdict, ran.draft.reason),
        (Verdict::BenignTruePositive, Reason::AuthorisedActivity)
    );
}

#[test]
fn traffic_to_a_listed_pool_asks_who_else_talks_to_it() {
    let ran = run(
        scc_miner(),
        &ALL,
        Vec::new(),
        &|kind, arguments| match kind {
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
        },
    );
    assert_eq!(ran.step("others").step.outcome, Some(StepOutcome::Met));
    assert_eq!(ran.reflections[0].plan_updates.len(), 1);
    assert_eq!(ran.step("asset").step.outcome, Some(StepOutcome::Failed));
    insta::assert_snapshot!(ran.claims(), @r#"
    For [E3 E3 E0] 195.123.245.89, a far end of web-server-prod-01, is on watch list bad as malicious (195.123.245.0/24)
    For [E0] Mining software runs on web-server-prod-01: /tmp/.xmrig/xmrig
    For [E0] A command line or script on web-server-prod-01 is that of a miner: #!/bin/bash /tmp/.xmrig/xmrig -o pool.minexmr.com:4444
    For [E14 E14 E14 E14] The flow logs hold traffic of 10.0.0.5 with the listed 195.123.245.89, port 4444, at 2025-11-08T05:30:00Z
    Against [E13] The flow logs that were searched hold no traffic with 185.220.101.42
    For [E12] No change record covers it
    "#);
    insta::assert_snapshot!(ran.draft.gaps.join("\n"), @"Failed: Look web-server-prod-01 up in the asset register: owner, environment, purpose, findings that are expected of it: No answer: access denied: the register.");
}
