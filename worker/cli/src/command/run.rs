//! `nightshift run`: triages the alerts of one message while the user watches.

use std::collections::BTreeSet;
use std::sync::Arc;

use nightshift_alert::Alert;
use nightshift_engine::driver::CaseEnd;
use nightshift_engine::event::{CommandId, CommandOutcome, Event, EventBody};
use nightshift_engine::fold::fold;
use nightshift_engine::tool::ToolCall;
use nightshift_pipeline::admission::{Admission, RevisionReason};
use nightshift_pipeline::case::{CaseId, CaseStatus};
use nightshift_pipeline::intake::Arrival;
use nightshift_pipeline::loops::DeliveryLoop;
use nightshift_pipeline::port::AcceptedAlert;
use nightshift_pipeline::report::Report;
use nightshift_pipeline::spans::record_accepted as trace_accepted;
use nightshift_pipeline::triage::Triage;
use nightshift_render::{
    TextOptions, render_json, render_markdown, render_short_markdown, render_short_text,
    render_text,
};
use tokio_util::sync::CancellationToken;

use super::input;
use crate::args::{OutputFormat, RunArgs, StrategyArg};
use crate::exit::Exit;
use crate::output::{print, print_stderr, wants_colour, width};
use crate::progress::{Progress, plan_lines};
use crate::wiring::{App, Overrides};

const SOURCE: &str = "run";
/// The command that shows a whole report, without the id of its case.
pub(super) const SHOW: &str = "nightshift cases show";

pub(super) async fn run(app: &App, options: &RunArgs) -> Result<(), Exit> {
    let bytes = input::read_input(&options.file)?;
    let batch = nightshift_alert::read_message(&bytes, &app.read_options())
        .map_err(|error| Exit::usage(format!("{}: {error}", options.file)))?;
    for rejected in &batch.rejected {
        print_stderr(&format!(
            "{}: at {:?}: {}",
            options.file, rejected.path, rejected.error
        ));
    }
    if batch.alerts.is_empty() && batch.rejected.is_empty() {
        print_stderr(&format!(
            "{}: no findings in it, nothing to do",
            options.file
        ));
        return Ok(());
    }
    let rejected = batch.rejected.len();
    let result = if options.plan_only {
        plan_only(app, options, batch.alerts).await
    } else {
        Box::pin(triage(app, options, batch.alerts, &bytes)).await
    };
    app.write_metrics()?;
    result?;
    if rejected > 0 {
        return Err(Exit::usage(format!(
            "{rejected} findings could not be read"
        )));
    }
    Ok(())
}

/// Returns the settings that the command line overrides.
fn overrides(options: &RunArgs) -> Overrides<'_> {
    Overrides {
        profile: options.profile.as_deref(),
        strategy: options.strategy.map(StrategyArg::strategy),
        model: options.model.as_deref(),
        ..Overrides::default()
    }
}

async fn triage(
    app: &App,
    options: &RunArgs,
    alerts: Vec<Alert>,
    bytes: &[u8],
) -> Result<(), Exit> {
    let progress = (!options.quiet).then(|| Arc::new(Progress::new(false)));
    let watcher = progress.clone().map(|progress| progress as Arc<_>);
    let triage = app.triage(&overrides(options), watcher)?;
    let raw: Arc<[u8]> = bytes.into();
    let arrivals = alerts.into_iter().map(|alert| Arrival {
        source: SOURCE.to_owned(),
        at: app.clock.now(),
        alert: Arc::new(alert),
        raw: Arc::clone(&raw),
        unreadable: None,
        on_demand: true,
        link: None,
    });
    let arrivals: Arc<[Arrival]> = arrivals.collect();
    let accepted = app.store.accept(Arc::clone(&arrivals)).await?;
    trace_accepted("file", SOURCE, &arrivals, &accepted);
    let release = super::stop_on_signal();
    let mut failed = false;
    let (ids, triages) = triages(accepted);
    for id in &triages {
        let report = triage_case(app, &triage, id, &release).await;
        if let (Err(_), Some(progress)) = (&report, &progress) {
            progress.finish();
        }
        let report = report?;
        failed |= report.status == CaseStatus::Failed;
        if let Some(progress) = &progress {
            progress.finish();
        }
        print(&render(app, &report, options))?;
    }
    Box::pin(deliver(app, &ids, &release)).await?;
    if failed {
        Err(Exit::Reported(1))
    } else {
        Ok(())
    }
}

/// Returns the cases of a message, and the same cases once for each triage: once for all states that join the waiting
/// alert, and once for each state that is triaged after it.
fn triages(accepted: Vec<AcceptedAlert>) -> (Vec<CaseId>, Vec<CaseId>) {
    let (mut ids, mut triages) = (Vec::new(), Vec::new());
    for accepted in accepted {
        // An alert that a person asks to triage always has a case.
        let Some(id) = accepted.case_id else { continue };
        if !ids.contains(&id) {
            ids.push(id.clone());
            triages.push(id.clone());
        }
        let waits_behind = matches!(accepted.admission, Admission::Revision(_, change) if change != RevisionReason::Asked);
        triages.extend(waits_behind.then_some(id));
    }
    (ids, triages)
}

/// Drives one case to its end.
async fn triage_case(
    app: &App,
    triage: &Triage,
    id: &CaseId,
    release: &CancellationToken,
) -> Result<Report, Exit> {
    let claimed = app.store.claim_one(id).await?.ok_or_else(|| {
        Exit::Failed(anyhow::anyhow!(
            "another process is triaging case {id}; `nightshift cases show {id}` shows how far it is"
        ))
    })?;
    match triage.run(claimed, release).await {
        Ok(CaseEnd::Concluded(_)) => {}
        Ok(CaseEnd::Released(_)) => {
            return Err(Exit::Failed(anyhow::anyhow!(
                "stopped; the same command goes on with case {id} where it is"
            )));
        }
        Ok(CaseEnd::Cancelled(_)) => {
            return Err(Exit::Failed(anyhow::anyhow!("case {id} was called off")));
        }
        Err(error) => return Err(Exit::Failed(error.into())),
    }
    let view = app.store.view(&id.0).await?;
    view.report
        .ok_or_else(|| Exit::Failed(anyhow::anyhow!("case {id} ended without a report")))
}

/// Delivers the reports of these cases as a worker does. Destinations that a worker serves are left to it.
async fn deliver(app: &App, ids: &[CaseId], stop: &CancellationToken) -> Result<(), Exit> {
    let holder = uuid::Uuid::new_v4().to_string();
    let handing_on = Arc::new(app.failover());
    let all = app
        .delivery_targets()
        .into_iter()
        .map(|(kind, destination)| DeliveryLoop {
            kind,
            outbox: app.store.clone(),
            destination,
            failover: Arc::clone(&handing_on),
            notifier: app.store.clone(),
            meter: app.metrics.clone(),
            holder: holder.clone(),
            digest: None,
            canary: None,
        });
    let all: Vec<DeliveryLoop> = all.collect();
    let mut served: BTreeSet<&str> = BTreeSet::new();
    // If a destination refuses a report permanently, the next one of the route takes it. That one may come earlier in
    // this loop.
    for _ in &all {
        let mut tried = 0;
        for one in &all {
            match one.deliver_cases(ids, stop).await? {
                Some(count) => tried += count,
                None => drop(served.insert(one.destination.name())),
            }
        }
        if tried == 0 {
            break;
        }
    }
    for one in &all {
        let name = one.destination.name();
        report_undelivered(app, ids, name, served.contains(name)).await?;
    }
    Ok(())
}

/// Prints which of these cases a destination does not show.
async fn report_undelivered(
    app: &App,
    ids: &[CaseId],
    name: &str,
    is_served: bool,
) -> Result<(), Exit> {
    let (mut due, mut refused) = (0, 0);
    for id in ids {
        let rows = app.store.view(&id.0).await?.deliveries;
        let rows = rows.iter().filter(|row| row.destination == name);
        for row in rows.filter(|row| row.sent < row.wanted) {
            *(if row.given_up { &mut refused } else { &mut due }) += 1;
        }
    }
    if due > 0 && is_served {
        print_stderr(&format!(
            "reports left for {name}, which another process serves: {due}; the worker delivers it"
        ));
    } else if due > 0 {
        print_stderr(&format!(
            "reports not delivered to {name}: {due}; `nightshift worker` tries again, `nightshift cases show` says why"
        ));
    }
    if refused > 0 {
        print_stderr(&format!(
            "reports that {name} refused: {refused}; `nightshift cases show` says why"
        ));
    }
    Ok(())
}

/// Renders the report in the chosen format and length.
fn render(app: &App, report: &Report, options: &RunArgs) -> String {
    let now = app.clock.now();
    match (options.format, options.full) {
        (OutputFormat::Json, _) => render_json(report),
        (OutputFormat::Markdown, true) => render_markdown(report, now),
        (OutputFormat::Markdown, false) => render_short_markdown(report, now, SHOW),
        (OutputFormat::Text, true) => render_text(report, &text_options(app)),
        (OutputFormat::Text, false) => render_short_text(report, &text_options(app), SHOW),
    }
}

/// Returns the options of this terminal.
pub(super) fn text_options(app: &App) -> TextOptions {
    TextOptions {
        width: width(),
        colour: wants_colour(),
        now: app.clock.now(),
        local: None,
    }
}

/// Makes the event of a finished command, without its cost.
fn finished(id: CommandId, outcome: CommandOutcome) -> EventBody {
    EventBody::Finished {
        id,
        outcome: Box::new(outcome),
        cost: Default::default(),
        degraded: None,
        model: None,
        unanswered: Vec::new(),
    }
}

/// Shows the plan only. Nothing is stored, and only earlier cases are looked up.
async fn plan_only(app: &App, options: &RunArgs, alerts: Vec<Alert>) -> Result<(), Exit> {
    let profiles = app.profiles(&overrides(options))?;
    for alert in alerts {
        let name = options
            .profile
            .clone()
            .unwrap_or_else(|| app.routes.profile(&alert).to_owned());
        let profile = profiles.named(&name);
        let now = app.clock.now();
        let event = |body| Event::new(now, body);
        let opened = profile.open(&CaseId("plan-only".to_owned()), 1, Arc::new(alert));
        let context = nightshift_engine::tool::CallContext {
            case_id: opened.case_id.clone(),
            alert: Arc::clone(&opened.alert),
            now,
        };
        let call = ToolCall::new("past_cases", serde_json::Map::new());
        let past = match profile.toolbox.call(&call, &context).await {
            Ok(output) => CommandOutcome::Called(output),
            Err(error) => CommandOutcome::CallFailed(error),
        };
        let started = |id| EventBody::Started {
            id,
            attempt: 1,
            reserved: Default::default(),
        };
        let mut events = vec![
            event(EventBody::Opened(Box::new(opened))),
            event(EventBody::Claimed { epoch: 1 }),
            event(started(CommandId::past_cases())),
            event(finished(CommandId::past_cases(), past)),
        ];
        let question = fold(&events)
            .plan_question()
            .ok_or_else(|| anyhow::anyhow!("the case is not open"))?;
        let answer = profile
            .analyst
            .plan(&question)
            .await
            .map_err(|error| anyhow::anyhow!("no plan could be made: {}", error.error))?;
        events.push(event(finished(
            CommandId::plan(),
            CommandOutcome::Planned(answer.value),
        )));
        let plan = fold(&events).plan.unwrap_or_default();
        if options.format == OutputFormat::Json {
            crate::output::print_json(&plan)?;
        } else {
            print(&plan_lines(&plan).join("\n"))?;
        }
    }
    Ok(())
}
