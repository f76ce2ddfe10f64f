//! Models that are down: cases wait, then get the playbook's report, and are triaged again when the models are back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nightshift_tests::model::{Answer, FakeModel, Fault, Reply, Script, Seen};

use super::desk::{cases, place_with, put};
use crate::models::desk::ANTHROPIC;
use crate::models::example;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f21_cases_wait_for_models_get_a_report_without_them_and_a_revision_when_they_are_back() {
    let is_down = Arc::new(AtomicBool::new(true));
    let down = Arc::clone(&is_down);
    let script = Script::by(move |seen: &Seen| -> Reply {
        if down.load(Ordering::Relaxed) {
            return Reply::Fault(Fault::Unavailable);
        }
        if !seen.text().contains("# Your task now: ") {
            return Reply::from(Answer::text("OK"));
        }
        Reply::from(example::answer(seen))
    });
    let fake = FakeModel::start(script).await.unwrap();
    let place = place_with(|place| {
        let tools = example::logs(place);
        let model = ANTHROPIC.table(&fake, "");
        format!(
            "[limits]\nmodels_down_urgent_wait_secs = 1\nmodels_down_wait_secs = 2\n{tools}\n{model}"
        )
    });
    put(&place, "scc-crypto-miner", "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    let ended = worker.until("case concluded");
    assert!(ended.contains("revision=1"), "{ended}");
    let first = &cases(&place)[0];
    let id = first["id"].as_str().unwrap().to_owned();
    let shown = place.run(&["cases", "show", &id]).unwrap();
    assert!(shown.stdout.contains("the models are down"), "{shown:?}");
    is_down.store(false, Ordering::Relaxed);
    worker.until("the models are back");
    worker.until("revision=2");
    worker.until("report shown");
    let case = &cases(&place)[0];
    assert_eq!(case["revision"], 2, "{case}");
    assert_eq!(case["verdict"], "true_positive", "{case}");
    let report = place.run(&["cases", "show", &id, "--json"]).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["report"]["degraded"], false);
    assert_eq!(fake.refusals(), []);
}
