use crate::chat::TokenPrice;
use proptest::prelude::*;
use tokio::time::Instant;

use super::*;
use crate::testing::{
    NOW, ScriptedModel, ScriptedReply, answer, failure, request_with, secs, usage,
};

const LIMITED: ChatFailure = ChatFailure::RateLimited { after: None };

/// Fails once, then answers. Returns the result and the times of the requests, relative to the first.
async fn once(failure: ChatFailure) -> (Result<ChatAnswer, ChatError>, Vec<Duration>) {
    let model = ScriptedModel::new(move |number, _| match number {
        0 => (NOW, Err(crate::testing::failure(failure))),
        _ => (NOW, Ok(answer())),
    });
    let start = Instant::now();
    let result = Retry::new(model.clone())
        .with_seed(7)
        .chat(&request_with(secs(120)))
        .await;
    let asked = model.request_times().iter().map(|at| *at - start).collect();
    (result, asked)
}

#[tokio::test(start_paused = true)]
async fn f20_provider_is_retried_neither_early_nor_past_deadline() {
    // (the provider's wait, whether there is a retry)
    let table = [
        (Some(secs(0)), true),
        (Some(secs(20)), true),
        // A date arrives here as the seconds until it.
        (Some(Duration::from_millis(41_250)), true),
        (Some(secs(120)), false),
        (Some(secs(86_400)), false),
        (Some(Duration::MAX), false),
        (None, true),
    ];
    for (told, again) in table {
        for failure in [
            ChatFailure::RateLimited { after: told },
            ChatFailure::Overloaded { after: told },
        ] {
            let start = Instant::now();
            let (result, asked) = once(failure).await;
            assert_eq!(result.is_ok(), again, "{failure:?}");
            assert_eq!(asked.len(), if again { 2 } else { 1 }, "{failure:?}");
            if again {
                let told = told.unwrap_or_default();
                assert!(asked[1] >= told, "{failure:?}: {asked:?}");
                assert!(asked[1] <= told + Duration::from_millis(501), "{asked:?}");
            } else {
                assert_eq!(result.unwrap_err().failure, failure);
                assert_eq!(start.elapsed(), NOW, "{failure:?} was waited for in vain");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn f20_what_does_not_pass_in_seconds_is_not_tried_again() {
    for failure in [
        ChatFailure::Quota,
        ChatFailure::Auth,
        ChatFailure::BadRequest,
        ChatFailure::ContextTooLong,
        ChatFailure::Refused,
        ChatFailure::Filtered,
        ChatFailure::Truncated,
        ChatFailure::CircuitOpen,
    ] {
        let (result, asked) = once(failure).await;
        assert_eq!(result.unwrap_err().failure, failure);
        assert_eq!(asked.len(), 1, "{failure:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_failed_tries_cost_is_not_lost() {
    let model = ScriptedModel::new(|number, _| match number {
        0 | 1 => (NOW, Err(failure(ChatFailure::Unreachable))),
        _ => (NOW, Ok(answer())),
    });
    let answer = Retry::new(model)
        .with_seed(7)
        .chat(&request_with(secs(120)))
        .await
        .unwrap();
    assert_eq!(answer.requests, 3);
    assert_eq!(answer.usage, usage(120, 20));
    assert!((answer.usd - 0.02).abs() < 1e-9);

    let model = ScriptedModel::new(|_, _| (NOW, Err(failure(LIMITED))));
    let error = Retry::new(model)
        .with_seed(7)
        .chat(&request_with(secs(120)))
        .await
        .unwrap_err();
    // Requests that were turned away do not count.
    assert_eq!((error.requests, error.usage), (0, usage(70, 0)));
}

#[tokio::test(start_paused = true)]
async fn f22_paid_unreadable_answer_is_asked_for_once_more() {
    for (usage, asked) in [(usage(30, 20), 2), (usage(0, 0), 7)] {
        let model = ScriptedModel::new(move |_, _| {
            let mut error = failure(ChatFailure::Malformed);
            error.usage = usage;
            (NOW, Err(error))
        });
        let retry = Retry::new(model.clone()).with_seed(7);
        let error = retry.chat(&request_with(secs(120))).await.unwrap_err();
        assert_eq!(error.failure, ChatFailure::Malformed);
        assert_eq!(model.request_count(), asked, "{usage:?}");
    }
}

/// Returns a model with a price that gives the same reply to all requests.
fn priced(reply: impl Fn() -> ScriptedReply + Send + Sync + 'static) -> Retry {
    let mut model = ScriptedModel::new(move |_, _| reply());
    Arc::get_mut(&mut model).unwrap().set_traits(|traits| {
        traits.price = TokenPrice {
            input: 1_000.0,
            output: 10_000.0,
        };
    });
    Retry::new(model)
}

#[tokio::test(start_paused = true)]
async fn f22_timed_out_answer_is_charged_like_a_usual_one() {
    // A prompt of nine tokens, and a quarter of the thousand that its answer may have.
    let hangs = priced(|| (secs(3_600), Ok(answer())));
    let error = hangs.chat(&request_with(secs(30))).await.unwrap_err();
    assert_eq!(error.usage, usage(9, 250));
    assert!((error.usd - (0.009 + 2.5)).abs() < 1e-9, "{}", error.usd);

    // The provider's usage counts, although it comes after the deadline.
    let tells = priced(|| {
        let told = ChatError {
            usage: usage(40, 1),
            usd: 0.02,
            ..failure(ChatFailure::Timeout)
        };
        (secs(30), Err(told))
    });
    let error = tells.chat(&request_with(secs(30))).await.unwrap_err();
    assert_eq!(error.usage, usage(40, 250));
    assert!((error.usd - (0.02 + 2.49)).abs() < 1e-9, "{}", error.usd);
}

#[tokio::test(start_paused = true)]
async fn hanging_model_is_left_at_deadline_and_no_other_is_asked() {
    let model = ScriptedModel::new(|_, _| (secs(3_600), Ok(answer())));
    let start = Instant::now();
    let retry = Retry::new(model.clone());
    let error = retry.chat(&request_with(secs(30))).await.unwrap_err();
    assert_eq!(error.failure, ChatFailure::Timeout);
    assert_eq!(start.elapsed(), secs(30) + GRACE_PERIOD);

    let error = retry.chat(&request_with(NOW)).await.unwrap_err();
    assert_eq!((error.failure, error.requests), (ChatFailure::Timeout, 0));
    assert_eq!(model.request_count(), 1);
}

#[test]
fn waits_lie_between_nothing_and_a_growing_bound() {
    let waits = |seed| -> Vec<Duration> { full_jitter(Some(seed)).collect() };
    let bounds = [500, 1_000, 2_000, 4_000, 8_000, 16_000].map(Duration::from_millis);
    let mut below_half = 0;
    for seed in 0..200 {
        let waits = waits(seed);
        assert_eq!(waits.len(), bounds.len());
        for (wait, bound) in waits.iter().zip(bounds) {
            assert!(*wait <= bound, "{wait:?} of {bound:?}");
            below_half += usize::from(*wait < bound / 2);
        }
    }
    assert!((500..700).contains(&below_half), "{below_half} of 1200");
    assert_eq!(waits(3), waits(3));
}

fn any_failure() -> impl Strategy<Value = ChatFailure> {
    let after = prop_oneof![
        Just(None),
        (0_u64..200_000).prop_map(|millis| Some(Duration::from_millis(millis))),
        Just(Some(Duration::MAX)),
    ];
    prop_oneof![
        after
            .clone()
            .prop_map(|after| ChatFailure::RateLimited { after }),
        after.prop_map(|after| ChatFailure::Overloaded { after }),
        Just(ChatFailure::Unreachable),
        Just(ChatFailure::Timeout),
        Just(ChatFailure::Malformed),
        Just(ChatFailure::Quota),
    ]
}

proptest! {
    #[test]
    fn whatever_fails_the_deadline_and_what_was_told_hold(
        script in proptest::collection::vec((any_failure(), 0_u64..40_000), 0..9),
        left in 1_u64..180_000,
        seed in any::<u64>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let steps = script.clone();
            let model = ScriptedModel::new(move |number, _| match steps.get(number) {
                Some((failure, took)) => (Duration::from_millis(*took), Err(crate::testing::failure(*failure))),
                None => (NOW, Ok(answer())),
            });
            let request = request_with(Duration::from_millis(left));
            let result = Retry::new(model.clone()).with_seed(seed).chat(&request).await;
            prop_assert!(Instant::now() <= request.deadline + GRACE_PERIOD);
            let asked = model.request_times();
            for (pair, (failure, took)) in asked.windows(2).zip(&script) {
                let replied = pair[0] + Duration::from_millis(*took);
                prop_assert!(failure.is_transient());
                prop_assert!(pair[1] >= replied + failure.retry_after().unwrap_or_default());
                prop_assert!(pair[1] < request.deadline);
            }
            let requests = result.map_or_else(|error| error.requests, |answer| answer.requests);
            let turned_away = asked.iter().zip(&script).filter(|(at, (failure, took))| {
                let replied = **at + Duration::from_millis(*took);
                failure.is_throttled() && replied <= request.deadline + GRACE_PERIOD
            });
            prop_assert_eq!(requests, (asked.len() - turned_away.count()) as u64);
            Ok(())
        })?;
    }
}
