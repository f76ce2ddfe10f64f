use std::time::Duration;

use super::*;
use crate::testing::{RecordingMeter, ScriptedModel, answer, failure, request_with, secs};

fn metered(model: Arc<dyn ChatModel>) -> (MeteredModel, Arc<RecordingMeter>) {
    let meter = Arc::new(RecordingMeter::default());
    (
        MeteredModel::new(model, "openai", "main", meter.clone()),
        meter,
    )
}

/// Returns outcome, duration and tokens of the measures.
fn counted(meter: &RecordingMeter) -> Vec<(&'static str, Duration, ModelTokens)> {
    meter
        .measures()
        .into_iter()
        .filter_map(|measure| match measure {
            Measurement::ModelRequest {
                outcome,
                took,
                tokens,
                ..
            } => Some((outcome, took, tokens)),
            _ => None,
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn each_request_is_counted_with_what_it_used() {
    let (model, meter) = metered(ScriptedModel::new(|number, _| {
        let mut answer = answer();
        answer.usage = Usage {
            input_tokens: 100,
            cached_tokens: 60,
            cache_write_tokens: 30,
            output_tokens: 20,
            reasoning_tokens: 15,
        };
        answer.usd = 0.5;
        match number {
            0 => (secs(2), Ok(answer)),
            _ => (secs(1), Err(failure(ChatFailure::Refused))),
        }
    }));
    let _ = model.chat(&request_with(secs(60))).await;
    let _ = model.chat(&request_with(secs(60))).await;
    assert_eq!(
        meter.measures(),
        [
            Measurement::ModelRequest {
                provider: "openai",
                model: "main".to_owned(),
                question: "plan",
                outcome: "ok",
                took: secs(2),
                tokens: ModelTokens {
                    input: 10,
                    cached: 60,
                    cache_write: 30,
                    output: 5,
                    reasoning: 15,
                },
                usd: 0.5,
            },
            Measurement::ModelRequest {
                provider: "openai",
                model: "main".to_owned(),
                question: "plan",
                outcome: "refused",
                took: secs(1),
                tokens: ModelTokens {
                    input: 10,
                    ..ModelTokens::default()
                },
                usd: 0.01,
            },
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_is_counted_too() {
    let (model, meter) = metered(ScriptedModel::new(|_, _| (secs(600), Ok(answer()))));
    for (left, waited) in [(60, 5), (60, 60)] {
        let request = request_with(secs(left));
        let _ = tokio::time::timeout(secs(waited), model.chat(&request)).await;
    }
    assert_eq!(
        counted(&meter),
        [
            ("cancelled", secs(5), ModelTokens::default()),
            ("timeout", secs(60), ModelTokens::default()),
        ]
    );
}

#[test]
fn every_failure_that_a_model_can_have_is_an_outcome() {
    for failure in [
        ChatFailure::RateLimited { after: None },
        ChatFailure::Overloaded { after: None },
        ChatFailure::Unreachable,
        ChatFailure::Timeout,
        ChatFailure::Truncated,
        ChatFailure::Refused,
        ChatFailure::Filtered,
        ChatFailure::Malformed,
        ChatFailure::ContextTooLong,
        ChatFailure::Quota,
        ChatFailure::Auth,
        ChatFailure::BadRequest,
    ] {
        assert!(OUTCOMES.contains(&failure.as_str()), "{failure:?}");
    }
    for not_asked in [ChatFailure::CircuitOpen, ChatFailure::NoTurn] {
        assert!(!OUTCOMES.contains(&not_asked.as_str()));
    }
}
