//! Tests the rule, the tracker of the day and the cost of a journal.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use nightshift_alert::Severity;
use nightshift_engine::event::{CommandId, CommandOutcome, Event, EventBody};
use nightshift_engine::limits::Cost;
use nightshift_engine::measurement::Measurement;
use nightshift_engine::port::{Clock, Meter, NoMeter};
use nightshift_engine::question::AskError;
use nightshift_engine::state::CaseState;
use proptest::prelude::*;

use super::case_spend::{CaseSpend, Reservation};
use super::*;
use crate::port::{DaySpendStore, StoreError};

/// A store that knows only the cost of days.
#[derive(Default)]
struct Ledger {
    spent: Mutex<DaySpend>,
    day: Mutex<NaiveDate>,
    reads: Mutex<u32>,
    away: Mutex<bool>,
}

impl Ledger {
    fn note(&self, urgent: bool, usd: f64) {
        self.spent.lock().unwrap().add(urgent, usd);
    }
}

#[async_trait]
impl DaySpendStore for Ledger {
    async fn spent_on(&self, day: NaiveDate) -> Result<DaySpend, StoreError> {
        *self.reads.lock().unwrap() += 1;
        if *self.away.lock().unwrap() {
            return Err(StoreError::Database {
                doing: "sum up",
                cause: "away".into(),
            });
        }
        let today = *self.day.lock().unwrap() == day;
        Ok(if today {
            *self.spent.lock().unwrap()
        } else {
            DaySpend::default()
        })
    }
}

/// A clock with a fixed time.
struct ManualClock(Mutex<DateTime<Utc>>);

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }
}

fn noon() -> DateTime<Utc> {
    DateTime::from_timestamp(1_772_366_400, 0).unwrap()
}

struct BudgetFixture {
    ledger: Arc<Ledger>,
    clock: Arc<ManualClock>,
}

impl BudgetFixture {
    fn new() -> Self {
        let ledger = Arc::new(Ledger::default());
        *ledger.day.lock().unwrap() = noon().date_naive();
        Self {
            ledger,
            clock: Arc::new(ManualClock(Mutex::new(noon()))),
        }
    }

    fn tracker(&self, usd: f64) -> Arc<DayBudgetTracker> {
        Arc::new(DayBudgetTracker::new(
            DayBudget::new(usd).unwrap(),
            self.ledger.clone(),
            self.clock.clone(),
            Arc::new(NoMeter),
        ))
    }

    /// Returns the cost records of two cases of one process, the first urgent, the second not.
    fn case_spends(&self, usd: f64) -> [CaseSpend; 2] {
        let tracker = self.tracker(usd);
        [true, false].map(|urgent| CaseSpend::new(Arc::clone(&tracker), urgent))
    }

    /// Settles the answer as if it were journaled.
    fn settle(&self, case_spend: &CaseSpend, permit: Reservation<'_>, urgent: bool, usd: f64) {
        permit.settle(cost(usd));
        self.ledger.note(urgent, usd);
        case_spend.mark_journaled(usd);
    }
}

fn cost(usd: f64) -> Cost {
    Cost {
        usd,
        ..Cost::default()
    }
}

#[test]
fn the_rule() {
    let budget = DayBudget::new(10.0).unwrap();
    // urgent spent, other spent, reserve, room for urgent, room for others
    for (urgent_usd, other_usd, reserve, urgent, other) in [
        (0.0, 0.0, 0.1, true, true),
        (0.0, 4.9, 0.1, true, true),
        (0.0, 4.95, 0.1, true, false),
        (0.0, 5.0, 0.0, true, false),
        (4.9, 4.9, 0.1, true, true),
        (9.0, 0.5, 0.1, true, true),
        (9.95, 0.0, 0.1, false, false),
        (5.0, 5.0, 0.0, false, false),
        (20.0, 0.0, 0.0, false, false),
    ] {
        let spent = DaySpend {
            urgent_usd,
            other_usd,
        };
        assert_eq!(budget.has_room(spent, reserve, true), urgent, "{spent:?}");
        assert_eq!(budget.has_room(spent, reserve, false), other, "{spent:?}");
    }
}

#[test]
fn no_cap_is_no_budget_and_half_is_kept_for_high_and_critical() {
    for usd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(DayBudget::new(usd), None);
    }
    let urgent: Vec<Severity> = Severity::ALL
        .into_iter()
        .filter(|s| is_urgent(*s))
        .collect();
    assert_eq!(urgent, [Severity::High, Severity::Critical]);
    let budget = DayBudget::new(7.5).unwrap();
    assert!((budget.reserved_usd() - 3.75).abs() < 1e-9);
    assert_eq!(
        budget.refusal().to_string(),
        "the day's budget of 7.5 USD is spent (half is kept for high and critical)"
    );
}

#[tokio::test(start_paused = true)]
async fn a26_low_cases_use_half_the_budget_and_critical_gets_a_model() {
    let world = BudgetFixture::new();
    let [urgent, other] = world.case_spends(2.0);
    let mut asked = 0;
    for _ in 0..200 {
        if let Ok(permit) = other.reserve(0.0625).await {
            world.settle(&other, permit, false, 0.0625);
            asked += 1;
        }
        tokio::time::advance(Duration::from_millis(700)).await;
    }
    assert_eq!(asked, 16, "a dollar at sixteen questions a dollar");
    for _ in 0..15 {
        let permit = urgent.reserve(0.0625).await.expect("the reserve is there");
        world.settle(&urgent, permit, true, 0.0625);
    }
    assert!(other.reserve(0.0625).await.is_err());
    let permit = urgent.reserve(0.0625).await.unwrap();
    world.settle(&urgent, permit, true, 0.0625);
    assert!(matches!(
        urgent.reserve(0.0625).await.err(),
        Some(AskError::Budget { .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn what_runs_together_is_counted_before_its_answers_are_in() {
    let world = BudgetFixture::new();
    let [urgent, _] = world.case_spends(1.0);
    let mut permits = Vec::new();
    for _ in 0..50 {
        permits.extend(urgent.reserve(0.1).await.ok());
    }
    assert!((9..=10).contains(&permits.len()), "{}", permits.len());
    assert_eq!(*world.ledger.reads.lock().unwrap(), 1, "one reading counts");
    // A question that is dropped stays charged. One that was cheaper makes room.
    drop(permits.pop());
    assert!(urgent.reserve(0.1).await.is_err());
    world.settle(&urgent, permits.pop().unwrap(), true, 0.0);
    assert!(urgent.reserve(0.1).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_sum_is_read_every_few_seconds_and_each_day_has_its_own() {
    let world = BudgetFixture::new();
    let [urgent, _] = world.case_spends(1.0);
    drop(urgent.reserve(0.0).await.unwrap());
    world.ledger.note(true, 5.0);
    tokio::time::advance(Duration::from_millis(4900)).await;
    drop(urgent.reserve(0.0).await.expect("not read again yet"));
    tokio::time::advance(Duration::from_millis(200)).await;
    assert!(urgent.reserve(0.0).await.is_err(), "another process");
    *world.clock.0.lock().unwrap() = noon() + chrono::Duration::hours(13);
    drop(urgent.reserve(0.0).await.expect("a new day"));
    assert_eq!(*world.ledger.reads.lock().unwrap(), 3);
}

#[tokio::test(start_paused = true)]
async fn settled_cost_counts_until_stored_despite_store_reads() {
    let world = BudgetFixture::new();
    let [urgent, _] = world.case_spends(1.0);
    urgent.reserve(0.1).await.unwrap().settle(cost(0.95));
    for _ in 0..3 {
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(
            urgent.reserve(0.1).await.is_err(),
            "its write is on its way"
        );
    }
    world.ledger.note(true, 0.95);
    urgent.mark_journaled(0.95);
    assert!(urgent.reserve(0.1).await.is_err(), "not read yet");
    tokio::time::advance(Duration::from_secs(6)).await;
    assert!(urgent.reserve(0.1).await.is_err(), "read, and counted once");
    drop(urgent.reserve(0.03).await.expect("what is left"));
}

#[tokio::test(start_paused = true)]
async fn what_a_case_leaves_unwritten_counts_until_the_next_reading() {
    let world = BudgetFixture::new();
    let [urgent, other] = world.case_spends(1.0);
    urgent.reserve(0.1).await.unwrap().settle(cost(0.95));
    drop(urgent);
    assert!(other.reserve(0.1).await.is_err());
    tokio::time::advance(Duration::from_secs(6)).await;
    drop(other.reserve(0.1).await.expect("nobody wrote it"));
}

#[tokio::test(start_paused = true)]
async fn unreadable_new_day_starts_with_the_spend_of_this_process() {
    let world = BudgetFixture::new();
    let [urgent, _] = world.case_spends(1.0);
    world.settle(&urgent, urgent.reserve(0.1).await.unwrap(), true, 0.2);
    tokio::time::advance(Duration::from_secs(6)).await;
    world.settle(&urgent, urgent.reserve(0.1).await.unwrap(), true, 0.5);
    *world.clock.0.lock().unwrap() = noon() + TimeDelta::days(1);
    *world.ledger.away.lock().unwrap() = true;
    let permit = urgent.reserve(0.1).await.expect("a new day");
    world.settle(&urgent, permit, true, 0.45);
    assert!(urgent.reserve(0.1).await.is_err(), "with what may be of it");
}

#[tokio::test(start_paused = true)]
async fn unreadable_total_keeps_the_last_and_without_one_asks_nothing() {
    let world = BudgetFixture::new();
    let [urgent, _] = world.case_spends(1.0);
    *world.ledger.away.lock().unwrap() = true;
    assert!(urgent.reserve(0.1).await.is_err());
    *world.ledger.away.lock().unwrap() = false;
    world.settle(&urgent, urgent.reserve(0.1).await.unwrap(), true, 0.85);
    *world.ledger.away.lock().unwrap() = true;
    tokio::time::advance(Duration::from_secs(60)).await;
    drop(urgent.reserve(0.1).await.expect("0.85 of 1 is spent"));
    assert!(urgent.reserve(0.1).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn readings_are_metered() {
    #[derive(Default)]
    struct RecordedMeasures(Mutex<Vec<Measurement>>);
    impl Meter for RecordedMeasures {
        fn count(&self, measure: &Measurement) {
            self.0.lock().unwrap().push(measure.clone());
        }
    }
    let world = BudgetFixture::new();
    let seen = Arc::new(RecordedMeasures::default());
    let budget = DayBudget::new(8.0).unwrap();
    let tracker = Arc::new(DayBudgetTracker::new(
        budget,
        world.ledger.clone(),
        world.clock.clone(),
        seen.clone(),
    ));
    world.ledger.note(false, 0.5);
    world.ledger.note(true, 1.0);
    tracker.republish();
    let told = || seen.0.lock().unwrap().clone();
    assert_eq!(told(), [], "its configuration may be refused");
    tracker.publish_cap();
    let case_spend = CaseSpend::new(Arc::clone(&tracker), true);
    drop(case_spend.reserve(0.0).await);
    let of = |spent, spent_below_high| Measurement::DayBudget {
        spent,
        spent_below_high,
        cap: 8.0,
        reserved: 4.0,
    };
    assert_eq!(told(), [of(0.0, 0.0), of(1.5, 0.5)]);
    // No question is asked, and a new day has begun.
    *world.clock.0.lock().unwrap() = noon() + TimeDelta::days(1);
    tracker.refresh().await;
    tracker.refresh().await;
    assert_eq!(told(), [of(0.0, 0.0), of(1.5, 0.5), of(0.0, 0.0)]);
    tracker.republish();
    assert_eq!(told().len(), 4);
}

fn event(body: EventBody) -> Event {
    Event::new(noon(), body)
}

fn started(id: &CommandId, usd: f64) -> Event {
    event(EventBody::Started {
        id: id.clone(),
        attempt: 1,
        reserved: Cost {
            usd,
            ..Cost::default()
        },
    })
}

fn finished(id: &CommandId, usd: f64) -> Event {
    event(EventBody::Finished {
        id: id.clone(),
        outcome: Box::new(CommandOutcome::AskFailed(AskError::Timeout {
            what: "x".into(),
        })),
        cost: Cost {
            usd,
            ..Cost::default()
        },
        degraded: None,
        model: None,
        unanswered: Vec::new(),
    })
}

#[test]
fn the_tab_is_what_the_engine_counts_as_spent() {
    let (plan, turn) = (CommandId::plan(), CommandId::reflect(1));
    let claimed = |epoch| event(EventBody::Claimed { epoch });
    let withdrawn = event(EventBody::Withdrawn {
        id: plan.clone(),
        cost: Cost {
            usd: 0.125,
            ..Cost::default()
        },
        in_line: false,
    });
    for (events, spent) in [
        (vec![started(&plan, 0.5)], 0.0),
        (vec![started(&plan, 0.5), finished(&plan, 0.75)], 0.75),
        (vec![started(&plan, 0.5), withdrawn], 0.125),
        (
            vec![
                started(&plan, 0.5),
                started(&turn, 0.25),
                finished(&plan, 0.125),
                event(EventBody::TimeUp),
                started(&turn, 0.25),
                finished(&turn, 1.0),
            ],
            1.375,
        ),
    ] {
        let mut tab = JournalCost::new(Severity::Low, &CaseState::default());
        let mut state = CaseState::default();
        let mut sum = 0.0;
        for event in std::iter::once(claimed(1)).chain(events) {
            nightshift_engine::fold::apply(&mut state, &event);
            let charge = tab.charge(std::slice::from_ref(&event));
            assert!(!charge.urgent && charge.day == noon().date_naive());
            sum += charge.usd;
        }
        assert_eq!((sum, state.spent.usd), (spent, spent));
        // The next worker takes over the lost reservations.
        let lost: f64 = state.in_flight.values().map(|one| one.reserved.usd).sum();
        let mut next = JournalCost::new(Severity::Critical, &state);
        nightshift_engine::fold::apply(&mut state, &claimed(2));
        let charge = next.charge(&[claimed(2)]);
        assert_eq!((charge.usd, charge.urgent), (lost, true));
        assert_eq!(sum + charge.usd, state.spent.usd);
        assert_eq!(next.charge(&[claimed(3)]).usd, 0.0, "once");
    }
}

#[derive(Debug, Clone)]
enum BudgetEvent {
    Asked { urgent: bool },
    Answered { which: usize, cost: f64 },
    Dropped { which: usize },
    Written { which: usize },
    Passes(u64),
}

fn happens() -> impl Strategy<Value = BudgetEvent> {
    prop_oneof![
        6 => any::<bool>().prop_map(|urgent| BudgetEvent::Asked { urgent }),
        4 => (0..64_usize, 0.0..0.3).prop_map(|(which, cost)| BudgetEvent::Answered { which, cost }),
        1 => (0..64_usize).prop_map(|which| BudgetEvent::Dropped { which }),
        4 => (0..64_usize).prop_map(|which| BudgetEvent::Written { which }),
        2 => (0..6_000_u64).prop_map(BudgetEvent::Passes),
    ]
}

/// Reservation and maximum cost of a question.
const RESERVE: f64 = 0.1;
const DEAREST: f64 = 0.3;
/// Maximum number of questions that run at once.
const RUNNING: usize = 6;

proptest! {
    /// Checks the bound that `docs/budget.md` states for one process: the cost of concurrent questions beyond their
    /// reservations, for the whole budget and for the half of the other alerts.
    #[test]
    fn the_overshoot_is_bounded(
        happenings in prop::collection::vec(happens(), 1..120), cap in 0.1..3.0_f64,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let world = BudgetFixture::new();
            let bills = world.case_spends(cap);
            let case_spend = |urgent: bool| &bills[usize::from(!urgent)];
            let mut running: Vec<(Reservation<'_>, bool)> = Vec::new();
            // Costs of the questions, and the part that is not in the store yet.
            let mut spent = DaySpend::default();
            let mut settled: Vec<(bool, f64)> = Vec::new();
            for one in happenings {
                match one {
                    BudgetEvent::Asked { urgent } if running.len() < RUNNING => {
                        let permit = case_spend(urgent).reserve(RESERVE).await.ok();
                        running.extend(permit.map(|permit| (permit, urgent)));
                    }
                    BudgetEvent::Answered { which, cost: usd } if !running.is_empty() => {
                        let (permit, urgent) = running.remove(which % running.len());
                        permit.settle(cost(usd));
                        settled.push((urgent, usd));
                        spent.add(urgent, usd);
                    }
                    BudgetEvent::Dropped { which } if !running.is_empty() => {
                        let (permit, urgent) = running.remove(which % running.len());
                        drop(permit);
                        settled.push((urgent, RESERVE));
                        spent.add(urgent, RESERVE);
                    }
                    BudgetEvent::Written { which } if !settled.is_empty() => {
                        let (urgent, usd) = settled.remove(which % settled.len());
                        world.ledger.note(urgent, usd);
                        case_spend(urgent).mark_journaled(usd);
                    }
                    BudgetEvent::Passes(millis) => tokio::time::advance(Duration::from_millis(millis)).await,
                    _ => {}
                }
                let over = RUNNING as f64 * (DEAREST - RESERVE) + 1e-9;
                assert!(spent.total_usd() <= cap + over, "{spent:?} of {cap}");
                assert!(spent.other_usd <= cap / 2.0 + over, "{spent:?} of {cap}");
            }
        });
    }
}
