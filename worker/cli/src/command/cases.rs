//! `nightshift cases`: lists of cases, one case with its trace or journal, people's verdicts and actions, and export
//! and check of a journal.

mod again;
mod desk;
mod events;
mod export;
mod feedback;
mod purge;
mod unfinished;
pub(super) mod verify;

use nightshift_alert::Severity;
use nightshift_pipeline::case::{CaseFilter, CaseRow, CaseStatus, CaseView, DeliveryRow};
use nightshift_pipeline::desk::{ActKind, Desk};
use nightshift_pipeline::feedback::PersonVerdict;
use nightshift_pipeline::report::Report;
use serde::Serialize;

use super::run::text_options;
use super::table::lines;
use crate::args::{Cases, CasesList, CasesShow};
use crate::exit::Exit;
use crate::output::{plain, print, print_json, say};
use crate::wiring::{App, link};

/// Hours of alerts without a case that the list counts.
const COUNTED_HOURS: i64 = 24;
/// How long the list waits for that count.
const COUNT_WAIT: std::time::Duration = std::time::Duration::from_secs(3);

pub(super) async fn run(app: &App, command: &Cases) -> Result<(), Exit> {
    match command {
        Cases::List(options) => list(app, options).await,
        Cases::Show(options) if options.events => events::show(app, options).await,
        Cases::Show(options) => show(app, options).await,
        Cases::Agree(options) => feedback::agree(app, options).await,
        Cases::Disagree(options) => feedback::disagree(app, options).await,
        Cases::Ack(options) => desk::acknowledge(app, options).await,
        Cases::Assign(options) => desk::assign(app, options).await,
        Cases::Close(options) => desk::close(app, options).await,
        Cases::Retry(options) => again::retry(app, options).await,
        Cases::Cancel(options) => again::cancel(app, options).await,
        Cases::Purge(options) => purge::run(app, options).await,
        Cases::Export(options) => export::run(app, options).await,
        Cases::Verify(options) => verify::run(options),
    }
}

async fn list(app: &App, options: &CasesList) -> Result<(), Exit> {
    let filter = CaseFilter {
        status: options.status,
        verdict: options.verdict,
        desk: options.desk,
        disagreed: options.disagreed,
        severity_at_least: options.severity,
        feed: options.feed.clone(),
        account: options.account.clone(),
        text: options.text.clone(),
        limit: options.limit,
        ..CaseFilter::default()
    };
    let rows = app.store.list(&filter).await?;
    if options.json.json {
        return rows.iter().try_for_each(print_json);
    }
    say_what_has_no_case(app).await;
    if rows.is_empty() {
        say(nothing(app).await?);
        return Ok(());
    }
    let header = [
        "Case",
        "Opened (UTC)",
        "Severity",
        "Outcome",
        "Seen",
        "What",
    ];
    let rows: Vec<_> = rows.iter().map(cells).collect();
    print(&lines(header, &rows))
}

/// Returns why the list is empty.
async fn nothing(app: &App) -> Result<&'static str, Exit> {
    let any = CaseFilter {
        limit: 1,
        ..CaseFilter::default()
    };
    Ok(match app.store.list(&any).await?.is_empty() {
        true => {
            "no cases yet; `nightshift run FILE` triages an alert, `nightshift demo --once` shows sample ones"
        }
        false => "no case is like that; `nightshift cases list` lists them all",
    })
}

/// Prints how many recent alerts have no case because they were muted or set aside. The list does not wait for a slow
/// count.
async fn say_what_has_no_case(app: &App) {
    let since = app.clock.now() - chrono::TimeDelta::hours(COUNTED_HOURS);
    let unknown = |why: &str| {
        say(&format!(
            "how many alerts of the last {COUNTED_HOURS} h have no case is not known: {why}"
        ));
    };
    let places = match tokio::time::timeout(COUNT_WAIT, app.store.places(since)).await {
        Ok(Ok(places)) => places,
        Ok(Err(error)) => return unknown(&format!("{:#}", anyhow::Error::from(error))),
        Err(_) => return unknown("they could not be counted in time"),
    };
    let hidden = places
        .iter()
        .filter(|one| matches!(one.place.as_str(), "muted" | "set_aside"));
    let words: Vec<String> = hidden
        .map(|one| {
            let place = one.place.replace('_', " ");
            format!("{} {place} ({})", one.alerts, plain(&one.why, 80))
        })
        .collect();
    if !words.is_empty() {
        say(&format!(
            "without a case in the last {COUNTED_HOURS} h: {}",
            words.join(", ")
        ));
    }
}

/// Returns how often the alert of a case arrived, and after `+` the other members of its storm.
fn seen(row: &CaseRow) -> String {
    match row.members {
        0 => (row.sightings + 1).to_string(),
        members => format!("{}+{members}", row.sightings + 1),
    }
}

fn cells(row: &CaseRow) -> [String; 6] {
    let account = row
        .account
        .as_ref()
        .map_or_else(String::new, |account| format!(" ({})", plain(account, 40)));
    [
        row.id.to_string(),
        row.opened_at.format("%m-%d %H:%M").to_string(),
        short(row.shown_severity()).to_owned(),
        outcome(row).to_owned(),
        seen(row),
        what(row) + &account,
    ]
}

/// Returns the title of a case, with a note when a person disagrees with the verdict.
fn what(row: &CaseRow) -> String {
    let said = row.person_verdict.map_or_else(String::new, |verdict| {
        format!("people say {}: ", verdict.title())
    });
    let subject = row.subject.as_ref();
    let subject = subject.filter(|subject| !row.title.contains(subject.as_str()));
    let on = subject.map_or_else(String::new, |subject| format!(" on {}", plain(subject, 60)));
    format!("{said}{}{on}", plain(&row.title, 80))
}

/// Returns the verdict, or the status while there is none.
pub(super) fn outcome(row: &CaseRow) -> &'static str {
    match (row.status, row.verdict) {
        (CaseStatus::Concluded, Some(verdict)) => verdict.title(),
        (CaseStatus::Failed, _) => "Not triaged",
        (status, _) => row.called_off().unwrap_or(status.as_str()),
    }
}

/// Returns a severity for a narrow column.
pub(super) const fn short(severity: Severity) -> &'static str {
    match severity {
        Severity::Informational => "info",
        other => other.as_str(),
    }
}

/// One case as `--json` prints it.
#[derive(Serialize)]
struct Shown<'a> {
    case: &'a CaseRow,
    report: &'a Option<Report>,
    sightings: &'a [nightshift_pipeline::case::Sighting],
    members: &'a [nightshift_pipeline::case::Member],
    person_verdicts: &'a [PersonVerdict],
    desk: &'a Desk,
    deliveries: &'a [nightshift_pipeline::case::DeliveryRow],
    events: usize,
    unreadable: &'a Option<String>,
    cancelled_by: &'a Option<String>,
}

async fn show(app: &App, options: &CasesShow) -> Result<(), Exit> {
    let view = app.store.view(&options.id).await?;
    if options.json.json {
        return print_json(&Shown {
            case: &view.row,
            report: &view.report,
            sightings: &view.sightings,
            members: &view.members,
            person_verdicts: &view.person_verdicts,
            desk: &view.desk,
            deliveries: &view.deliveries,
            events: view.events.len(),
            unreadable: &view.unreadable,
            cancelled_by: &view.cancelled_by,
        });
    }
    let mut text = match &view.report {
        Some(report) => nightshift_report::text(report, &text_options(app)),
        None => unfinished::text(&view),
    };
    text.push_str(&trace(app, &view));
    print(&text)
}

/// Returns the sightings of a case and the deliveries of its report.
fn trace(app: &App, view: &CaseView) -> String {
    let mut lines = Vec::new();
    for sighting in &view.sightings {
        let at = sighting.at.format("%Y-%m-%d %H:%M:%S UTC");
        let source = plain(&sighting.source, 60);
        lines.push(match (sighting.state_at_feed(), sighting.words()) {
            (Some(state), _) => format!("{} at {at}, told by {source}", plain(state, 30)),
            (None, Some(words)) => format!(
                "seen again {at} from {source}, count {} ({})",
                sighting.count,
                plain(&words, 100)
            ),
            (None, None) => format!("seen again {at} from {source}, count {}", sighting.count),
        });
    }
    if view.row.members > 0 {
        lines.push(format!(
            "{} other alerts of this storm, the newest:",
            view.row.members
        ));
    }
    for member in &view.members {
        lines.push(format!(
            "  {} {} {}: {}",
            member.at.format("%Y-%m-%d %H:%M:%S UTC"),
            member.severity,
            plain(&member.key, 100),
            plain(&member.title, 100)
        ));
    }
    if let Some(by) = &view.cancelled_by {
        lines.push(format!("called off by {}", plain(by, 60)));
    }
    lines.extend(view.person_verdicts.iter().map(feedback::line));
    // Verdicts of people appear above, beside the revision that they are about.
    let others = view
        .desk
        .acts
        .iter()
        .filter(|act| !matches!(act.kind, ActKind::Agreed | ActKind::Disagreed { .. }));
    lines.extend(others.map(desk::line));
    lines.extend(view.deliveries.iter().map(|one| delivered(app, one)));
    lines.push(format!(
        "journal: {} events of revision {}",
        view.events.len(),
        view.row.revision
    ));
    if let Some(why) = &view.unreadable {
        lines.push(format!(
            "this version cannot read the journal any further, and does not go on with the case: {}",
            plain(why, 300)
        ));
    }
    format!("\n{}\n", lines.join("\n"))
}

/// Returns where a report is shown, or why it is not.
fn delivered(app: &App, delivery: &DeliveryRow) -> String {
    let how = how_far(delivery);
    let there = delivery.remote_id.as_ref().map_or_else(String::new, |id| {
        let link = link(&app.destinations, &delivery.destination, id);
        let link = link.map_or_else(String::new, |link| format!(" {link}"));
        format!(", there {}{link}", plain(id, 100))
    });
    format!("destination {}: {how}{there}", delivery.destination)
}

fn how_far(delivery: &DeliveryRow) -> String {
    match &delivery.error {
        _ if delivery.is_unwanted() => {
            "nothing was sent: it wants nothing of the case so far".to_owned()
        }
        _ if delivery.sent >= delivery.wanted => "shown".to_owned(),
        Some(error) => format!(
            "not shown after {} tries: {}",
            delivery.attempts,
            plain(error, 200)
        ),
        None if delivery.sent > 0 && delivery.is_shown() => {
            "shown; what is new since is not yet".to_owned()
        }
        None => "not shown yet".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use nightshift_pipeline::report::{Sender, sample_report};
    use nightshift_pipeline::showing::Shown;

    use super::*;

    #[test]
    fn what_a_destination_did_not_want_is_not_called_shown() {
        let report = sample_report("k3f9", chrono::DateTime::UNIX_EPOCH, &Sender::default());
        let mut row = DeliveryRow {
            destination: "pager".to_owned(),
            wanted: 1,
            sent: 1,
            attempts: 0,
            error: None,
            given_up: false,
            in_doubt: false,
            remote_id: None,
            shown: None,
        };
        let unwanted = "nothing was sent: it wants nothing of the case so far";
        assert_eq!(how_far(&row), unwanted);
        row.wanted = 2;
        assert_eq!(how_far(&row), "not shown yet");
        row.shown = Some(Shown::of(&report));
        assert_eq!(how_far(&row), "shown; what is new since is not yet");
        row.sent = 2;
        assert_eq!(how_far(&row), "shown");
    }
}
