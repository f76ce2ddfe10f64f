use std::fmt::Write;

use nightshift_alert::{Indicator, IndicatorKind};
use nightshift_engine::evidence::EvidenceId;
use serde_json::{Map, Value, json};

use super::*;
use crate::language::Language;

/// Returns a time in the night of the alert, whose last event is at 02:51.
fn at(clock: &str) -> DateTime<Utc> {
    let text = format!("2026-03-02T{clock}:00Z");
    text.parse().unwrap()
}

/// Returns an alert whose last event is at 02:51, with these keys and this address as actors.
fn alert() -> Alert {
    let bytes = include_bytes!("../../../../../../tests/fixtures/alerts/guardduty-finding.json");
    let batch = nightshift_alert::read_message(bytes, &nightshift_alert::ReadOptions::default());
    let mut alert = batch.unwrap().alerts.remove(0);
    alert.times.last_seen = Some(at("02:51"));
    let keys = (1..=20).map(|id| {
        Indicator::new(
            IndicatorKind::AccessKey,
            format!("ASIA{id}"),
            IndicatorRole::Actor,
        )
    });
    alert.indicators.extend(keys);
    for (address, role) in [
        ("203.0.113.9", IndicatorRole::Remote),
        (BYSTANDER, IndicatorRole::Related),
    ] {
        let indicator = Indicator::new(IndicatorKind::Ip, address, role);
        alert.indicators.push(indicator);
    }
    alert
}

/// An address that the alert names and that takes no part.
const BYSTANDER: &str = "203.0.113.200";

/// Returns the answer of a search for a key in a log that ends at this time, with rows at these times.
fn answer(id: u32, log_ends: &str, rows: &[&str]) -> Evidence {
    let row = |clock: &&str| json!({ "at": at(clock), "action": "ListBuckets" });
    let body = json!({
        "searched": {
            "from": at("00:31"), "until": at("05:00"), "records_from": at("00:00"),
            "records_until": at(log_ends), "records_in_time": 9,
        },
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
        "summary": { "last": rows.iter().max().map(|clock| at(clock)) },
    });
    Evidence {
        id: EvidenceId(id),
        step: None,
        tool: "cloudtrail".to_owned(),
        kind: "log_search.cloudtrail".to_owned(),
        arguments: Map::from_iter([("access_key".to_owned(), format!("ASIA{id}").into())]),
        at: at("03:14"),
        body: body.into(),
        rows: Some(rows.len() as u64),
        truncated: false,
        error: None,
        flags: Vec::new(),
    }
}

/// Returns the evidence with one value of its answer replaced.
fn with(mut evidence: Evidence, pointer: &str, value: Value) -> Evidence {
    let mut body = evidence.body.value();
    *body.pointer_mut(pointer).unwrap() = value;
    evidence.body = body.into();
    evidence
}

fn cut(evidence: Evidence) -> Evidence {
    Evidence {
        truncated: true,
        ..evidence
    }
}

fn unread(id: u32, error: ToolError) -> Evidence {
    Evidence {
        body: Value::Null.into(),
        error: Some(error),
        ..answer(id, "04:00", &[])
    }
}

/// Returns the statement of a report about this evidence, including after storage.
fn said(evidence: &[Evidence]) -> String {
    let since = activity_after(&alert(), evidence.iter());
    let kept = serde_json::to_string(&since).unwrap();
    assert_eq!(serde_json::from_str::<LaterActivity>(&kept).unwrap(), since);
    let words = since.text(Language::En);
    let mut said = words.before;
    if let Some(at) = words.at {
        write!(said, "{}", at.format("%H:%M")).unwrap();
    }
    said.push_str(words.after);
    if let Some(id) = words.evidence {
        write!(said, " [{id}]").unwrap();
    }
    said
}

#[test]
fn all_rows_of_all_answers_count() {
    let many: Vec<String> = (10..=55).map(|minute| format!("03:{minute}")).collect();
    let mut rows = vec![
        "02:31", "02:32", "02:33", "02:34", "02:35", "02:36", "02:51",
    ];
    rows.extend(many.iter().map(String::as_str));
    let one = answer(13, "03:56", &rows);
    assert_eq!(
        said(std::slice::from_ref(&one)),
        "the logs show 46 events since, the last at 03:55 [E13]"
    );
    // Two searches find the same rows, and two rows of one answer are equal.
    let again = Evidence {
        id: EvidenceId(14),
        ..one.clone()
    };
    let flows = answer(15, "03:58", &["03:58", "03:58"]);
    assert_eq!(
        said(&[one, again, flows]),
        "the logs show 48 events since, the last at 03:58 [E15]"
    );
}

#[test]
fn truncated_answer_takes_the_last_from_its_record_count() {
    for (rows, at_least) in [(&["02:40", "02:55", "02:56"][..], 2), (&["02:40"], 1)] {
        let answer = with(
            answer(13, "04:00", rows),
            "/summary/last",
            json!(at("03:55")),
        );
        let events = if at_least == 1 { "event" } else { "events" };
        assert_eq!(
            said(&[cut(answer)]),
            format!(
                "the logs show at least {at_least} {events} since, the last known at 03:55 [E13]"
            )
        );
    }
}

#[test]
fn nothing_since_is_said_only_where_whole_logs_go_on() {
    let quiet = answer(4, "03:10", &["02:40", "02:51"]);
    assert_eq!(
        said(&[quiet.clone(), answer(5, "03:05", &[])]),
        "nothing since in the logs that were read, which go to 03:05 [E5]"
    );
    let uncovered = "a log does not cover that time [E6]";
    let row = || answer(6, "03:10", &["02:31"]);
    for (other, why) in [
        (answer(6, "02:35", &["02:31"]), "a log ends at 02:35 [E6]"),
        (answer(6, "02:51", &["02:31"]), "a log ends at 02:51 [E6]"),
        (cut(row()), "what a log holds was cut [E6]"),
        (
            unread(6, ToolError::Timeout { secs: 30 }),
            "a log could not be read [E6]",
        ),
        (with(row(), "/rows/0/at", Value::Null), uncovered),
        (
            with(row(), "/searched/records_from", json!(at("03:00"))),
            uncovered,
        ),
        (
            with(row(), "/searched/records_in_time", json!(0)),
            uncovered,
        ),
        (
            with(row(), "/searched/records_until", Value::Null),
            uncovered,
        ),
        (with(row(), "/searched", json!("nonsense")), uncovered),
    ] {
        assert_eq!(
            said(&[quiet.clone(), other]),
            format!("since then: not known, for {why}")
        );
    }
    // Of several logs that end early, the one that ends first is reported.
    assert_eq!(
        said(&[cut(quiet), answer(6, "02:35", &[]), answer(7, "02:24", &[])]),
        "since then: not known, for a log ends at 02:24 [E7]"
    );
}

#[test]
fn what_was_not_asked_about_that_time_is_no_answer() {
    let quiet = answer(4, "03:10", &["02:40"]);
    let searched = |edge, clock| with(cut(answer(6, "03:10", &[])), edge, json!(at(clock)));
    let mut one_action = answer(6, "03:10", &[]);
    one_action
        .arguments
        .insert("action".into(), "Create*".into());
    let no_log = Evidence {
        kind: "past_cases".into(),
        ..answer(6, "03:10", &["03:00"])
    };
    let misput = ToolError::Argument {
        argument: "ip".into(),
        problem: "needed".into(),
    };
    for other in [
        searched("/searched/until", "02:00"),
        searched("/searched/from", "03:00"),
        one_action,
        no_log,
        unread(6, misput),
    ] {
        assert_eq!(said(std::slice::from_ref(&other)), "since then: not known");
        assert_eq!(
            said(&[quiet.clone(), other]),
            "nothing since in the logs that were read, which go to 03:10 [E4]"
        );
    }
    assert_eq!(said(&[]), "since then: not known");
}

#[test]
fn unrelated_or_partial_search_says_nothing_of_the_alert() {
    let quiet = answer(4, "03:10", &["02:40"]);
    let unrelated = "arn:aws:s3:::another-bucket";
    for (asked, counts) in [
        (json!({"access_key": "ASIA1"}), true),
        (
            json!({"ip": "203.0.113.9", "since": "2026-03-02T00:00:00Z", "until": "2026-03-03T00:00:00Z", "limit": 200}),
            true,
        ),
        (json!({"access_key": "ASIA1", "action": null}), true),
        (json!({"access_key": "ASIA1", "action": "Create*"}), false),
        (json!({"access_key": "ASIA1", "resource": unrelated}), false),
        (json!({"access_key": "ASIA1", "ip": "203.0.113.9"}), false),
        (json!({"ip": BYSTANDER}), false),
        (json!({"resource": unrelated}), false),
        (json!({"limit": 200}), false),
    ] {
        let mut search = answer(6, "03:05", &[]);
        search.arguments = asked.as_object().cloned().unwrap();
        let of_it_alone = match counts {
            true => "nothing since in the logs that were read, which go to 03:05 [E6]",
            false => "since then: not known",
        };
        assert_eq!(said(std::slice::from_ref(&search)), of_it_alone, "{asked}");
        let beside = match counts {
            true => of_it_alone,
            false => "nothing since in the logs that were read, which go to 03:10 [E4]",
        };
        assert_eq!(said(&[quiet.clone(), search]), beside, "{asked}");
    }
    let mut found = answer(6, "03:05", &["03:00"]);
    found.arguments = Map::from_iter([("ip".to_owned(), BYSTANDER.into())]);
    assert_eq!(
        said(&[quiet, found]),
        "the logs show 1 event since, the last at 03:00 [E6]",
        "what it holds counts"
    );
}

#[test]
fn question_asked_again_and_answered_in_full_is_answered() {
    let asked = |mut evidence: Evidence, limit: u32| {
        evidence.arguments = Map::from_iter([("ip".to_owned(), "203.0.113.9".into())]);
        evidence.arguments.insert("limit".to_owned(), limit.into());
        evidence
    };
    let lost = asked(unread(3, ToolError::Timeout { secs: 30 }), 50);
    let first = asked(cut(answer(4, "03:10", &["02:40"])), 50);
    let again = asked(answer(5, "03:10", &["02:40", "02:41"]), 200);
    assert_eq!(
        said(&[lost, first, again]),
        "nothing since in the logs that were read, which go to 03:10 [E5]"
    );
}

#[test]
fn search_ending_before_its_log_covers_only_itself() {
    let narrow = with(
        answer(4, "04:00", &["02:40"]),
        "/searched/until",
        json!(at("03:00")),
    );
    assert_eq!(
        said(&[narrow]),
        "nothing since in the logs that were read, which go to 03:00 [E4]"
    );
}

#[test]
fn a_report_of_a_version_that_did_not_say_it_is_not_known() {
    #[derive(Deserialize)]
    struct OlderReport {
        #[serde(default)]
        since: LaterActivity,
    }
    let older: OlderReport = serde_json::from_str("{}").unwrap();
    assert_eq!(older.since, LaterActivity::NotKnown);
    let words = older.since.text(Language::Ja);
    assert_eq!((words.before.as_str(), words.at), ("以後は不明", None));
}
