//! Tests every fault of a model at every question: `nightshift run` still ends with a report, without a softer verdict
//! or severity.

use nightshift_tests::model::{Answer, ArgumentsFault, FakeModel, Fault, Provider, Reply, Script};
use nightshift_tests::repository_root;
use serde_json::{Value, json};

use super::example::{self, Question};
use super::providers::{ANTHROPIC, BEDROCK, PROVIDERS, ProviderSetup};

/// The time limit of a question, which ends hanging requests and retries.
const LIMITS: &str = "[limits]\nquestion_secs = 4\n";

/// Expectations of a report beside the common ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpectedOutcome {
    PlaybookFallback,
    /// The model refused, the playbook took over, and the verdict is inconclusive.
    Refused,
    /// The model continued, and calls were refused.
    Continued,
    /// Either the model continued or the playbook took over, depending on time and tokens.
    Either,
}

/// Runs the example with this fault at every request of a question, or only at the first.
async fn run(wire: ProviderSetup, at: Question, fault: Fault, always: bool) -> Value {
    let has_many_calls = matches!(fault, Fault::ManyCalls(_));
    let of = format!("{fault:?} at {at:?} of {:?}", wire.fake);
    let of = of.chars().take(200).collect::<String>();
    let hits = std::sync::atomic::AtomicUsize::new(0);
    let script = Script::from_fn(example::answer).with_faults(move |seen| {
        let hit = Question::from_request(seen) == at
            && (always || hits.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0);
        hit.then(|| fault.clone())
    });
    let fake = FakeModel::start(script).await.unwrap();
    let more = wire.table(&fake, "request_secs = 1");
    let place = example::place(&format!("{LIMITS}\n{more}"));
    let alert = repository_root().join("tests/fixtures/alerts/scc-crypto-miner.json");
    let alert = alert.display().to_string();
    let strategy = if at == Question::Decide {
        "adaptive"
    } else {
        "planned"
    };
    let run = ["run", &alert, "--strategy", strategy, "--format", "json"];
    let ran = place.run(&run).unwrap();
    assert!(matches!(ran.code, Some(0 | 1)), "{of}: {ran:?}");
    assert_eq!(fake.refusals(), [], "{of}");
    let report: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{of}: {error}: {ran:?}"));
    assert!(
        fake.requests()
            .iter()
            .any(|seen| Question::from_request(seen) == at),
        "{of}"
    );
    let longest = fake.requests().iter().map(|seen| seen.text().len()).max();
    // Each of two hundred calls needs a result, so only the context window bounds such a request.
    assert!(
        longest < Some(200_000) || has_many_calls,
        "{of}: what is far too long is not sent back: {longest:?}"
    );
    assert_eq!(report["assessed_severity"], "critical", "{of}");
    let verdict = report["verdict"].as_str().unwrap();
    assert!(
        ["true_positive", "inconclusive"].contains(&verdict),
        "{of}: {verdict}"
    );
    assert!(
        report["cost"]["model_calls"].as_u64().unwrap() <= 60,
        "{of}"
    );
    assert!(
        !ran.stdout.contains("delete_everything(")
            && !report["summary"].as_str().unwrap().is_empty()
    );
    report
}

/// Checks a fault at every question, rotating the providers from this one on.
async fn holds(from: usize, fault: impl Fn() -> Fault, then: impl Fn(Question) -> ExpectedOutcome) {
    for (n, at) in Question::ALL.into_iter().enumerate() {
        let mut wire = PROVIDERS[(from + n) % PROVIDERS.len()];
        if wire.fake == Provider::Gemini && is_no_object(&fault()) {
            wire = BEDROCK;
        }
        let report = run(wire, at, fault(), true).await;
        let then = then(at);
        let of = format!("{at:?} of {:?}: {report}", wire.fake);
        if then != ExpectedOutcome::Either {
            assert_eq!(
                report["degraded"],
                then != ExpectedOutcome::Continued,
                "{of}"
            );
        }
        assert_eq!(
            report["reason"] == "model_refused",
            then == ExpectedOutcome::Refused,
            "{of}"
        );
        if then == ExpectedOutcome::Refused {
            assert_eq!(report["verdict"], "inconclusive", "{of}");
        }
    }
}

/// Returns whether the fault has arguments that are no object, which Gemini's protocol cannot carry.
fn is_no_object(fault: &Fault) -> bool {
    matches!(fault, Fault::BadArguments(how) if *how != ArgumentsFault::Unfitting)
}

fn taken_over(_: Question) -> ExpectedOutcome {
    ExpectedOutcome::PlaybookFallback
}

/// Expects refused calls where tools are offered; elsewhere an answer of calls is invalid.
fn refused_calls(at: Question) -> ExpectedOutcome {
    if at == Question::Turn {
        ExpectedOutcome::Continued
    } else {
        ExpectedOutcome::PlaybookFallback
    }
}

/// Expects either outcome: two hundred calls use so much time and tokens that the playbook may have to take over.
fn many_calls(at: Question) -> ExpectedOutcome {
    if at == Question::Turn {
        ExpectedOutcome::Either
    } else {
        ExpectedOutcome::PlaybookFallback
    }
}

fn long() -> Answer {
    Answer::text("a long answer ".repeat(50))
}

macro_rules! at_every_question {
    ($($name:ident: $from:expr, $fault:expr, $then:expr;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
        async fn $name() {
            holds($from, || $fault, $then).await;
        }
    )*};
}

at_every_question! {
    f22_a_cut_answer_ends_in_a_report: 0, Fault::Cut(long()), taken_over;
    f22_a_model_that_hangs_ends_in_a_report: 1, Fault::Hang, taken_over;
    f22_an_answer_that_stalls_ends_in_a_report: 2, Fault::Stall(long()), taken_over;
    f22_a_truncated_answer_ends_in_a_report: 3, Fault::Truncated(long()), taken_over;
    f22_an_empty_answer_ends_in_a_report: 0, Fault::Empty, taken_over;
    f22_a16_a_refusal_ends_in_a_report_that_says_so: 1, Fault::Refusal("I cannot help with that.".to_owned()), |_| ExpectedOutcome::Refused;
    f22_a16_a_filtered_answer_ends_in_a_report_that_says_so: 2, Fault::Filtered, |_| ExpectedOutcome::Refused;
    f23_malformed_json_ends_in_a_report: 3, Fault::Malformed, taken_over;
    f23_the_wrong_schema_ends_in_a_report: 0, Fault::WrongSchema, taken_over;
    f23_five_megabytes_end_in_a_report: 1, Fault::Huge(5 << 20), taken_over;
    f23_a_page_of_html_ends_in_a_report: 2, Fault::Html, taken_over;
    f23_an_unknown_tool_ends_in_a_report: 3, Fault::UnknownTool, refused_calls;
    f23_two_hundred_calls_end_in_a_report: 0, Fault::ManyCalls(200), many_calls;
    f23_arguments_that_are_a_list_end_in_a_report: 1, Fault::BadArguments(ArgumentsFault::NotAnObject), refused_calls;
    f23_arguments_in_a_string_end_in_a_report: 2, Fault::BadArguments(ArgumentsFault::Stringified), refused_calls;
    f23_arguments_that_do_not_fit_end_in_a_report: 3, Fault::BadArguments(ArgumentsFault::Unfitting), refused_calls;
    f23_arguments_that_are_nested_deep_end_in_a_report: 3, Fault::BadArguments(ArgumentsFault::Deep), refused_calls;
    f23_arguments_that_are_no_json_end_in_a_report: 0, Fault::BadArguments(ArgumentsFault::Broken), refused_calls;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn f22_f23_what_goes_wrong_once_is_mended_and_changes_nothing() {
    let faults = [
        Fault::Cut(long()),
        Fault::Truncated(long()),
        Fault::Empty,
        Fault::Malformed,
        Fault::WrongSchema,
        Fault::UnknownTool,
    ];
    for (n, fault) in faults.into_iter().enumerate() {
        for at in [Question::Plan, Question::Conclude] {
            let report = run(PROVIDERS[n % PROVIDERS.len()], at, fault.clone(), false).await;
            assert_eq!(report["degraded"], false, "{fault:?} {at:?}: {report}");
            assert_eq!(report["verdict"], "true_positive", "{fault:?} {at:?}");
            assert_eq!(
                report["models"],
                json!([PROVIDERS[n % PROVIDERS.len()].name()])
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn f22_a_model_that_hangs_is_held_by_the_days_budget() {
    let fake = FakeModel::start(Script::from_fn(|_| Reply::Fault(Fault::Hang)))
        .await
        .unwrap();
    let more = ANTHROPIC.table(&fake, "price = { input = 3.0, output = 15.0 }");
    // The reserve of a question is three cents. One question fits, but none beside the charge for it.
    let limits = "[limits]\nquestion_secs = 1\nday_usd = 0.045\n";
    let place = example::place(&format!("{limits}{more}"));
    let alert = repository_root().join("tests/fixtures/alerts/scc-crypto-miner.json");
    let alert = alert.display().to_string();
    let run = || place.run(&["run", &alert, "--format", "json"]).unwrap();
    let report: Value = serde_json::from_str(&run().stdout).unwrap();
    let cost = report["cost"]["usd"].as_f64().unwrap();
    assert!((0.015..0.045).contains(&cost), "{report}");
    assert_eq!(report["degraded"], true, "{report}");

    let second = run();
    assert_eq!(fake.requests().len(), 1, "{second:?}");
    let report: Value = serde_json::from_str(&second.stdout).unwrap();
    assert_eq!(report["cost"]["model_calls"], 0, "{report}");
    assert!(
        second
            .stdout
            .contains("the day's budget of 0.045 USD is spent"),
        "{report}"
    );
}
