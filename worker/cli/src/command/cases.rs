//! Implements `nightshift cases`: lists of cases, one case with its trace or journal, people's verdicts and actions,
//! and export and check of a journal.

mod events;
mod export;
mod feedback;
mod purge;
mod retry;
mod unfinished;
pub(super) mod verify;
mod workflow;

use nightshift_alert::Severity;
use nightshift_pipeline::case::{CaseFilter, CaseRow, CaseStatus, CaseView, DeliveryRow};
use nightshift_pipeline::case_workflow::{CaseActionKind, CaseWorkflow};
use nightshift_pipeline::feedback::PersonVerdict;
use nightshift_pipeline::language::Language;
use nightshift_pipeline::report::Report;
use serde::Serialize;

use super::run::text_options;
use super::table::one_line_rows;
use crate::args::{CasesCommand, CasesListArgs, CasesShowArgs};
use crate::exit::Exit;
use crate::output::{print, print_json, print_stderr, sanitize_line};
use crate::wiring::{App, remote_link};

/// Hours of alerts without a case that the list counts.
const LEDGER_WINDOW_HOURS: i64 = 24;
/// The time that the list waits for that count.
const LEDGER_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(3);

pub(super) async fn run(app: &App, command: &CasesCommand) -> Result<(), Exit> {
    match command {
        CasesCommand::List(options) => list(app, options).await,
        CasesCommand::Show(options) if options.events => events::show(app, options).await,
        CasesCommand::Show(options) => show(app, options).await,
        CasesCommand::Agree(options) => feedback::agree(app, options).await,
        CasesCommand::Disagree(options) => feedback::disagree(app, options).await,
        CasesCommand::Ack(options) => workflow::acknowledge(app, options).await,
        CasesCommand::Assign(options) => workflow::assign(app, options).await,
        CasesCommand::Close(options) => workflow::close(app, options).await,
        CasesCommand::Retry(options) => retry::retry(app, options).await,
        CasesCommand::Cancel(options) => retry::cancel(app, options).await,
        CasesCommand::Purge(options) => purge::run(app, options).await,
        CasesCommand::Export(options) => export::run(app, options).await,
        CasesCommand::Verify(options) => verify::run(options),
    }
}

async fn list(app: &App, options: &CasesListArgs) -> Result<(), Exit> {
    let filter = CaseFilter {
        status: options.status,
        verdict: options.verdict,
        workflow_status: options.desk,
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
    print_suppressed_counts(app).await;
    if rows.is_empty() {
        print_stderr(empty_list_message(app).await?);
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
    print(&one_line_rows(header, &rows))
}

/// Returns why the list is empty.
async fn empty_list_message(app: &App) -> Result<&'static str, Exit> {
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
async fn print_suppressed_counts(app: &App) {
    let since = app.clock.now() - chrono::TimeDelta::hours(LEDGER_WINDOW_HOURS);
    let unknown = |why: &str| {
        print_stderr(&format!(
            "how many alerts of the last {LEDGER_WINDOW_HOURS} h have no case is not known: {why}"
        ));
    };
    let places = match tokio::time::timeout(LEDGER_TIMEOUT, app.store.ledger_counts(since)).await {
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
            format!("{} {place} ({})", one.alerts, sanitize_line(&one.why, 80))
        })
        .collect();
    if !words.is_empty() {
        print_stderr(&format!(
            "without a case in the last {LEDGER_WINDOW_HOURS} h: {}",
            words.join(", ")
        ));
    }
}

/// Returns how often the alert of a case arrived, and after `+` the other members of its storm.
fn arrival_count(row: &CaseRow) -> String {
    match row.members {
        0 => (row.sightings + 1).to_string(),
        members => format!("{}+{members}", row.sightings + 1),
    }
}

fn cells(row: &CaseRow) -> [String; 6] {
    let account = row.account.as_ref().map_or_else(String::new, |account| {
        format!(" ({})", sanitize_line(account, 40))
    });
    [
        row.id.to_string(),
        row.opened_at.format("%m-%d %H:%M").to_string(),
        short(row.shown_severity()).to_owned(),
        outcome_label(row).to_owned(),
        arrival_count(row),
        row_title(row) + &account,
    ]
}

/// Returns the title of a case, with a note when a person disagrees with the verdict.
fn row_title(row: &CaseRow) -> String {
    let said = row.person_verdict.map_or_else(String::new, |verdict| {
        format!("people say {}: ", verdict.title())
    });
    let subject = row.subject.as_ref();
    let subject = subject.filter(|subject| !row.title.contains(subject.as_str()));
    let on = subject.map_or_else(String::new, |subject| {
        format!(" on {}", sanitize_line(subject, 60))
    });
    format!("{said}{}{on}", sanitize_line(&row.title, 80))
}

/// Returns the verdict, or the status while there is none.
pub(super) fn outcome_label(row: &CaseRow) -> &'static str {
    match (row.status, row.verdict) {
        (CaseStatus::Concluded, Some(verdict)) => verdict.title(),
        (CaseStatus::Failed, _) => "Not triaged",
        (status, _) => row.cancelled_verdict().unwrap_or(status.as_str()),
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
struct CaseJson<'a> {
    case: &'a CaseRow,
    report: &'a Option<Report>,
    sightings: &'a [nightshift_pipeline::case::Sighting],
    members: &'a [nightshift_pipeline::case::StormMember],
    person_verdicts: &'a [PersonVerdict],
    desk: &'a CaseWorkflow,
    deliveries: &'a [nightshift_pipeline::case::DeliveryRow],
    events: usize,
    unreadable: &'a Option<String>,
    cancelled_by: &'a Option<String>,
}

async fn show(app: &App, options: &CasesShowArgs) -> Result<(), Exit> {
    let view = app.store.view(&options.id).await?;
    if options.json.json {
        return print_json(&CaseJson {
            case: &view.row,
            report: &view.report,
            sightings: &view.sightings,
            members: &view.members,
            person_verdicts: &view.person_verdicts,
            desk: &view.workflow,
            deliveries: &view.deliveries,
            events: view.events.len(),
            unreadable: &view.unreadable,
            cancelled_by: &view.cancelled_by,
        });
    }
    let mut text = match &view.report {
        Some(report) => nightshift_render::render_text(report, &text_options(app)),
        None => unfinished::render_unfinished(&view),
    };
    text.push_str(&trace(app, &view));
    print(&text)
}

/// Returns the sightings of a case and the deliveries of its report.
fn trace(app: &App, view: &CaseView) -> String {
    let mut lines = Vec::new();
    for sighting in &view.sightings {
        let at = sighting.at.format("%Y-%m-%d %H:%M:%S UTC");
        let source = sanitize_line(&sighting.source, 60);
        lines.push(
            match (sighting.state_at_feed(), sighting.description(Language::En)) {
                (Some(state), _) => {
                    format!("{} at {at}, told by {source}", sanitize_line(state, 30))
                }
                (None, Some(words)) => format!(
                    "seen again {at} from {source}, count {} ({})",
                    sighting.count,
                    sanitize_line(&words, 100)
                ),
                (None, None) => format!("seen again {at} from {source}, count {}", sighting.count),
            },
        );
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
            sanitize_line(&member.key, 100),
            sanitize_line(&member.title, 100)
        ));
    }
    if let Some(by) = &view.cancelled_by {
        lines.push(format!("called off by {}", sanitize_line(by, 60)));
    }
    lines.extend(view.person_verdicts.iter().map(feedback::verdict_line));
    // Verdicts of people appear above, beside the revision that they are about.
    let others = view.workflow.acts.iter().filter(|act| {
        !matches!(
            act.kind,
            CaseActionKind::Agreed | CaseActionKind::Disagreed { .. }
        )
    });
    lines.extend(others.map(workflow::action_line));
    lines.extend(view.deliveries.iter().map(|one| render_delivery(app, one)));
    lines.push(format!(
        "journal: {} events of revision {}",
        view.events.len(),
        view.row.revision
    ));
    if let Some(why) = &view.unreadable {
        lines.push(format!(
            "this version cannot read the rest of the journal and does not continue the case: {}",
            sanitize_line(why, 300)
        ));
    }
    format!("\n{}\n", lines.join("\n"))
}

/// Returns the place where a report is shown, or the reason why it is not shown.
fn render_delivery(app: &App, delivery: &DeliveryRow) -> String {
    let how = how_far(delivery);
    let there = delivery.remote_id.as_ref().map_or_else(String::new, |id| {
        let link = remote_link(&app.destinations, &delivery.destination, id);
        let link = link.map_or_else(String::new, |link| format!(" {link}"));
        format!(", there {}{link}", sanitize_line(id, 100))
    });
    format!("destination {}: {how}{there}", delivery.destination)
}

fn how_far(delivery: &DeliveryRow) -> String {
    match &delivery.error {
        _ if delivery.is_unwanted() => {
            "nothing was sent: the destination does not want this report yet".to_owned()
        }
        _ if delivery.sent >= delivery.wanted => "shown".to_owned(),
        Some(error) => format!(
            "not shown after {} tries: {}",
            delivery.attempts,
            sanitize_line(error, 200)
        ),
        None if delivery.sent > 0 && delivery.is_shown() => {
            "shown; later changes are pending".to_owned()
        }
        None => "not shown yet".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use nightshift_pipeline::delivery_payload::DeliveredReport;
    use nightshift_pipeline::report::{ReportProducer, sample_report};

    use super::*;

    #[test]
    fn what_a_destination_did_not_want_is_not_called_shown() {
        let report = sample_report(
            "k3f9",
            chrono::DateTime::UNIX_EPOCH,
            &ReportProducer::default(),
        );
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
        let unwanted = "nothing was sent: the destination does not want this report yet";
        assert_eq!(how_far(&row), unwanted);
        row.wanted = 2;
        assert_eq!(how_far(&row), "not shown yet");
        row.shown = Some(DeliveredReport::from_report(&report));
        assert_eq!(how_far(&row), "shown; later changes are pending");
        row.sent = 2;
        assert_eq!(how_far(&row), "shown");
    }
}
