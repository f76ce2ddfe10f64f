//! The driver runs commands concurrently, writes the journal and asks `decide` again. Only the driver and the case
//! budget wait for anything.
//!
//! One transaction holds the outcomes that arrived and the commands that they start. No command runs before its start
//! is in the journal, and no outcome counts before it is.

mod ask;
mod spans;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::stream::{FuturesUnordered, StreamExt};
use nightshift_alert::text::truncate;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::case_budget::CaseBudget;
use crate::case_budget::QuestionReservation;
use crate::command::Command;
use crate::decide::decide;
use crate::event::{CaseSetup, CommandId, CommandOutcome, Event, EventBody};
use crate::fold::apply;
use crate::limits::Cost;
use crate::measurement::Measurement;
use crate::port::{
    Analyst, Clock, ExonerationResult, Exonerator, Journal, JournalError, Meter, Toolbox,
};
use crate::question::AskError;
use crate::state::CaseState;
use crate::tool::{CallContext, ToolCall, ToolError};

/// Ports that the driver needs.
#[derive(Clone)]
pub struct DriverPorts {
    /// Analyst that answers the questions.
    pub analyst: Arc<dyn Analyst>,
    /// Analyst that takes over when the first gives no answer.
    pub fallback: Option<Arc<dyn Analyst>>,
    /// Tools of the case.
    pub toolbox: Arc<dyn Toolbox>,
    /// Rules that may clear an alert.
    pub exonerator: Arc<dyn Exonerator>,
    /// Journal of this case.
    pub journal: Arc<dyn Journal>,
    /// Source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Receiver of measurements.
    pub meter: Arc<dyn Meter>,
}

/// State in which the driver left a case.
#[derive(Debug, Clone, PartialEq)]
pub enum CaseEnd {
    /// The case is concluded.
    Concluded(Box<CaseState>),
    /// A person cancelled the case.
    Cancelled(Box<CaseState>),
    /// The worker was asked to stop; the case continues elsewhere or later.
    Released(Box<CaseState>),
}

/// Reason why the driver could not continue.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The journal accepted no more events.
    #[error("cannot continue the case")]
    Journal(#[from] JournalError),
    /// Nothing runs and nothing can be started, but the case has not ended. This is a bug, reported instead of
    /// hanging.
    #[error("the case is stuck after {0} events")]
    Stuck(usize),
}

/// Maximum number of unanswered lines that are kept, and maximum number of characters of each.
const MAX_UNANSWERED: usize = 12;
const MAX_CHARS: usize = 600;

struct CompletedCommand {
    id: CommandId,
    result: CommandResult,
    reservation: Option<QuestionReservation>,
}

enum CommandResult {
    /// The command ended with an outcome that counts.
    Finished {
        outcome: Box<CommandOutcome>,
        cost: Cost,
        degraded: Option<AskError>,
        model: Option<String>,
        /// Questions of the rules that have no answer.
        unanswered: Vec<String>,
    },
    /// The command had no result for a reason outside the case. It is withdrawn at this cost.
    Withdrawn {
        cost: Cost,
        /// True if the command only got no turn at a model that is up.
        in_line: bool,
    },
}

impl CommandResult {
    /// Returns the result of a command that did not run.
    fn not_run() -> Self {
        Self::Withdrawn {
            cost: Cost::default(),
            in_line: false,
        }
    }
}

/// Runs a case from this state to its end, or until `release` is cancelled.
///
/// `state` is the fold of the journal, with the claim of this worker as its last event.
///
/// # Errors
///
/// Returns an error when the journal takes no more events: the lease is lost, or the store is unavailable.
pub async fn drive(
    ports: &DriverPorts,
    state: CaseState,
    release: &CancellationToken,
) -> Result<CaseEnd, DriveError> {
    // Running questions share the state. Without one, the state is changed in place.
    let mut state = Arc::new(state);
    let mut running = FuturesUnordered::new();
    let mut news: Vec<Event> = Vec::new();
    let mut down = false;
    let allowance = case_budget(&state);
    let deadline = tokio::time::sleep(time_left(&state));
    tokio::pin!(deadline);
    loop {
        for event in &news {
            apply(Arc::make_mut(&mut state), event);
        }
        down |= news
            .iter()
            .any(|event| matches!(event.body, EventBody::Withdrawn { .. }));
        // While the models are down or busy, no command is started. The driver waits for running commands, and the
        // case continues later.
        let commands = if down { Vec::new() } else { decide(&state) };
        if let Some(Command::Conclude(conclusion)) = commands.first() {
            let event = Event::new(ports.clock.now(), EventBody::Concluded(conclusion.clone()));
            apply(Arc::make_mut(&mut state), &event);
            news.push(event);
            ports.journal.conclude(&news, &state).await?;
            return Ok(CaseEnd::Concluded(unwrap_state(state)));
        }
        let now = ports.clock.now();
        let begun = start_commands(&mut state, &mut news, commands, &allowance, &running, now);
        if !news.is_empty() {
            ports.journal.append(&news).await?;
            news.clear();
        }
        if state.is_over() {
            return Ok(CaseEnd::Cancelled(unwrap_state(state)));
        }
        let run = |(command, begun)| run_command(ports.clone(), Arc::clone(&state), command, begun);
        running.extend(begun.into_iter().map(run));
        if running.is_empty() && down {
            return Ok(CaseEnd::Released(unwrap_state(state)));
        }
        if running.is_empty() {
            return Err(DriveError::Stuck(state.finished.len()));
        }
        tokio::select! {
            biased;
            () = release.cancelled() => return Ok(CaseEnd::Released(unwrap_state(state))),
            () = &mut deadline, if state.stop.is_none() => {
                running = FuturesUnordered::new();
                news.push(Event::new(ports.clock.now(), EventBody::TimeUp));
            }
            Some(done) = running.next() => {
                news.push(end_event(done, ports.clock.now()));
            }
        }
        while let Some(Some(done)) = futures_util::FutureExt::now_or_never(running.next()) {
            news.push(end_event(done, ports.clock.now()));
        }
    }
}

fn unwrap_state(state: Arc<CaseState>) -> Box<CaseState> {
    Box::new(Arc::unwrap_or_clone(state))
}

fn case_budget(state: &CaseState) -> CaseBudget {
    let limits = state.setup.as_ref().map(|opened| opened.limits);
    CaseBudget::new(limits.unwrap_or_default(), state.spent)
}

fn time_left(state: &CaseState) -> Duration {
    let minutes = state
        .setup
        .as_ref()
        .map_or(0, |opened| opened.limits.minutes);
    Duration::from_secs(minutes.saturating_mul(60)).saturating_sub(state.active_time())
}

/// Starts commands. A question that does not fit beside those in flight is started when one of them has ended.
fn start_commands<T>(
    state: &mut Arc<CaseState>,
    news: &mut Vec<Event>,
    commands: Vec<Command>,
    allowance: &CaseBudget,
    running: &FuturesUnordered<T>,
    now: DateTime<Utc>,
) -> Vec<(Command, Option<QuestionReservation>)> {
    let mut begun = Vec::new();
    for command in commands {
        let reserved = reserved_cost(state, &command);
        let is_first = running.is_empty() && begun.is_empty();
        let is_asked = matches!(command, Command::Ask { .. });
        if is_asked && !is_first && !allowance.has_room(reserved) {
            continue;
        }
        if let Some(id) = command.id().cloned() {
            let attempt = state.attempts.get(&id).copied().unwrap_or(0) + 1;
            let body = EventBody::Started {
                id,
                attempt,
                reserved,
            };
            let event = Event::new(now, body);
            apply(Arc::make_mut(state), &event);
            news.push(event);
        }
        let question = is_asked.then(|| allowance.reserve_question(reserved));
        begun.push((command, question));
    }
    begun
}

/// Returns the charge for a command until it ends. It is zero when the cap is spent, because no request goes out
/// then.
fn reserved_cost(state: &CaseState, command: &Command) -> Cost {
    let nothing = Cost::default();
    match (command, &state.setup) {
        (Command::Ask { .. }, Some(opened))
            if opened.limits.cap_spent(state.charged()).is_none() =>
        {
            opened.reserve
        }
        _ => nothing,
    }
}

fn end_event(done: CompletedCommand, now: DateTime<Utc>) -> Event {
    if let Some(question) = done.reservation {
        let cost = match &done.result {
            CommandResult::Finished { cost, .. } | CommandResult::Withdrawn { cost, .. } => *cost,
        };
        question.settle(cost);
    }
    let body = match done.result {
        CommandResult::Finished {
            outcome,
            cost,
            degraded,
            model,
            unanswered,
        } => EventBody::Finished {
            id: done.id,
            outcome,
            cost,
            degraded,
            model,
            unanswered,
        },
        CommandResult::Withdrawn { cost, in_line } => EventBody::Withdrawn {
            id: done.id,
            cost,
            in_line,
        },
    };
    Event::new(now, body)
}

async fn run_command(
    ports: DriverPorts,
    state: Arc<CaseState>,
    command: Command,
    begun: Option<QuestionReservation>,
) -> CompletedCommand {
    let under_way = spans::CommandSpan::new(&command, &state);
    let work = execute_command(ports, state, command, begun);
    let done = work.instrument(under_way.span()).await;
    under_way.finish(&done.result);
    done
}

async fn execute_command(
    ports: DriverPorts,
    state: Arc<CaseState>,
    command: Command,
    begun: Option<QuestionReservation>,
) -> CompletedCommand {
    let free = |outcome| CommandResult::Finished {
        outcome: Box::new(outcome),
        cost: Cost::default(),
        degraded: None,
        model: None,
        unanswered: Vec::new(),
    };
    let (id, came) = match command {
        Command::Ask { id, question } => {
            let came = match &begun {
                Some(begun) => {
                    ask::ask_with_fallback(&ports, &state, begun.budget(), &question).await
                }
                None => CommandResult::not_run(),
            };
            (id, came)
        }
        Command::Call { id, call } => {
            let opened = state.setup.clone();
            // A task that holds the state makes others copy it on change, and a tool may take long.
            drop(state);
            let (toolbox, clock, meter) = (&*ports.toolbox, &*ports.clock, &*ports.meter);
            (
                id,
                free(call_tool(toolbox, clock, meter, opened.as_deref(), &call).await),
            )
        }
        Command::Exonerate { id } => {
            let question = state.conclude_question();
            let ruled = question.map(|question| ports.exonerator.exonerate(&question));
            (id, exoneration_result(ruled.unwrap_or_default()))
        }
        Command::Conclude(_) => (CommandId::conclude(), CommandResult::not_run()),
    };
    CompletedCommand {
        id,
        result: came,
        reservation: begun,
    }
}

/// Returns the answer of the rules in the form that the journal keeps.
fn exoneration_result(ruled: ExonerationResult) -> CommandResult {
    let lines = ruled.unanswered.iter().take(MAX_UNANSWERED);
    CommandResult::Finished {
        outcome: Box::new(CommandOutcome::Exonerated(ruled.facts)),
        cost: Cost::default(),
        degraded: None,
        model: None,
        unanswered: lines
            .map(|line| truncate(line, MAX_CHARS).into_owned())
            .collect(),
    }
}

/// Makes one call of a case within its time limit, and counts it.
pub(crate) async fn call_tool(
    toolbox: &dyn Toolbox,
    clock: &dyn Clock,
    meter: &dyn Meter,
    opened: Option<&CaseSetup>,
    call: &ToolCall,
) -> CommandOutcome {
    let Some(opened) = opened else {
        return CommandOutcome::CallFailed(ToolError::Unavailable {
            what: "the case is not open".to_owned(),
        });
    };
    let context = CallContext {
        case_id: opened.case_id.clone(),
        alert: Arc::clone(&opened.alert),
        now: clock.now(),
    };
    let secs = opened.limits.tool_secs;
    let limit = Duration::from_secs(secs);
    let result = tokio::time::timeout(limit, toolbox.call(call, &context))
        .await
        .unwrap_or(Err(ToolError::Timeout { secs }));
    let took = (clock.now() - context.now).to_std().unwrap_or_default();
    let outcome = match &result {
        Ok(output) if output.rows == Some(0) => "empty",
        Ok(_) => "ok",
        Err(ToolError::Timeout { .. }) => "timeout",
        Err(
            ToolError::Unknown { .. } | ToolError::Argument { .. } | ToolError::NotAllowed { .. },
        ) => "refused",
        Err(ToolError::Denied { .. } | ToolError::Unavailable { .. }) => "error",
    };
    meter.count(&Measurement::ToolCall {
        tool: call.tool.clone(),
        outcome,
        took,
    });
    match result {
        Ok(output) => CommandOutcome::Called(output),
        Err(error) => CommandOutcome::CallFailed(error),
    }
}

#[cfg(test)]
mod answers;
#[cfg(test)]
mod budget;
#[cfg(test)]
mod cut;
#[cfg(test)]
mod dead_ends;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod generate;
#[cfg(test)]
mod journals;
#[cfg(test)]
mod latency;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod scripted;
#[cfg(test)]
mod spend;
#[cfg(test)]
mod strategies;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod withdrawn;
