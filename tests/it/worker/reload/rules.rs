//! Tests changes of prompts and playbooks while the worker runs.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use nightshift_tests::model::{FakeModel, RecordedRequest, Script};
use nightshift_tests::{RunningProgram, Sandbox, repository_root};

use super::{RENEWED, SCC, change, logged};
use crate::models::example::{self, Question};
use crate::models::providers::ANTHROPIC;
use crate::worker::fixture::{place_with, put, reports};

/// Returns a shipped file with one text replaced.
fn shipped(file: &str, from: &str, to: &str) -> String {
    let path = repository_root().join("worker/analyst").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    text.replace(from, to)
}

fn triages(place: &Sandbox, worker: &mut RunningProgram, id: &str) {
    put(place, SCC, id);
    worker.wait_for_line("report shown");
}

/// Adds a rule to a copy of the shipped planning prompt.
fn plan(place: &Sandbox, rule: &str) {
    let head = "# Your task now: plan\n";
    let text = shipped(
        "prompts/plan.md",
        head,
        &format!("{head}\nHouse rule {rule}.\n"),
    );
    place.write_file("p/plan.md", text).unwrap();
}

/// Returns the rule in the next planning prompt, which must be the only one.
fn rule_of(plans: &Receiver<String>) -> String {
    let plan = plans.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(plans.try_recv().is_err(), "one plan for one case");
    let (_, rule) = plan.split_once("House rule ").unwrap();
    rule.split('.').next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompts_that_change_are_those_of_new_cases() {
    let (asked, plans) = channel();
    let script = Script::from_fn(move |seen: &RecordedRequest| {
        if Question::from_request(seen) == Question::Plan {
            asked.send(seen.text()).unwrap();
        }
        example::answer(seen)
    });
    let fake = FakeModel::start(script).await.unwrap();
    let place = place_with(|place| {
        plan(place, "one");
        let (tools, model) = (example::logs(place), ANTHROPIC.table(&fake, ""));
        format!("{tools}\n{model}\n[[profile]]\nname = \"default\"\nprompts = \"p/\"\n")
    });
    change(&place, "warn,nightshift_pipeline=info", "info");
    let mut worker = place.start(&["worker"]).unwrap();
    triages(&place, &mut worker, "s1");
    assert_eq!(rule_of(&plans), "one");
    plan(&place, "two");
    worker.wait_for_line("a file has changed");
    worker.wait_for_line(RENEWED);
    triages(&place, &mut worker, "s2");
    assert_eq!(rule_of(&plans), "two");
    plan(&place, "three");
    worker.signal("HUP");
    worker.wait_for_line("SIGHUP");
    worker.wait_for_line(RENEWED);
    triages(&place, &mut worker, "s3");
    assert_eq!(rule_of(&plans), "three");
    assert_eq!(fake.refusals(), []);
}

/// Adds a step to a copy of a shipped playbook.
fn playbook(place: &Sandbox, rule: &str) {
    let step = "Read what the alert itself tells";
    let text = shipped("playbooks/crypto-mining.toml", step, rule);
    place.write_file("books/mining.toml", text).unwrap();
}

#[test]
fn playbooks_that_change_are_those_of_new_cases() {
    let place = logged("[playbooks]\ndir = \"books\"\n");
    // Counts the reports that have a step of each rule.
    let shown = |rules: [&str; 3]| {
        let reports = reports(&place).into_iter();
        let reports: Vec<String> = reports
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect();
        rules.map(|rule| reports.iter().filter(|text| text.contains(rule)).count())
    };
    let rules = ["Rule one tells", "Rule two tells", "Rule three tells"];
    playbook(&place, rules[0]);
    let mut worker = place.start(&["worker"]).unwrap();
    triages(&place, &mut worker, "s1");
    assert_eq!(shown(rules), [1, 0, 0]);
    playbook(&place, rules[1]);
    worker.wait_for_line("a file has changed");
    worker.wait_for_line(RENEWED);
    triages(&place, &mut worker, "s2");
    assert_eq!(shown(rules), [1, 1, 0]);
    playbook(&place, rules[2]);
    worker.signal("HUP");
    worker.wait_for_line("SIGHUP");
    worker.wait_for_line(RENEWED);
    triages(&place, &mut worker, "s3");
    assert_eq!(shown(rules), [1, 1, 1]);
}
