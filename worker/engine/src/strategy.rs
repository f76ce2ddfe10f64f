//! How a profile wants its cases worked on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who chooses how a case is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The plan question chooses.
    #[default]
    Auto,
    /// Always a plan.
    Planned,
    /// Never a plan: each step is decided on from the results so far.
    Adaptive,
    /// Never a plan: one implicit step.
    Direct,
}

/// When the analyst looks back at its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReflectionMode {
    /// After every wave.
    #[default]
    EveryWave,
    /// After every step; steps then run one by one.
    EveryStep,
    /// After a step that failed or was not met, or whose results a rule of `replan_when` matches.
    WhenNeeded,
}

/// How much of earlier steps a turn sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// The summaries of finished steps.
    #[default]
    Summaries,
    /// Their calls and results as well.
    Full,
    /// Nothing of them.
    None,
}

/// The part of a profile that steers the machine. A journal without it was run with the defaults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Conduct {
    /// Who chooses how a case is worked on.
    pub strategy: Strategy,
    /// When the analyst looks back at its plan.
    pub reflection: ReflectionMode,
    /// How much of earlier steps a turn sees.
    pub history: History,
    /// Texts that, found in a result or an error, call for a reflection.
    pub replan_when: Vec<String>,
    /// Whether a leaning towards benign is asked again with the actor's fields blanked.
    pub counterfactual: bool,
    /// Names, domains and ranges of the organisation that never go to a third party: text, or addresses in CIDR form.
    pub never_send: Vec<String>,
}

impl Default for Conduct {
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
