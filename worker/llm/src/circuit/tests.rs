use tokio::time::sleep;

use super::*;
use crate::testing::{
    NOW, ScriptedModel, ScriptedReply, answer, breaker, failure, request_with, secs,
};

const OUTAGE: ChatFailure = ChatFailure::Overloaded { after: None };

fn guarded(
    script: impl Fn(usize, &ChatRequest) -> ScriptedReply + Send + Sync + 'static,
) -> (CircuitGuard, CircuitBreaker, Arc<ScriptedModel>) {
    let (breaker, model) = (breaker(), ScriptedModel::new(script));
    (
        CircuitGuard::new(model.clone(), breaker.clone()),
        breaker,
        model,
    )
}

fn fails(failure: ChatFailure) -> ScriptedReply {
    (NOW, Err(crate::testing::failure(failure)))
}

async fn ask(circuit: &CircuitGuard) -> Option<ChatFailure> {
    let result = circuit.chat(&request_with(secs(60))).await;
    result.err().map(|error| error.failure)
}

fn is_open(breaker: &CircuitBreaker) -> bool {
    breaker.state().borrow().open_circuit.is_some()
}

#[tokio::test(start_paused = true)]
async fn five_outages_in_a_row_open_it_and_one_answer_closes_it() {
    let (circuit, breaker, model) = guarded(|number, _| match number {
        3 | 10 => (NOW, Ok(answer())),
        _ => fails(OUTAGE),
    });
    // Three, an answer, and five: only the five count.
    for number in 0..9 {
        assert!(!is_open(&breaker), "after {number}");
        ask(&circuit).await;
    }
    assert!(is_open(&breaker));
    let error = circuit.chat(&request_with(secs(60))).await.unwrap_err();
    assert_eq!(
        (error.failure, error.requests),
        (ChatFailure::CircuitOpen, 0)
    );
    insta::assert_snapshot!(error, @"openai/main: circuit open: it is down or to be left alone, and is asked only now and then");

    sleep(secs(10)).await;
    assert_eq!(ask(&circuit).await, Some(OUTAGE), "the first probe");
    assert_eq!(ask(&circuit).await, Some(ChatFailure::CircuitOpen));
    sleep(secs(10)).await;
    assert_eq!(ask(&circuit).await, None, "the second probe");
    assert!(!is_open(&breaker));
    assert_eq!(ask(&circuit).await, Some(OUTAGE));
    assert!(!is_open(&breaker), "an answer has cleared the count");
    assert_eq!(model.request_count(), 12);
}

#[tokio::test(start_paused = true)]
async fn request_key_and_billing_errors_keep_the_circuit_closed() {
    for failure in [
        ChatFailure::Quota,
        ChatFailure::Auth,
        ChatFailure::BadRequest,
        ChatFailure::ContextTooLong,
        ChatFailure::Refused,
        ChatFailure::Filtered,
        ChatFailure::Truncated,
        // A short timeout: the question had no time left.
        ChatFailure::Timeout,
    ] {
        let (circuit, breaker, model) = guarded(move |_, _| fails(failure));
        for _ in 0..100 {
            ask(&circuit).await;
        }
        assert!(!is_open(&breaker), "{failure:?}");
        assert_eq!(model.request_count(), 100);
    }
}

#[tokio::test(start_paused = true)]
async fn few_rate_limits_keep_circuit_closed_but_nearly_all_open_it() {
    let limited = ChatFailure::RateLimited { after: None };
    let (circuit, breaker, _) = guarded(move |number, _| match number % 4 {
        0 => (NOW, Ok(answer())),
        _ => fails(limited),
    });
    for _ in 0..200 {
        ask(&circuit).await;
    }
    assert!(!is_open(&breaker), "three of four");

    let (circuit, breaker, model) = guarded(move |_, _| fails(limited));
    for _ in 0..200 {
        ask(&circuit).await;
    }
    assert!(is_open(&breaker));
    assert_eq!(model.request_count(), 16);
}

#[tokio::test(start_paused = true)]
async fn a_long_outage_that_is_over_does_not_open_it_again() {
    let probes = 20;
    let (circuit, breaker, model) = guarded(move |number, _| match number {
        _ if number < 5 + probes => fails(OUTAGE),
        _ if number == 5 + probes => (NOW, Ok(answer())),
        _ => fails(ChatFailure::RateLimited { after: None }),
    });
    for _ in 0..5 {
        ask(&circuit).await;
    }
    for _ in 0..=probes {
        assert!(is_open(&breaker));
        sleep(secs(10)).await;
        ask(&circuit).await;
    }
    for number in 1..=16 {
        assert!(!is_open(&breaker), "before {number} without an answer");
        ask(&circuit).await;
    }
    assert!(is_open(&breaker));
    assert_eq!(model.request_count(), 5 + probes + 1 + 16);
}

#[tokio::test(start_paused = true)]
async fn hanging_model_is_down_even_when_its_requests_are_dropped() {
    for dropped in [false, true] {
        let (circuit, breaker, model) =
            guarded(|_, _| (secs(60), Err(failure(ChatFailure::Timeout))));
        for _ in 0..20 {
            let request = request_with(secs(60));
            let patience = if dropped { 30 } else { 90 };
            let _ = tokio::time::timeout(secs(patience), circuit.chat(&request)).await;
        }
        assert!(is_open(&breaker), "dropped: {dropped}");
        assert!(model.request_count() < 20);
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_hangs_does_not_keep_the_next_one_away() {
    let (circuit, _, model) = guarded(|number, _| match number {
        0..5 => fails(OUTAGE),
        _ => (secs(3_600), Ok(answer())),
    });
    for _ in 0..5 {
        ask(&circuit).await;
    }
    for _ in 0..3 {
        sleep(secs(10)).await;
        let _ = tokio::time::timeout(secs(1), ask(&circuit)).await;
        assert_eq!(ask(&circuit).await, Some(ChatFailure::CircuitOpen));
    }
    assert_eq!(model.request_count(), 8);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_turn_leaves_when_the_circuit_opens() {
    let (circuit, breaker, _) = guarded(|_, _| fails(OUTAGE));
    let deadline = Instant::now() + secs(600);
    let start = Instant::now();
    let waiting = breaker.wait_for_turn(deadline, std::future::pending::<()>());
    let opening = async {
        sleep(secs(7)).await;
        for _ in 0..5 {
            ask(&circuit).await;
        }
    };
    let (waited, ()) = tokio::join!(waiting, opening);
    assert_eq!(waited, Err(ChatFailure::CircuitOpen));
    assert_eq!(start.elapsed(), secs(7));
    // No request begins to wait.
    let waiting = breaker.wait_for_turn(deadline, std::future::pending::<()>());
    assert_eq!(waiting.await, Err(ChatFailure::CircuitOpen));
    assert_eq!(start.elapsed(), secs(7));
}

fn circuits(names: &[&str]) -> (CircuitRegistry, Vec<CircuitBreaker>) {
    let breakers: Vec<CircuitBreaker> = names.iter().map(|_| breaker()).collect();
    let by_name = names.iter().map(|name| (*name).to_owned());
    (
        CircuitRegistry::new(by_name.zip(breakers.clone()).collect()),
        breakers,
    )
}

fn go_down(breaker: &CircuitBreaker) {
    for _ in 0..5 {
        breaker.record(Some(OUTAGE), NOW);
    }
}

#[tokio::test(start_paused = true)]
async fn a_chain_is_down_since_the_last_of_it_went_down() {
    let (circuits, breakers) = circuits(&["main", "spare"]);
    let chain = ["main", "spare"];
    go_down(&breakers[0]);
    let first = Instant::now();
    assert!(circuits.is_open("main") && !circuits.is_open("spare"));
    assert_eq!(circuits.health(&chain), ChainHealth::Up);
    sleep(secs(4)).await;
    go_down(&breakers[1]);
    assert_eq!(
        circuits.health(&chain),
        ChainHealth::Down {
            since: first + secs(4),
            probe_at: first + secs(10),
        }
    );
    // A failed probe changes the time of the next one, not the begin of the outage.
    sleep(secs(6)).await;
    assert!(breakers[0].admit());
    breakers[0].record(Some(OUTAGE), NOW);
    assert_eq!(
        circuits.health(&chain),
        ChainHealth::Down {
            since: first + secs(4),
            probe_at: first + secs(14),
        }
    );
    breakers[0].record(None, NOW);
    assert_eq!(circuits.health(&chain), ChainHealth::Up);
    assert_eq!(circuits.health(&["nobody"]), ChainHealth::Up);
}

#[tokio::test(start_paused = true)]
async fn chain_is_down_while_its_reachable_models_refuse() {
    for refusal in [
        ChatFailure::Auth,
        ChatFailure::Quota,
        ChatFailure::BadRequest,
    ] {
        let (circuits, breakers) = circuits(&["main", "spare"]);
        let chain = ["main", "spare"];
        let down = ChainHealth::Down {
            since: Instant::now(),
            probe_at: Instant::now() + secs(10),
        };
        go_down(&breakers[0]);
        assert_eq!(circuits.health(&chain), ChainHealth::Up);
        breakers[1].record(Some(refusal), NOW);
        assert_eq!(circuits.health(&chain), down, "{refusal:?}");
        assert_eq!(circuits.health(&["spare", "main"]), down, "in any order");
        assert!(!circuits.is_open("spare"));
        // A question without time left or a single outage does not change the state. An answer does, even a poor one.
        breakers[1].record(Some(ChatFailure::Timeout), NOW);
        breakers[1].record(Some(OUTAGE), NOW);
        assert_eq!(circuits.health(&chain), down);
        for answered in [None, Some(ChatFailure::Truncated)] {
            breakers[1].record(Some(refusal), NOW);
            assert_eq!(circuits.health(&chain), down);
            breakers[1].record(answered, NOW);
            assert_eq!(circuits.health(&chain), ChainHealth::Up);
        }
        // The model that was down is back, so the refusing one is not needed.
        breakers[1].record(Some(refusal), NOW);
        breakers[0].record(None, NOW);
        assert_eq!(circuits.health(&chain), ChainHealth::Up);
    }
}

#[tokio::test(start_paused = true)]
async fn models_that_refuse_are_not_down_since_waiting_does_not_help() {
    let (circuits, breakers) = circuits(&["main", "spare"]);
    breakers[0].record(Some(ChatFailure::Auth), NOW);
    assert_eq!(circuits.health(&["main"]), ChainHealth::Up);
    breakers[1].record(Some(ChatFailure::Quota), NOW);
    assert_eq!(circuits.health(&["main", "spare"]), ChainHealth::Up);
    // A model that is not configured here counts as up.
    go_down(&breakers[0]);
    assert_eq!(circuits.health(&["main", "nobody"]), ChainHealth::Up);
}

#[tokio::test(start_paused = true)]
async fn f20_a_probe_that_is_told_to_wait_puts_off_the_next_one() {
    let (circuit, breaker, model) = guarded(|number, _| match number {
        0..5 => fails(OUTAGE),
        5 => fails(ChatFailure::Overloaded {
            after: Some(secs(200)),
        }),
        _ => (NOW, Ok(answer())),
    });
    for _ in 0..5 {
        ask(&circuit).await;
    }
    let waiting = async {
        sleep(secs(10)).await;
        // Queued requests leave when the probe gets such a wait.
        let deadline = Instant::now() + secs(600);
        breaker
            .wait_for_turn(deadline, std::future::pending::<()>())
            .await
    };
    let probing = async {
        sleep(secs(10)).await;
        ask(&circuit).await
    };
    let (waited, _) = tokio::join!(waiting, probing);
    assert_eq!(waited, Err(ChatFailure::CircuitOpen));
    sleep(secs(199)).await;
    assert_eq!(ask(&circuit).await, Some(ChatFailure::CircuitOpen));
    sleep(secs(1)).await;
    assert_eq!(ask(&circuit).await, None);
    assert!(!is_open(&breaker));
    assert_eq!(model.request_count(), 7);
}
