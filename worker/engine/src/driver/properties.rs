//! Tests the engine under any answers in any order, killed and resumed at any point, without a driver: only fold and
//! decide.
//!
//! `NIGHTSHIFT_TEST_CASES=5000000` runs that many cases of each property. A case is small, so the proof comes from
//! their number. A failure prints the scenario and the seed.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::{prop, prop_assert_eq, proptest};
use proptest::strategy::{Strategy, ValueTree};

use super::generate::{Scenario, SeededRng, is_declared};
use super::scenarios::{chaos, dear_worlds, free_worlds, worlds};
use crate::command::Command;
use crate::decide::decide;
use crate::event::{CommandId, Event, EventBody};
use crate::fixture::{at, cases};
use crate::fold::{apply, fold};
use crate::limits::Cost;
use crate::plan::StepStatus;
use crate::state::{CaseState, StopCause};
use crate::tool::ToolCall;
use crate::verdict_policy::clears;

/// A case that is driven by hand: its journal and its running commands.
struct ManualDriver<'a> {
    world: &'a Scenario,
    journal: Vec<Event>,
    state: CaseState,
    running: BTreeMap<CommandId, Command>,
    lost: Vec<Command>,
    starts: Vec<CommandId>,
}

impl<'a> ManualDriver<'a> {
    fn new(world: &'a Scenario) -> Self {
        let mut machine = Self {
            world,
            journal: Vec::new(),
            state: CaseState::default(),
            running: BTreeMap::new(),
            lost: Vec::new(),
            starts: Vec::new(),
        };
        for event in world.opening() {
            machine.write(event.body);
        }
        machine
    }

    /// Appends an event and checks the invariants.
    fn write(&mut self, body: EventBody) {
        let event = Event::new(at(101), body);
        let before = self.state.clone();
        apply(&mut self.state, &event);
        self.journal.push(event);
        let after = &self.state;
        for step in before.steps() {
            let now = after.steps().iter().find(|now| now.id == step.id);
            assert!(now.is_some(), "{} is gone", step.id);
            if step.status.is_terminal() {
                assert_eq!(now, Some(step), "a finished step changed");
            }
        }
        if let (Some(old), Some(new)) = (&before.plan, &after.plan) {
            assert!(old.objective.is_empty() || old.objective == new.objective);
            assert_eq!(old.mode, new.mode);
        }
        for (id, evidence) in &before.evidence {
            assert_eq!(after.evidence.get(id), Some(evidence), "{id} changed");
        }
        assert!(before.conclusion.is_none() || before.conclusion == after.conclusion);
        self.is_within_caps();
    }

    /// Checks the bound of `docs/budget.md`: the cap may be exceeded by one question, and by the cost of the concurrent
    /// questions and the last one beyond their reserves.
    fn is_within_caps(&self) {
        let limits = &self.world.limits;
        let charged = self.state.charged();
        let tokens = charged.input_tokens + charged.output_tokens;
        let one = &self.world.reserve;
        let together = limits.parallel.max(1) as u64 + 1;
        let over = 1 + together * (self.world.dear - 1);
        assert!(
            charged.model_calls <= limits.calls + over * one.model_calls,
            "calls"
        );
        assert!(
            tokens <= limits.tokens + over * (one.input_tokens + one.output_tokens),
            "tokens"
        );
        assert!(
            charged.usd <= limits.usd + over as f64 * one.usd + 1e-9,
            "usd"
        );
        assert!(self.state.steps().len() <= limits.steps.max(1), "steps");
    }

    /// Starts the wanted commands. Returns false at the end of the case.
    fn start(&mut self) -> bool {
        let commands = decide(&self.state);
        assert_eq!(commands, decide(&self.state), "deciding twice is the same");
        if self.state.is_over() {
            assert!(commands.is_empty(), "it was called off");
            return false;
        }
        if let Some(Command::Conclude(conclusion)) = commands.first() {
            assert!(
                self.state
                    .steps()
                    .iter()
                    .all(|step| step.status != StepStatus::Running)
                    || self.state.stopped_by().is_some()
            );
            self.write(EventBody::Concluded(conclusion.clone()));
            return false;
        }
        for command in commands {
            let id = command.id().expect("only the end has no id").clone();
            assert!(!self.state.finished.contains(&id), "{id} had ended");
            assert!(!self.running.contains_key(&id), "{id} runs");
            if let Command::Call { call, .. } = &command {
                self.is_new_call(&id, call);
            }
            let reserved = super::reserved_cost(&self.state, &command);
            let attempt = self.state.attempts.get(&id).copied().unwrap_or(0) + 1;
            self.running.insert(id.clone(), command);
            self.write(EventBody::Started {
                id,
                attempt,
                reserved,
            });
        }
        assert!(!self.running.is_empty(), "the case stands still");
        true
    }

    fn is_new_call(&mut self, id: &CommandId, call: &ToolCall) {
        let identity = call.identity();
        assert!(is_declared(call), "{identity} is no tool of the case");
        assert!(
            !self.state.evidence_by_call.contains_key(&identity),
            "{identity} was answered"
        );
        for other in self.running.values() {
            let is_same =
                matches!(other, Command::Call { call, .. } if call.identity() == identity);
            assert!(!is_same, "{identity} runs already");
        }
        if !self.starts.contains(id) {
            self.starts.push(id.clone());
        }
    }

    /// Ends the `pick`th of the running commands.
    fn finish(&mut self, pick: usize) {
        if self.running.is_empty() {
            return;
        }
        let id = self.running.keys().nth(pick % self.running.len()).cloned();
        if let Some(command) = id.and_then(|id| self.running.remove(&id)) {
            self.write(self.world.answer(&command));
        }
    }

    fn kill(&mut self) {
        self.lost
            .extend(std::mem::take(&mut self.running).into_values());
        let epoch = self.state.epoch + 1;
        self.write(EventBody::Claimed { epoch });
        assert!(self.state.in_flight.is_empty());
    }

    /// Lets a worker of an older epoch resume. Its answers differ in their words.
    fn thaw(&mut self) {
        let Some(command) = self.lost.pop() else {
            return;
        };
        let id = command.id().expect("it ran").clone();
        if self.state.finished.contains(&id) {
            let other = Scenario {
                seed: !self.world.seed,
                ..self.world.clone()
            };
            let before = self.state.clone();
            self.write(other.answer(&command));
            assert_eq!(before, self.state, "what has ended stays as it is");
        } else if self.running.remove(&id).is_some() {
            self.write(self.world.answer(&command));
        }
    }

    /// Applies one byte of chaos input.
    fn happen(&mut self, byte: u8) {
        let pick = usize::from(byte >> 4);
        match byte & 15 {
            0 => self.kill(),
            1 => self.thaw(),
            2 => {
                let ask = self
                    .running
                    .iter()
                    .find(|(_, one)| matches!(one, Command::Ask { .. }));
                if let Some(id) = ask.map(|(id, _)| id.clone()) {
                    self.running.remove(&id);
                    let cost = Cost::default();
                    let in_line = byte >> 7 == 1;
                    self.write(EventBody::Withdrawn { id, cost, in_line });
                }
            }
            3 if byte > 0xc0 && self.state.stop.is_none() => {
                self.running.clear();
                self.write(EventBody::TimeUp);
            }
            7 if byte > 0xd0 => {
                self.lost
                    .extend(std::mem::take(&mut self.running).into_values());
                self.write(EventBody::Cancelled { by: "ana".into() });
            }
            4..=6 => {
                self.finish(pick);
                self.finish(pick);
            }
            _ => self.finish(pick),
        }
    }

    fn run(mut self, chaos: &[u8]) -> Self {
        let mut chaos = chaos.iter();
        for _ in 0..2_000 {
            if !self.start() {
                (0..self.lost.len()).for_each(|_| self.thaw());
                return self;
            }
            match chaos.next() {
                Some(byte) => self.happen(*byte),
                None => self.finish(SeededRng::from_seed(self.world.seed, "order").below(64)),
            }
        }
        panic!("no end after {} events", self.journal.len());
    }

    /// Runs the case to its end, killed after each of these rounds.
    fn killed(mut self, kills: &BTreeSet<u8>) -> Self {
        for round in 0..=u8::MAX {
            if !self.start() {
                return self;
            }
            if kills.contains(&round) {
                self.kill();
            } else {
                self.finish(SeededRng::from_seed(self.world.seed, "order").below(64));
            }
        }
        self.run(&[])
    }

    fn has_ended_well(&self) {
        let state = &self.state;
        let ends = self
            .journal
            .iter()
            .filter(|event| matches!(event.body, EventBody::Concluded(_)));
        let is_cancelled = matches!(state.stop, Some(StopCause::Cancelled(_)));
        assert_eq!(ends.count(), usize::from(!is_cancelled));
        assert!(decide(state).is_empty());
        if is_cancelled {
            assert_eq!(
                (fold(&self.journal), &state.conclusion),
                (state.clone(), &None)
            );
            return;
        }
        assert!(state.steps().iter().all(|step| step.status.is_terminal()));
        assert_eq!(fold(&self.journal), *state);
        let numbers: Vec<u32> = self
            .starts
            .iter()
            .map(|id| state.evidence_ids[id].0)
            .collect();
        let dense: Vec<u32> = (1..).take(numbers.len()).collect();
        assert_eq!(
            numbers, dense,
            "evidence is numbered in the order of the starts"
        );
        assert_eq!(state.evidence_ids.len(), numbers.len());
        self.asked_within_the_caps();
        let conclusion = state.conclusion.as_ref().expect("it is concluded");
        let alert = state.alert().expect("it was opened");
        if conclusion.verdict.is_benign() || conclusion.assessed_severity < alert.severity {
            assert!(clears(&state.exonerations, alert), "only code exonerates");
            assert_eq!(conclusion.stopped_by, None);
            assert!(!conclusion.manipulation && !state.refused && !state.counterfactual_differs);
        }
    }

    /// Checks that no more questions were asked than the caps on steps and turns allow, however often they were
    /// withdrawn or lost.
    fn asked_within_the_caps(&self) {
        let limits = &self.world.limits;
        let steps = limits.steps.max(1);
        let mut turns: BTreeMap<&str, u32> = BTreeMap::new();
        let mut waves = 0;
        for id in &self.state.finished {
            let mut parts = id.0.split(':');
            match (parts.next(), parts.next()) {
                (Some("turn"), Some(step)) => *turns.entry(step).or_default() += 1,
                (Some("reflect" | "decide"), _) => waves += 1,
                _ => {}
            }
        }
        assert!(turns.len() <= steps);
        assert!(turns.values().all(|many| *many <= limits.turns.max(1)));
        assert!(waves <= steps + 1);
    }
}

proptest! {
    #![proptest_config(cases(35_000))]

    #[test]
    fn any_answers_in_any_order_end_in_one_conclusion(world in free_worlds(), chaos in chaos()) {
        ManualDriver::new(&world).run(&chaos).has_ended_well();
    }

    #[test]
    fn whatever_questions_cost_the_caps_hold(world in worlds(), chaos in chaos()) {
        ManualDriver::new(&world).run(&chaos).has_ended_well();
    }

    #[test]
    fn questions_above_their_reserve_overrun_by_a_known_sum(world in dear_worlds(), chaos in chaos()) {
        ManualDriver::new(&world).run(&chaos).has_ended_well();
    }
}

/// Removes what a kill may change: epochs and attempts.
fn without_epochs(mut state: CaseState) -> CaseState {
    state.epoch = 0;
    state.attempts.clear();
    state
}

proptest! {
    #![proptest_config(cases(15_000))]

    #[test]
    fn g04_a_case_that_is_killed_ends_like_one_that_is_not(world in free_worlds(), kills in prop::collection::btree_set(0..60_u8, 1..6)) {
        let straight = ManualDriver::new(&world).run(&[]);
        let killed = ManualDriver::new(&world).killed(&kills);
        prop_assert_eq!(without_epochs(straight.state), without_epochs(killed.state));
    }

    #[test]
    fn a_journal_in_json_folds_to_the_same_state(world in worlds(), chaos in chaos()) {
        let machine = ManualDriver::new(&world).run(&chaos);
        let lines: Vec<String> = machine.journal.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        let read: Vec<Event> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        prop_assert_eq!(&read, &machine.journal);
        prop_assert_eq!(fold(&read), machine.state);
    }
}

/// Situations that generated cases must reach, for the properties to mean anything.
const CORNERS: &[&str] = &[
    "step done",
    "step failed",
    "step cancelled",
    "step not_run",
    "add_step refused false",
    "add_step refused true",
    "update_step refused false",
    "update_step refused true",
    "cancel_step refused false",
    "cancel_step refused true",
    "true_positive",
    "benign_true_positive",
    "inconclusive",
    "cap calls",
    "cap tokens",
    "cap usd",
    "cap minutes",
    "cap day_usd",
    "cancelled",
];

#[test]
fn the_generated_cases_reach_every_corner() {
    let mut seen = BTreeSet::new();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..3_000 {
        let (world, chaos) = (worlds(), chaos()).new_tree(&mut runner).unwrap().current();
        let machine = ManualDriver::new(&world).run(&chaos);
        let state = &machine.state;
        for step in state.steps() {
            seen.insert(format!("step {}", step.status.as_str()));
        }
        for record in &state.updates {
            let refused = record.refused.is_some();
            seen.insert(format!("{} refused {refused}", record.update.as_str()));
        }
        let Some(conclusion) = &state.conclusion else {
            seen.insert("cancelled".to_owned());
            continue;
        };
        seen.insert(conclusion.verdict.as_str().to_owned());
        if let Some(cap) = conclusion.stopped_by {
            seen.insert(format!("cap {}", cap.as_str()));
        }
    }
    for corner in CORNERS {
        assert!(
            seen.contains(*corner),
            "{corner:?} was not reached: {seen:?}"
        );
    }
}
