//! Tests the circuit metric across configuration reloads: it must describe the models that new cases ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use nightshift_tests::model::{Answer, FakeModel, Fault, RecordedRequest, Reply, Script};
use nightshift_tests::{RunningProgram, Sandbox};

use super::fixture::{place_with, put};
use super::reload::{RENEWED, change};
use super::resume::HANGS;
use crate::models::example;
use crate::models::providers::ANTHROPIC;

/// Starts a model that fails while the flag is set. With `told`, its first question hangs and notifies the test.
async fn model(is_down: &Arc<AtomicBool>, told: Option<Sender<()>>) -> FakeModel {
    let (is_down, told) = (Arc::clone(is_down), std::sync::Mutex::new(told));
    let script = Script::from_fn(move |seen: &RecordedRequest| -> Reply {
        if let Some(told) = told.lock().unwrap().take() {
            told.send(()).unwrap();
            return Reply::Fault(Fault::Hang);
        }
        if is_down.load(Ordering::Relaxed) {
            return Reply::Fault(Fault::Unavailable);
        }
        // A request without a task is a probe.
        match seen.text().contains("# Your task now: ") {
            true => Reply::from(example::answer(seen)),
            false => Reply::from(Answer::text("OK")),
        }
    });
    FakeModel::start(script).await.unwrap()
}

/// Returns a worker with a case for this model, and the address of its metrics.
fn worker(model: &FakeModel) -> (Sandbox, RunningProgram, String) {
    worker_of(&ANTHROPIC.table(model, ""))
}

fn worker_of(models: &str) -> (Sandbox, RunningProgram, String) {
    let place = place_with(|place| format!("{}\n{models}", example::logs(place)));
    change(&place, "warn,nightshift_pipeline=info", "info");
    put(&place, "scc-crypto-miner", "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    let told = worker.wait_for_line("the cases are on http://127.0.0.1:");
    let (_, address) = told.split_once("http://").unwrap();
    let url = format!("http://{address}metrics");
    (place, worker, url)
}

async fn is_open(url: &str) -> bool {
    open(url).await > 0
}

/// Returns the number of models that are reported as down.
async fn open(url: &str) -> usize {
    let text = reqwest::get(url).await.unwrap().text().await.unwrap();
    let lines = text.lines();
    let of_circuits = lines.filter(|line| line.starts_with("nightshift_llm_circuit_open{"));
    of_circuits.filter(|line| line.ends_with(" 1")).count()
}

async fn until_open(url: &str) {
    until(url, true).await;
}

async fn until(url: &str, wanted: bool) {
    until_open_are(url, |open| (open > 0) == wanted).await;
}

async fn until_open_are(url: &str, is_wanted: impl Fn(usize) -> bool) {
    let changes = async {
        while !is_wanted(open(url).await) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(HANGS, changes).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f21_rejected_configuration_keeps_reporting_a_down_model() {
    let is_down = Arc::new(AtomicBool::new(true));
    let fake = model(&is_down, None).await;
    let (place, mut worker, url) = worker(&fake);
    until_open(&url).await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    change(&place, "127.0.0.1:0", &address.to_string());
    worker.wait_for_line("cannot apply the configuration now");
    assert!(is_open(&url).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f21_case_from_before_a_reload_says_nothing_of_other_models() {
    let is_down = Arc::new(AtomicBool::new(false));
    let (told, hears) = channel();
    let fake = model(&is_down, Some(told)).await;
    let (place, mut worker, url) = worker(&fake);
    hears.recv_timeout(HANGS).unwrap();
    // To the worker this is another server.
    change(&place, "[[model]]\n", "[[model]]\nrequest_secs = 200\n");
    worker.wait_for_line(RENEWED);
    is_down.store(true, Ordering::Relaxed);
    fake.release();
    worker.wait_for_line("case released");
    is_down.store(false, Ordering::Relaxed);
    let ended = worker.wait_for_line("case concluded");
    assert!(ended.contains("analyst=model"), "{ended}");
    assert!(!is_open(&url).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f21_model_with_a_fallback_is_probed_without_any_case() {
    let (is_down, never) = (Arc::new(AtomicBool::new(true)), Arc::default());
    let (main, spare) = (model(&is_down, None).await, model(&never, None).await);
    let table = ANTHROPIC.table(&spare, "").replace("main", "spare");
    let both = [ANTHROPIC.table(&main, ""), table.replace("sonnet", "haiku")].concat();
    let chains = ["plan", "turn", "decide", "reflect", "conclude"];
    let chains = chains.map(|asked| format!("{asked} = [\"main\", \"spare\"]"));
    let models = format!("models = {{ {} }}", chains.join(", "));
    let profile = format!("[[profile]]\nname = \"default\"\nanalyst = \"model\"\n{models}\n");
    let (_place, mut worker, url) = worker_of(&[both, profile].concat());
    let ended = worker.wait_for_line("case concluded");
    assert!(ended.contains("analyst=model"), "{ended}");
    until_open(&url).await;
    is_down.store(false, Ordering::Relaxed);
    until(&url, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f21_down_model_is_still_reported_after_unchanged_reload() {
    let is_down = Arc::new(AtomicBool::new(true));
    let fake = model(&is_down, None).await;
    let (place, mut worker, url) = worker(&fake);
    until_open(&url).await;
    change(&place, "path = \"reports\"", "path = \"others\"");
    worker.wait_for_line(RENEWED);
    assert!(is_open(&url).await);
    is_down.store(false, Ordering::Relaxed);
    let ended = worker.wait_for_line("case concluded");
    assert!(ended.contains("analyst=model"), "{ended}");
    until(&url, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f21_model_no_profile_uses_is_not_reported_as_down() {
    let is_down = Arc::new(AtomicBool::new(true));
    let fake = model(&is_down, None).await;
    let (place, mut worker, url) = worker(&fake);
    until_open(&url).await;
    let by_playbook = "[[profile]]\nname = \"default\"\nanalyst = \"playbook\"\n\n[[model]]\n";
    change(&place, "[[model]]\n", by_playbook);
    worker.wait_for_line(RENEWED);
    // The model is still down, and no worker probes it.
    until(&url, false).await;
}
