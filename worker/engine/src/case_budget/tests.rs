use proptest::prelude::*;

use super::*;
use futures_util::future::join_all;

fn limits(calls: u64, tokens: u64, usd: f64) -> TriageLimits {
    TriageLimits {
        calls,
        tokens,
        usd,
        ..TriageLimits::default()
    }
}

fn tokens(tokens: u64) -> Cost {
    Cost {
        input_tokens: tokens,
        model_calls: 1,
        ..Cost::default()
    }
}

#[tokio::test]
async fn one_request_alone_may_go_over_and_nothing_after_it() {
    let allowance = CaseBudget::new(limits(60, 100, 1.0), tokens(90));
    let leave = allowance.reserve_request(tokens(500)).await.unwrap();
    leave.settle(tokens(500));
    assert_eq!(
        allowance.reserve_request(tokens(1)).await.unwrap_err(),
        BudgetCap::Tokens
    );
}

#[tokio::test]
async fn a_request_waits_until_its_most_fits_beside_the_others() {
    let allowance = CaseBudget::new(limits(60, 100, 1.0), Cost::default());
    let first = allowance.reserve_request(tokens(60)).await.unwrap();
    let second = allowance.reserve_request(tokens(60));
    tokio::pin!(second);
    assert!(futures_util::poll!(second.as_mut()).is_pending());
    first.settle(tokens(30));
    second.await.unwrap().settle(tokens(60));
}

#[tokio::test]
async fn a_request_that_is_dropped_costs_what_it_might_have() {
    let allowance = CaseBudget::new(limits(60, 100, 1.0), Cost::default());
    drop(allowance.reserve_request(tokens(100)).await.unwrap());
    assert_eq!(
        allowance.reserve_request(tokens(1)).await.unwrap_err(),
        BudgetCap::Tokens
    );
}

#[tokio::test]
async fn each_cap_is_told_by_its_name() {
    let spent = Cost {
        usd: 1.0,
        ..tokens(10)
    };
    for (limits, cap) in [
        (limits(1, 100, 2.0), BudgetCap::Calls),
        (limits(60, 10, 2.0), BudgetCap::Tokens),
        (limits(60, 100, 1.0), BudgetCap::Usd),
    ] {
        let refused = CaseBudget::new(limits, spent)
            .reserve_request(tokens(1))
            .await;
        assert_eq!(refused.unwrap_err(), cap);
    }
}

#[tokio::test]
async fn the_reserves_of_questions_in_flight_count() {
    let allowance = CaseBudget::new(limits(60, 100, 1.0), Cost::default());
    let first = allowance.reserve_question(tokens(30));
    let second = allowance.reserve_question(tokens(30));
    assert!(allowance.has_room(tokens(40)) && !allowance.has_room(tokens(41)));
    // The request fits beside the other's reserve; its own reserve is not counted twice.
    let leave = first.budget().reserve_request(tokens(70)).await.unwrap();
    leave.settle(tokens(70));
    // Nothing is left beside the reserve of the other question, which may still go out.
    let again = first.budget().reserve_request(tokens(1));
    tokio::pin!(again);
    assert!(futures_util::poll!(again.as_mut()).is_pending());
    let leave = second.budget().reserve_request(tokens(30)).await.unwrap();
    leave.settle(tokens(10));
    second.settle(tokens(10));
    assert!(again.await.is_ok());
}

#[tokio::test]
async fn last_of_questions_waiting_on_each_other_is_refused() {
    let allowance = CaseBudget::new(limits(60, 100, 1.0), tokens(70));
    let (first, second) = (
        allowance.reserve_question(tokens(20)),
        allowance.reserve_question(tokens(20)),
    );
    for question in [&first, &second] {
        let leave = question.budget().reserve_request(tokens(12)).await.unwrap();
        leave.settle(tokens(12));
    }
    let waits = first.budget().reserve_request(tokens(1));
    tokio::pin!(waits);
    assert!(futures_util::poll!(waits.as_mut()).is_pending());
    let refused = second.budget().reserve_request(tokens(1)).await;
    assert_eq!(refused.unwrap_err(), BudgetCap::Tokens);
    second.settle(tokens(12));
    assert!(waits.await.is_ok(), "what that one kept is free");
}

#[tokio::test]
async fn lost_question_is_charged_the_greater_of_reserve_and_cost() {
    let allowance = CaseBudget::new(limits(60, 100, 1.0), Cost::default());
    drop(allowance.reserve_question(tokens(30)));
    let dear = allowance.reserve_question(tokens(10));
    let running = dear.budget().reserve_request(tokens(50)).await.unwrap();
    drop(dear);
    drop(running);
    assert!(allowance.has_room(tokens(20)) && !allowance.has_room(tokens(21)));
}

/// Generates questions: requests, each with its maximum cost and the share of it that it costs.
fn questions() -> impl Strategy<Value = Vec<Vec<(u64, u64)>>> {
    let request = (1u64..400, 0u64..=8);
    prop::collection::vec(prop::collection::vec(request, 1..5), 1..7)
}

proptest! {
    #![proptest_config(crate::fixture::cases(100_000))]

    #[test]
    fn spend_exceeds_a_cap_by_no_more_than_one_request(questions in questions(), cap in 1u64..1_200, calls in 1u64..12) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (spent, dearest) = runtime.block_on(run(questions, limits(calls, cap, 1.0)));
        prop_assert!(spent.model_calls <= calls);
        prop_assert!(spent.input_tokens < cap + dearest);
    }
}

/// Runs all questions concurrently. Returns their total cost and the most expensive request.
async fn run(questions: Vec<Vec<(u64, u64)>>, limits: TriageLimits) -> (Cost, u64) {
    let allowance = CaseBudget::new(limits, Cost::default());
    let asked = questions.into_iter().map(|requests| {
        let allowance = allowance.clone();
        async move {
            let (mut sum, mut dearest) = (Cost::default(), 0);
            for (most, share) in requests {
                let Ok(leave) = allowance.reserve_request(tokens(most)).await else {
                    break;
                };
                for _ in 0..share {
                    tokio::task::yield_now().await;
                }
                let cost = tokens(most * share / 8);
                leave.settle(cost);
                sum += cost;
                dearest = dearest.max(cost.input_tokens);
            }
            (sum, dearest)
        }
    });
    let (mut spent, mut most) = (Cost::default(), 0);
    for (sum, dearest) in join_all(asked).await {
        spent += sum;
        most = most.max(dearest);
    }
    (spent, most)
}
