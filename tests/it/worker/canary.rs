//! Tests canaries: the success time is set only after a canary has travelled the whole way.

use std::time::{Duration, Instant};

use nightshift_tests::{Publisher, RunningProgram, Sandbox};
use serde_json::Value;

use super::fixture::{cases, place_with, put, reports};
use super::production::{database, service};
use super::reload::change;

/// The longest wait for an event; bounds a hang.
const PATIENCE: Duration = Duration::from_secs(90);
const KEY: &str = "00112233445566778899aabbccddeeff";

/// Returns a `[canary]` with this interval.
fn canary(place: &Sandbox, minutes: u32) -> String {
    place.write_file("canary-key", KEY).unwrap();
    format!("[canary]\nevery_minutes = {minutes}\nkey = \"file:canary-key\"\n")
}

fn canaries(place: &Sandbox) -> Vec<Value> {
    let ran = place
        .run(&["cases", "list", "--json", "--feed", "canary"])
        .unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn address(worker: &mut RunningProgram) -> String {
    let line = worker.wait_for_line("the cases are on ");
    line.rsplit(' ').next().unwrap().to_owned()
}

/// Returns the value of a series, if the series exists.
async fn value(url: &str, series: &str) -> Option<i64> {
    let text = reqwest::get(format!("{url}metrics")).await.unwrap();
    let text = text.text().await.unwrap();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(series));
    lines.next().map(|value| value.trim().parse().unwrap())
}

/// Waits until a canary came through after this time, and returns the time.
async fn until_it_came(url: &str, after: i64) -> i64 {
    let begun = Instant::now();
    loop {
        let last = value(url, "nightshift_canary_timestamp_seconds ").await;
        if let Some(last) = last.filter(|last| *last > after) {
            return last;
        }
        assert!(begun.elapsed() < PATIENCE, "no canary came: {last:?}");
        tokio::task::yield_now().await;
    }
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_goes_the_whole_way_and_is_taken_away() {
    let place = place_with(|place| canary(place, 60));
    change(
        &place,
        "nightshift_pipeline=info",
        "nightshift_pipeline=debug",
    );
    let mut worker = place.start(&["worker"]).unwrap();
    let url = address(&mut worker);
    for line in ["messages accepted", "case concluded", "report shown"] {
        let told = worker.wait_for_line(line);
        assert!(told.contains(" DEBUG "), "nobody wants to read {told}");
    }
    worker.wait_for_line("canary arrived at its destination");
    let came = until_it_came(&url, 0).await;
    until("its report stays", || reports(&place).is_empty()).await;
    let own = canaries(&place);
    let opened: chrono::DateTime<chrono::Utc> =
        own[0]["opened_at"].as_str().unwrap().parse().unwrap();
    assert!(
        (0..90).contains(&(came - opened.timestamp())),
        "{opened} {came}"
    );
    assert_eq!(own[0]["desk"], "closed", "{own:#?}");
    assert_eq!(own[0]["status"], "concluded", "{own:#?}");
    assert_eq!(own[0]["assessed_severity"], "informational", "{own:#?}");
    let shown = place.run(&["cases", "show", own[0]["id"].as_str().unwrap()]);
    let shown = shown.unwrap().stdout;
    assert!(shown.contains("[CANARY] [PLAYBOOK]"), "{shown}");
    assert!(shown.contains("alerts get through to here"), "{shown}");
    // A canary is no case for people and no sign that a feed works.
    assert!(cases(&place).is_empty());
    let source = "nightshift_last_alert_timestamp_seconds{source=\"drop\"} ";
    assert_eq!(value(&url, source).await, Some(0));
    let counted = "nightshift_messages_total{outcome=\"canary\",source=\"drop\"} ";
    assert_eq!(value(&url, counted).await, Some(1));
    let success = "nightshift_last_success_timestamp_seconds ";
    assert_eq!(value(&url, success).await, Some(0));
    // An alert opens a case of its own beside the canary.
    put(&place, "scc-crypto-miner", "s1");
    worker.wait_for_line("report shown");
    until("the report of an alert", || reports(&place).len() == 1).await;
    assert_eq!(cases(&place).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_its_destination_is_down_no_canary_comes_through() {
    let place = place_with(|place| canary(place, 60));
    // A file stands where the folder of reports should be.
    place.write_file("reports", "in the way").unwrap();
    let mut worker = place.start(&["worker"]).unwrap();
    let url = address(&mut worker);
    worker.wait_for_line("cannot deliver report");
    let metric = "nightshift_canary_timestamp_seconds ";
    until("the canary is concluded", || {
        canaries(&place)
            .first()
            .is_some_and(|one| one["status"] == "concluded")
    })
    .await;
    assert_eq!(
        value(&url, metric).await,
        Some(0),
        "it did not come through"
    );
    assert_eq!(canaries(&place)[0]["desk"], "open");
    std::fs::remove_file(place.path().join("reports")).unwrap();
    worker.wait_for_line("canary arrived at its destination");
    until_it_came(&url, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers_send_one_and_a_restart_knows_of_it() {
    let place = place_with(|place| canary(place, 60));
    let mut first = place.start(&["worker"]).unwrap();
    let url = address(&mut first);
    let came = until_it_came(&url, 0).await;
    let mut second = place.start(&["worker"]).unwrap();
    let other = address(&mut second);
    // The second worker read the store and reports the same time for a canary that it never handled.
    assert_eq!(until_it_came(&other, 0).await, came);
    let own = canaries(&place);
    assert!(own.iter().all(|one| one["sightings"] == 0), "{own:#?}");
    let sent = "nightshift_messages_total{outcome=\"canary\",source=\"drop\"} ";
    let taken = [value(&url, sent).await, value(&other, sent).await];
    let taken: i64 = taken.iter().flatten().sum();
    assert_eq!(taken, i64::try_from(own.len()).unwrap());
    first.kill();
    second.kill();
    let mut again = place.start(&["worker", "--only", "web"]).unwrap();
    let url = address(&mut again);
    assert_eq!(until_it_came(&url, 0).await, came);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shorter_interval_begins_before_the_longer_one_is_over() {
    let place = place_with(|place| canary(place, 60));
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("canary arrived at its destination");
    change(&place, "every_minutes = 60", "every_minutes = 30");
    until("a canary of the shorter interval", || {
        canaries(&place).len() == 2
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forged_canary_is_dead_lettered_and_repeat_is_a_sighting() {
    let place = place_with(|place| {
        format!(
            "[[source]]\nname = \"other\"\nkind = \"spool\"\ndir = \"other\"\n{}",
            canary(place, 60)
        )
    });
    let mut worker = place.start(&["worker"]).unwrap();
    let url = address(&mut worker);
    worker.wait_for_line("canary arrived at its destination");
    let came = until_it_came(&url, 0).await;
    let forged = format!(
        "{{\"nightshift-canary\":{{\"at\":\"{}\",\"n\":1,\"source\":\"drop\"}},\"signature\":\"v1={}\"}}",
        canaries(&place)[0]["opened_at"].as_str().unwrap(),
        "0".repeat(64)
    );
    place.write_file("spool/new/forged.json", forged).unwrap();
    until("it is read as any other message", || {
        cases(&place)
            .first()
            .is_some_and(|one| one["type"] == "Nightshift:UnreadableMessage")
    })
    .await;
    assert_eq!(cases(&place)[0]["severity"], "high");
    assert_eq!(until_it_came(&url, 0).await, came, "it proves nothing");
    let letters = place.run(&["dead-letters", "list", "--json"]).unwrap();
    assert_eq!(letters.stdout.lines().count(), 1, "{letters:?}");
}

/// Returns a place whose worker uses PostgreSQL and RabbitMQ.
async fn in_production(broker: &str, queue: &str, minutes: u32) -> Sandbox {
    let mut place = Sandbox::new().unwrap();
    let config = format!(
        "log = {{ level = \"warn,nightshift_pipeline=info\", format = \"text\" }}\n\
         store = {{ url = \"{}\" }}\nweb = {{ listen = \"127.0.0.1:0\" }}\n\
         [[source]]\nname = \"mq\"\nkind = \"rabbitmq\"\nurl = \"{broker}\"\nqueue = \"{queue}\"\n\
         [[destination]]\nname = \"files\"\nkind = \"file\"\npath = \"reports\"\nformat = \"json\"\n\
         [[route]]\ndestinations = [\"files\"]\n{}",
        database().await,
        canary(&place, minutes),
    );
    place.write_file("nightshift.toml", config).unwrap();
    place.set_env("NO_COLOR", "1");
    place
}

#[cfg_attr(
    not(has_services),
    ignore = "needs PostgreSQL and RabbitMQ: run tests/services"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn canary_passes_separate_parts_on_postgresql_and_rabbitmq() {
    let queue = format!("it-{}", uuid::Uuid::new_v4().simple());
    let broker = service("RABBITMQ");
    let _made = Publisher::connect(&broker, &queue).await.unwrap();
    let place = in_production(&broker, &queue, 60).await;
    let parts = ["intake,web", "intake,web", "triage", "delivery"];
    let mut workers: Vec<RunningProgram> = parts
        .map(|only| place.start(&["worker", "--only", only]).unwrap())
        .into();
    let urls = [address(&mut workers[0]), address(&mut workers[1])];
    let came = until_it_came(&urls[0], 0).await;
    assert_eq!(until_it_came(&urls[1], 0).await, came);
    until("its report stays", || reports(&place).is_empty()).await;
    let own = canaries(&place);
    assert!(own.iter().all(|one| one["sightings"] == 0), "{own:#?}");
    let sent = "nightshift_messages_total{outcome=\"canary\",source=\"mq\"} ";
    let taken = [value(&urls[0], sent).await, value(&urls[1], sent).await];
    let taken: i64 = taken.iter().flatten().sum();
    assert_eq!(taken, i64::try_from(own.len()).unwrap());
}

#[cfg_attr(
    not(has_services),
    ignore = "needs PostgreSQL and RabbitMQ: run tests/services"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_broker_is_down_no_canary_comes_through() {
    // The listener is dropped, so nothing listens on this port.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let broker = format!("amqp://guest:guest@{}/%2f", free.local_addr().unwrap());
    drop(free);
    let place = in_production(&broker, "alerts", 60).await;
    let mut worker = place.start(&["worker"]).unwrap();
    let url = address(&mut worker);
    let line = worker.wait_for_line("cannot send canary; retrying");
    assert!(line.contains("source mq"), "{line}");
    assert!(canaries(&place).is_empty());
    let last = value(&url, "nightshift_canary_timestamp_seconds ").await;
    assert_eq!(last.unwrap_or(0), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_is_posted_to_the_workers_own_intake() {
    for credential in [
        "tokens = [\"env:INTAKE\"]",
        "signing_secrets = [\"env:INTAKE\"]",
    ] {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let listen = free.local_addr().unwrap().to_string();
        drop(free);
        let mut place = place_with(|place| {
            let source = format!("[[source]]\nname = \"soar\"\nkind = \"http\"\n{credential}\n");
            let canary = canary(place, 60);
            format!("{source}{canary}source = \"soar\"\n")
        });
        place.set_env("INTAKE", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX");
        place.set_env("NIGHTSHIFT__WEB__INTAKE_LISTEN", &listen);
        let mut worker = place.start(&["worker"]).unwrap();
        let url = address(&mut worker);
        until_it_came(&url, 0).await;
        let sent = "nightshift_messages_total{outcome=\"canary\",source=\"soar\"} ";
        assert_eq!(value(&url, sent).await, Some(1));
    }
}

#[test]
fn a_canary_that_cannot_be_signed_is_told_of_at_the_start() {
    let place = place_with(|_| "[canary]\nevery_minutes = 15\nkey = \"file:no-such\"\n".to_owned());
    let ran = place.run(&["worker"]).unwrap();
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(ran.stderr.contains("[canary] key: cannot read"), "{ran:?}");
    place.write_file("no-such", "too-short").unwrap();
    let ran = place.run(&["worker"]).unwrap();
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(ran.stderr.contains("9 characters"), "{ran:?}");
    assert!(!ran.stderr.contains("too-short"), "{ran:?}");
    // Other commands need no key.
    let ran = place.run(&["cases", "list"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[expect(
    clippy::disallowed_methods,
    reason = "the program under test has the real clock too"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f32_worker_that_sends_no_canaries_verifies_those_of_others() {
    let place = place_with(|place| {
        let config = canary(place, 0);
        config.replace("key =", "source = \"drop\"\nkey =")
    });
    let others = nightshift_pipeline::canary::Canary {
        source: "drop".to_owned(),
        every: Duration::from_secs(900),
        keys: std::sync::Arc::new(|| Ok(KEY.into())),
    };
    let message = others.message(7, chrono::Utc::now()).unwrap();
    let written = place.write_file("spool/tmp/canary", message).unwrap();
    std::fs::create_dir_all(place.path().join("spool/new")).unwrap();
    std::fs::rename(written, place.path().join("spool/new/canary")).unwrap();
    let mut worker = place.start(&["worker"]).unwrap();
    let url = address(&mut worker);
    worker.wait_for_line("canary arrived at its destination");
    assert_eq!(canaries(&place).len(), 1);
    assert!(cases(&place).is_empty(), "nobody is told of a dead letter");
    let told = value(&url, "nightshift_dead_letters ").await;
    assert_eq!(told, Some(0));
}
