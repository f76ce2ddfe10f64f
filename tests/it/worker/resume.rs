//! Tests a worker that dies or hangs in the middle of a case.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nightshift_tests::Sandbox;
use nightshift_tests::model::{Answer, FakeModel, Fault, RecordedRequest, Reply, Script};

use super::fixture::{cases, place_with, put, reports};
use crate::models::example::{self, Question};
use crate::models::providers::ANTHROPIC;

/// The longest wait for an event; bounds a hang.
pub(crate) const HANGS: Duration = Duration::from_secs(300);

/// Answers as the worked example does. The first conclusion hangs and notifies the test.
pub(crate) fn hanging(told: Sender<()>) -> Script {
    let told = Mutex::new(Some(told));
    Script::from_fn(move |seen: &RecordedRequest| -> Reply {
        let answer: Answer = example::answer(seen);
        if Question::from_request(seen) == Question::Conclude
            && let Some(told) = told.lock().unwrap().take()
        {
            told.send(()).unwrap();
            return Reply::Fault(Fault::Hang);
        }
        Reply::from(answer)
    })
}

fn with_model(fake: &FakeModel) -> Sandbox {
    let model = ANTHROPIC.table(fake, "");
    place_with(|place| {
        let tools = example::logs(place);
        format!("[worker]\nlease_secs = 15\n{tools}\n{model}")
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f01_case_resumes_at_its_turn_and_repeats_no_finished_step() {
    let (told, hears) = channel();
    let fake = Arc::new(FakeModel::start(hanging(told)).await.unwrap());
    let place = with_model(&fake);
    put(&place, "scc-crypto-miner", "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("messages accepted");
    hears.recv_timeout(HANGS).unwrap();
    worker.kill();
    let before = fake.requests().len();
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("report shown");
    let after: Vec<Question> = fake.requests()[before..]
        .iter()
        .map(|seen| Question::from_request(seen))
        .collect();
    assert_eq!(after, [Question::Conclude]);
    assert_eq!(fake.refusals(), []);
    let cases = cases(&place);
    assert_eq!(cases.len(), 1);
    assert_eq!(cases[0]["verdict"], "true_positive", "{cases:#?}");
    assert_eq!(reports(&place).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f02_frozen_worker_writes_nothing_after_its_lease() {
    let (told, hears) = channel();
    let fake = Arc::new(FakeModel::start(hanging(told)).await.unwrap());
    let place = with_model(&fake);
    put(&place, "scc-crypto-miner", "s1");
    let mut frozen = place
        .start(&["worker", "--only", "intake,triage,delivery"])
        .unwrap();
    frozen.wait_for_line("messages accepted");
    hears.recv_timeout(HANGS).unwrap();
    frozen.signal("STOP");
    let mut other = place
        .start(&["worker", "--only", "triage,delivery"])
        .unwrap();
    other.wait_for_line("report shown");
    fake.release();
    frozen.signal("CONT");
    frozen.wait_for_line("case task failed; the case is claimed again after its lease ends");
    frozen.signal("TERM");
    assert_eq!(frozen.wait_for_exit().0.code(), Some(0));
    let cases = cases(&place);
    assert_eq!(cases.len(), 1);
    assert_eq!(cases[0]["revision"], 1);
    assert_eq!(reports(&place).len(), 1);
    let id = cases[0]["id"].as_str().unwrap();
    let export = place.run(&["cases", "export", id]).unwrap();
    let verified = place
        .run_with_input(&["cases", "verify", "-"], export.stdout.as_bytes())
        .unwrap();
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_cancelled_while_running_is_logged_and_counted_as_such() {
    let (told, hears) = channel();
    let fake = Arc::new(FakeModel::start(hanging(told)).await.unwrap());
    let place = with_model(&fake);
    put(&place, "scc-crypto-miner", "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    let listening = worker.wait_for_line("the cases are on ");
    let url = listening.rsplit(' ').next().unwrap().to_owned();
    worker.wait_for_line("messages accepted");
    hears.recv_timeout(HANGS).unwrap();
    let id = cases(&place)[0]["id"].as_str().unwrap().to_owned();
    let off = place.run(&["cases", "cancel", &id, "--by", "ana"]).unwrap();
    assert_eq!(off.code, Some(0), "{off:?}");
    fake.release();
    let line = worker.wait_for_line("case cancelled");
    assert!(line.contains("ana"), "{line}");
    let metrics = reqwest::get(format!("{url}metrics")).await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let counted = metrics.lines().any(|line| {
        line.starts_with("nightshift_cases_total{")
            && line.contains("\"cancelled\"")
            && line.ends_with(" 1")
    });
    assert!(counted, "{metrics}");
    assert!(
        metrics.contains("nightshift_lease_lost_total 0"),
        "{metrics}"
    );
    worker.signal("TERM");
    let (status, _, lines) = worker.wait_for_exit();
    assert_eq!(status.code(), Some(0));
    assert!(
        !lines.iter().any(|line| line.contains("claimed again")),
        "{lines:#?}"
    );
    assert!(reports(&place).is_empty());
}
