use nightshift_pipeline::replay::StepSummary;
use serde_json::json;

use super::*;

/// Two calls that are new in their step. The recorded run has no answer for this one.
const NO_ANSWER: &str = r#"log_search({"instance":"i-2"})"#;
const ANSWERED: &str = r#"identity_lookup({"principal":"ana"})"#;

fn side(verdict: &str, models: &[&str], proven: &[&str]) -> RunSummary {
    let side = json!({"verdict": verdict});
    RunSummary {
        profile: "default".to_owned(),
        models: models.iter().map(|model| (*model).to_owned()).collect(),
        verdict: serde_json::from_value(side["verdict"].clone()).unwrap(),
        leaning: Some(nightshift_engine::conclusion::Leaning::None),
        reason: Some(nightshift_engine::conclusion::VerdictReason::SuspiciousActivity),
        confidence: Some(nightshift_engine::conclusion::Confidence::High),
        assessed_severity: Some(nightshift_alert::Severity::High),
        steps: vec![StepSummary {
            description: "Who is 185.220.101.42".to_owned(),
            status: nightshift_engine::plan::StepStatus::Done,
            outcome: Some(nightshift_engine::plan::StepOutcome::Met),
            calls: vec![r#"watchlist({"indicator":"185.220.101.42"})"#.to_owned()],
        }],
        proven: proven.iter().map(|claim| (*claim).to_owned()).collect(),
        unverified: Vec::new(),
        cost: Cost {
            usd: 0.0312,
            input_tokens: 14_200,
            cached_tokens: 9_000,
            output_tokens: 1_100,
            model_calls: 8,
        },
        degraded: false,
    }
}

#[test]
fn what_differs_is_said_and_what_is_the_same_is_said_once() {
    let before = side(
        "true_positive",
        &["anthropic/claude-sonnet-4-5"],
        &["185.220.101.42 is a Tor exit", "xmrig ran as root"],
    );
    let after = side(
        "inconclusive",
        &["openai/gpt-5-mini"],
        &["185.220.101.42 is a Tor exit"],
    );
    let difference = ReplayDifference {
        case_id: "k3f9-0000-0000".to_owned(),
        same_verdict: false,
        calls_left_out: vec![r#"log_search({"instance":"i-1"})"#.to_owned()],
        calls_added: [NO_ANSWER, ANSWERED].map(str::to_owned).to_vec(),
        calls_unanswered: vec![NO_ANSWER.to_owned()],
        before,
        after,
    };
    insta::assert_snapshot!(text(&difference), @r#"
    Replay of case k3f9-0000-0000: another verdict

      profile    default
      models     anthropic/claude-sonnet-4-5
                 → openai/gpt-5-mini
      verdict    true_positive (suspicious_activity)
                 → inconclusive (suspicious_activity)
      severity   high
      confidence high
      proven     2 of 2 claims
                 → 1 of 1 claims
      cost       8 model calls, 14200 tokens in (9000 cached), 1100 out, $0.0312
      analyst    as the profile wants

      Plan before:
        1. Who is 185.220.101[.]42 [done, met]

      Plan now:
        1. Who is 185.220.101[.]42 [done, met]

      No longer proven:
        - xmrig ran as root

      Calls left out:
        - log_search({"instance":"i-1"})

      Calls without a recorded answer:
        - log_search({"instance":"i-2"})

      Other calls that are new:
        - identity_lookup({"principal":"ana"})
    "#);
}
