//! `nightshift destinations`: sends a sample, previews a delivery, and gives up the reports of a removed destination.

mod gone;

use std::sync::Arc;

use nightshift_engine::port::Clock;
use nightshift_pipeline::port::{DeliveryError, Destination};
use nightshift_pipeline::report::{Early, early_report, sample_report};
use nightshift_pipeline::showing::Showing;

use crate::args::Destinations;
use crate::clock::SystemClock;
use crate::config::Loaded;
use crate::exit::Exit;
use crate::output::{print, print_json, say};
use crate::wiring::{App, destinations_alone};

pub(super) async fn run(loaded: &Loaded, command: &Destinations) -> Result<(), Exit> {
    match command {
        Destinations::Test { name } => test(loaded, name).await,
        Destinations::Preview { name, case } => {
            preview(&App::build_on_existing(loaded).await?, name, case).await
        }
        Destinations::Drop { name, json } => {
            gone::drop(&App::build_on_existing(loaded).await?, name, json.json).await
        }
    }
}

/// Sends a sample. It works before the first start, because it opens no store.
async fn test(loaded: &Loaded, name: &str) -> Result<(), Exit> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let destination = find(&destinations_alone(loaded, &clock)?, name)?;
    let id = uuid::Uuid::new_v4().simple().to_string();
    let id = format!("test-{}", id.get(..8).unwrap_or(&id));
    let report = sample_report(&id, clock.now(), &crate::wiring::sender());
    let sent = destination.deliver(&Showing::first(report)).await;
    match sent {
        Ok(sent) => {
            let place = sent
                .remote_id
                .map_or_else(String::new, |id| format!(", as {id}"));
            print(&format!("{name} took the sample report {id}{place}"))
        }
        Err(error) => Err(Exit::Failed(anyhow::anyhow!("{name}: {}", told(&error)))),
    }
}

/// Returns an error of a destination with its consequence for reports.
fn told(error: &DeliveryError) -> String {
    match error {
        DeliveryError::Never { what } => {
            format!("{what}; reports would go to the next destination of their route")
        }
        DeliveryError::Later { what, .. } | DeliveryError::Settling { what, .. } => {
            format!("{what}; reports would be tried again")
        }
        DeliveryError::Partly { what, .. } => format!("it shows a part of the report: {what}"),
        DeliveryError::Unclear { what } => format!("{what}; look whether the sample arrived"),
    }
}

async fn preview(app: &App, name: &str, case: &str) -> Result<(), Exit> {
    let destination = find(&app.destinations, name)?;
    let view = app.store.view(case).await?;
    let report = view.report.unwrap_or_else(|| {
        let early = Early {
            case_id: view.row.id.clone(),
            revision: view.row.revision,
            status: view.row.status,
            opened_at: view.row.opened_at,
            cancelled_by: view.cancelled_by.clone(),
        };
        early_report(&view.alert, early)
    });
    let mut showing = Showing::first(report);
    showing.report.alert.sightings = view.row.sightings;
    showing.report.alert.members = view.row.members;
    showing.desk = view.desk;
    if !destination.wants(&showing) {
        say(&format!(
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
