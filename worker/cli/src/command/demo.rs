//! `nightshift demo`: runs sample alerts from source to report.
//!
//! Alerts, registers, lists and logs of the demo are compiled in, and playbooks give the verdicts. Without `--once` the
//! demo then serves the pages of its store. It reads no configuration; see `isolation`.

mod isolation;
mod samples;
mod source;

use std::sync::Arc;

use anyhow::Context;
use nightshift_destinations::StdoutDestination;
use nightshift_engine::driver::CaseEnd;
use nightshift_pipeline::admission::Admission;
use nightshift_pipeline::case::Lane;
use nightshift_pipeline::delivery::{DirectDelivery, deliver_due};
use nightshift_pipeline::intake::{BatchOrder, Intake};
use nightshift_pipeline::port::{AcceptedAlert, Destination};
use nightshift_pipeline::triage::Triage;
use nightshift_web::{BoundServer, WebConfig};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::cases::{outcome_label, short};
use super::run::text_options;
use super::table::one_line_rows;
use crate::args::DemoArgs;
use crate::config::LoadedConfig;
use crate::exit::Exit;
use crate::output::{pluralise, print, print_stderr, sanitize_line, stdout};
use crate::progress::Progress;
use crate::wiring::{App, Overrides};
pub(super) use isolation::demo_config;
use source::DemoSource;

/// Maximum number of messages of one round.
const MAX_MESSAGES: usize = 100;

pub(super) async fn run(loaded: &LoadedConfig, options: &DemoArgs) -> Result<(), Exit> {
    let mut app = App::build(loaded).await?;
    isolation::check_demo_store(&app).await?;
    if let Some(ignored) = isolation::ignored(loaded) {
        print_stderr(&ignored);
    }
    let shown: Arc<dyn Destination> = Arc::new(StdoutDestination::new(
        "stdout",
        stdout(),
        Arc::clone(&app.clock),
        text_options(&app),
        (!options.full).then(|| isolation::show_command(loaded)),
    ));
    app.use_single_destination(shown);
    let pages = match options.once {
        true => None,
        false => Some(pages(&app, options).await?),
    };
    let say_if = |text: &str| {
        if !options.quiet {
            print_stderr(text);
        }
    };
    let accepted = intake(&app).await?;
    say_if(&summarise_arrivals(&accepted));
    let progress = (!options.quiet).then(|| Arc::new(Progress::new(true)));
    let watcher = progress.clone().map(|progress| progress as Arc<_>);
    let triage = app.triage(&Overrides::demo(), watcher)?;
    let stop = super::stop_on_signal();
    let triaged = triage_all(&app, &triage, &stop).await;
    if let Some(progress) = &progress {
        progress.finish();
    }
    triaged?;
    deliver(&app).await?;
    closing_table(&app, &accepted).await?;
    say_if(&isolation::how_to_list(loaded));
    let Some(pages) = pages else {
        return Ok(());
    };
    let (doors, pages) = pages.open(&stop).await;
    let address = doors.address().context("the pages")?;
    say_if(&format!(
        "the cases are on http://{address}/ until you press Ctrl-C"
    ));
    for page in pages {
        page.await;
    }
    Ok(())
}

/// Binds the pages to this host only. This comes first, so that a port in use is reported at once.
async fn pages(app: &App, options: &DemoArgs) -> Result<BoundServer, Exit> {
    let config = WebConfig {
        listen: format!("127.0.0.1:{}", options.port),
        ..WebConfig::default()
    };
    let no_tokens = |_: &str| Err("the demo has no tokens".to_owned());
    let pages = config.options(no_tokens).context("the pages")?;
    let bound = app.server(pages)?.bind().await;
    Ok(bound.context("the pages; --port takes another port, --once does without")?)
}

async fn intake(app: &App) -> Result<Vec<AcceptedAlert>, Exit> {
    let intake = Intake {
        inbox: app.store.clone(),
        clock: Arc::clone(&app.clock),
        meter: app.metrics.clone(),
        options: app.read_options(),
        order: BatchOrder::default(),
        commit_timeout: std::time::Duration::ZERO,
        canary: None,
        severities: Arc::default(),
    };
    let source = DemoSource::new(samples::MESSAGES);
    let mut accepted = Vec::new();
    loop {
        let round = intake
            .round(&source, MAX_MESSAGES)
            .await
            .map_err(|error| Exit::Failed(error.into()))?;
        if round.ended {
            return Ok(accepted);
        }
        accepted.extend(round.accepted);
    }
}

/// Triages until no case waits, including those of an earlier, interrupted demo.
async fn triage_all(app: &App, triage: &Triage, release: &CancellationToken) -> Result<(), Exit> {
    let mut running: JoinSet<Result<CaseEnd, nightshift_pipeline::triage::TriageError>> =
        JoinSet::new();
    loop {
        let room = app.config.worker.max_cases.saturating_sub(running.len());
        if room > 0 && !release.is_cancelled() {
            for claimed in app.store.claim(Lane::Any, room).await? {
                let (triage, release) = (triage.clone(), release.clone());
                running.spawn(async move { triage.run(claimed, &release).await });
            }
        }
        let Some(ended) = running.join_next().await else {
            break;
        };
        ended
            .map_err(|error| Exit::Failed(error.into()))?
            .map_err(|error| Exit::Failed(error.into()))?;
    }
    if release.is_cancelled() {
        return Err(Exit::Failed(anyhow::anyhow!(
            "stopped; the same command goes on with the cases where they are"
        )));
    }
    Ok(())
}

async fn deliver(app: &App) -> Result<(), Exit> {
    let delivery = DirectDelivery {
        outbox: app.store.clone(),
        destinations: app.delivery_targets(),
        meter: app.metrics.clone(),
    };
    loop {
        let (sent, _) = deliver_due(&delivery, MAX_MESSAGES).await?;
        if sent == 0 {
            return Ok(());
        }
    }
}

/// Summarises the contents of the messages in a line.
fn summarise_arrivals(accepted: &[AcceptedAlert]) -> String {
    let new = count(accepted, |admission| *admission == Admission::New);
    let seen = count(accepted, |admission| {
        matches!(admission, Admission::Sighting(..))
    });
    let others = match accepted.len() - new - seen {
        0 => String::new(),
        others => format!(", {others} otherwise"),
    };
    format!(
        "{} messages hold {} alerts: {}, {}{others}",
        samples::MESSAGES.len(),
        accepted.len(),
        pluralise(new, "new case", "new cases"),
        pluralise(seen, "sighting", "sightings"),
    )
}

fn count(accepted: &[AcceptedAlert], wanted: impl Fn(&Admission) -> bool) -> usize {
    accepted.iter().filter(|one| wanted(&one.admission)).count()
}

/// Prints a table of all alerts and what became of them.
async fn closing_table(app: &App, accepted: &[AcceptedAlert]) -> Result<(), Exit> {
    let mut rows = Vec::new();
    for one in accepted {
        let came = match (&one.admission, one.dead_letter) {
            (Admission::Sighting(..), _) => "sighting".to_owned(),
            (_, Some(number)) => format!("dead letter {number}"),
            (Admission::Muted(name), None) => format!("muted by {name}"),
            (Admission::SetAside(why), None) => format!("set aside: {why}"),
            (admission, None) => admission.as_str().to_owned(),
        };
        let Some(id) = &one.case_id else {
            let none = String::new;
            let title = sanitize_line(&one.title, 120);
            rows.push([none(), sanitize_line(&came, 80), none(), none(), title]);
            continue;
        };
        let row = app.store.view(&id.0).await?.row;
        let severity = match row.assessed_severity {
            Some(assessed) if assessed != row.severity => {
                format!("{} → {}", short(row.severity), short(assessed))
            }
            _ => short(row.severity).to_owned(),
        };
        rows.push([
            id.to_string(),
            came,
            severity,
            outcome_label(&row).to_owned(),
            sanitize_line(&row.title, 80),
        ]);
    }
    let table = one_line_rows(["Case", "Came as", "Severity", "Verdict", "What"], &rows);
    print(&format!("\n{table}"))
}
