//! Implements `nightshift cases show ID --events`: the journal of a case with one line per event.

use nightshift_engine::event::{CommandOutcome, Event, EventBody};
use nightshift_engine::journal::read_event;
use nightshift_engine::question::TurnAnswer;
use nightshift_pipeline::export::JournalLine;

use crate::args::CasesShowArgs;
use crate::exit::Exit;
use crate::output::{print, sanitize_line};
use crate::wiring::App;

/// Maximum number of characters of an event's result.
const MAX_CHARS: usize = 160;

/// Prints the journal of the latest revision.
pub(super) async fn show(app: &App, options: &CasesShowArgs) -> Result<(), Exit> {
    let row = app.store.view(&options.id).await?.row;
    let lines = app.store.journal(&row.id, Some(row.revision)).await?;
    let shown: Vec<String> = if options.json.json {
        lines.into_iter().map(|line| line.event).collect()
    } else {
        lines.iter().map(line).collect()
    };
    print(&shown.join("\n"))
}

/// Returns the time, epoch, kind, command and result of an event.
fn line(line: &JournalLine) -> String {
    let (at, kind, command, what) = match read_event(&line.event) {
        Ok(event) => (
            event.at.format("%Y-%m-%d %H:%M:%S%.3f").to_string(),
            event.body.kind(),
            event.body.command().map(ToString::to_string),
            what(&event),
        ),
        Err(error) => ("-".to_owned(), "unreadable", None, error.to_string()),
    };
    let command = sanitize_line(&command.unwrap_or_default(), 40);
    let text = format!(
        "{at:<23}  {:>3}  {kind:<10}  {command:<16}  {}",
        line.epoch,
        sanitize_line(&what, MAX_CHARS)
    );
    text.trim_end().to_owned()
}

fn what(event: &Event) -> String {
    match &event.body {
        EventBody::Opened(opened) => format!(
            "revision {} of {}, profile {}, {}, {} tools",
            opened.revision,
            opened.alert.kind,
            opened.profile,
            opened.analyst.as_str(),
            opened.tools.len()
        ),
        EventBody::Claimed { .. } | EventBody::Withdrawn { .. } => String::new(),
        EventBody::Started { attempt: 1, .. } => String::new(),
        EventBody::Started { attempt, .. } => format!("attempt {attempt}"),
        EventBody::Finished {
            outcome,
            degraded,
            unanswered,
            ..
        } => {
            let lesser = degraded
                .as_ref()
                .map_or_else(String::new, |error| format!(" (by the playbook: {error})"));
            let mut words = outcome_words(outcome) + &lesser;
            for line in unanswered {
                words.push_str("; ");
                words.push_str(line);
            }
            words
        }
        EventBody::TimeUp => "the active time is used up".to_owned(),
        EventBody::Cancelled { by } => format!("by {by}"),
        EventBody::Concluded(end) => format!("{}: {}", end.verdict.title(), end.summary),
    }
}

fn outcome_words(outcome: &CommandOutcome) -> String {
    match outcome {
        CommandOutcome::Planned(plan) => format!("{} steps: {}", plan.steps.len(), plan.objective),
        CommandOutcome::Turned(TurnAnswer::Calls { calls, .. }) => {
            let names: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
            format!("asks for {}", names.join(", "))
        }
        CommandOutcome::Turned(TurnAnswer::Result {
            outcome, summary, ..
        }) => format!("{}: {summary}", outcome.as_str()),
        CommandOutcome::Decided(decision) => decision.next.as_ref().map_or_else(
            || "done".to_owned(),
            |next| format!("next: {}", next.description),
        ),
        CommandOutcome::Reflected(reflection) => format!(
            "{}, changes to the plan: {}{}",
            if reflection.achieved {
                "achieved"
            } else {
                "not yet achieved"
            },
            reflection.plan_updates.len(),
            reflection
                .insights
                .first()
                .map_or_else(String::new, |insight| format!(": {insight}"))
        ),
        CommandOutcome::Drafted(draft) => format!(
            "proposes {} with {} findings",
            draft.verdict.title().to_lowercase(),
            draft.findings.len()
        ),
        CommandOutcome::Called(output) => match output.rows {
            Some(1) => "1 row".to_owned(),
            Some(rows) => format!("{rows} rows"),
            None => "answered".to_owned(),
        },
        CommandOutcome::Exonerated(facts) => format!("records from rules: {}", facts.len()),
        CommandOutcome::CallFailed(error) => format!("failed: {error}"),
        CommandOutcome::AskFailed(error) => format!("failed: {error}"),
    }
}
