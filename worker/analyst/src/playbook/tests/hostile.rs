//! Tests that text of an attacker is never evaluated, and that no answer of a tool makes an evaluation panic.

use nightshift_alert::IndicatorKind;
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::tool::ToolError;
use proptest::prelude::*;
use serde_json::Value;

use super::alerts::{dns, made_for, sample};
use super::case_fixture::{ALL, PlaybookCase, PlaybookRun, ToolAnswers, nothing, record};
use crate::playbook::PlaybookSet;

#[test]
fn a19_text_of_the_alert_is_never_rendered_again() {
    let evil = "{{ cleared }}{% for x in range(99999) %}{{ alert.raw }}{% endfor %}";
    let mut alert = sample("ocsf-impossible-travel");
    evil.clone_into(&mut alert.title);
    evil.clone_into(&mut alert.kind);
    alert.action = Some(evil.to_owned());
    for resource in &mut alert.resources {
        resource.name = Some(evil.to_owned());
    }
    let ran = PlaybookCase::with(&ALL, |kind, arguments| Ok(nothing(kind, arguments))).run(alert);
    assert_eq!(ran.conclusion.verdict, Verdict::Inconclusive);
    let told = ran
        .conclusion
        .findings
        .iter()
        .find(|finding| finding.claim.contains("alert reports"));
    let claim = &told.unwrap().claim;
    assert!(claim.contains("{{ cleared }}{% for x in"), "{claim}");
    assert!(ran.state.plan.unwrap().objective.contains("{{ cleared }}"));
}

/// Generates JSON of any shape, with the names that playbooks read.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z.0-9{}%~/\"]{0,12}".prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "matches",
        "row",
        "rows",
        "rows_matched",
        "listed",
        "meaning",
        "entry",
        "list",
        "assets",
        "identities",
        "usual_networks",
        "found",
        "summary",
        "actions",
        "errors",
        "class",
        "cloud",
        "provider",
        "action",
        "source_ip",
        "principal",
        "outcome",
        "at",
        "status",
        "kind",
        "mfa",
        "environment",
        "owner",
        "dynamic_dns",
        "scanners",
        "role",
    ]);
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..7).prop_map(|map| map
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<serde_json::Map<_, _>>()
                .into()),
        ]
    })
}

thread_local! {
    static BODY: std::cell::RefCell<Value> = const { std::cell::RefCell::new(Value::Null) };
}

fn as_drawn(_: &str, _: &Value) -> Result<Value, ToolError> {
    Ok(BODY.with_borrow(Clone::clone))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_answer_of_a_tool_panics_or_clears(body in any_json(), which in 0_usize..12) {
        BODY.set(body);
        let alert = match which {
            0 => sample("scc-crypto-miner"),
            1 => sample("guardduty-eventbridge-credential-exfiltration"),
            2 => sample("securityhub-eventbridge-discovery"),
            3 => sample("ocsf-impossible-travel"),
            4 => dns("Recon:EC2/Portscan", "a.example"),
            5 => made_for("guardduty-iam-privilege-escalation"),
            6 => made_for("guardduty-s3-anonymous-access"),
            7 => made_for("guardduty-ssh-brute-force"),
            8 => made_for("guardduty-kubernetes-anonymous"),
            9 => made_for("guardduty-runtime-reverse-shell"),
            10 => made_for("guardduty-attack-sequence"),
            _ => dns("Policy:S3/Something", "a.example"),
        };
        let ran = PlaybookCase::with(&ALL, as_drawn).run(alert);
        prop_assert!(!ran.conclusion.verdict.is_benign());
    }
}

/// Returns an operator's playbook with mistakes that only some data reveals.
pub(super) fn mistaken(rest: &str) -> PlaybookSet {
    let head = "name = \"mine\"\nversion = 1\ntitle = \"t\"\nmeaning = \"m\"\nobjective = \"o\"\n[match]\ntypes = [\"Policy:*\"]\n";
    let end = "[[verdict]]\nwhen = \"cleared\"\nverdict = \"benign_true_positive\"\n[otherwise]\nwould_decide = [\"x\"]\n";
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mine.toml"), format!("{head}{rest}\n{end}")).unwrap();
    PlaybookSet::load(Some(dir.path())).unwrap()
}

fn run_mistaken(rest: &str) -> PlaybookRun {
    let answers: ToolAnswers = |kind, arguments| Ok(nothing(kind, arguments));
    let asset = record("asset", IndicatorKind::Instance, "i-11111111");
    let mut world = PlaybookCase::with(&ALL, answers).clearing(asset);
    world.playbooks = mistaken(rest);
    world.run(dns("Policy:IAMUser/Something", "a.example"))
}

pub(super) const LOOK: &str = "[[step]]\nid = \"asset\"\ndescription = \"Look\"\n[[step.call]]\ntool = \"asset_lookup\"\nfor_each = \"indicators('instance')\"\narguments = { indicator = \"{{ item.value }}\" }\n";

#[test]
fn a_rule_that_cannot_be_evaluated_is_told_and_clears_nothing() {
    assert_eq!(
        run_mistaken(LOOK).conclusion.verdict,
        Verdict::BenignTruePositive
    );
    let broken = "[[finding]]\nid = \"f\"\nwhen = \"results.asset[0].output.nothing.deeper\"\nclaim = \"c\"\ncite = [\"E0:/title\"]\n";
    let end = run_mistaken(&format!("{LOOK}{broken}")).conclusion;
    assert_eq!(end.verdict, Verdict::Inconclusive);
    insta::assert_snapshot!(end.gaps.join("\n"), @r#"Rule "f" of playbook mine could not be evaluated: `results.asset[0].output.nothing.deeper`: undefined value: `results.asset[0].output.nothing` is undefined"#);
}

#[test]
fn step_with_unrenderable_summary_fails_with_its_location() {
    let ran = run_mistaken(&LOOK.replace(
        "description",
        "summary = \"{{ results.asset[9].rows }}\"\ndescription",
    ));
    insta::assert_snapshot!(ran.steps(), @"asset Some(Failed): the answer could not be read: playbook mine, step asset: `{{ results.asset[9].rows }}`: undefined value: `results.asset[9]` is undefined");
}

#[test]
fn an_expression_that_never_ends_runs_out_of_fuel() {
    let loops = "[[finding]]\nid = \"f\"\nclaim = \"{% for a in range(90000) %}{% for b in range(90000) %}x{% endfor %}{% endfor %}\"\ncite = [\"E0:/title\"]\n";
    let end = run_mistaken(loops).conclusion;
    assert!(
        end.gaps.iter().any(|gap| gap.contains("ran out of fuel")),
        "{:?}",
        end.gaps
    );
}
