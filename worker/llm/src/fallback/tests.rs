use crate::chat::ChatFailure;

use super::*;
use crate::testing::{NOW, ScriptedModel, answer, request_with, secs, usage};

fn model(name: &'static str, failure: Option<ChatFailure>) -> Arc<ScriptedModel> {
    ScriptedModel::with_name(name, move |_, _| match failure {
        Some(failure) => (
            NOW,
            Err(ChatError {
                model: name.to_owned(),
                ..crate::testing::failure(failure)
            }),
        ),
        None => (
            NOW,
            Ok(ChatAnswer {
                model: name.to_owned(),
                ..answer()
            }),
        ),
    })
}

#[tokio::test(start_paused = true)]
async fn the_next_model_answers_what_one_cannot_and_both_are_paid() {
    let main = model("openai/main", Some(ChatFailure::Quota));
    let spare = model("anthropic/spare", None);
    let answer = FallbackChain::new(main, vec![spare])
        .chat(&request_with(secs(60)))
        .await
        .unwrap();
    assert_eq!(answer.model, "anthropic/spare");
    assert_eq!((answer.requests, answer.usage), (2, usage(110, 20)));
    assert!((answer.usd - 0.01).abs() < 1e-9);
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_first_ends_the_chain_be_it_cut_off() {
    for failure in [None, Some(ChatFailure::Truncated)] {
        let spare = model("anthropic/spare", None);
        let chain = FallbackChain::new(model("openai/main", failure), vec![spare.clone()]);
        let result = chain.chat(&request_with(secs(60))).await;
        assert_eq!(result.err().map(|error| error.failure), failure);
        assert_eq!(spare.request_count(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_one_refuses_the_next_is_asked_and_all_must_refuse() {
    for refuses in [ChatFailure::Refused, ChatFailure::Filtered] {
        let spare = model("anthropic/spare", None);
        let chain = FallbackChain::new(model("openai/main", Some(refuses)), vec![spare]);
        let answer = chain.chat(&request_with(secs(60))).await.unwrap();
        assert_eq!(answer.model, "anthropic/spare");
        assert_eq!((answer.requests, answer.usage), (2, usage(110, 20)));

        let (main, spare) = (
            model("openai/main", Some(refuses)),
            model("anthropic/spare", Some(ChatFailure::Refused)),
        );
        let chain = FallbackChain::new(main.clone(), vec![spare.clone()]);
        let error = chain.chat(&request_with(secs(60))).await.unwrap_err();
        assert_eq!((error.failure, error.requests), (refuses, 2));
        assert_eq!((main.request_count(), spare.request_count()), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_hangs_leaves_time_for_the_next() {
    let main = ScriptedModel::new(|_, request| {
        (
            time_left(request),
            Err(crate::testing::failure(ChatFailure::Timeout)),
        )
    });
    let spare = ScriptedModel::with_name("anthropic/spare", |_, request| {
        assert_eq!(time_left(request), secs(40));
        (NOW, Ok(answer()))
    });
    let chain = FallbackChain::new(main, vec![spare]);
    assert!(chain.chat(&request_with(secs(120))).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn when_all_fail_an_outage_is_told_since_waiting_helps() {
    for (first, second, told) in [
        (
            ChatFailure::CircuitOpen,
            ChatFailure::Auth,
            ChatFailure::CircuitOpen,
        ),
        (
            ChatFailure::Auth,
            ChatFailure::CircuitOpen,
            ChatFailure::CircuitOpen,
        ),
        (ChatFailure::Auth, ChatFailure::Quota, ChatFailure::Quota),
        (
            ChatFailure::CircuitOpen,
            ChatFailure::Refused,
            ChatFailure::Refused,
        ),
        (
            ChatFailure::Filtered,
            ChatFailure::CircuitOpen,
            ChatFailure::Filtered,
        ),
        (
            ChatFailure::Refused,
            ChatFailure::Timeout,
            ChatFailure::Refused,
        ),
        // A model that only has no turn now is not down.
        (
            ChatFailure::NoTurn,
            ChatFailure::CircuitOpen,
            ChatFailure::NoTurn,
        ),
        (
            ChatFailure::CircuitOpen,
            ChatFailure::NoTurn,
            ChatFailure::NoTurn,
        ),
        (ChatFailure::NoTurn, ChatFailure::Auth, ChatFailure::NoTurn),
        // A shorter prompt helps here, and at once.
        (
            ChatFailure::CircuitOpen,
            ChatFailure::ContextTooLong,
            ChatFailure::ContextTooLong,
        ),
        (
            ChatFailure::ContextTooLong,
            ChatFailure::CircuitOpen,
            ChatFailure::ContextTooLong,
        ),
    ] {
        let chain = FallbackChain::new(
            model("openai/main", Some(first)),
            vec![model("anthropic/spare", Some(second))],
        );
        let error = chain.chat(&request_with(secs(60))).await.unwrap_err();
        assert_eq!(error.failure, told);
        assert_eq!((error.requests, error.usage), (2, usage(20, 0)));
    }
    let chain = FallbackChain::new(
        model("openai/main", Some(ChatFailure::CircuitOpen)),
        vec![model("anthropic/spare", Some(ChatFailure::Auth))],
    );
    insta::assert_snapshot!(
        chain.chat(&request_with(secs(60))).await.unwrap_err(),
        @"openai/main: circuit open: no; anthropic/spare: not authorised: no"
    );
}

#[test]
fn a_chain_can_do_what_all_of_it_can() {
    let mut small = model("anthropic/spare", None);
    Arc::get_mut(&mut small).unwrap().set_traits(|traits| {
        traits.window_tokens = 32_000;
        traits.tools = false;
    });
    let chain = FallbackChain::new(model("openai/main", None), vec![small]);
    let traits = chain.traits();
    assert_eq!(traits.name, "openai/main, anthropic/spare");
    assert_eq!((traits.window_tokens, traits.tools), (32_000, false));
    assert_eq!(traits.max_output_tokens, 8_000);
}
