//! Tests configuration changes while the worker runs.

mod rules;

use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use nightshift_tests::Sandbox;
use nightshift_tests::model::{Answer, FakeModel, Fault, RecordedRequest, Reply, Script};
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

use super::fixture::{cases, place, place_with, put, reports};
use super::production::database;
use crate::models::example;
use crate::models::providers::ANTHROPIC;

const SCC: &str = "scc-crypto-miner";
/// The log text once the new generation has started.
pub(crate) const RENEWED: &str = "new cases use the reloaded configuration";

/// Changes the configuration by replacing the whole file at once, as an editor does.
pub(crate) fn change(place: &Sandbox, from: &str, to: &str) {
    let path = place.path().join("nightshift.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    let new = place
        .write_file("new.toml", text.replace(from, to))
        .unwrap();
    std::fs::rename(new, path).unwrap();
}

fn logged(more: &str) -> Sandbox {
    let place = place(more);
    change(&place, "warn,nightshift_pipeline=info", "info");
    place
}

#[test]
fn changed_file_applies_to_new_cases_and_pages_stay_up() {
    let place = logged("");
    put(&place, SCC, "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("report shown");
    change(&place, "path = \"reports\"", "path = \"others\"");
    worker.wait_for_line("a file has changed");
    worker.wait_for_line("the cases are on http://127.0.0.1:");
    worker.wait_for_line(RENEWED);
    put(&place, SCC, "s2");
    worker.wait_for_line("report shown");
    assert_eq!(reports(&place).len(), 1);
    assert_eq!(
        std::fs::read_dir(place.path().join("others"))
            .unwrap()
            .count(),
        1
    );
    worker.signal("TERM");
    let (status, _, lines) = worker.wait_for_exit();
    assert_eq!(status.code(), Some(0), "{lines:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_tell_of_no_source_that_is_not_configured_any_more() {
    const GONE: &str = "[[source]]\nname = \"gone\"\nkind = \"spool\"\ndir = \"gone\"\n";
    let place = logged(GONE);
    let mut worker = place.start(&["worker"]).unwrap();
    let told = worker.wait_for_line("the cases are on http://127.0.0.1:");
    let (_, address) = told.split_once("http://").unwrap();
    let url = format!("http://{address}metrics");
    let silent = || async {
        let text = reqwest::get(&url).await.unwrap().text().await.unwrap();
        let lines = text.lines();
        let of_sources = lines.filter(|line| line.starts_with("nightshift_last_alert"));
        of_sources.map(str::to_owned).collect::<Vec<String>>()
    };
    assert_eq!(silent().await.len(), 2);
    change(&place, GONE, "");
    worker.wait_for_line(RENEWED);
    assert_eq!(
        silent().await,
        ["nightshift_last_alert_timestamp_seconds{source=\"drop\"} 0"]
    );
    let text = reqwest::get(&url).await.unwrap().text().await.unwrap();
    let up = text
        .lines()
        .filter(|line| line.starts_with("nightshift_source_up{"));
    assert_eq!(
        up.collect::<Vec<_>>(),
        ["nightshift_source_up{source=\"drop\"} 1"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f33_replaced_page_token_admits_nobody() {
    let place = logged("");
    let (leaked, new) = ("a-token-that-leaked-01", "a-token-that-is-new-02");
    place.write_file("token", leaked).unwrap();
    change(&place, "web = { ", "web = { tokens = [\"file:token\"], ");
    let mut worker = place.start(&["worker"]).unwrap();
    let told = worker.wait_for_line("the cases are on http://127.0.0.1:");
    let (_, address) = told.split_once("http://").unwrap();
    let url = format!("http://{address}api/v1/cases");
    let client = reqwest::Client::new();
    let asked = |token: &'static str| {
        let request = client.get(&url).bearer_auth(token);
        async move { request.send().await.unwrap().status().as_u16() }
    };
    assert_eq!((asked(leaked).await, asked(new).await), (200, 401));
    place.write_file("token", new).unwrap();
    worker.wait_for_line(RENEWED);
    assert_eq!((asked(leaked).await, asked(new).await), (401, 200));
}

#[test]
fn a_worker_that_waits_for_its_database_hears_sighup() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let url = format!("postgres://nightshift@{address}/nightshift");
    let place = place(&format!("[store]\nurl = {url:?}\n"));
    let worker = place.start(&["worker"]).unwrap();
    // The server accepts the connection and never answers.
    let _asking = silent.accept().unwrap();
    worker.signal("HUP");
    worker.signal("TERM");
    let (status, _, lines) = worker.wait_for_exit();
    assert_ne!(status.signal(), Some(1), "SIGHUP ended it: {lines:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_changes_nothing_and_is_told_aloud() {
    let place = logged("");
    let mut worker = place.start(&["worker"]).unwrap();
    let told = worker.wait_for_line("the cases are on http://127.0.0.1:");
    let (_, address) = told.split_once("http://").unwrap();
    let url = format!("http://{address}metrics");
    let is_refused = async |value: &str| {
        let text = reqwest::get(&url).await.unwrap().text().await.unwrap();
        text.contains(&format!("\nnightshift_configuration_refused {value}\n"))
    };
    worker.wait_for_line("started:");
    assert!(is_refused("0").await);
    change(&place, "path = \"reports\"", "pathh = \"others\"");
    let told = worker.wait_for_line("invalid configuration");
    assert!(told.contains("ERROR") && told.contains("pathh"), "{told}");
    assert!(is_refused("1").await, "until it is mended");
    put(&place, SCC, "s1");
    worker.wait_for_line("report shown");
    assert_eq!(reports(&place).len(), 1);
    change(&place, "pathh = \"others\"", "path = \"others\"");
    worker.wait_for_line(RENEWED);
    assert!(is_refused("0").await);
    put(&place, SCC, "s2");
    worker.wait_for_line("report shown");
    assert_eq!(reports(&place).len(), 1);
}

#[test]
fn reload_fixes_faults_at_newly_named_locations() {
    let place = logged("");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("started:");
    std::fs::create_dir(place.path().join("others")).unwrap();
    let wrong = place.write_file("others/mine.toml", "name = \"").unwrap();
    change(
        &place,
        "web = {",
        "playbooks = { dir = \"others\" }\nweb = {",
    );
    let told = worker.wait_for_line("invalid configuration");
    assert!(told.contains("mine.toml"), "{told}");
    std::fs::remove_file(wrong).unwrap();
    worker.wait_for_line(RENEWED);
}

#[test]
fn failed_reload_is_retried_without_another_change() {
    let place = logged("");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("started:");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    change(&place, "127.0.0.1:0", &address.to_string());
    let told = worker.wait_for_line("cannot apply the configuration now");
    assert!(told.contains("ERROR"), "{told}");
    put(&place, SCC, "s1");
    worker.wait_for_line("report shown");
    drop(taken);
    worker.wait_for_line("it could not be taken up before");
    worker.wait_for_line(RENEWED);
}

#[test]
fn a_signal_has_playbooks_read_again_where_they_are_read_from() {
    let place = logged("[playbooks]\ndir = \"books\"\n");
    std::fs::create_dir_all(place.path().join("books")).unwrap();
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("started:");
    let broken = place.write_file("books/ours.toml", "id = 7").unwrap();
    worker.signal("HUP");
    let told = worker.wait_for_line("invalid configuration");
    assert!(told.contains("ours.toml"), "{told}");
    std::fs::remove_file(broken).unwrap();
    worker.signal("HUP");
    worker.wait_for_line(RENEWED);
    put(&place, SCC, "s1");
    worker.wait_for_line("report shown");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_case_keeps_its_configuration_and_asks_nothing_twice() {
    let plans = Arc::new(AtomicUsize::new(0));
    let (asked, is_asked) = mpsc::channel();
    let counted = Arc::clone(&plans);
    let script = Script::from_fn(move |seen: &RecordedRequest| {
        if seen.text().contains("# Your task now: plan") {
            counted.fetch_add(1, Ordering::Relaxed);
            asked.send(()).ok();
        }
        example::answer(seen)
    });
    let fake = FakeModel::start(script.with_latency(Duration::from_secs(2)))
        .await
        .unwrap();
    let place = place_with(|place| {
        let tools = example::logs(place);
        let model = ANTHROPIC.table(&fake, "");
        format!("{tools}\n{model}")
    });
    change(&place, "warn,nightshift_pipeline=info", "info");
    put(&place, SCC, "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    is_asked.recv_timeout(Duration::from_secs(60)).unwrap();
    change(&place, "path = \"reports\"", "path = \"others\"");
    worker.signal("HUP");
    worker.wait_for_line(RENEWED);
    worker.wait_for_line("report shown");
    assert_eq!(plans.load(Ordering::Relaxed), 1);
    assert_eq!(cases(&place)[0]["verdict"], "true_positive");
    assert_eq!(fake.refusals(), []);
}

#[test]
fn truncated_or_empty_file_changes_nothing_and_makes_no_store() {
    let place = logged("[store]\nurl = \"sqlite:ours.db\"\n");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("started:");
    let path = place.path().join("nightshift.toml");
    let whole = std::fs::read_to_string(&path).unwrap();
    let (cut, _) = whole.split_once("[[destination]]").unwrap();
    std::fs::write(&path, cut).unwrap();
    let told = worker.wait_for_line("invalid configuration");
    assert!(told.contains("[[destination]]"), "{told}");
    put(&place, SCC, "s1");
    worker.wait_for_line("report shown");
    std::fs::write(&path, "").unwrap();
    let told = worker.wait_for_line("invalid configuration");
    assert!(told.contains("the file is empty"), "{told}");
    assert!(!place.path().join("nightshift-data").exists());
    std::fs::write(&path, whole).unwrap();
    worker.wait_for_line(RENEWED);
}

#[cfg_attr(not(has_services), ignore = "needs PostgreSQL: run tests/services")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_changes_while_cases_run_need_no_more_connections() {
    const CASES: usize = 12;
    const CHANGES: usize = 4;
    let (asked, is_asked) = mpsc::channel();
    let script = Script::from_fn(move |seen: &RecordedRequest| -> Reply {
        asked.send(()).ok();
        match seen.text().contains("# Your task now: ") {
            true => Reply::Fault(Fault::Hang),
            false => Reply::from(Answer::text("OK")),
        }
    });
    let fake = FakeModel::start(script).await.unwrap();
    let url = database().await;
    let place = place_with(|place| {
        let (tools, model) = (example::logs(place), ANTHROPIC.table(&fake, ""));
        let limits = "[limits]\nstorm_cases = 1000\n";
        format!("[store]\nurl = {url:?}\n{limits}{tools}\n{model}")
    });
    change(&place, "warn,nightshift_pipeline=info", "info");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("started:");
    for renewed in 0..CHANGES {
        for case in 0..CASES {
            put(&place, SCC, &format!("s{renewed}-{case}"));
        }
        for _ in 0..CASES {
            is_asked.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        worker.signal("HUP");
        worker.wait_for_line(RENEWED);
    }
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    const OTHERS: &str = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let row = client.query_one(OTHERS, &[]).await.unwrap();
    let connections: i64 = row.get(0);
    assert!((1..=10).contains(&connections), "{connections} connections");
}
