//! Tests start, work and end of a worker.

use std::net::{TcpListener, TcpStream};

use nightshift_tests::{RunningProgram, Sandbox, sample_finding};
use serde_json::json;

use super::fixture::{
    cases, place, place_with, put, put_message, read_again_knowing_vendor, reports,
};
use super::reload::{RENEWED, change};

const GUARDDUTY: &str = "guardduty-finding";
const SCC: &str = "scc-crypto-miner";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

#[test]
fn alerts_of_a_source_become_reports_at_a_destination() {
    let place = place("");
    put(&place, GUARDDUTY, "g1");
    put(&place, SCC, "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_lines("report shown", 2);
    put(&place, SCC, "s2");
    worker.wait_for_line("report shown");
    worker.signal("TERM");
    let (status, took, lines) = worker.wait_for_exit();
    assert_eq!(status.code(), Some(0), "{lines:#?}");
    assert!(took.as_secs() < 60, "{took:?}");
    let cases = cases(&place);
    assert_eq!(cases.len(), 3, "{cases:#?}");
    assert!(
        cases.iter().all(|case| case["status"] == "concluded"),
        "{cases:#?}"
    );
    assert_eq!(reports(&place).len(), 3);
}

#[test]
fn g02_the_same_finding_again_is_a_sighting_after_a_restart_too() {
    let place = place("");
    put(&place, SCC, "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("report shown");
    worker.kill();
    put(&place, SCC, "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("messages accepted");
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    assert_eq!(cases(&place).len(), 1);
    assert_eq!(reports(&place).len(), 1);
}

#[test]
fn f03_worker_stopped_under_load_drains_and_next_continues() {
    let place = place("");
    for n in 0..20 {
        put(&place, SCC, &format!("s{n}"));
    }
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("messages accepted");
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("started:");
    worker.wait_for_lines("report shown", 20 - reports(&place).len());
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    let cases = cases(&place);
    assert_eq!(cases.len(), 20);
    assert!(
        cases.iter().all(|case| case["status"] == "concluded"),
        "{cases:#?}"
    );
}

/// Starts a worker whose delivery waits for a receiver that accepts a connection and never answers.
fn waits_for_a_silent_receiver() -> (Sandbox, RunningProgram, TcpStream) {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", silent.local_addr().unwrap());
    let mut place = place_with(|_| {
        format!(
            "[[destination]]\nname = \"soar\"\nkind = \"webhook\"\nurl = \"{url}\"\nsecret = \"env:HOOK_SECRET\"\n"
        )
    });
    change(&place, "nightshift_pipeline=info", "info");
    change(
        &place,
        "destinations = [\"files\"]",
        "destinations = [\"soar\"]",
    );
    place.set_env("HOOK_SECRET", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX");
    put(&place, SCC, "s1");
    let worker = place.start(&["worker"]).unwrap();
    let (connection, _) = silent.accept().unwrap();
    (place, worker, connection)
}

#[test]
fn f03_second_stop_signal_ends_a_worker_at_once() {
    let (place, mut worker, _connection) = waits_for_a_silent_receiver();
    worker.signal("TERM");
    worker.wait_for_line("stop signal received");
    worker.signal("TERM");
    let (status, _, lines) = worker.wait_for_exit();
    // After one signal the worker would have waited for the receiver and exited with 0.
    assert_eq!(status.code(), Some(1), "{lines:#?}");
    let cases = cases(&place);
    assert_eq!(cases[0]["status"], "concluded", "{cases:#?}");
}

#[test]
fn f03_worker_stopped_during_reload_begins_nothing_new() {
    let (_place, mut worker, _connection) = waits_for_a_silent_receiver();
    worker.signal("HUP");
    worker.wait_for_line("reloading configuration");
    worker.signal("TERM");
    let (status, _, lines) = worker.wait_for_exit();
    assert_eq!(status.code(), Some(0), "{lines:#?}");
    let renewed = lines.iter().any(|line| line.contains(RENEWED));
    assert!(!renewed, "it waited for the crew before: {lines:#?}");
}

#[test]
fn a_destination_without_its_secret_is_told_of_at_the_start() {
    let mut place = place(
        "[[destination]]\nname = \"soar\"\nkind = \"webhook\"\nurl = \"https://soar.example.com/\"\nsecret = \"env:HOOK_SECRET\"\n",
    );
    let ran = place.run(&["worker"]).unwrap();
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(ran.stderr.contains("\"soar\": `secret`"), "{ran:?}");
    place.set_env("HOOK_SECRET", "hush");
    let ran = place.run(&["worker"]).unwrap();
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(!ran.stderr.contains("hush"), "{ran:?}");
    // Listing cases needs no secret.
    assert_eq!(cases(&place).len(), 0);
}

#[test]
fn startup_errors_are_reported_before_anything_is_received() {
    let without = Sandbox::new().unwrap();
    let ran = without.run(&["worker"]).unwrap();
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(ran.stderr.contains("there is no [[source]]"), "{ran:?}");

    let twice = place("[[source]]\nname = \"drop\"\nkind = \"spool\"\ndir = \"other\"\n");
    let ran = twice.run(&["worker"]).unwrap();
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(
        ran.stderr.contains("two [[source]] are called \"drop\""),
        "{ran:?}"
    );

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut place = place("");
    place.set_env("NIGHTSHIFT__WEB__LISTEN", &format!("127.0.0.1:{port}"));
    let ran = place.run(&["worker"]).unwrap();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("[web]"), "{ran:?}");
}

#[test]
fn parts_can_run_apart() {
    let place = place("");
    put(&place, SCC, "s1");
    let mut intake = place.start(&["worker", "--only", "intake"]).unwrap();
    intake.wait_for_line("messages accepted");
    let mut triage = place.start(&["worker", "--only", "triage"]).unwrap();
    triage.wait_for_line("case concluded");
    assert!(reports(&place).is_empty());
    let mut delivery = place.start(&["worker", "--only", "delivery"]).unwrap();
    delivery.wait_for_line("report shown");
    assert_eq!(reports(&place).len(), 1);
}

#[test]
fn unreadable_message_is_logged_once_even_with_open_case() {
    let place = place("");
    for name in ["m1", "m2"] {
        place
            .write_file(&format!("spool/new/{name}"), "no JSON")
            .unwrap();
    }
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("report shown");
    worker.signal("TERM");
    let lines = worker.wait_for_exit().2;
    let many = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
    let letters = many("stored as dead letter");
    assert_eq!((letters, many("without a new case")), (2, 0), "{lines:#?}");
    // The first line opens the case and names all of it; the other dead letter belongs to the same case.
    let named = |name: &str| {
        let letters = lines.iter().filter(|line| line.contains("as dead letter"));
        letters.filter(|line| line.contains(name)).count()
    };
    let names = ["case.id=", "case.revision=1", "trace.id="];
    assert_eq!(names.map(named), [2, 1, 1], "{lines:#?}");
    let trace_of = |what: &str| {
        let mut lines = lines.iter().filter(|line| line.contains(what));
        let (_, rest) = lines.find_map(|line| line.split_once("trace.id=")).unwrap();
        rest.chars().take(32).collect::<String>()
    };
    assert_eq!(trace_of("as dead letter"), trace_of("case concluded"));
}

#[test]
fn a_dead_letter_is_read_again_once_its_feed_is_known() {
    let place = place("");
    let message = r#"{"vendor": {"id": "e-1", "rule": "Execution:Host/Miner", "title": "A miner", "level": "high"}}"#;
    place.write_file("spool/tmp/m.json", message).unwrap();
    std::fs::create_dir_all(place.path().join("spool/new")).unwrap();
    let spool = |folder: &str| place.path().join("spool").join(folder).join("m.json");
    std::fs::rename(spool("tmp"), spool("new")).unwrap();
    let mut worker = place.start(&["worker"]).unwrap();
    let told = worker.wait_for_line("report shown");
    assert!(told.contains("files"), "{told}");
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    let still = place.run(&["dead-letters", "retry", "--all"]).unwrap();
    assert_eq!(still.code, Some(1), "{still:?}");
    assert!(
        still.stderr.contains("0 read again, 1 still cannot"),
        "{still:?}"
    );

    read_again_knowing_vendor(&place);
    let nothing = place.run(&["dead-letters", "retry", "--all"]).unwrap();
    assert!(
        nothing.stderr.contains("0 read again, 0 still cannot"),
        "{nothing:?}"
    );
    let again = place.run(&["dead-letters", "retry", "1"]).unwrap();
    assert!(again.stderr.contains("was read before"), "{again:?}");
    let waiting: Vec<_> = cases(&place)
        .into_iter()
        .filter(|case| case["feed"] == "edr")
        .collect();
    assert_eq!(waiting.len(), 1, "{waiting:#?}");
    assert_eq!(waiting[0]["status"], "queued");
}

#[test]
fn quiet_worker_logs_few_start_lines_and_one_per_outcome() {
    let place = place("");
    change(&place, "warn,nightshift_pipeline=info", "info");
    put(&place, SCC, "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("report shown");
    // The same alert again, in an event that is part of a trace.
    let event = json!({
        "specversion": "1.0", "id": "1", "source": "/edr", "type": "finding",
        "traceparent": format!("00-{TRACE}-00f067aa0ba902b7-01"), "data": sample_finding(SCC, "s1").unwrap(),
    });
    put_message(&place, "s1", &event);
    let sighting = worker.wait_for_line("alert admitted without a new case");
    let trace = format!("trace.id={TRACE}");
    let tells = ["outcome=sighting", "alert.key=", "case.id=", &trace];
    assert!(tells.iter().all(|one| sighting.contains(one)), "{sighting}");
    worker.signal("TERM");
    let (_, _, lines) = worker.wait_for_exit();
    let said = lines.iter().filter_map(|line| line.split_once(" INFO "));
    let mut said: Vec<&str> = said.map(|(_, what)| what).collect();
    // The message of a line, without its fields.
    for what in &mut said {
        if let Some((before, _)) = what.split_once('=') {
            *what = before.rsplit_once(' ').unwrap().0;
        }
        *what = what.trim();
    }
    assert_eq!(
        said,
        [
            "the store's schema was migrated",
            "source connected",
            "messages accepted",
            "case concluded",
            "report shown",
            "messages accepted",
            "alert admitted without a new case",
            "stop signal received; a second one ends the process at once",
        ],
        "{lines:#?}"
    );
}
