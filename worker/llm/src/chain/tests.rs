use crate::chat::Failure;

use super::*;
use crate::testing::{NOW, Scripted, answer, failed, request, secs, usage};

fn model(name: &'static str, failure: Option<Failure>) -> Arc<Scripted> {
    Scripted::named(name, move |_, _| match failure {
        Some(failure) => (
            NOW,
            Err(ChatError {
                model: name.to_owned(),
                ..failed(failure)
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
    let main = model("openai/main", Some(Failure::Quota));
    let spare = model("anthropic/spare", None);
    let answer = Chain::new(main, vec![spare])
        .chat(&request(secs(60)))
        .await
        .unwrap();
    assert_eq!(answer.model, "anthropic/spare");
    assert_eq!((answer.requests, answer.usage), (2, usage(110, 20)));
    assert!((answer.usd - 0.01).abs() < 1e-9);
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_first_ends_the_chain_be_it_cut_off() {
    for failure in [None, Some(Failure::Truncated)] {
        let spare = model("anthropic/spare", None);
        let chain = Chain::new(model("openai/main", failure), vec![spare.clone()]);
        let result = chain.chat(&request(secs(60))).await;
        assert_eq!(result.err().map(|error| error.failure), failure);
        assert_eq!(spare.count(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_one_refuses_the_next_is_asked_and_all_must_refuse() {
    for refuses in [Failure::Refused, Failure::Filtered] {
        let spare = model("anthropic/spare", None);
        let chain = Chain::new(model("openai/main", Some(refuses)), vec![spare]);
        let answer = chain.chat(&request(secs(60))).await.unwrap();
        assert_eq!(answer.model, "anthropic/spare");
        assert_eq!((answer.requests, answer.usage), (2, usage(110, 20)));

        let (main, spare) = (
            model("openai/main", Some(refuses)),
            model("anthropic/spare", Some(Failure::Refused)),
        );
        let chain = Chain::new(main.clone(), vec![spare.clone()]);
        let error = chain.chat(&request(secs(60))).await.unwrap_err();
        assert_eq!((error.failure, error.requests), (refuses, 2));
        assert_eq!((main.count(), spare.count()), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_hangs_leaves_time_for_the_next() {
    let main = Scripted::new(|_, request| (time_left(request), Err(failed(Failure::Timeout))));
    let spare = Scripted::named("anthropic/spare", |_, request| {
        assert_eq!(time_left(request), secs(40));
        (NOW, Ok(answer()))
    });
    let chain = Chain::new(main, vec![spare]);
    assert!(chain.chat(&request(secs(120))).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn when_all_fail_an_outage_is_told_since_waiting_helps() {
    for (first, second, told) in [
        (Failure::CircuitOpen, Failure::Auth, Failure::CircuitOpen),
        (Failure::Auth, Failure::CircuitOpen, Failure::CircuitOpen),
        (Failure::Auth, Failure::Quota, Failure::Quota),
        (Failure::CircuitOpen, Failure::Refused, Failure::Refused),
        (Failure::Filtered, Failure::CircuitOpen, Failure::Filtered),
        (Failure::Refused, Failure::Timeout, Failure::Refused),
        // A model that only has no turn now is not down.
        (Failure::NoTurn, Failure::CircuitOpen, Failure::NoTurn),
        (Failure::CircuitOpen, Failure::NoTurn, Failure::NoTurn),
        (Failure::NoTurn, Failure::Auth, Failure::NoTurn),
        // A shorter prompt helps here, and at once.
        (
            Failure::CircuitOpen,
            Failure::ContextTooLong,
            Failure::ContextTooLong,
        ),
        (
            Failure::ContextTooLong,
            Failure::CircuitOpen,
            Failure::ContextTooLong,
        ),
    ] {
        let chain = Chain::new(
            model("openai/main", Some(first)),
            vec![model("anthropic/spare", Some(second))],
        );
        let error = chain.chat(&request(secs(60))).await.unwrap_err();
        assert_eq!(error.failure, told);
        assert_eq!((error.requests, error.usage), (2, usage(20, 0)));
    }
    let chain = Chain::new(
        model("openai/main", Some(Failure::CircuitOpen)),
        vec![model("anthropic/spare", Some(Failure::Auth))],
    );
    insta::assert_snapshot!(
        chain.chat(&request(secs(60))).await.unwrap_err(),
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
    let chain = Chain::new(model("openai/main", None), vec![small]);
    let traits = chain.traits();
    assert_eq!(traits.name, "openai/main, anthropic/spare");
    assert_eq!((traits.window_tokens, traits.tools), (32_000, false));
    assert_eq!(traits.max_output_tokens, 8_000);
}
