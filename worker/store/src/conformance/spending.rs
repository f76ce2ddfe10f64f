//! Tests the costs of cases, summed by case and by day while they run.

use nightshift_engine::event::{CommandId, Event, EventBody};
use nightshift_engine::limits::Cost;
use nightshift_pipeline::budget::DaySpend;

use super::*;

on_both_stores! {
    charges_add_up_by_case_and_day_while_the_case_runs
    what_is_not_written_is_not_charged
    g7_running_question_of_a_cancelled_case_costs_its_reserve
}

fn day() -> chrono::NaiveDate {
    at(0).date_naive()
}

fn charge(urgent: bool, usd: f64) -> Charge {
    Charge {
        day: day(),
        urgent,
        usd,
    }
}

async fn charges_add_up_by_case_and_day_while_the_case_runs(fixture: Fixture) {
    fixture.accept(DNS).await;
    let first = fixture.claim().await;
    fixture.accept(MINER).await;
    let second = fixture.claim().await;
    let store = &fixture.store;
    let (events, mut closing) = whole_journal(&first);
    for usd in [0.25, 0.0, 0.5] {
        let event = opened(&second.alert, &second.lease.case_id.0);
        let result = store
            .append(&second.lease, &[event], charge(true, usd))
            .await;
        result.unwrap();
    }
    store
        .append(&first.lease, &events, charge(false, 1.5))
        .await
        .unwrap();
    let sum = DaySpend {
        urgent_usd: 0.75,
        other_usd: 1.5,
    };
    assert_eq!(store.spent_on(day()).await.unwrap(), sum);
    closing.charge = charge(false, 0.5);
    store.conclude(&first.lease, &closing).await.unwrap();
    let other = fixture.another(options()).await;
    let sum = DaySpend {
        other_usd: 2.0,
        ..sum
    };
    assert_eq!(other.spent_on(day()).await.unwrap(), sum);
    let next = day().succ_opt().unwrap();
    assert_eq!(other.spent_on(next).await.unwrap(), DaySpend::default());
    let view = store.view(&first.lease.case_id.0).await.unwrap();
    assert!((view.row.usd - 2.0).abs() < 1e-9, "{}", view.row.usd);
}

async fn what_is_not_written_is_not_charged(fixture: Fixture) {
    fixture.accept(DNS).await;
    let claimed = fixture.claim().await;
    fixture.store.release(&claimed.lease).await.unwrap();
    let (events, _) = whole_journal(&claimed);
    let result = fixture
        .store
        .append(&claimed.lease, &events, charge(true, 3.0))
        .await;
    assert!(matches!(result, Err(StoreError::LeaseLost)));
    assert_eq!(
        fixture.store.spent_on(day()).await.unwrap(),
        DaySpend::default()
    );
}

async fn g7_running_question_of_a_cancelled_case_costs_its_reserve(fixture: Fixture) {
    let id = case_of(&fixture.accept(MINER).await);
    let claimed = fixture.claim().await;
    let cost = |usd| Cost {
        usd,
        ..Cost::default()
    };
    let event = |body| Event::new(at(1), body);
    let started = |id, usd| {
        event(EventBody::Started {
            id,
            attempt: 1,
            reserved: cost(usd),
        })
    };
    let withdrawn = |id, usd| {
        event(EventBody::Withdrawn {
            id,
            cost: cost(usd),
            in_line: false,
        })
    };
    let (plan, first, second) = (
        CommandId::plan(),
        CommandId::reflect(1),
        CommandId::reflect(2),
    );
    let events = [
        opened(&claimed.alert, &id.0),
        started(plan.clone(), 8.0),
        // The worker that claims a case charges the lost calls of the previous one.
        event(EventBody::Claimed {
            epoch: claimed.lease.epoch,
        }),
        started(plan.clone(), 4.0),
        withdrawn(plan, 0.75),
        started(first, 0.5),
        started(second, 0.125),
    ];
    let (store, lease) = (&fixture.store, &claimed.lease);
    let append = store.append(lease, &events, charge(true, 0.75));
    append.await.unwrap();
    store.cancel(&id.0, "ana", at(9)).await.unwrap();
    let sum = DaySpend {
        urgent_usd: 1.375,
        other_usd: 0.0,
    };
    assert_eq!(store.spent_on(day()).await.unwrap(), sum);
    let usd = store.view(&id.0).await.unwrap().row.usd;
    assert!((usd - 1.375).abs() < 1e-9, "{usd}");
    // A triage that was not begun has no running calls.
    store.retry(&id.0).await.unwrap();
    store.cancel(&id.0, "ana", at(10)).await.unwrap();
    assert_eq!(store.spent_on(day()).await.unwrap(), sum);
}
