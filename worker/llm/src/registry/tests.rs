use std::time::Duration;

use crate::chat::{ChatAnswer, ChatFailure};
use futures_util::future::join_all;
use nightshift_engine::key::KeyRef;
use nightshift_engine::measurement::{Measurement, ModelTokens};
use nightshift_engine::port::NoMeter;
use tokio::time::{Instant, sleep, sleep_until};

use super::*;
use crate::circuit::ChainHealth;
use crate::testing::{
    NOW, RecordingMeter, ScriptedModel, answer, failure, request_with, secs, urgent_request, usage,
};
use crate::{ModelProvider, Price};

const PRICE: Price = Price {
    input: 1_000.0,
    cached_input: None,
    cache_write: None,
    output: 10_000.0,
};

fn config(name: &str) -> ModelConfig {
    ModelConfig {
        name: name.to_owned(),
        ..ModelConfig::new(ModelProvider::Openai, "gpt")
    }
}

/// Returns these models with a scripted adapter each.
fn models(
    configs: &[ModelConfig],
    model: &Arc<ScriptedModel>,
    meter: Arc<dyn Meter>,
) -> ModelRegistry {
    models_after(None, configs, model, meter)
}

/// Returns these models after a configuration with the models `before`.
fn models_after(
    before: Option<&ModelRegistry>,
    configs: &[ModelConfig],
    model: &Arc<ScriptedModel>,
    meter: Arc<dyn Meter>,
) -> ModelRegistry {
    ModelRegistry::assemble(configs, &meter, before, |_| {
        Ok(Arc::clone(model) as Arc<dyn ChatModel>)
    })
    .unwrap()
}

fn always_ok() -> Arc<ScriptedModel> {
    ScriptedModel::new(|_, _| (NOW, Ok(answer())))
}

#[test]
fn a_name_of_no_model_is_refused_with_the_nearest() {
    let models = models(
        &[config("main"), config("spare")],
        &always_ok(),
        Arc::new(NoMeter),
    );
    assert_eq!(models.names().collect::<Vec<_>>(), ["main", "spare"]);
    let error = |names: &[&str]| models.chain(names).err().unwrap().to_string();
    insta::assert_snapshot!(error(&["main", "spair"]), @r#"no [[model]] is called "spair": did you mean "spare"?"#);
    insta::assert_snapshot!(error(&["x"]), @r#"no [[model]] is called "x": there are main, spare"#);
    insta::assert_snapshot!(error(&[]), @"no model is named: name at least one [[model]]");
    assert_eq!(
        models.chain(&["main"]).unwrap().traits().name,
        "openai/main"
    );
}

#[test]
fn two_models_of_one_name_and_keys_without_a_source_are_refused() {
    let meter: Arc<dyn Meter> = Arc::new(NoMeter);
    let error = ModelRegistry::assemble(&[config("main"), config("main")], &meter, None, |_| {
        Ok(always_ok())
    });
    insta::assert_snapshot!(error.err().unwrap(), @r#"[[model]] "main": `name`: is another model's, too: give each its own, since profiles ask by it"#);
    let keyed = ModelConfig {
        api_key: Some(KeyRef::from("env:NO_SUCH_KEY")),
        ..config("main")
    };
    let error = ModelRegistry::build(
        &[keyed],
        &|place| match place {
            KeyLocation::Env(name) => Err(format!("environment variable {name} is not set")),
            _ => Err("another place".to_owned()),
        },
        &meter,
        None,
    );
    insta::assert_snapshot!(error.err().unwrap(), @r#"[[model]] "main": `api_key`: environment variable NO_SUCH_KEY is not set"#);
}

#[tokio::test(start_paused = true)]
async fn each_try_is_metered_and_priced_and_the_answer_has_the_sum() {
    let model = ScriptedModel::new(|number, _| match number {
        0 => (NOW, Err(failure(ChatFailure::Unreachable))),
        _ => (NOW, Ok(answer())),
    });
    let meter = Arc::new(RecordingMeter::default());
    let priced = ModelConfig {
        price: Some(PRICE),
        ..config("main")
    };
    let models = models(&[priced], &model, meter.clone());
    let chain = models.chain(&["main"]).unwrap();
    let answer = chain.chat(&request_with(secs(60))).await.unwrap();
    assert_eq!((answer.requests, answer.usage), (2, usage(110, 20)));
    assert!((answer.usd - (0.11 + 0.2)).abs() < 1e-9);

    let counted: Vec<(&str, ModelTokens, f64)> = meter
        .measures()
        .into_iter()
        .filter_map(|measure| match measure {
            Measurement::ModelRequest {
                outcome,
                tokens,
                usd,
                ..
            } => Some((outcome, tokens, usd)),
            _ => None,
        })
        .collect();
    let tokens = |input, output| ModelTokens {
        input,
        output,
        ..ModelTokens::default()
    };
    assert_eq!(
        counted,
        [
            ("unreachable", tokens(10, 0), 0.01),
            ("ok", tokens(100, 20), 0.3),
        ]
    );
}

#[test]
fn reserve_is_the_price_of_the_most_expensive_model() {
    let priced = ModelConfig {
        price: Some(PRICE),
        ..config("main")
    };
    let models = models(&[priced, config("free")], &always_ok(), Arc::new(NoMeter));
    let reserve = models.reserve(&["free", "main"], 6_000, 4_000).unwrap();
    assert_eq!(
        reserve,
        Cost {
            usd: 16.0,
            input_tokens: 6_000,
            cached_tokens: 0,
            output_tokens: 1_000,
            model_calls: 1,
        }
    );
    // More than the model's maximum output is not charged.
    let reserve = models.reserve(&["free"], 6_000, 100_000).unwrap();
    assert_eq!((reserve.output_tokens, reserve.usd), (2_000, 0.0));
    assert!(models.reserve(&["nobody"], 1, 1).is_err());
}

fn down_for(hours: u64) -> Arc<ScriptedModel> {
    let up_again = Instant::now() + secs(hours * 3_600);
    ScriptedModel::new(move |_, _| {
        let took = Duration::from_millis(300);
        if Instant::now() < up_again {
            (took, Err(failure(ChatFailure::Overloaded { after: None })))
        } else {
            (took, Ok(answer()))
        }
    })
}

#[tokio::test(start_paused = true)]
async fn f21_down_model_gets_one_probe_per_ten_seconds() {
    let model = down_for(1);
    let limited = ModelConfig {
        concurrent: Some(16),
        requests_per_minute: Some(6_000),
        ..config("main")
    };
    let models = models(&[limited], &model, Arc::new(NoMeter));
    let chain = models.chain(&["main"]).unwrap();
    let start = Instant::now();
    // Each case asks until it has its answer, a minute after each failure.
    let case = async |number: u64| {
        sleep(Duration::from_millis(number)).await;
        loop {
            let mut one = request_with(secs(120));
            one.urgent = number.is_multiple_of(10);
            match chain.chat(&one).await {
                Ok(answer) => return answer,
                Err(error) => assert!(error.failure.is_outage(), "{error}"),
            }
            sleep(secs(60)).await;
        }
    };
    let answers: Vec<ChatAnswer> = join_all((0..5_000).map(case)).await;
    assert_eq!(answers.len(), 5_000);
    let hour = start + secs(3_600);
    let asked = model.request_times();
    let in_vain: Vec<Instant> = asked.into_iter().filter(|at| *at < hour).collect();
    // Five outages opened the circuit; sixteen more could be in progress.
    let (before, probes): (Vec<Instant>, Vec<Instant>) =
        in_vain.into_iter().partition(|at| *at < start + secs(2));
    assert!(before.len() <= 5 + 16, "{} requests", before.len());
    assert!(probes.len() <= 360, "{} probes", probes.len());
    for pair in probes.windows(2) {
        assert!(pair[1] - pair[0] >= secs(10), "{pair:?}");
    }
    assert!(start.elapsed() < secs(3_600 + 180), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn f21_waiting_for_the_probe_uses_no_attempt_and_resumes() {
    let model = down_for(1);
    let models = models(&[config("main")], &model, Arc::new(NoMeter));
    let chain = models.chain(&["main"]).unwrap();
    let circuits = models.circuits().clone();
    let mut failures = 0;
    let start = Instant::now();
    while chain.chat(&urgent_request(secs(120))).await.is_err() {
        failures += 1;
        let ChainHealth::Down { since, probe_at } = circuits.health(&["main"]) else {
            panic!("the retries of one question open the circuit");
        };
        assert!(since - start < secs(30));
        sleep_until(probe_at).await;
    }
    assert_eq!(circuits.health(&["main"]), ChainHealth::Up);
    // The first question's attempts, one probe per ten seconds, and the answered request.
    assert!(
        model.request_count() <= 5 + 360 + 1,
        "{}",
        model.request_count()
    );
    assert!(failures <= 361, "{failures}");
    assert!(start.elapsed() <= secs(3_611), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn f21_chain_health_follows_circuits_where_fallback_refuses() {
    for refusal in [
        ChatFailure::Auth,
        ChatFailure::Quota,
        ChatFailure::BadRequest,
    ] {
        let main = down_for(1);
        let spare =
            ScriptedModel::with_name("openai/spare", move |_, _| (NOW, Err(failure(refusal))));
        let meter: Arc<dyn Meter> = Arc::new(NoMeter);
        let models =
            ModelRegistry::assemble(&[config("main"), config("spare")], &meter, None, |config| {
                let model = if config.name == "main" { &main } else { &spare };
                Ok(Arc::clone(model) as Arc<dyn ChatModel>)
            })
            .unwrap();
        let names = ["main", "spare"];
        let chain = models.chain(&names).unwrap();
        let start = Instant::now();
        while let Err(error) = chain.chat(&urgent_request(secs(120))).await {
            assert!(error.failure.is_outage(), "{error}");
            let ChainHealth::Down { probe_at, .. } = models.circuits().health(&names) else {
                panic!("it is down: {error}");
            };
            sleep_until(probe_at).await;
        }
        // Recovery takes no longer than without the spare model, which is asked no more often than the main one is
        // tried.
        assert!(start.elapsed() <= secs(3_611), "{:?}", start.elapsed());
        assert!(spare.request_count() <= 361, "{}", spare.request_count());
        assert_eq!(models.circuits().health(&names), ChainHealth::Up);
    }
}

#[tokio::test(start_paused = true)]
async fn what_all_refuse_each_is_asked_once_and_no_circuit_opens() {
    let model = ScriptedModel::new(|_, _| (NOW, Err(failure(ChatFailure::Filtered))));
    let models = models(
        &[config("main"), config("spare")],
        &model,
        Arc::new(NoMeter),
    );
    let names = ["main", "spare"];
    let chain = models.chain(&names).unwrap();
    for asked in 1..=10 {
        let error = chain.chat(&request_with(secs(60))).await.unwrap_err();
        assert_eq!((error.failure, error.requests), (ChatFailure::Filtered, 2));
        assert_eq!(model.request_count(), 2 * asked);
    }
    assert_eq!(models.circuits().health(&names), ChainHealth::Up);
}

#[tokio::test(start_paused = true)]
async fn f20_whole_stack_respects_retry_after_and_the_deadline() {
    let deadline = secs(90);
    for (told, again) in [
        (Some(secs(30)), true),
        (Some(secs(600)), false),
        (None, true),
    ] {
        let model = ScriptedModel::new(move |number, _| match number {
            0 => (NOW, Err(failure(ChatFailure::RateLimited { after: told }))),
            _ => (NOW, Ok(answer())),
        });
        let models = models(&[config("main")], &model, Arc::new(NoMeter));
        let start = Instant::now();
        let chain = models.chain(&["main"]).unwrap();
        let result = chain.chat(&request_with(deadline)).await;
        assert_eq!(result.is_ok(), again);
        assert!(start.elapsed() < deadline);
        if let Some(second) = model.request_times().get(1) {
            assert!(*second - start >= told.unwrap_or_default());
        } else {
            assert_eq!(start.elapsed(), NOW);
        }
        sleep_until(start + deadline).await;
    }
}

#[tokio::test(start_paused = true)]
async fn f20_long_retry_after_keeps_model_down_for_an_hour_at_most() {
    for (told, left_alone) in [
        (secs(61), secs(61)),
        (secs(300), secs(300)),
        (secs(86_400), secs(3_600)),
        (Duration::MAX, secs(3_600)),
    ] {
        // Beside the refused request, another one is in progress and answered a little later.
        let model = ScriptedModel::new(move |number, _| match number {
            0 => (secs(5), Ok(answer())),
            1 => {
                let after = Some(told);
                (NOW, Err(failure(ChatFailure::RateLimited { after })))
            }
            _ => (NOW, Ok(answer())),
        });
        let models = models(&[config("main")], &model, Arc::new(NoMeter));
        let (chain, circuits) = (models.chain(&["main"]).unwrap(), models.circuits());
        let start = Instant::now();
        let (first, second) = (request_with(secs(50)), request_with(secs(50)));
        let (first, second) = tokio::join!(chain.chat(&first), chain.chat(&second));
        assert!(first.is_ok(), "{first:?}");
        let error = second.unwrap_err();
        assert!(error.failure.is_outage());
        assert_eq!(error.requests, 0, "it costs the case no call");
        // Cases wait for the health. Otherwise they would ask every three seconds.
        let down = ChainHealth::Down {
            since: start,
            probe_at: start + left_alone,
        };
        while start.elapsed() < left_alone - secs(3) {
            sleep(secs(3)).await;
            assert_eq!(circuits.health(&["main"]), down);
            let error = chain.chat(&urgent_request(secs(50))).await.unwrap_err();
            assert_eq!(
                (error.failure, error.requests),
                (ChatFailure::CircuitOpen, 0)
            );
        }
        assert_eq!(model.request_count(), 2, "{told:?}");
        sleep_until(start + left_alone).await;
        assert!(chain.chat(&urgent_request(secs(50))).await.is_ok());
        assert_eq!(circuits.health(&["main"]), ChainHealth::Up);
    }
}

#[tokio::test(start_paused = true)]
async fn all_entries_of_one_model_are_down_while_one_is_asked() {
    let model = down_for(1);
    let models = models(
        &[config("main"), config("other")],
        &model,
        Arc::new(NoMeter),
    );
    // The name of the scripted model.
    let name = "openai/main";
    let open = |asked: &[&str]| {
        let asked = asked.iter().map(|&one| one.to_owned()).collect();
        models.open_circuits(&asked).into_iter().collect::<Vec<_>>()
    };
    assert_eq!(open(&["main", "other"]), [(name, false)]);
    let main = models.chain(&["main"]).unwrap();
    assert!(main.chat(&request_with(secs(120))).await.is_err());
    assert_eq!(open(&["main", "other"]), [(name, true)]);
    // No request would detect its recovery.
    assert_eq!(open(&["other"]), [(name, false)]);
}

#[tokio::test(start_paused = true)]
async fn earlier_configuration_still_counts_for_models_that_stay() {
    const CALL: Duration = secs(10);
    let limited = |concurrent, requests_per_minute| ModelConfig {
        concurrent,
        requests_per_minute,
        ..config("main")
    };
    for (config, other, second_after) in [
        (limited(Some(1), None), limited(Some(2), None), CALL),
        (limited(None, Some(2)), limited(None, Some(3)), secs(60)),
    ] {
        for (new, expected) in [(&config, second_after), (&other, NOW)] {
            let model = ScriptedModel::new(|_, _| (CALL, Ok(answer())));
            let meter: Arc<dyn Meter> = Arc::new(NoMeter);
            let before = models(std::slice::from_ref(&config), &model, Arc::clone(&meter));
            let after = models_after(Some(&before), std::slice::from_ref(new), &model, meter);
            let chains = [&before, &after].map(|models| models.chain(&["main"]).unwrap());
            let request = request_with(secs(120));
            let answers = join_all(chains.iter().map(|chain| chain.chat(&request))).await;
            assert!(answers.iter().all(Result::is_ok));
            let asked = model.request_times();
            assert_eq!(asked[1] - asked[0], expected, "{new:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn f21_down_model_stays_down_in_an_unchanged_configuration() {
    let model = down_for(1);
    let meter: Arc<dyn Meter> = Arc::new(NoMeter);
    let both = [config("main"), config("moved")];
    let before = models(&both, &model, Arc::clone(&meter));
    for name in ["main", "moved"] {
        let chain = before.chain(&[name]).unwrap();
        assert!(chain.chat(&request_with(secs(120))).await.is_err());
    }
    let moved = ModelConfig {
        base_url: Some("http://127.0.0.1:1".to_owned()),
        ..config("moved")
    };
    let after = models_after(Some(&before), &[config("main"), moved], &model, meter);
    let health = |name| after.circuits().health(&[name]);
    assert_eq!(health("main"), before.circuits().health(&["main"]));
    assert!(matches!(health("main"), ChainHealth::Down { .. }));
    assert_eq!(health("moved"), ChainHealth::Up);
}
