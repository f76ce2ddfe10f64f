//! `nightshift replay`: triages a recorded case again on its stored evidence and shows the differences.

use std::fmt::Write as _;
use std::sync::Arc;

use nightshift_engine::event::Event;
use nightshift_engine::journal::read_event;
use nightshift_engine::limits::Cost;
use nightshift_pipeline::export::JournalLine;
use nightshift_pipeline::replay::{ReplayDifference, RunSummary, compare, replay};

use crate::args::{ReplayArgs, StrategyArg};
use crate::exit::Exit;
use crate::output::{print, print_json, sanitize_line};
use crate::progress::Progress;
use crate::wiring::{App, Overrides};

/// Maximum number of characters of a claim or description on a line.
const MAX_CHARS: usize = 140;

pub(super) async fn run(app: &App, options: &ReplayArgs) -> Result<(), Exit> {
    let row = app.store.view(&options.id).await?.row;
    let lines = super::journal::revision_journal(app, &row, options.revision).await?;
    let events = events(&lines)?;
    let profiles = app.profiles(&Overrides {
        strategy: options.strategy.map(StrategyArg::strategy),
        model: options.model.as_deref(),
        ..Overrides::default()
    })?;
    let recorded = nightshift_engine::fold::fold(&events);
    let recorded = recorded.setup.as_ref().map(|opened| opened.profile.clone());
    let name = options.profile.clone().or(recorded);
    let name = name.unwrap_or_else(|| "default".to_owned());
    app.check_profile(&name)?;
    let progress = (!options.quiet && !options.json.json).then(|| Arc::new(Progress::new(false)));
    let replayed = replay(
        &events,
        &profiles.named(&name),
        Arc::clone(&app.clock),
        app.metrics.clone(),
        progress.clone().map(|progress| progress as Arc<_>),
        &super::stop_on_signal(),
    )
    .await;
    if let Some(progress) = progress {
        progress.finish();
    }
    app.write_metrics()?;
    let replayed = replayed.map_err(|error| Exit::Failed(error.into()))?;
    let difference = compare(&replayed);
    if options.json.json {
        print_json(&difference)?;
    } else {
        print(&text(&difference))?;
    }
    if difference.same_verdict {
        Ok(())
    } else {
        Err(Exit::Reported(1))
    }
}

fn events(lines: &[JournalLine]) -> Result<Vec<Event>, Exit> {
    lines
        .iter()
        .map(|line| {
            read_event(&line.event).map_err(|error| {
                Exit::Failed(
                    anyhow::Error::new(error)
                        .context(format!("event {} of the journal cannot be read", line.seq)),
                )
            })
        })
        .collect()
}

/// Renders both runs side by side, with equal parts shown once.
fn text(difference: &ReplayDifference) -> String {
    let (before, after) = (&difference.before, &difference.after);
    let mut out = String::new();
    let head = if difference.same_verdict {
        "the same verdict"
    } else {
        "another verdict"
    };
    let _ = writeln!(out, "Replay of case {}: {head}\n", difference.case_id);
    for (name, one, two) in rows(before, after) {
        if one == two {
            let _ = writeln!(out, "  {name:<10} {one}");
        } else {
            let _ = writeln!(out, "  {name:<10} {one}\n  {:<10} → {two}", "");
        }
    }
    steps(&mut out, before, after);
    list(
        &mut out,
        "No longer proven",
        &only(&before.proven, &after.proven),
    );
    list(
        &mut out,
        "Newly proven",
        &only(&after.proven, &before.proven),
    );
    list(
        &mut out,
        "Unverified now",
        &only(&after.unverified, &before.unverified),
    );
    list(&mut out, "Calls left out", &difference.calls_left_out);
    let unanswered = &difference.calls_unanswered;
    list(&mut out, "Calls without a recorded answer", unanswered);
    let others = only(&difference.calls_added, unanswered);
    list(&mut out, "Other calls that are new", &others);
    out
}

fn rows(before: &RunSummary, after: &RunSummary) -> Vec<(&'static str, String, String)> {
    let row = |name, of: fn(&RunSummary) -> String| (name, of(before), of(after));
    vec![
        row("profile", |side| side.profile.clone()),
        row("models", |side| {
            if side.models.is_empty() {
                "none".to_owned()
            } else {
                side.models.join(", ")
            }
        }),
        row("verdict", verdict),
        row("severity", |side| {
            side.assessed_severity
                .map_or_else(|| "none".to_owned(), |severity| severity.to_string())
        }),
        row("confidence", |side| {
            side.confidence
                .map_or("none", nightshift_engine::conclusion::Confidence::as_str)
                .to_owned()
        }),
        row("proven", |side| {
            format!(
                "{} of {} claims",
                side.proven.len(),
                side.proven.len() + side.unverified.len()
            )
        }),
        row("cost", |side| cost(side.cost)),
        row("analyst", |side| {
            if side.degraded {
                "a lesser analyst took over"
            } else {
                "as the profile wants"
            }
            .to_owned()
        }),
    ]
}

fn verdict(side: &RunSummary) -> String {
    let Some(verdict) = side.verdict else {
        return "none: the case has no conclusion".to_owned();
    };
    let leaning = side
        .leaning
        .filter(|leaning| *leaning != nightshift_engine::conclusion::Leaning::None)
        .map_or_else(String::new, |leaning| {
            format!(", leans {}", leaning.as_str())
        });
    let reason = side
        .reason
        .map_or("", nightshift_engine::conclusion::VerdictReason::as_str);
    format!("{}{leaning} ({reason})", verdict.as_str())
}

fn cost(cost: Cost) -> String {
    format!(
        "{} model calls, {} tokens in ({} cached), {} out, ${:.4}",
        cost.model_calls, cost.input_tokens, cost.cached_tokens, cost.output_tokens, cost.usd
    )
}

fn steps(out: &mut String, before: &RunSummary, after: &RunSummary) {
    for (name, side) in [("before", before), ("now", after)] {
        let _ = writeln!(out, "\n  Plan {name}:");
        for (number, step) in side.steps.iter().enumerate() {
            let outcome = step
                .outcome
                .map_or_else(String::new, |outcome| format!(", {}", outcome.as_str()));
            let _ = writeln!(
                out,
                "    {}. {} [{}{outcome}]",
                number + 1,
                sanitize_line(&step.description, MAX_CHARS),
                step.status.as_str()
            );
        }
    }
}

fn only<'a>(these: &'a [String], those: &[String]) -> Vec<&'a String> {
    these.iter().filter(|one| !those.contains(one)).collect()
}

fn list<T: AsRef<str>>(out: &mut String, title: &str, lines: &[T]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n  {title}:");
    for line in lines {
        let _ = writeln!(out, "    - {}", sanitize_line(line.as_ref(), MAX_CHARS));
    }
}

#[cfg(test)]
mod tests;
