//! Tests properties of the charges of a case, for any cost of its requests and any failure of its workers. The driver
//! and its budget are killed, frozen and resumed at any time, run out of time, and lose their models. Questions have
//! several requests that cost more than their reserve.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use proptest::prelude::{any, prop, proptest};
use proptest::strategy::Strategy;
use tokio::time::{Instant, sleep};

use super::generate::{Scenario, SeededRng};
use super::scenarios::worlds;
use super::scripted::NoExonerations;
use super::*;
use crate::command::{Command, Question};
use crate::conclusion::ConclusionDraft;
use crate::driver::{CaseEnd, DriverPorts, drive};
use crate::event::{CommandId, CommandOutcome, Event, EventBody};
use crate::fixture::{at, cases, tools};
use crate::fold::{apply, fold};
use crate::limits::{Cost, TriageLimits};
use crate::port::{Analyst, Answer, Clock, Journal, JournalError, NoAnswer, NoMeter, Toolbox};
use crate::question::{
    AskError, ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion,
    QuestionContext, ReflectQuestion, Reflection, TurnAnswer, TurnQuestion,
};
use crate::state::CaseState;
use crate::tool::{CallContext, ToolCall, ToolError, ToolOutput, ToolSpec};

/// The state that all workers of a case share: the journal and the observed values.
struct SharedCase {
    world: Scenario,
    begun: Instant,
    epoch: AtomicU64,
    /// Number of questions so far. A question that is asked again has another cost.
    asked: AtomicU64,
    kept: Mutex<SharedJournal>,
}

#[derive(Default)]
struct SharedJournal {
    journal: Vec<Event>,
    state: CaseState,
    /// The most expensive request, for each cap.
    dearest: Cost,
    spent: Cost,
    /// True if a request was lost, so that its cost is unknown.
    lost: bool,
}

impl SharedCase {
    fn now(&self) -> DateTime<Utc> {
        at(101) + chrono::Duration::from_std(self.begun.elapsed()).unwrap()
    }

    /// Appends an event and checks the charges against the caps.
    fn write(&self, event: &Event) {
        let mut kept = self.kept.lock().unwrap();
        apply(&mut kept.state, event);
        kept.journal.push(event.clone());
        kept.lost |= matches!(event.body, EventBody::TimeUp);
        let (limits, most) = (&self.world.limits, kept.dearest);
        let one = most.max(self.world.reserve);
        is_within(limits, kept.state.charged(), one);
    }

    fn claim(&self) -> (u64, CaseState) {
        let epoch = self.epoch.fetch_add(1, Ordering::Relaxed) + 1;
        self.write(&Event::new(self.now(), EventBody::Claimed { epoch }));
        (epoch, self.kept.lock().unwrap().state.clone())
    }
}

/// Checks that the caps are exceeded by one call at most.
fn is_within(limits: &TriageLimits, sum: Cost, one: Cost) {
    let tokens = sum.input_tokens + sum.output_tokens;
    assert!(sum.model_calls <= limits.calls, "calls: {sum:?}");
    assert!(
        tokens <= limits.tokens + one.input_tokens + one.output_tokens,
        "tokens: {sum:?}"
    );
    assert!(sum.usd <= limits.usd + one.usd + 1e-9, "usd: {sum:?}");
}

/// Analyst that makes up to four requests per answer, each after asking the budget; or rules, which cost nothing.
struct MeteredAnalyst {
    case: Arc<SharedCase>,
    pays: bool,
}

impl MeteredAnalyst {
    async fn ask(
        &self,
        id: CommandId,
        question: Question,
        setting: &QuestionContext,
    ) -> Result<Answer<CommandOutcome>, NoAnswer> {
        let case = &self.case;
        let number = case.asked.fetch_add(1, Ordering::Relaxed);
        let mut dice = SeededRng::from_seed(case.world.seed, &format!("{id} {number}"));
        let mut cost = Cost::default();
        let requests = if self.pays { 1 + dice.below(4) } else { 0 };
        for _ in 0..requests {
            let most = dear(&case.world.reserve, 1 + dice.below(24));
            let Ok(leave) = setting.budget.reserve_request(most).await else {
                let what = "the case has spent its cap".into();
                let error = AskError::Unavailable { what };
                return Err(NoAnswer { error, cost });
            };
            // Most requests cost close to their maximum.
            let one = dear(&most, 8 - dice.below(9) / 2);
            {
                let mut kept = case.kept.lock().unwrap();
                kept.dearest = kept.dearest.max(one);
                kept.spent += one;
            }
            sleep(Duration::from_millis(dice.below(9_000) as u64)).await;
            leave.settle(one);
            cost += one;
        }
        if self.pays && dice.below(60) == 0 {
            let what = "nobody answers".into();
            let error = AskError::Down { what };
            return Err(NoAnswer { error, cost });
        }
        let EventBody::Finished { outcome, .. } = case.world.answer(&Command::Ask { id, question })
        else {
            unreachable!("it ends")
        };
        match *outcome {
            CommandOutcome::AskFailed(error) => Err(NoAnswer { error, cost }),
            value => Ok(Answer {
                value,
                cost,
                model: None,
            }),
        }
    }
}

/// Returns the given number of eighths of a cost, with one call.
fn dear(one: &Cost, eighths: usize) -> Cost {
    let many = eighths as u64;
    Cost {
        usd: one.usd * eighths as f64 / 8.0,
        input_tokens: one.input_tokens * many / 8,
        output_tokens: one.output_tokens * many / 8,
        cached_tokens: 0,
        model_calls: 1,
    }
}

macro_rules! read {
    ($answer:expr, $kind:path) => {
        match $answer.await {
            Ok(answer) => Ok(answer.map(|outcome| match outcome {
                $kind(value) => value,
                other => unreachable!("{other:?}"),
            })),
            Err(none) => Err(none),
        }
    };
}

#[async_trait]
impl Analyst for MeteredAnalyst {
    async fn plan(&self, question: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        let asked = self.ask(CommandId::plan(), Question::Plan, &question.context);
        read!(asked, CommandOutcome::Planned)
    }
    async fn turn(&self, question: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        let (step, turn) = (question.step.step.id.clone(), question.turn);
        let id = CommandId::turn(&step, turn);
        let asked = self.ask(id, Question::Turn { step, turn }, &question.context);
        read!(asked, CommandOutcome::Turned)
    }
    async fn decide(&self, question: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        let id = CommandId::decide(question.steps.len());
        let asked = self.ask(id, Question::Decide, &question.context);
        read!(asked, CommandOutcome::Decided)
    }
    async fn reflect(&self, question: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        let id = CommandId::reflect(question.wave);
        let asked = self.ask(id, Question::Reflect, &question.context);
        read!(asked, CommandOutcome::Reflected)
    }
    async fn conclude(
        &self,
        question: &ConcludeQuestion,
    ) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        let id = if question.problems.is_empty() {
            CommandId::conclude()
        } else {
            CommandId::repair_claims()
        };
        let asked = self.ask(id, Question::Conclude, &question.context);
        read!(asked, CommandOutcome::Drafted).map(|answer| answer.map(|draft| *draft))
    }
}

/// The other ports of a worker, at its epoch.
struct WorkerPorts {
    case: Arc<SharedCase>,
    epoch: u64,
}

#[async_trait]
impl Toolbox for WorkerPorts {
    fn specs(&self) -> Vec<ToolSpec> {
        tools()
    }
    async fn call(&self, call: &ToolCall, _: &CallContext) -> Result<ToolOutput, ToolError> {
        let mut dice = SeededRng::from_seed(self.case.world.seed, &call.identity());
        sleep(Duration::from_millis(dice.below(3_000) as u64)).await;
        Ok(ToolOutput::from_body(serde_json::json!({"listed": true})))
    }
}

#[async_trait]
impl Journal for WorkerPorts {
    /// Kills the worker before or after the write, if its [`WorkerFate`] says so. A worker that lost the case writes
    /// nothing.
    async fn append(&self, events: &[Event]) -> Result<(), JournalError> {
        sleep(Duration::from_millis(5)).await;
        if self.epoch != self.case.epoch.load(Ordering::Relaxed) {
            return Err(JournalError::LeaseLost);
        }
        events.iter().for_each(|event| self.case.write(event));
        sleep(Duration::from_millis(5)).await;
        Ok(())
    }
    async fn conclude(&self, events: &[Event], _: &CaseState) -> Result<(), JournalError> {
        self.append(events).await
    }
}

impl Clock for WorkerPorts {
    fn now(&self) -> DateTime<Utc> {
        self.case.now()
    }
}

fn asked(case: &Arc<SharedCase>, pays: bool) -> Arc<dyn Analyst> {
    let case = Arc::clone(case);
    Arc::new(MeteredAnalyst { case, pays })
}

/// Returns the ports of an epoch's worker.
fn ports(case: &Arc<SharedCase>, epoch: u64, lesser: bool) -> DriverPorts {
    let worker = Arc::new(WorkerPorts {
        case: Arc::clone(case),
        epoch,
    });
    DriverPorts {
        analyst: asked(case, true),
        fallback: lesser.then(|| asked(case, false)),
        toolbox: worker.clone(),
        exonerator: Arc::new(NoExonerations),
        journal: worker.clone(),
        clock: worker,
        meter: Arc::new(NoMeter),
    }
}

/// Times at which a worker is killed, or is frozen and resumes.
type WorkerFate = (u16, Option<u16>);

/// Runs a case through these fates, then undisturbed to its end.
async fn run(world: Scenario, fates: Vec<WorkerFate>, lesser: bool) -> Arc<SharedCase> {
    let case = Arc::new(SharedCase {
        begun: Instant::now(),
        epoch: AtomicU64::new(0),
        asked: AtomicU64::new(0),
        kept: Mutex::default(),
        world,
    });
    case.write(&case.world.opening()[0]);
    let mut fates = fates.into_iter();
    let mut asleep = Vec::new();
    for _ in 0..200 {
        if case.kept.lock().unwrap().state.is_over() {
            // The worker was killed after the end was in the journal.
            return case;
        }
        let (epoch, state) = case.claim();
        let ports = ports(&case, epoch, lesser);
        let mut work = Box::pin(async move {
            let release = CancellationToken::new();
            drive(&ports, state, &release).await
        });
        let (killed, wakes) = fates.next().unwrap_or((u16::MAX, None));
        let killed = match killed {
            u16::MAX => Duration::MAX,
            millis => Duration::from_millis(u64::from(millis)),
        };
        let sleepers = futures_util::future::join_all(asleep.drain(..));
        tokio::select! {
            biased;
            end = &mut work => match end {
                Ok(CaseEnd::Concluded(_)) => return case,
                Ok(CaseEnd::Released(_)) => continue,
                other => panic!("{other:?}"),
            },
            () = async { sleepers.await; std::future::pending().await } => {}
            () = sleep(killed) => {}
        }
        case.kept.lock().unwrap().lost = true;
        if let Some(wakes) = wakes {
            asleep.push(Box::pin(async move {
                sleep(Duration::from_millis(u64::from(wakes))).await;
                let end = work.await;
                assert!(
                    !matches!(end, Ok(CaseEnd::Concluded(_))),
                    "it had lost the case"
                );
            }));
        }
    }
    panic!("no end")
}

fn fates() -> impl Strategy<Value = Vec<WorkerFate>> {
    let killed = 0..u16::MAX / 2;
    let wakes = prop::option::of(0..u16::MAX / 4);
    prop::collection::vec((killed, wakes), 1..6)
}

/// Generates scenarios with a few concurrent questions, which the caps on steps and turns seldom end.
fn dear_worlds(minutes: impl Strategy<Value = u64>) -> impl Strategy<Value = Scenario> {
    let caps = (3..40_u64, 150..900_u64, 2..20_u32, 2..5_usize);
    (worlds(), caps, minutes).prop_map(|(world, caps, minutes)| Scenario {
        limits: TriageLimits {
            calls: caps.0,
            tokens: caps.1 * 10,
            usd: f64::from(caps.2) / 4.0,
            parallel: caps.3,
            minutes,
            steps: world.limits.steps + 4,
            first_plan_steps: world.limits.first_plan_steps + 4,
            turns: world.limits.turns + 2,
            ..world.limits
        },
        ..world
    })
}

fn in_time<T>(run: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(run)
}

/// Runs a case that checks its charges at each event, and checks its end.
fn holds(world: Scenario, fates: Vec<WorkerFate>, lesser: bool) {
    let case = in_time(run(world, fates, lesser));
    let kept = case.kept.lock().unwrap();
    let ends = kept
        .journal
        .iter()
        .filter(|event| matches!(event.body, EventBody::Concluded(_)));
    assert_eq!(ends.count(), 1);
    assert_eq!(&fold(&kept.journal), &kept.state);
    if kept.lost {
        return;
    }
    let (charged, spent) = (kept.state.spent, kept.spent);
    let tokens = |cost: Cost| cost.input_tokens + cost.output_tokens;
    assert_eq!(charged.model_calls, spent.model_calls, "it is all charged");
    assert_eq!(tokens(charged), tokens(spent), "it is all charged");
    assert!((charged.usd - spent.usd).abs() < 1e-9, "it is all charged");
}

proptest! {
    #![proptest_config(cases(25_000))]

    #[test]
    fn g07_case_is_charged_at_most_one_call_beyond_its_caps(world in worlds(), fates in fates(), lesser in any::<bool>()) {
        holds(world, fates, lesser);
    }

    #[test]
    fn so_it_is_where_nothing_is_lost(world in dear_worlds(60..61_u64), lesser in any::<bool>()) {
        holds(world, Vec::new(), lesser);
    }

    #[test]
    fn g07_so_it_is_where_workers_are_killed_and_thawed(world in dear_worlds(60..61_u64), fates in fates(), lesser in any::<bool>()) {
        holds(world, fates, lesser);
    }

    #[test]
    fn so_it_is_where_time_is_short(world in dear_worlds(0..3_u64), fates in fates(), lesser in any::<bool>()) {
        holds(world, fates, lesser);
    }
}
