//! Renders further data of the store: sightings, members of a storm, deliveries, revisions.

use chrono::{DateTime, Utc};
use nightshift_pipeline::case::{CaseView, DeliveryRow};
use nightshift_pipeline::language::Language;
use nightshift_render::Line;
use serde::Serialize;

use crate::DeliveryLinks;
use crate::page::display::{DisplayTime, optional_name};

/// The maximum number of revisions that are linked.
const MOST_REVISIONS: u32 = 30;

#[derive(Debug, Serialize)]
pub(super) struct Trace {
    sightings: Vec<SightingRow>,
    sightings_all: u64,
    members: Vec<MemberRow>,
    members_all: u64,
    deliveries: Vec<Delivery>,
    revisions: Vec<Revision>,
    /// The shown revision, if a later one has a report.
    earlier: Option<u32>,
    events: usize,
    unreadable: Option<Line>,
}

#[derive(Debug, Serialize)]
struct SightingRow {
    at: DisplayTime,
    source: Line,
    count: u64,
    note: Option<Line>,
}

#[derive(Debug, Serialize)]
struct MemberRow {
    at: DisplayTime,
    severity: &'static str,
    title: Line,
    key: Line,
}

#[derive(Debug, Serialize)]
struct Delivery {
    destination: Line,
    words: Line,
    failed: bool,
    /// The remote id and its link.
    remote: Option<Line>,
    link: Option<String>,
}

#[derive(Debug, Serialize)]
struct Revision {
    number: u32,
    shown: bool,
}

impl Trace {
    pub(super) fn new(
        view: &CaseView,
        links: &DeliveryLinks,
        language: Language,
        now: DateTime<Utc>,
    ) -> Self {
        let shown = view.report.as_ref().map(|report| report.revision);
        let latest = view.row.revision;
        let first = latest.saturating_sub(MOST_REVISIONS - 1).max(1);
        Self {
            sightings: view
                .sightings
                .iter()
                .map(|one| SightingRow {
                    at: DisplayTime::new(language, one.at, now),
                    source: Line::default().foreign(&one.source, 60),
                    count: one.count,
                    note: one.description(language).as_deref().map(Line::from_name),
                })
                .collect(),
            sightings_all: view.row.sightings,
            members: view
                .members
                .iter()
                .map(|one| MemberRow {
                    at: DisplayTime::new(language, one.at, now),
                    severity: language.severity(one.severity),
                    title: Line::from_name(&one.title),
                    key: Line::from_name(&one.key),
                })
                .collect(),
            members_all: view.row.members,
            deliveries: view
                .deliveries
                .iter()
                .map(|row| delivery(row, links, language))
                .collect(),
            revisions: (first..=latest)
                .map(|number| Revision {
                    number,
                    shown: shown == Some(number),
                })
                .collect(),
            earlier: shown.filter(|number| *number != latest),
            events: view.events.len(),
            unreadable: view.unreadable.as_deref().map(Line::from_sentence),
        }
    }
}

fn delivery(row: &DeliveryRow, links: &DeliveryLinks, language: Language) -> Delivery {
    let is_done = row.sent >= row.wanted;
    Delivery {
        destination: Line::default().foreign(&row.destination, 60),
        words: words(row, language),
        failed: !is_done && row.error.is_some(),
        remote: optional_name(row.remote_id.as_ref()),
        link: row
            .remote_id
            .as_ref()
            .and_then(|id| links(&row.destination, id)),
    }
}

/// Returns the state of a delivery.
fn words(row: &DeliveryRow, language: Language) -> Line {
    let own = |en, ja| Line::from_static(language.pick(en, ja));
    let stands = match row.sent {
        sent if sent > 0 && row.is_shown() => own("; version ", "（表示中の版: ")
            .number(sent)
            .say(language.pick(" stands there", "）")),
        _ => Line::default(),
    };
    match &row.error {
        _ if row.is_unwanted() => own(
            "nothing was sent: the destination does not want this report yet",
            "未送信（配信先はこのレポートをまだ必要としていません）",
        ),
        _ if row.sent >= row.wanted => own("shown, version ", "表示済み、版 ").number(row.sent),
        Some(error) => {
            let line = match row.given_up {
                true => own("given up after ", "断念、試行 "),
                false => own("not shown after ", "未表示、試行 "),
            };
            let line = line
                .count(language, row.attempts.into(), ["try", "tries", "回"])
                .say(": ")
                .foreign(error, 200);
            let line = match row.in_doubt {
                true => line.say(language.pick(
                    "; it may have arrived, and is looked for there before it is sent again",
                    "（届いた可能性があり、再送前に配信先を確認します）",
                )),
                false => line,
            };
            line.then(&stands)
        }
        None if row.in_doubt => own(
            "sent, but not known whether it arrived",
            "送信済み、到着は不明",
        )
        .then(&stands),
        None => own("not shown yet", "未表示").then(&stands),
    }
}
