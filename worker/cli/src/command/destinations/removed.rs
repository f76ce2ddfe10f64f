//! `nightshift destinations drop`: gives up pending deliveries to a destination that is no longer configured.

use nightshift_pipeline::loops::GiveUpOutcome;
use nightshift_pipeline::port::DestinationBacklog;
use serde_json::json;

use crate::exit::Exit;
use crate::output::{print, print_json, print_stderr, sanitize_line};
use crate::wiring::App;

/// Maximum number of characters of a name.
const MAX_CHARS: usize = 100;

pub(super) async fn drop_destination(app: &App, name: &str, as_json: bool) -> Result<(), Exit> {
    if app.has_destination(name) {
        return Err(Exit::usage(format!(
            "{name:?} is a [[destination]] of the configuration, and its reports are delivered; remove it there first, \
             wait until the workers have followed, and run this again"
        )));
    }
    let given_up = app.give_up_task().give_up(name).await?;
    if given_up.is_served {
        return Err(Exit::Failed(anyhow::anyhow!(
            "another process delivers to {name:?}: its configuration still has it; {} reports were given up. Have that \
             worker follow, or stop it, and run this again; one that was killed holds the destination for 45 seconds",
            given_up.reports
        )));
    }
    let others = app.orphaned_backlogs().await?;
    if as_json {
        print_json(&json!({
            "destination": name, "given_up": given_up.reports, "handed_on": given_up.failed_over,
        }))?;
    } else {
        print(&give_up_summary(name, &given_up))?;
    }
    if let Some(text) = suggest_similar_names(&others) {
        print_stderr(&text);
    }
    Ok(())
}

/// Returns what became of the pending deliveries.
fn give_up_summary(name: &str, given_up: &GiveUpOutcome) -> String {
    let name = sanitize_line(name, MAX_CHARS);
    if given_up.reports == 0 {
        return format!("0 reports given up: none is pending for {name}");
    }
    let mut lines = vec![format!("reports to {name} given up: {}", given_up.reports)];
    for (next, reports) in &given_up.failed_over {
        lines.push(format!(
            "handed to {}, the `otherwise` of their route: {reports}",
            sanitize_line(next, MAX_CHARS)
        ));
    }
    let handed_on: u64 = given_up.failed_over.values().sum();
    let rest = given_up.reports.saturating_sub(handed_on);
    if rest > 0 {
        lines.push(format!(
            "handed to nobody, as no destination of an `otherwise` takes them: {rest}; their cases stay in `nightshift cases list` and on the pages"
        ));
    }
    lines.join("\n")
}

/// Returns the other removed destinations with pending deliveries, in case the name was misspelt.
fn suggest_similar_names(others: &[DestinationBacklog]) -> Option<String> {
    let each = |one: &DestinationBacklog| {
        format!(
            "{} ({})",
            sanitize_line(&one.destination, MAX_CHARS),
            one.reports
        )
    };
    let names: Vec<String> = others.iter().map(each).collect();
    (!names.is_empty()).then(|| {
        format!(
            "note: reports are also pending for other removed destinations: {}",
            names.join(", ")
        )
    })
}
