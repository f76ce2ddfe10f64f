use nightshift_engine::conclusion::ConclusionDraft;
use nightshift_engine::event::AnalystKind;
use nightshift_engine::journal::read_event;
use nightshift_engine::limits::{Cost, TriageLimits};
use nightshift_engine::port::{Analyst, Answer, ExonerationResult, Exonerator, NoAnswer, NoMeter};
use nightshift_engine::question::{
    ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion, ReflectQuestion,
    Reflection, TurnAnswer, TurnQuestion,
};
use nightshift_engine::strategy::TriageOptions;

use super::*;

const EVENTS: &str = include_str!("../../../../tests/fixtures/journals/v1/planned.jsonl");

fn recorded() -> Vec<Event> {
    EVENTS
        .lines()
        .map(|line| read_event(line).unwrap())
        .collect()
}

/// Returns the recorded answers in order.
struct RecordedAnalyst(Mutex<Vec<CommandOutcome>>);

impl RecordedAnalyst {
    fn from_events(events: &[Event]) -> Self {
        let outcomes = events.iter().rev().filter_map(|event| match &event.body {
            EventBody::Finished { outcome, .. } => Some(outcome.as_ref().clone()),
            _ => None,
        });
        Self(Mutex::new(
            outcomes
                .filter(|outcome| {
                    !matches!(
                        outcome,
                        CommandOutcome::Called(_)
                            | CommandOutcome::CallFailed(_)
                            | CommandOutcome::Exonerated(_)
                    )
                })
                .collect(),
        ))
    }

    fn next<T>(&self, take: impl Fn(CommandOutcome) -> Option<T>) -> Result<Answer<T>, NoAnswer> {
        let mut outcomes = self.0.lock();
        let place = outcomes
            .iter()
            .rposition(|outcome| take(outcome.clone()).is_some());
        let outcome = outcomes.remove(place.expect("the recording goes on"));
        Ok(Answer::free(take(outcome).unwrap()))
    }
}

#[async_trait]
impl Analyst for RecordedAnalyst {
    async fn plan(&self, _: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        self.next(|outcome| match outcome {
            CommandOutcome::Planned(answer) => Some(answer),
            _ => None,
        })
    }

    async fn turn(&self, _: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        self.next(|outcome| match outcome {
            CommandOutcome::Turned(answer) => Some(answer),
            _ => None,
        })
    }

    async fn decide(&self, _: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        self.next(|outcome| match outcome {
            CommandOutcome::Decided(answer) => Some(answer),
            _ => None,
        })
    }

    async fn reflect(&self, _: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        self.next(|outcome| match outcome {
            CommandOutcome::Reflected(answer) => Some(answer),
            _ => None,
        })
    }

    async fn conclude(&self, _: &ConcludeQuestion) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        self.next(|outcome| match outcome {
            CommandOutcome::Drafted(answer) => Some(*answer),
            _ => None,
        })
    }
}

struct NoRules;

impl Exonerator for NoRules {
    fn exonerate(&self, _: &ConcludeQuestion) -> ExonerationResult {
        ExonerationResult::default()
    }
}

struct ReplayClock;

impl Clock for ReplayClock {
    fn now(&self) -> chrono::DateTime<chrono::Utc> {
        chrono::DateTime::UNIX_EPOCH
    }
}

fn profile(analyst: RecordedAnalyst, events: &[Event]) -> Profile {
    Profile {
        name: "again".to_owned(),
        analyst: Arc::new(analyst),
        fallback: None,
        analyst_kind: AnalystKind::Playbook,
        models: Vec::new(),
        reserve: Cost::default(),
        toolbox: Arc::new(RecordedToolbox::from_events(&fold(&[] as &[Event]), &[])),
        exonerator: Arc::new(NoRules),
        actions: fold(events).setup.unwrap().actions.clone(),
        limits: TriageLimits::default(),
        conduct: TriageOptions::default(),
        prompts: String::new(),
    }
}

async fn run(events: &[Event], analyst: RecordedAnalyst) -> ReplayOutcome {
    let profile = profile(analyst, events);
    let stop = CancellationToken::new();
    replay(
        events,
        &profile,
        Arc::new(ReplayClock),
        Arc::new(NoMeter),
        None,
        &stop,
    )
    .await
    .unwrap()
}

#[tokio::test]
async fn the_same_answers_on_the_same_evidence_come_to_the_same_end() {
    let events = recorded();
    let replayed = run(&events, RecordedAnalyst::from_events(&events)).await;
    let difference = compare(&replayed);
    assert!(difference.same_verdict, "{difference:#?}");
    assert_eq!(difference.before.proven, difference.after.proven);
    assert_eq!(difference.before.steps, difference.after.steps);
    assert_eq!(difference.calls_unanswered, Vec::<String>::new());
    assert_eq!(difference.after.profile, "again");
}

#[tokio::test]
async fn a_call_that_was_not_recorded_is_told_and_not_made() {
    let events = recorded();
    let without: Vec<Event> = events
        .iter()
        .filter(|event| match &event.body {
            EventBody::Finished { id, .. } => !id.0.starts_with("call:s2"),
            _ => true,
        })
        .cloned()
        .collect();
    let replayed = run(&without, RecordedAnalyst::from_events(&events)).await;
    let difference = compare(&replayed);
    let unanswered = &difference.calls_unanswered;
    assert_eq!(unanswered.len(), replayed.missing.len());
    assert!(
        unanswered
            .iter()
            .all(|call| replayed.missing.contains(call))
    );
    assert!(!unanswered.is_empty());
    assert_eq!(difference.calls_added, Vec::<String>::new());
    let failed = replayed.after.evidence.values();
    assert!(failed.filter(|evidence| evidence.error.is_some()).count() > 0);
}

#[tokio::test]
async fn a_journal_without_a_beginning_is_told() {
    let profile = profile(RecordedAnalyst(Mutex::default()), &recorded());
    let stop = CancellationToken::new();
    let clock = Arc::new(ReplayClock);
    let result = replay(&[], &profile, clock, Arc::new(NoMeter), None, &stop).await;
    assert!(matches!(result, Err(ReplayError::NotOpened)));
}
