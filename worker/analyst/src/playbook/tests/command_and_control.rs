use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::conclusion::{Leaning, Verdict, VerdictReason};
use nightshift_engine::tool::ToolError;
use serde_json::{Value, json};

use super::alerts::{dns, made_for, mining_pod, sample};
use super::case_fixture::{ALL, DEFAULT, PlaybookCase, ToolAnswers, nothing, record};

fn listed(meaning: &str, kind: &str, arguments: &Value) -> Value {
    let asked = &arguments["indicator"];
    if kind == "watchlist" && *asked == "evil.example" {
        return json!({"indicator": asked, "listed": true, "lists_searched": ["names"], "entries_searched": 9,
            "matches": [{"list": "names", "meaning": meaning, "entry": "evil.example", "note": null}]});
    }
    nothing(kind, arguments)
}

fn sinkhole(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(listed("sinkhole", kind, arguments))
}

fn allowed(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    Ok(listed("allowed", kind, arguments))
}

fn many() -> nightshift_alert::Alert {
    let mut alert = dns("Backdoor:EC2/C&CActivity.B!DNS", "evil.example");
    alert.count = 31;
    alert
}

#[test]
fn sinkhole_queried_repeatedly_is_a_true_positive() {
    let ran = PlaybookCase::with(&ALL, sinkhole).run(many());
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    insta::assert_snapshot!(ran.claims(), @"
    For [E2 E0] evil.example is a sinkhole (list names, evil.example): what calls it is malware whose server was taken over
    For [E0] The feed names the threat list GeneratedFindingThreatListName
    For [E0] The feed counted it 31 times: DNS_REQUEST
    ");
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
fn a_resolver_only_passes_the_question_on() {
    let resolver: ToolAnswers = |kind, arguments| match kind {
        "asset_lookup" => Ok(
            json!({"indicator": "i-11111111", "found": 1, "searched": {"register": "a.csv", "records": 3},
            "assets": [{"id": "a-1", "name": "resolver-1", "type": "instance", "owner": "network", "role": "DNS resolver", "purpose": ""}]}),
        ),
        _ => sinkhole(kind, arguments),
    };
    let ran = PlaybookCase::with(&ALL, resolver).run(many());
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::Malicious)
    );
    insta::assert_snapshot!(ran.would_decide(), @r#"
    The query log of i-11111111: which client asked for evil.example
    Flow logs of i-11111111 after 2023-04-16T06:11:53Z: traffic to the address that the name gave
    A record (asset, change, authorised scanner) that allows it, with who approved it
    "#);
}

#[test]
fn a_machine_that_may_ask_for_the_name_is_a_false_positive() {
    let mut asset = record("asset", IndicatorKind::Instance, "i-11111111");
    asset.detection_wrong = true;
    let world = PlaybookCase::with(&ALL, allowed).clearing(asset);
    let end = world.run(many()).conclusion;
    assert_eq!(
        (end.verdict, end.reason),
        (Verdict::FalsePositive, VerdictReason::WrongDetectionLogic)
    );
}

#[test]
fn an_exercise_in_the_change_register_is_benign() {
    let change = record("change", IndicatorKind::Instance, "i-11111111");
    let end = PlaybookCase::with(&ALL, sinkhole)
        .clearing(change)
        .run(many())
        .conclusion;
    assert_eq!(end.verdict, Verdict::BenignTruePositive);
}

#[test]
fn the_drop_point_sample_stays_open_for_want_of_data() {
    let facts: ToolAnswers = |kind, arguments| match kind {
        "indicator_facts" => Ok(
            json!({"indicator": "3322.org", "type": "domain", "registrable_domain": "3322.org", "dynamic_dns": true, "looks_random": false}),
        ),
        _ => Ok(nothing(kind, arguments)),
    };
    let mut alert = sample("guardduty-eventbridge-dns");
    alert.state.sample = false;
    let ran = PlaybookCase::with(&DEFAULT, facts).run(alert);
    assert_eq!(
        (ran.conclusion.verdict, ran.conclusion.leaning),
        (Verdict::Inconclusive, Leaning::None)
    );
    assert!(ran.state.steps().len() >= 3);
    insta::assert_snapshot!(ran.claims(), @"
    For [E0] The feed names the threat list GeneratedFindingThreatListName
    For [E3 E0] 3322.org is a name of a dynamic DNS service, which anybody gets without being known
    ");
    insta::assert_snapshot!(ran.would_decide(), @r#"
    Whether 3322.org is still what the feed's list says: a current threat list or allow list that holds it
    Flow logs of i-11111111 after 2023-04-16T06:11:53Z: whether a contact followed
    Which process on i-11111111 made the contact: its process list, or the resolver's query log
    What i-11111111 is for: a resolver or proxy asks for the names of others
    "#);
}

#[test]
fn silent_log_that_ends_before_the_alert_clears_nobody() {
    let mut alert = dns("Backdoor:EC2/C&CActivity.B", "evil.example");
    let far = Indicator::new(IndicatorKind::Ip, "203.0.113.9", IndicatorRole::Remote);
    alert.indicators.push(far);
    let covers: ToolAnswers = |kind, arguments| Ok(nothing(kind, arguments));
    let claims = PlaybookCase::with(&ALL, covers).run(alert.clone()).claims();
    assert!(
        claims.contains("show no traffic with 203.0.113.9"),
        "{claims}"
    );
    let ends: ToolAnswers = |kind, arguments| {
        let mut answer = nothing(kind, arguments);
        if kind == "log_search.vpc_flow" {
            answer["searched"] = json!({"records_in_time": 0, "records_from": "2020-01-01T00:00:00Z", "records_until": "2023-04-16T05:31:00Z"});
        }
        Ok(answer)
    };
    let ran = PlaybookCase::with(&ALL, ends).run(alert);
    assert!(
        !ran.claims().contains("show no traffic"),
        "{}",
        ran.claims()
    );
    let gaps = ran.conclusion.gaps.join("\n");
    insta::assert_snapshot!(gaps, @"log_search_vpc_flow has nothing after 2023-04-16 05:31 UTC");
}

#[test]
fn call_limit_covers_each_kind_in_turn_and_reports_the_rest() {
    let mut alert = dns("Backdoor:EC2/C&CActivity.B", "evil.example");
    alert.indicators.extend((1..=27).map(|last| {
        Indicator::new(
            IndicatorKind::Ip,
            format!("198.51.100.{last}"),
            IndicatorRole::Remote,
        )
    }));
    alert.indicators.sort();
    let quiet: ToolAnswers = |kind, arguments| Ok(nothing(kind, arguments));
    let ran = PlaybookCase::with(&DEFAULT, quiet).run(alert.clone());
    insta::assert_snapshot!(ran.conclusion.gaps.join("\n"), @"198.51.100.27, 198.51.100.3, 198.51.100.4, 198.51.100.5 and 4 more, which are beyond the 20 calls of a step (left out: 8 of lists, 8 of facts)");
    let told = "Left out, beyond 20 calls in a step: 8 of lists, 8 of facts".to_owned();
    assert!(ran.conclusion.coverage.missing.contains(&told));
    alert.indicators.reverse();
    let ran = PlaybookCase::with(&DEFAULT, sinkhole).run(alert);
    assert!(ran.claims().contains("evil.example is a sinkhole"));
}

#[test]
fn a_value_that_two_tools_look_up_is_one_value() {
    let quiet: ToolAnswers = |kind, arguments| Ok(nothing(kind, arguments));
    let two = ["watchlist", "watchlist#2", "past_cases"];
    let ran = PlaybookCase::with(&two, quiet).run(many());
    insta::assert_snapshot!(ran.claims().lines().last().unwrap(), @"For [E0] The feed counted it 31 times: DNS_REQUEST");
    let mut alert = many();
    alert.indicators.extend((1..=14).map(|last| {
        Indicator::new(
            IndicatorKind::Ip,
            format!("198.51.100.{last}"),
            IndicatorRole::Remote,
        )
    }));
    alert.indicators.sort();
    let claims = PlaybookCase::with(&two, quiet).run(alert).claims();
    insta::assert_snapshot!(claims.lines().last().unwrap(), @"For [E0] The feed counted it 31 times: DNS_REQUEST");
}

#[test]
fn container_calling_a_sinkhole_is_isolated_through_its_cluster() {
    let actions = |mut alert: nightshift_alert::Alert| {
        "Backdoor:Runtime/C&CActivity.B!DNS".clone_into(&mut alert.kind);
        for one in &mut alert.indicators {
            if one.role == IndicatorRole::Remote {
                "evil.example".clone_into(&mut one.value);
            }
        }
        let ran = PlaybookCase::with(&DEFAULT, sinkhole).run(alert);
        assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
        ran.actions().join(" ")
    };
    insta::assert_snapshot!(actions(mining_pod()), @"isolate-workload block-domain rotate-secrets contact-owner");
    insta::assert_snapshot!(actions(made_for("guardduty-ecs-mining")), @"isolate-task block-domain rotate-secrets contact-owner");
}
