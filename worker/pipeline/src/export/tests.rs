//! Tests that an unchanged file is valid, and that a file with any changed byte is not.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

/// The miner case, as `cases show --events --json` printed it.
const EVENTS: &str = include_str!("../../../../tests/fixtures/journals/v1/planned.jsonl");

fn lines(events: &str) -> Vec<JournalLine> {
    let lines = events.lines().zip(1..).map(|(event, seq)| JournalLine {
        revision: 1,
        seq,
        epoch: 1,
        event: event.to_owned(),
    });
    lines.collect()
}

/// Returns the case id in the events of the fixture.
fn case_id() -> CaseId {
    let opened = read_event(EVENTS.lines().next().unwrap()).unwrap();
    let EventBody::Opened(opened) = opened.body else {
        panic!("{opened:?}")
    };
    CaseId(opened.case_id)
}

fn file(events: &str) -> String {
    export(&case_id(), "nightshift 0.1.0", &lines(events))
        .unwrap()
        .0
}

#[test]
fn a_file_as_it_was_written_is_sound() {
    let (file, head) = export(&case_id(), "nightshift 0.1.0", &lines(EVENTS)).unwrap();
    let verified = verify_export(file.as_bytes()).unwrap();
    assert!(verified.is_sound(), "{verified:?}");
    assert_eq!(verified.head, head);
    assert_eq!(verified.header.revisions, [1]);
    let one = &verified.revisions[0];
    assert_eq!(one.checked.events, EVENTS.lines().count());
    assert!(one.checked.quotes > 0, "{:?}", one.checked);
    assert!(one.state.conclusion.is_some());
}

#[test]
fn removed_repeated_swapped_or_added_line_is_reported_by_number() {
    let whole = file(EVENTS);
    let lines: Vec<&str> = whole.lines().collect();
    let broken_at = |lines: &[&str]| {
        let text = lines.join("\n") + "\n";
        match verify_export(text.as_bytes()) {
            Err(ExportError::Broken { line, .. }) => line,
            other => panic!("{other:?}"),
        }
    };
    let mut without = lines.clone();
    without.remove(4);
    assert_eq!(broken_at(&without), 5);
    let mut doubled = lines.clone();
    doubled.insert(4, lines[3]);
    assert_eq!(broken_at(&doubled), 5);
    let mut swapped = lines.clone();
    swapped.swap(6, 7);
    assert_eq!(broken_at(&swapped), 7);
    assert_eq!(broken_at(&lines[..lines.len() - 1]), lines.len());
    let mut longer = lines.clone();
    longer.push(lines[3]);
    assert_eq!(broken_at(&longer), lines.len() + 1);
}

#[test]
fn forged_event_in_a_valid_chain_is_found_by_folding_again() {
    let forged = EVENTS.replace(
        "\"verdict\":\"true_positive\"",
        "\"verdict\":\"false_positive\"",
    );
    assert_ne!(forged, EVENTS);
    // Only the conclusion was forged, not the draft before it.
    let events: Vec<&str> = EVENTS.lines().collect();
    let last = forged.lines().last().unwrap();
    let forged = [&events[..events.len() - 1], &[last]].concat().join("\n");
    let verified = verify_export(file(&forged).as_bytes()).unwrap();
    let told: Vec<String> = verified.revisions[0]
        .violations
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(!verified.is_sound());
    assert!(
        told.iter()
            .any(|line| line == "False positive stands, but no approved record clears it"),
        "{told:?}"
    );
}

#[test]
fn a_header_of_another_case_or_other_revisions_does_not_fit() {
    let (text, _) = export(&CaseId("other".into()), "x", &lines(EVENTS)).unwrap();
    let verified = verify_export(text.as_bytes()).unwrap();
    assert_eq!(verified.mismatches.len(), 1, "{:?}", verified.mismatches);
    let mut second = lines(EVENTS);
    for line in &mut second {
        line.revision = 2;
    }
    let (text, _) = export(&case_id(), "x", &second).unwrap();
    let verified = verify_export(text.as_bytes()).unwrap();
    assert_eq!(
        verified.mismatches,
        ["the header names revisions [2], and the events are of [1]"]
    );
}

#[test]
fn non_journal_and_newer_journal_are_distinguished() {
    for text in [
        "",
        "{}",
        "\u{0}",
        "{\"schema\":\"nightshift.journal/2\"}",
        "[1,2]\n",
    ] {
        let error = verify_export(text.as_bytes()).unwrap_err();
        assert!(matches!(error, ExportError::NoJournal(_)), "{error}");
    }
    let newer = EVENTS.replacen("\"version\":1", "\"version\":9", 1);
    let error = verify_export(file(&newer).as_bytes()).unwrap_err();
    assert!(
        matches!(
            error,
            ExportError::Unreadable {
                line: 2,
                cause: UnreadableEvent::Newer { version: 9 }
            }
        ),
        "{error}"
    );
}

static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| file(EVENTS).into_bytes());

proptest! {
    #[test]
    fn any_other_byte_anywhere_is_told(place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = FILE.clone();
        let at = place.index(bytes.len());
        prop_assume!(bytes[at] != byte);
        bytes[at] = byte;
        prop_assert!(verify_export(&bytes).is_err(), "byte {at} is {byte:#x} now");
    }

    #[test]
    fn a_file_cut_short_anywhere_is_told(place in any::<prop::sample::Index>()) {
        prop_assert!(verify_export(&FILE[..place.index(FILE.len())]).is_err());
    }

    #[test]
    fn no_input_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(verify_export(&bytes).is_err());
    }
}
