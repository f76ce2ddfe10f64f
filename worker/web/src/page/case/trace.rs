//! Renders further data of the store: sightings, members of a storm, deliveries, revisions.

use chrono::{DateTime, Utc};
use nightshift_pipeline::case::{CaseView, DeliveryRow};
use serde::Serialize;

use crate::DeliveryLinks;
use crate::safe_text::{DisplayTime, SafeText};

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
    unreadable: Option<SafeText>,
}

#[derive(Debug, Serialize)]
struct SightingRow {
    at: DisplayTime,
    source: SafeText,
    count: u64,
    note: Option<SafeText>,
}

#[derive(Debug, Serialize)]
struct MemberRow {
    at: DisplayTime,
    severity: &'static str,
    title: SafeText,
    key: SafeText,
}

#[derive(Debug, Serialize)]
struct Delivery {
    destination: SafeText,
    words: SafeText,
    failed: bool,
    /// The remote id and its link.
    remote: Option<SafeText>,
    link: Option<String>,
}

#[derive(Debug, Serialize)]
struct Revision {
    number: u32,
    shown: bool,
}

impl Trace {
    pub(super) fn new(view: &CaseView, links: &DeliveryLinks, now: DateTime<Utc>) -> Self {
        let shown = view.report.as_ref().map(|report| report.revision);
        let latest = view.row.revision;
        let first = latest.saturating_sub(MOST_REVISIONS - 1).max(1);
        Self {
            sightings: view
                .sightings
                .iter()
                .map(|one| SightingRow {
                    at: DisplayTime::new(one.at, now),
                    source: SafeText::from_foreign(&one.source, 60),
                    count: one.count,
                    note: one.description().as_deref().map(SafeText::name),
                })
                .collect(),
            sightings_all: view.row.sightings,
            members: view
                .members
                .iter()
                .map(|one| MemberRow {
                    at: DisplayTime::new(one.at, now),
                    severity: one.severity.title(),
                    title: SafeText::name(&one.title),
                    key: SafeText::name(&one.key),
                })
                .collect(),
            members_all: view.row.members,
            deliveries: view
                .deliveries
                .iter()
                .map(|row| delivery(row, links))
                .collect(),
            revisions: (first..=latest)
                .map(|number| Revision {
                    number,
                    shown: shown == Some(number),
                })
                .collect(),
            earlier: shown.filter(|number| *number != latest),
            events: view.events.len(),
            unreadable: view.unreadable.as_deref().map(SafeText::sentence),
        }
    }
}

fn delivery(row: &DeliveryRow, links: &DeliveryLinks) -> Delivery {
    let is_done = row.sent >= row.wanted;
    let stands = match row.sent {
        sent if sent > 0 && row.is_shown() => format!("; version {sent} stands there"),
        _ => String::new(),
    };
    let tries = match row.attempts {
        1 => "1 try".to_owned(),
        tries => format!("{tries} tries"),
    };
    let words = match &row.error {
        _ if row.is_unwanted() => SafeText::from_own(format_args!(
            "nothing was sent: the destination does not want this report yet"
        )),
        _ if is_done => SafeText::from_own(format_args!("shown, version {}", row.sent)),
        Some(error) => SafeText::from_own(format_args!(
            "{} after {tries}: {}{}{stands}",
            if row.given_up {
                "given up"
            } else {
                "not shown"
            },
            SafeText::from_foreign(error, 200),
            if row.in_doubt {
                "; it may have arrived, and is looked for there before it is sent again"
            } else {
                ""
            },
        )),
        None if row.in_doubt => SafeText::from_own(format_args!(
            "sent, but not known whether it arrived{stands}"
        )),
        None => SafeText::from_own(format_args!("not shown yet{stands}")),
    };
    Delivery {
        destination: SafeText::from_foreign(&row.destination, 60),
        words,
        failed: !is_done && row.error.is_some(),
        remote: SafeText::optional_name(row.remote_id.as_ref()),
        link: row
            .remote_id
            .as_ref()
            .and_then(|id| links(&row.destination, id)),
    }
}
