//! Reads a journal back. A worker claims only a case that it can fold (F32), so errors are distinguished: a newer
//! version, an unknown event, or broken text. Nothing is guessed or skipped, because a journal with a missing event
//! folds to another case.

use serde::Deserialize;

use crate::event::{Event, EventBody, JOURNAL_VERSION};

/// Kinds of outcomes in a `finished` event.
const OUTCOMES: &[&str] = &[
    "planned",
    "turned",
    "decided",
    "reflected",
    "drafted",
    "called",
    "exonerated",
    "call_failed",
    "ask_failed",
];

/// Reason why this version cannot read an event.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableEvent {
    /// A newer version wrote the event.
    #[error(
        "journal version {version} is newer than this program reads (up to {JOURNAL_VERSION}); a \
         newer worker continues the case"
    )]
    Newer {
        /// Version in the event.
        version: u32,
    },
    /// This version does not know the event or its outcome.
    #[error("unknown event {kind:?}; a newer worker continues the case")]
    Unknown {
        /// The stored word of the kind.
        kind: String,
    },
    /// The text is not an event, or a known event has fields that do not fit.
    #[error("not a journal event")]
    Malformed(#[source] serde_json::Error),
}

/// Fields that every version of an event has, used to explain why it cannot be read.
#[derive(Deserialize)]
struct EventHead {
    event: String,
    #[serde(default)]
    version: Option<u32>,
    #[serde(default)]
    outcome: Option<OutcomeHead>,
}

#[derive(Deserialize)]
struct OutcomeHead {
    kind: String,
}

/// Reads one event as a journal keeps it: a JSON object on one line.
///
/// `opened` holds the version of the journal. A `claimed` may say that a worker of another version continues it.
///
/// # Errors
///
/// Returns [`UnreadableEvent`], which says whether a newer program could read the event.
pub fn read_event(text: &str) -> Result<Event, UnreadableEvent> {
    let event: Event = serde_json::from_str(text).map_err(|cause| classify_error(text, cause))?;
    let version = match &event.body {
        EventBody::Opened(opened) => Some(opened.version),
        // The event is short, so parsing its head again is cheap.
        EventBody::Claimed { .. } => {
            serde_json::from_str(text).map_or(None, |head: EventHead| head.version)
        }
        _ => None,
    };
    match version.filter(|version| *version > JOURNAL_VERSION) {
        Some(version) => Err(UnreadableEvent::Newer { version }),
        None => Ok(event),
    }
}

fn classify_error(text: &str, cause: serde_json::Error) -> UnreadableEvent {
    let Ok(head) = serde_json::from_str::<EventHead>(text) else {
        return UnreadableEvent::Malformed(cause);
    };
    if let Some(version) = head.version.filter(|version| *version > JOURNAL_VERSION) {
        return UnreadableEvent::Newer { version };
    }
    if !EventBody::KINDS.contains(&head.event.as_str()) {
        return UnreadableEvent::Unknown { kind: head.event };
    }
    match head.outcome {
        Some(outcome) if !OUTCOMES.contains(&outcome.kind.as_str()) => UnreadableEvent::Unknown {
            kind: format!("{} {}", head.event, outcome.kind),
        },
        _ => UnreadableEvent::Malformed(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::CommandId;
    use crate::fixture::{at, opening};
    use crate::limits::{Cost, TriageLimits};

    fn text(event: &Event) -> String {
        serde_json::to_string(event).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        for event in opening(TriageLimits::default()) {
            assert_eq!(read_event(&text(&event)).unwrap(), event);
        }
    }

    #[test]
    fn every_kind_is_known_by_the_name_it_is_written_with() {
        let id = CommandId::plan();
        let cost = Cost::default();
        let opening = opening(TriageLimits::default());
        let bodies = opening.into_iter().map(|event| event.body).chain([
            EventBody::Started {
                id: id.clone(),
                attempt: 1,
                reserved: cost,
            },
            EventBody::Withdrawn {
                id,
                cost,
                in_line: false,
            },
            EventBody::TimeUp,
            EventBody::Cancelled { by: "ana".into() },
        ]);
        for body in bodies {
            let kind = body.kind();
            let written: serde_json::Value =
                serde_json::from_str(&text(&Event::new(at(0), body))).unwrap();
            assert_eq!(written["event"], kind);
            assert!(EventBody::KINDS.contains(&kind));
        }
    }

    #[test]
    fn f32_newer_version_unknown_event_and_corrupt_text_differ() {
        let opened = text(&opening(TriageLimits::default())[0]);
        let newer = opened.replacen("\"version\":1", "\"version\":2", 1);
        let strange = newer.replacen("\"profile\"", "\"profiles\"", 1);
        for text in [
            newer.as_str(),
            strange.as_str(),
            r#"{"at":"2026-03-02T02:00:00Z","event":"claimed","epoch":3,"version":2}"#,
            r#"{"at":"2026-03-02T02:00:00Z","event":"dreamt","version":2}"#,
        ] {
            let error = read_event(text).unwrap_err();
            assert!(
                matches!(error, UnreadableEvent::Newer { version: 2 }),
                "{error}"
            );
        }
        for (text, known_as) in [
            (
                r#"{"at":"2026-03-02T02:00:00Z","event":"dreamt","of":"sheep"}"#,
                "dreamt",
            ),
            (
                r#"{"at":"2026-03-02T02:00:00Z","event":"finished","id":"plan","outcome":{"kind":"sung","value":1},"cost":{}}"#,
                "finished sung",
            ),
        ] {
            let error = read_event(text).unwrap_err();
            let UnreadableEvent::Unknown { kind } = &error else {
                panic!("{error}")
            };
            assert_eq!(kind, known_as);
        }
        for text in ["", "{}", "[1]", r#"{"event":"claimed","epoch":1}"#, "\0"] {
            let error = read_event(text).unwrap_err();
            assert!(
                matches!(error, UnreadableEvent::Malformed(_)),
                "{text}: {error}"
            );
        }
    }
}
