//! `nightshift destinations`: sends a sample, previews a delivery, and gives up the reports of a removed destination.

mod removed;

use std::sync::Arc;

use nightshift_engine::port::Clock;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::port::{DeliveryError, Destination};
use nightshift_pipeline::report::{EarlyReportInput, early_report, sample_report};

use crate::args::DestinationsCommand;
use crate::clock::SystemClock;
use crate::config::LoadedConfig;
use crate::exit::Exit;
use crate::output::{print, print_json, print_stderr};
use crate::wiring::{App, build_destinations};

pub(super) async fn run(loaded: &LoadedConfig, command: &DestinationsCommand) -> Result<(), Exit> {
    match command {
        DestinationsCommand::Test { name } => test(loaded, name).await,
        DestinationsCommand::Preview { name, case } => {
            preview(&App::build_on_existing(loaded).await?, name, case).await
        }
        DestinationsCommand::Drop { name, json } => {
            removed::drop_destination(&App::build_on_existing(loaded).await?, name, json.json).await
        }
    }
}

/// Sends a sample. It works before the first start, because it opens no store.
async fn test(loaded: &LoadedConfig, name: &str) -> Result<(), Exit> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let destination = find(&build_destinations(loaded, &clock)?, name)?;
    let id = uuid::Uuid::new_v4().simple().to_string();
    let id = format!("test-{}", id.get(..8).unwrap_or(&id));
    let report = sample_report(&id, clock.now(), &crate::wiring::report_producer());
    let sent = destination.deliver(&DeliveryPayload::new(report)).await;
    match sent {
        Ok(sent) => {
            let place = sent
                .remote_id
                .map_or_else(String::new, |id| format!(", as {id}"));
            print(&format!("{name} took the sample report {id}{place}"))
        }
        Err(error) => Err(Exit::Failed(anyhow::anyhow!(
            "{name}: {}",
            explain_delivery_error(&error)
        ))),
    }
}

/// Returns an error of a destination with its consequence for reports.
fn explain_delivery_error(error: &DeliveryError) -> String {
    match error {
        DeliveryError::Permanent { what } => {
            format!("{what}; reports would go to the next destination of their route")
        }
        DeliveryError::Transient { what, .. } | DeliveryError::NotVisibleYet { what, .. } => {
            format!("{what}; reports would be tried again")
        }
        DeliveryError::Partial { what, .. } => format!("it shows a part of the report: {what}"),
        DeliveryError::Ambiguous { what } => format!("{what}; look whether the sample arrived"),
    }
}

async fn preview(app: &App, name: &str, case: &str) -> Result<(), Exit> {
    let destination = find(&app.destinations, name)?;
    let view = app.store.view(case).await?;
    let report = view.report.unwrap_or_else(|| {
        let early = EarlyReportInput {
            case_id: view.row.id.clone(),
            revision: view.row.revision,
            status: view.row.status,
            opened_at: view.row.opened_at,
            cancelled_by: view.cancelled_by.clone(),
        };
        early_report(&view.alert, early)
    });
    let mut showing = DeliveryPayload::new(report);
    showing.report.alert.sightings = view.row.sightings;
    showing.report.alert.members = view.row.members;
    showing.workflow = view.workflow;
    if !destination.wants(&showing) {
        print_stderr(&format!(
            "note: {name} does not want this report as it stands, and would be sent nothing; this is what it would show"
        ));
    }
    match destination.preview(&showing) {
        Some(value) => print_json(&value),
        None => Err(Exit::usage(format!(
            "{name} has no preview: it takes the report as `nightshift cases show` prints it"
        ))),
    }
}

fn find(all: &[Arc<dyn Destination>], name: &str) -> Result<Arc<dyn Destination>, Exit> {
    let found = all.iter().find(|one| one.name() == name);
    found.cloned().ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|one| one.name()).collect();
        let known = if names.is_empty() {
            "there is no [[destination]] in the configuration; docs/destinations.md shows how one is configured".to_owned()
        } else {
            format!("there are: {}", names.join(", "))
        };
        Exit::usage(format!("there is no destination {name:?}; {known}"))
    })
}
