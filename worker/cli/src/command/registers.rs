//! `nightshift registers`: shows which row of which register covers the subjects of an alert, without triage.

use std::sync::Arc;

use nightshift_alert::Alert;
use nightshift_engine::exoneration::Exoneration;
use nightshift_engine::ledger_row::LedgerRow;
use nightshift_engine::port::Toolbox;
use nightshift_engine::tool::{CallContext, ToolCall};
use nightshift_engine::verdict_policy::build_ledger;
use nightshift_engine::verdict_policy::lookup::{MOST_LOOKUPS, register_calls};

use super::input;
use super::table::one_line_rows;
use crate::args::{JsonFlag, RegistersCommand};
use crate::config::LoadedConfig;
use crate::exit::Exit;
use crate::output::{authored_line, print, print_json, print_stderr, sanitize_line};
use crate::wiring::App;

pub(super) async fn run(loaded: &LoadedConfig, command: &RegistersCommand) -> Result<(), Exit> {
    match command {
        RegistersCommand::Explain { file, json } => {
            let app = App::build(loaded).await?;
            explain(&app, file, *json).await
        }
    }
}

async fn explain(app: &App, file: &str, json: JsonFlag) -> Result<(), Exit> {
    let batch = nightshift_alert::read_message(&input::read_input(file)?, &app.read_options())
        .map_err(|error| Exit::usage(format!("{file}: {error}")))?;
    if batch.alerts.is_empty() {
        return Err(Exit::usage(format!("{file}: no alert in it")));
    }
    for alert in batch.alerts {
        let alert = Arc::new(alert);
        let calls = register_calls(&alert, &app.tools.specs());
        let is_within_limit = calls.len() <= MOST_LOOKUPS;
        let rows = answer_rows(app, alert, calls).await;
        if json.json {
            print_json(&rows)?;
        } else {
            show(&rows, is_within_limit)?;
        }
    }
    Ok(())
}

/// Puts the questions to the registers and returns the ledger of the alert.
async fn answer_rows(app: &App, alert: Arc<Alert>, calls: Vec<ToolCall>) -> Vec<LedgerRow> {
    let context = CallContext {
        case_id: String::new(),
        alert: Arc::clone(&alert),
        now: app.clock.now(),
    };
    let mut records: Vec<Exoneration> = Vec::new();
    for call in calls {
        match app.tools.call(&call, &context).await {
            Ok(output) => records.extend(output.exonerations),
            Err(error) => print_stderr(&format!("{}: {error}", call.tool)),
        }
    }
    build_ledger(&records, &alert)
}

fn show(rows: &[LedgerRow], is_within_limit: bool) -> Result<(), Exit> {
    let required = rows.iter().filter(|row| row.required);
    let told: Vec<[String; 3]> = required
        .map(|row| {
            let record = row.covered_by.as_ref().map(|record| {
                let until = record.until.map_or_else(String::new, |until| {
                    format!(", until {}", until.format("%F %R UTC"))
                });
                format!(
                    "{} {}{until}",
                    record.kind.replace('_', " "),
                    record.reference
                )
            });
            let missing = row.missing.as_deref().unwrap_or_default();
            [
                row.subject_type.clone(),
                sanitize_line(&row.subject, 80).to_string(),
                // A row to copy is printed exactly as it must be written.
                authored_line(
                    &record.unwrap_or_else(|| format!("nothing. {missing}")),
                    400,
                ),
            ]
        })
        .collect();
    print(&one_line_rows(["Type", "Subject", "Covered by"], &told))?;
    let is_covered = rows
        .iter()
        .all(|row| !row.required || row.covered_by.is_some());
    print(&match is_covered {
        _ if !is_within_limit => format!(
            "The alert needs more than the {MOST_LOOKUPS} look-ups that a case makes: no verdict is benign."
        ),
        true => "All of it is covered; triage also asks the audit logs.".to_owned(),
        false => "Not all of it is covered: no verdict is benign.".to_owned(),
    })
}
