//! `nightshift destinations drop`: gives up pending deliveries to a destination that is no longer configured.

use nightshift_pipeline::loops::GivenUp;
use nightshift_pipeline::port::Owed;
use serde_json::json;

use crate::exit::Exit;
use crate::output::{plain, print, print_json, say};
use crate::wiring::App;

/// Most characters of a name.
const MOST_CHARS: usize = 100;

pub(super) async fn drop(app: &App, name: &str, as_json: bool) -> Result<(), Exit> {
    if app.has_destination(name) {
        return Err(Exit::usage(format!(
            "{name:?} is a [[destination]] of the configuration, and its reports are delivered; remove it there first, \
             wait until the workers have followed, and run this again"
        )));
    }
    let given_up = app.giving_up().give_up(name).await?;
    if given_up.is_served {
        return Err(Exit::Failed(anyhow::anyhow!(
            "another process delivers to {name:?}: its configuration still has it; {} reports were given up. Have that \
             worker follow, or stop it, and run this again; one that was killed holds the destination for 45 seconds",
            given_up.reports
        )));
    }
    let others = app.owed_to_nobody().await?;
    if as_json {
        print_json(&json!({
            "destination": name, "given_up": given_up.reports, "handed_on": given_up.handed_on,
        }))?;
    } else {
        print(&told(name, &given_up))?;
    }
    if let Some(text) = left(&others) {
        say(&text);
    }
    Ok(())
}

/// Returns what became of the pending deliveries.
fn told(name: &str, given_up: &GivenUp) -> String {
    let name = plain(name, MOST_CHARS);
    if given_up.reports == 0 {
        return format!("0 reports given up: none is owed to {name}");
    }
    let mut lines = vec![format!("reports to {name} given up: {}", given_up.reports)];
    for (next, reports) in &given_up.handed_on {
        lines.push(format!(
            "handed to {}, the `otherwise` of their route: {reports}",
            plain(next, MOST_CHARS)
        ));
    }
    let handed_on: u64 = given_up.handed_on.values().sum();
    let rest = given_up.reports.saturating_sub(handed_on);
    if rest > 0 {
        lines.push(format!(
            "handed to nobody, as no destination of an `otherwise` takes them: {rest}; their cases stay in `nightshift cases list` and on the pages"
        ));
    }
    lines.join("\n")
}

/// Returns the other removed destinations with pending deliveries, in case the name was misspelt.
fn left(others: &[Owed]) -> Option<String> {
    let each = |one: &Owed| format!("{} ({})", plain(&one.destination, MOST_CHARS), one.reports);
    let names: Vec<String> = others.iter().map(each).collect();
    (!names.is_empty()).then(|| {
        format!(
            "note: reports are also owed to destinations that the configuration has not: {}",
            names.join(", ")
        )
    })
}
