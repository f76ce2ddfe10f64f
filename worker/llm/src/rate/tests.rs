use futures_util::future::join_all;

use super::*;
use crate::testing::{
    NOW, ScriptedModel, answer, breaker, failure, request_with, secs, urgent_request, usage,
};

fn limits(
    requests_per_minute: Option<u32>,
    tokens_per_minute: Option<u32>,
) -> Arc<SharedRateLimit> {
    SharedRateLimit::new(MinuteLimits {
        requests_per_minute,
        tokens_per_minute,
    })
}

/// Returns a model whose answers use this many tokens.
fn using(tokens: u64) -> Arc<ScriptedModel> {
    ScriptedModel::new(move |_, _| {
        let mut answer = answer();
        answer.usage = usage(tokens, 0);
        (NOW, Ok(answer))
    })
}

/// Returns the number of requests in each of the first minutes, for `number` requests that all wait from the start.
async fn per_minute(
    rate: RateLimit,
    model: &ScriptedModel,
    number: usize,
    minutes: u64,
) -> Vec<usize> {
    let start = Instant::now();
    let requests: Vec<_> = (0..number)
        .map(|_| request_with(secs(minutes * 60)))
        .collect();
    join_all(requests.iter().map(|request| rate.chat(request))).await;
    let asked = model.request_times();
    (0..minutes)
        .map(|minute| {
            let from = start + secs(minute * 60);
            let until = from + secs(60);
            asked
                .iter()
                .filter(|at| (from..until).contains(*at))
                .count()
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn requests_per_minute_hold_and_a_fifth_is_kept() {
    let model = using(0);
    let rate = RateLimit::new(model.clone(), limits(Some(60), None), breaker());
    // 48 of 60 in a minute; at the start 8 at once, the burst.
    let counts = per_minute(rate, &model, 500, 4).await;
    assert_eq!(counts, [55, 48, 48, 48]);
}

#[tokio::test(start_paused = true)]
async fn tokens_per_minute_count_actual_use_instead_of_the_estimate() {
    // A request is estimated at 259 tokens.
    for used in [50, 1_000, 7_000] {
        let model = using(used);
        let rate = RateLimit::new(model.clone(), limits(None, Some(10_000)), breaker());
        let counts = per_minute(rate, &model, 5_000, 5).await;
        let later: usize = counts[1..].iter().sum();
        let tokens_per_minute = later as u64 * used / 4;
        assert!(
            (5_000..=8_800).contains(&tokens_per_minute),
            "{used} used: {tokens_per_minute} a minute, {counts:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_larger_than_a_minutes_tokens_is_not_locked_out() {
    let model = using(1_500);
    let rate = RateLimit::new(model.clone(), limits(None, Some(100)), breaker());
    assert!(rate.chat(&request_with(secs(600))).await.is_ok());
    // The tokens are a debt, so the next request waits until it is paid.
    let start = Instant::now();
    assert!(rate.chat(&request_with(secs(3_600))).await.is_ok());
    assert!(start.elapsed() > secs(900), "{:?}", start.elapsed());
}

/// Checks that requests without a turn pay off the debt. Three requests use five minutes' worth each, then one comes
/// per minute.
#[tokio::test(start_paused = true)]
async fn what_is_owed_ends_though_nobody_can_wait_for_all_of_it() {
    let model = ScriptedModel::new(|_, _| {
        let mut answer = answer();
        answer.usage = usage(5_000, 0);
        (secs(60), Ok(answer))
    });
    let rate = RateLimit::new(model.clone(), limits(None, Some(1_000)), breaker());
    let together: Vec<_> = (0..3).map(|_| request_with(secs(120))).collect();
    join_all(together.iter().map(|request| rate.chat(request))).await;
    let asked = model.request_count();
    let mut failed = 0;
    while rate.chat(&request_with(secs(120))).await.is_err() {
        failed += 1;
        assert!(failed < 20, "nobody is asked any more");
        tokio::time::sleep(secs(60)).await;
    }
    assert!(failed > 3 && model.request_count() == asked + 1, "{failed}");
}

#[tokio::test(start_paused = true)]
async fn a24_urgent_request_goes_first_behind_ten_thousand_others() {
    for (requests, tokens) in [(Some(100), None), (None, Some(30_000))] {
        let rate = RateLimit::new(using(300), limits(requests, tokens), breaker());
        let start = Instant::now();
        let ordinary: Vec<_> = (0..10_000).map(|_| request_with(secs(120))).collect();
        let crowd = join_all(ordinary.iter().map(|request| rate.chat(request)));
        let late = async {
            tokio::time::sleep(secs(45)).await;
            let asked = Instant::now();
            let result = rate.chat(&urgent_request(secs(120))).await;
            (result.is_ok(), asked.elapsed())
        };
        let (_, urgent) = tokio::join!(crowd, late);
        assert_eq!(urgent, (true, NOW), "{requests:?} {tokens:?}");
        assert!(start.elapsed() <= secs(120));
    }
}

#[tokio::test(start_paused = true)]
async fn who_would_wait_too_long_is_told_at_once() {
    let model = using(0);
    let rate = RateLimit::new(model.clone(), limits(Some(1), None), breaker());
    rate.chat(&request_with(secs(10))).await.unwrap();
    let start = Instant::now();
    let error = rate.chat(&request_with(secs(10))).await.unwrap_err();
    // This does not mean that the model is down: others are answered.
    assert_eq!(error.failure, ChatFailure::NoTurn);
    assert!(!error.failure.is_outage() && !error.failure.is_transient());
    assert_eq!((error.requests, start.elapsed()), (0, NOW));
    assert_eq!(model.request_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn f20_what_the_provider_told_one_holds_for_all() {
    for told in [secs(20), secs(50)] {
        let model = ScriptedModel::new(move |number, _| match number {
            0 => {
                let after = Some(told);
                (NOW, Err(failure(ChatFailure::RateLimited { after })))
            }
            _ => (NOW, Ok(answer())),
        });
        let rate = RateLimit::new(model, limits(None, None), breaker());
        assert!(rate.chat(&request_with(secs(60))).await.is_err());
        let start = Instant::now();
        // Too short for the wait, so the error comes at once.
        let short = rate.chat(&request_with(secs(5))).await.unwrap_err();
        assert!(short.failure.is_outage(), "{short}");
        assert_eq!(start.elapsed(), NOW);
        assert!(rate.chat(&request_with(secs(60))).await.is_ok());
        assert_eq!(start.elapsed(), told);
    }
}

#[tokio::test(start_paused = true)]
async fn f20_waiting_requests_respect_a_later_retry_after() {
    // The first gets the error at once; the second, already in progress, after five seconds.
    let model = ScriptedModel::new(move |number, _| {
        let limited = |after| failure(ChatFailure::RateLimited { after: Some(after) });
        match number {
            0 => (secs(1), Err(limited(secs(10)))),
            1 => (secs(5), Err(limited(secs(40)))),
            _ => (NOW, Ok(answer())),
        }
    });
    let rate = RateLimit::new(model.clone(), limits(None, None), breaker());
    let start = Instant::now();
    let requests = [
        request_with(secs(90)),
        request_with(secs(90)),
        request_with(secs(90)),
    ];
    let late = async {
        tokio::time::sleep(secs(2)).await;
        rate.chat(&requests[2]).await
    };
    let (first, second, third) =
        tokio::join!(rate.chat(&requests[0]), rate.chat(&requests[1]), late);
    assert!(first.is_err() && second.is_err() && third.is_ok());
    assert_eq!(model.request_times()[2] - start, secs(45));
}
