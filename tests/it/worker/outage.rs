//! Tests models that are down. Cases wait, then get the playbook's report, and are triaged again when the models are
//! back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use nightshift_tests::Sandbox;
use nightshift_tests::model::{Answer, FakeModel, Fault, RecordedRequest, Reply, Script};

use super::fixture::{cases, place_with, put};
use crate::models::example;
use crate::models::providers::ANTHROPIC;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f21_cases_wait_get_interim_report_and_revision_after_outage() {
    let (fake, is_down, _found) = main_model().await;
    let place = place_with(|place| {
        let tools = example::logs(place);
        let model = ANTHROPIC.table(&fake, "");
        format!(
            "[limits]\nmodels_down_urgent_wait_secs = 1\nmodels_down_wait_secs = 2\n{tools}\n{model}"
        )
    });
    put(&place, "scc-crypto-miner", "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    let ended = worker.wait_for_line("case concluded");
    assert!(ended.contains("revision=1"), "{ended}");
    assert!(ended.contains("analyst=playbook"), "{ended}");
    let first = &cases(&place)[0];
    let id = first["id"].as_str().unwrap().to_owned();
    let shown = place.run(&["cases", "show", &id]).unwrap();
    assert!(shown.stdout.contains("the models are down"), "{shown:?}");
    is_down.store(false, Ordering::Relaxed);
    worker.wait_for_line("the models are back");
    let ended = worker.wait_for_line("case concluded");
    assert!(
        ended.contains("revision=2") && ended.contains("analyst=model"),
        "{ended}"
    );
    worker.wait_for_line("report shown");
    let case = &cases(&place)[0];
    assert_eq!(case["revision"], 2, "{case}");
    assert_eq!(case["verdict"], "true_positive", "{case}");
    let report = place.run(&["cases", "show", &id, "--json"]).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["report"]["degraded"], false);
    assert_eq!(fake.refusals(), []);
}

/// The longest wait for a question; bounds a hang.
const PATIENCE: Duration = Duration::from_secs(120);

/// Starts a model that fails until its flag is cleared, and that notifies the test when a probe finds it working.
async fn main_model() -> (FakeModel, Arc<AtomicBool>, mpsc::Receiver<()>) {
    let is_down = Arc::new(AtomicBool::new(true));
    let down = Arc::clone(&is_down);
    let (found, is_found) = mpsc::channel();
    let script = Script::from_fn(move |seen: &RecordedRequest| -> Reply {
        if down.load(Ordering::Relaxed) {
            return Reply::Fault(Fault::Unavailable);
        }
        if !of_a_case(seen) {
            found.send(()).ok();
            return Reply::from(Answer::text("OK"));
        }
        Reply::from(example::answer(seen))
    });
    (FakeModel::start(script).await.unwrap(), is_down, is_found)
}

/// Returns whether the request is not a probe.
fn of_a_case(seen: &RecordedRequest) -> bool {
    seen.text().contains("# Your task now: ")
}

/// Returns a place where the spare model is asked when the main one fails.
fn with_a_spare(main: &FakeModel, spare: &FakeModel) -> Sandbox {
    place_with(|place| {
        let tools = example::logs(place);
        let spare = ANTHROPIC.table(spare, "").replace("\"main\"", "\"spare\"");
        let main = ANTHROPIC.table(main, "");
        let chain = "[\"main\", \"spare\"]";
        format!(
            "[limits]\nmodels_down_urgent_wait_secs = 2\nmodels_down_wait_secs = 2\n{tools}\n{main}\n{spare}\n\
             [[profile]]\nname = \"default\"\nmodels = {{ plan = {chain}, turn = {chain} }}\n"
        )
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f21_refusing_fallback_fails_no_case_while_primary_is_down() {
    let (main, is_down, _found) = main_model().await;
    let script = Script::from_fn(|_: &RecordedRequest| Reply::Fault(Fault::Unauthenticated));
    let spare = FakeModel::start(script).await.unwrap();
    let place = with_a_spare(&main, &spare);
    put(&place, "scc-crypto-miner", "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    let ended = worker.wait_for_line("case concluded");
    assert!(
        ended.contains("revision=1") && ended.contains("analyst=playbook"),
        "{ended}"
    );
    // The case's first question, and that of its triage without models.
    let all = spare.requests();
    let asked = all.iter().filter(|seen| of_a_case(seen)).count();
    assert!(asked <= 3, "{asked} questions");
    is_down.store(false, Ordering::Relaxed);
    worker.wait_for_line("the models are back");
    let ended = worker.wait_for_line("case concluded");
    assert!(
        ended.contains("revision=2") && ended.contains("analyst=model"),
        "{ended}"
    );
    assert_eq!(cases(&place)[0]["verdict"], "true_positive");
    assert_eq!((main.refusals(), spare.refusals()), (vec![], vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f21_case_ended_without_models_after_recovery_is_revised() {
    let (main, is_down, is_found) = main_model().await;
    let (hangs, is_hanging) = mpsc::channel();
    let was_asked = AtomicBool::new(false);
    // The spare model refuses the case's first question and leaves the second, that of its triage without models,
    // unanswered.
    let script = Script::from_fn(move |seen: &RecordedRequest| {
        if of_a_case(seen) && was_asked.swap(true, Ordering::Relaxed) && hangs.send(()).is_ok() {
            return Reply::Fault(Fault::Hang);
        }
        Reply::Fault(Fault::Unauthenticated)
    });
    let spare = FakeModel::start(script).await.unwrap();
    let place = with_a_spare(&main, &spare);
    put(&place, "scc-crypto-miner", "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    is_hanging.recv_timeout(PATIENCE).unwrap();
    drop(is_hanging);
    is_down.store(false, Ordering::Relaxed);
    is_found.recv_timeout(PATIENCE).unwrap();
    // The worker looks for cases that wait for models before it triages this case with models.
    put(&place, "scc-crypto-miner", "s2");
    let ended = worker.wait_for_line("case concluded");
    assert!(
        ended.contains("revision=1") && ended.contains("analyst=model"),
        "{ended}"
    );
    spare.release();
    let ended = worker.wait_for_line("case concluded");
    assert!(
        ended.contains("revision=1") && ended.contains("analyst=playbook"),
        "{ended}"
    );
    let ended = worker.wait_for_line("case concluded");
    assert!(
        ended.contains("revision=2") && ended.contains("analyst=model"),
        "{ended}"
    );
    assert_eq!((main.refusals(), spare.refusals()), (vec![], vec![]));
}
