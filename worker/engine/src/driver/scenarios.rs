//! Generates scenarios for the property tests of the engine.

use proptest::prelude::{Just, any, prop, prop_oneof};
use proptest::strategy::Strategy;

use super::generate::Scenario;
use crate::event::AnalystKind;
use crate::limits::{Cost, TriageLimits};
use crate::strategy::{ReflectionMode, TriageOptions};

/// External events of a case, one byte each.
pub(super) type ChaosInput = Vec<u8>;

fn conduct() -> impl Strategy<Value = TriageOptions> {
    let strategy = prop_oneof![
        4 => Just(crate::strategy::Strategy::Auto),
        1 => Just(crate::strategy::Strategy::Planned),
        1 => Just(crate::strategy::Strategy::Adaptive),
        1 => Just(crate::strategy::Strategy::Direct),
    ];
    let reflection = prop_oneof![
        Just(ReflectionMode::EveryWave),
        Just(ReflectionMode::EveryStep),
        Just(ReflectionMode::WhenNeeded),
    ];
    (strategy, reflection, any::<bool>()).prop_map(|(strategy, reflection, counterfactual)| {
        TriageOptions {
            strategy,
            reflection,
            counterfactual,
            ..TriageOptions::default()
        }
    })
}

/// Generates scenarios with caps on steps, turns and calls of a turn; questions cost nothing.
pub(super) fn free_worlds() -> impl Strategy<Value = Scenario> {
    let caps = (
        0..9_usize,
        0..7_usize,
        0..4_u32,
        0..5_usize,
        0..5_usize,
        0..4_u32,
    );
    (any::<u64>(), caps, any::<bool>(), conduct()).prop_map(|(seed, caps, is_model, conduct)| {
        Scenario {
            seed,
            limits: TriageLimits {
                steps: caps.0,
                first_plan_steps: caps.1,
                turns: caps.2,
                calls_per_turn: caps.3,
                parallel: caps.4,
                strikes: caps.5,
                ..TriageLimits::default()
            },
            reserve: Cost::default(),
            dear: 1,
            analyst: if is_model {
                AnalystKind::Model
            } else {
                AnalystKind::Playbook
            },
            conduct,
        }
    })
}

/// Generates scenarios in which questions cost something and the budget is small.
pub(super) fn worlds() -> impl Strategy<Value = Scenario> {
    (free_worlds(), 0..12_u64, 0..900_u64, 0..12_u32).prop_map(|(world, calls, tokens, cents)| {
        Scenario {
            limits: TriageLimits {
                calls,
                tokens: tokens * 10,
                usd: f64::from(cents) / 4.0,
                ..world.limits
            },
            reserve: Cost {
                usd: 0.25,
                input_tokens: 400,
                cached_tokens: 0,
                output_tokens: 100,
                model_calls: 1,
            },
            ..world
        }
    })
}

/// Generates scenarios in which a question may cost three times its reserve, like one that is asked three times.
pub(super) fn dear_worlds() -> impl Strategy<Value = Scenario> {
    worlds().prop_map(|world| Scenario { dear: 3, ..world })
}

pub(super) fn chaos() -> impl Strategy<Value = ChaosInput> {
    prop::collection::vec(any::<u8>(), 0..40)
}
