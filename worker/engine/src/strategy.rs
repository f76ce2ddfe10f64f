//! Defines the options of a profile for the work on its cases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The strategy for the work on a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The plan question chooses.
    #[default]
    Auto,
    /// The case always has a plan.
    Planned,
    /// The case has no plan; each step is chosen from the results so far.
    Adaptive,
    /// The case has no plan, but one implicit step.
    Direct,
}

/// Time at which the analyst reflects on its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReflectionMode {
    /// The analyst reflects after every wave.
    #[default]
    EveryWave,
    /// The analyst reflects after every step; steps then run one by one.
    EveryStep,
    /// The analyst reflects after a step that failed or was not met, or whose results match `replan_when`.
    WhenNeeded,
}

/// Part of earlier steps that a turn sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// A turn sees the summaries of finished steps.
    #[default]
    Summaries,
    /// A turn also sees their calls and results.
    Full,
    /// A turn sees no other step.
    None,
}

/// The part of a profile that controls the engine. A journal without it was run with the defaults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TriageOptions {
    /// Way in which a case is worked on.
    pub strategy: Strategy,
    /// Time at which the analyst reflects on its plan.
    pub reflection: ReflectionMode,
    /// Part of earlier steps that a turn sees.
    pub history: History,
    /// Texts that trigger a reflection when a result or an error holds one.
    pub replan_when: Vec<String>,
    /// True if a benign leaning is checked again with the actor's values blanked.
    pub counterfactual: bool,
    /// Names, domains and ranges of the organisation that never go to a third party: text, or addresses in CIDR form.
    pub never_send: Vec<String>,
}

impl Default for TriageOptions {
    fn default() -> Self {
        Self {
            strategy: Strategy::default(),
            reflection: ReflectionMode::default(),
            history: History::default(),
            replan_when: vec!["ERROR:".to_owned()],
            counterfactual: false,
            never_send: Vec::new(),
        }
    }
}
