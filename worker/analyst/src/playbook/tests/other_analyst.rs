//! Tests that nothing is cleared without an answer to the playbook's key steps, regardless of the plan, of its
//! author, and of the steps that it marks as key.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::{Alert, Indicator, IndicatorKind, IndicatorRole, Severity};
use nightshift_engine::conclusion::{ConclusionDraft, Leaning, Verdict, VerdictReason};
use nightshift_engine::plan::{PlanMode, StepDraft, StepOutcome};
use nightshift_engine::port::{Analyst, Answer, NoAnswer};
use nightshift_engine::question::{
    ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion, ReflectQuestion,
    Reflection, TurnAnswer, TurnQuestion,
};
use nightshift_engine::tool::{ToolCall, ToolError};
use serde_json::{Value, json};

use super::alerts::{dns, sample};
use super::case_fixture::{
    ALL, PlaybookCase, PlaybookRun, ToolAnswers, logged, nothing, on_list, record,
};
use super::cleared::LOOKS;
use super::hostile::{LOOK, mistaken};

const SOURCE: &str = "198.51.100.23";
const KEY: &str = "AKIAEXAMPLE00000001";

/// A model that makes these calls in one step without a key and then gives this verdict.
struct SingleStepModel(Vec<ToolCall>, Verdict);

fn model_answer<T>(value: T) -> Result<Answer<T>, NoAnswer> {
    Ok(Answer {
        model: Some("fake/model".to_owned()),
        ..Answer::free(value)
    })
}

#[async_trait]
impl Analyst for SingleStepModel {
    async fn plan(&self, _: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        model_answer(PlanAnswer {
            mode: PlanMode::Planned,
            objective: "Is it ours".to_owned(),
            steps: vec![StepDraft {
                id: "s1".to_owned(),
                description: "Ask the registers".to_owned(),
                tools: Vec::new(),
                expected: String::new(),
                depends_on: Vec::new(),
                calls: self.0.clone(),
                key: false,
            }],
            source: String::new(),
            not_covered: Vec::new(),
            conditional: false,
        })
    }

    async fn turn(&self, _: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        model_answer(TurnAnswer::Result {
            outcome: StepOutcome::Met,
            summary: "It is ours.".to_owned(),
            findings: Vec::new(),
        })
    }

    async fn decide(&self, _: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        model_answer(Decision::default())
    }

    async fn reflect(&self, _: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        model_answer(Reflection::default())
    }

    async fn conclude(
        &self,
        question: &ConcludeQuestion,
    ) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        let sent = question.alert.severity;
        model_answer(ConclusionDraft {
            verdict: self.1,
            leaning: Leaning::None,
            reason: VerdictReason::AuthorisedActivity,
            assessed_severity: if self.1.is_benign() {
                Severity::Informational
            } else {
                sent
            },
            findings: Vec::new(),
            gaps: Vec::new(),
            not_covered: Vec::new(),
            would_decide: Vec::new(),
            actions: Vec::new(),
            meaning: String::new(),
            techniques: Vec::new(),
        })
    }
}

fn call(tool: &str, arguments: Value) -> ToolCall {
    ToolCall::new(tool, arguments.as_object().cloned().unwrap())
}

fn scanners() -> ToolCall {
    call("authorised_scanners", json!({"indicator": SOURCE}))
}

/// Returns the calls of the playbook's key steps except the log search.
fn registers() -> Vec<ToolCall> {
    vec![
        scanners(),
        call("identity_lookup", json!({"principal": "ci-deployer"})),
        call("change_lookup", json!({"indicator": SOURCE})),
    ]
}

fn trail(more: Value) -> ToolCall {
    let mut call = call("log_search_cloudtrail", json!({"access_key": KEY}));
    call.arguments.extend(more.as_object().cloned().unwrap());
    call
}

fn reads(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    let row = json!({"at": "2026-03-02T02:55:00Z", "action": "ListRoles", "access_key": KEY, "outcome": "success",
        "principal": "arn:aws:iam::444455556666:user/ci-deployer", "source_ip": SOURCE, "read_only": true});
    match kind {
        "log_search.cloudtrail" => Ok(logged(kind, json!([row]))),
        _ => Ok(nothing(kind, arguments)),
    }
}

fn denied(kind: &str, arguments: &Value) -> Result<Value, ToolError> {
    match kind {
        "log_search.cloudtrail" => Err(ToolError::Denied {
            what: "AccessDenied".to_owned(),
        }),
        _ => Ok(nothing(kind, arguments)),
    }
}

/// Returns a fixture with the approved test and a model that makes these calls and gives this verdict.
fn world(answers: ToolAnswers, calls: Vec<ToolCall>, verdict: Verdict) -> PlaybookCase {
    let mut world = PlaybookCase::with(&ALL, answers);
    world.other = Some(Arc::new(SingleStepModel(calls, verdict)));
    world.of_identity("ci-deployer").clearing(record(
        "authorised_scanner",
        IndicatorKind::Ip,
        SOURCE,
    ))
}

fn ran(answers: ToolAnswers, calls: Vec<ToolCall>) -> PlaybookRun {
    world(answers, calls, Verdict::BenignTruePositive).run(sample(LOOKS))
}

fn with(mut calls: Vec<ToolCall>, more: ToolCall) -> Vec<ToolCall> {
    calls.push(more);
    calls
}

#[test]
fn f24_model_without_key_steps_clears_nothing_beyond_playbook() {
    for (answers, calls) in [
        (reads as ToolAnswers, registers()),
        (denied, with(registers(), trail(json!({})))),
    ] {
        let end = ran(answers, calls).conclusion;
        assert_eq!(
            (end.verdict, end.leaning, end.reason),
            (
                Verdict::Inconclusive,
                Leaning::Benign,
                VerdictReason::ToolFailure
            )
        );
        assert_eq!(end.assessed_severity, sample(LOOKS).severity);
        let rules = end.overridden.iter().map(|one| one.rule.as_str());
        assert_eq!(
            rules.collect::<Vec<_>>(),
            ["key_step_failed", "severity_floor"]
        );
        insta::allow_duplicates! {
            insta::assert_snapshot!(end.gaps[0], @"Search the audit logs for everything that the identity did around the alert: no answer, and nothing is cleared without one");
            insta::assert_snapshot!(end.summary, @r#"GuardDuty reports: "APIs commonly used in Discovery tactics were invoked anomalously by an IAM user" by ci-deployer from 198.51.100.23, 6 times. Not decided: Search the audit logs for everything that the identity did around the alert: no answer, and nothing is cleared without one."#);
        }
    }
    let end = ran(reads, vec![scanners()]).conclusion;
    insta::assert_snapshot!(end.gaps.join("\n"), @"
    Look the identity up in the register: person or machine, owner, usual networks, what is expected of it: no answer, and nothing is cleared without one
    Look for an approved change by this identity that covers the time of the alert: no answer, and nothing is cleared without one
    Search the audit logs for everything that the identity did around the alert: no answer, and nothing is cleared without one
    ");
    insta::assert_snapshot!(end.overridden[0].text, @"the analyst said benign true positive; Look the identity up in the register: person or machine, owner, usual networks, what is expected of it: no answer, and nothing is cleared without one (and 2 more)");
}

#[test]
fn what_the_playbook_asks_may_be_asked_by_anybody() {
    let end = ran(reads, with(registers(), trail(json!({"limit": 20})))).conclusion;
    assert_eq!(end.verdict, Verdict::BenignTruePositive);
    assert!(end.gaps.is_empty(), "{:?}", end.gaps);
    let wide = json!({"since": "2026-02-20T00:00:00Z", "until": "2026-03-03T00:00:00Z"});
    let end = ran(reads, with(registers(), trail(wide))).conclusion;
    assert_eq!(end.verdict, Verdict::BenignTruePositive);
}

#[test]
fn who_asks_for_less_has_no_answer() {
    for narrow in [
        json!({"action": "DeleteTrail"}),
        json!({"ip": "192.0.2.77"}),
        json!({"since": "2026-03-09T00:00:00Z"}),
        json!({"until": "2026-02-01T00:00:00Z"}),
    ] {
        let ran = ran(reads, with(registers(), trail(narrow.clone())));
        assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive, "{narrow}");
    }
}

#[test]
fn what_nobody_configured_is_not_missed() {
    let mut world = world(reads, registers(), Verdict::BenignTruePositive);
    world.kinds.retain(|kind| !kind.starts_with("log_search"));
    let end = world.run(sample(LOOKS)).conclusion;
    assert_eq!(end.verdict, Verdict::BenignTruePositive);
}

#[test]
fn inconclusive_report_omits_steps_that_were_not_needed() {
    let asked = |verdict| world(reads, vec![scanners()], verdict);
    let open = asked(Verdict::Inconclusive).run(sample(LOOKS)).conclusion;
    assert_eq!(open.gaps.len(), 3, "a record clears it: {:?}", open.gaps);
    insta::assert_snapshot!(open.summary, @r#"GuardDuty reports: "APIs commonly used in Discovery tactics were invoked anomalously by an IAM user" by ci-deployer from 198.51.100.23, 6 times. Not decided: Look the identity up in the register: person or machine, owner, usual networks, what is expected of it: no answer, and nothing is cleared without one (and 2 more)."#);
    let mut without = asked(Verdict::Inconclusive);
    without.given.clear();
    for world in [without, asked(Verdict::TruePositive)] {
        let end = world.run(sample(LOOKS)).conclusion;
        assert_eq!(end.gaps, [""; 0], "{:?}", end.verdict);
    }
}

#[test]
fn a_title_that_leads_to_a_playbook_leads_to_its_key_steps() {
    let mut alert = sample(LOOKS);
    "Custom:Thing/Odd".clone_into(&mut alert.kind);
    "Port scan".clone_into(&mut alert.title);
    let world = || world(reads, vec![scanners()], Verdict::BenignTruePositive);
    assert_eq!(world().playbooks.find(&alert).name, "recon");
    let end = world().run(alert).conclusion;
    insta::assert_snapshot!(end.gaps.join("\n"), @"
    Look the source up in the asset register: no answer, and nothing is cleared without one
    Look for an approved test that covers the time of the alert: no answer, and nothing is cleared without one
    ");
    assert_eq!(end.verdict, Verdict::Inconclusive);
}

#[test]
fn a_rule_that_cannot_be_evaluated_clears_nothing_for_anybody() {
    let asked = vec![call("asset_lookup", json!({"indicator": "i-11111111"}))];
    let run = |rules: &str| {
        let mut world = world(reads, asked.clone(), Verdict::BenignTruePositive);
        world.given = vec![record("asset", IndicatorKind::Instance, "i-11111111")];
        world.playbooks = mistaken(&format!("{LOOK}{rules}"));
        let ran = world.run(dns("Policy:IAMUser/Something", "a.example"));
        ran.conclusion
    };
    assert_eq!(run("").verdict, Verdict::BenignTruePositive);
    let broken = "[[benign_when]]\nwhen = \"results.asset[0].output.nothing.deeper\"\nsubject = \"i-11111111\"\nsubject_type = \"instance\"\nref = \"r\"\nstatement = \"s\"\ncovers = [\"*\"]\napproved_by = \"m.lopez\"\n";
    let end = run(broken);
    assert_eq!(end.verdict, Verdict::Inconclusive);
    insta::assert_snapshot!(end.gaps.join("\n"), @"Rule benign_when of playbook mine could not be evaluated: `results.asset[0].output.nothing.deeper`: undefined value: `results.asset[0].output.nothing` is undefined");
}

/// Returns the conclusion of a model that looks up these values, one of which belongs to the organisation, and proposes
/// a false positive.
fn own(
    alert: Alert,
    looked_up: &[&str],
    also: Vec<ToolCall>,
) -> nightshift_engine::conclusion::Conclusion {
    let ours: ToolAnswers = |kind, arguments| match (kind, &arguments["indicator"]) {
        ("watchlist", asked) if asked == "10.20.31.7" => Ok(on_list("own", arguments)),
        _ => reads(kind, arguments),
    };
    let lists = looked_up
        .iter()
        .map(|value| call("watchlist", json!({"indicator": value})));
    let calls: Vec<_> = lists.chain(also).collect();
    let mut world = PlaybookCase::with(&["watchlist", "past_cases", "log_search.cloudtrail"], ours);
    world.other = Some(Arc::new(SingleStepModel(calls, Verdict::FalsePositive)));
    world.run(alert).conclusion
}

#[test]
fn a01_own_victim_address_clears_no_peer() {
    let mut alert = dns("Backdoor:Host/C&CActivity.B", "evil.example");
    alert.indicators = vec![
        Indicator::new(IndicatorKind::Ip, "10.20.31.7", IndicatorRole::Target),
        Indicator::new(IndicatorKind::Ip, "198.51.100.66", IndicatorRole::Remote),
    ];
    for far_end in ["198.51.100.66", "10.20.31.7"] {
        far_end.clone_into(&mut alert.indicators[1].value);
        let end = own(alert.clone(), &[far_end, "10.20.31.7"], Vec::new());
        assert_eq!(
            (end.verdict, end.exonerations.len()),
            (Verdict::Inconclusive, 0)
        );
    }
}

#[test]
fn a01_own_instance_address_does_not_clear_the_key_holder() {
    let mut alert = sample("guardduty-eventbridge-credential-exfiltration");
    let callers: Vec<String> = alert
        .with_role(IndicatorRole::Actor)
        .filter(|one| one.kind == IndicatorKind::Ip)
        .map(|one| one.value.clone())
        .collect();
    alert.indicators.push(Indicator::new(
        IndicatorKind::Ip,
        "10.20.31.7",
        IndicatorRole::Target,
    ));
    let mut looked_up: Vec<&str> = callers.iter().map(String::as_str).collect();
    looked_up.push("10.20.31.7");
    let trail = alert
        .indicators
        .iter()
        .filter(|one| one.kind == IndicatorKind::AccessKey)
        .map(|one| {
            call(
                "log_search_cloudtrail",
                json!({"access_key": one.value, "limit": 200}),
            )
        });
    let trail = trail.collect();
    let end = own(alert, &looked_up, trail);
    assert_eq!(
        (end.verdict, end.exonerations.len()),
        (Verdict::Inconclusive, 0)
    );
}
