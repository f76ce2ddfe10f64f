//! Defines `[[profile]]`: the analyst, models, tools and limits with which alerts are triaged.

use std::path::PathBuf;

use anyhow::Context;
use nightshift_engine::strategy::{History, ReflectionMode, Strategy, TriageOptions};
use nightshift_llm::chat::QuestionKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[[profile]]`
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProfileConfig {
    /// Its name; routes use it.
    pub(crate) name: String,
    /// The analyst. The default is `model` if a `[[model]]` is configured, else `playbook`.
    #[serde(default)]
    pub(crate) analyst: Option<AnalystChoice>,
    /// The models of each question by name, in the order in which they are tried. The key is needed if there are
    /// several models; a single model serves all questions.
    #[serde(default)]
    pub(crate) models: Option<QuestionModels>,
    /// Folder with prompts that replace the compiled-in prompts of the same file name. See docs/prompts.md.
    #[serde(default)]
    pub(crate) prompts: PathBuf,
    /// Further instructions for the model: rules of the organisation, exceptions, and what to look at first.
    #[serde(default)]
    pub(crate) instructions: String,
    /// The facts about the organisation that a model must know: what runs where, and what is normal.
    #[serde(default)]
    pub(crate) environment: String,
    /// The data that the tools read: which logs there are, how far back they go, and which gaps they have.
    #[serde(default)]
    pub(crate) data_sources: String,
    /// Language in which a model writes: `en`, `ja`, …
    #[serde(default = "english")]
    pub(crate) language: String,
    /// True if account ids, principals, hosts and internal addresses become tokens before a model sees them.
    #[serde(default)]
    pub(crate) pseudonyms: bool,
    /// Tools that may be used: names or globs.
    #[serde(default = "all_tools")]
    pub(crate) tools: Vec<String>,
    /// The strategy for the work on a case.
    #[serde(default)]
    pub(crate) strategy: Strategy,
    /// The occasions on which the analyst reviews its plan.
    #[serde(default)]
    pub(crate) reflection: ReflectionMode,
    /// The part of earlier steps that a model's turn sees.
    #[serde(default)]
    pub(crate) history: History,
    /// Texts that, found in a result or an error, call for a reflection; or a JSON file that lists them.
    #[serde(default)]
    pub(crate) replan_when: ReplanWhen,
    /// True if a leaning towards benign is asked again without the actor's words.
    #[serde(default)]
    pub(crate) counterfactual: bool,
    /// Own names, domains and ranges (CIDR) that never go to a third party.
    #[serde(default)]
    pub(crate) never_send: Vec<String>,
}

/// The models of each question, by name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionModels {
    /// The models for the question whether a plan is needed, and which.
    pub(crate) plan: Vec<String>,
    /// The next calls of a step, or its result.
    pub(crate) turn: Vec<String>,
    /// Models that judge the last action and choose the next. The default is `turn`.
    #[serde(default)]
    pub(crate) decide: Vec<String>,
    /// The models for the question whether the plan still fits. The default is `plan`.
    #[serde(default)]
    pub(crate) reflect: Vec<String>,
    /// Models that conclude the case. The default is `plan`.
    #[serde(default)]
    pub(crate) conclude: Vec<String>,
}

impl QuestionModels {
    /// Uses this model for every question.
    pub(crate) fn single_model(name: &str) -> Self {
        let one = || vec![name.to_owned()];
        Self {
            plan: one(),
            turn: one(),
            decide: one(),
            reflect: one(),
            conclude: one(),
        }
    }

    /// Returns the models of one question.
    pub(crate) fn chain(&self, asked: QuestionKind) -> &[String] {
        let own = match asked {
            QuestionKind::Plan => &self.plan,
            QuestionKind::Turn => &self.turn,
            QuestionKind::Decide => &self.decide,
            QuestionKind::Reflect => &self.reflect,
            QuestionKind::Conclude => &self.conclude,
        };
        match asked {
            QuestionKind::Decide if own.is_empty() => &self.turn,
            QuestionKind::Reflect | QuestionKind::Conclude if own.is_empty() => &self.plan,
            _ => own,
        }
    }
}

/// The texts of `replan_when`, or the JSON file that lists them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ReplanWhen {
    /// The texts.
    Texts(Vec<String>),
    /// A JSON file with a list of texts.
    File(PathBuf),
}

impl Default for ReplanWhen {
    fn default() -> Self {
        Self::Texts(TriageOptions::default().replan_when)
    }
}

impl ReplanWhen {
    /// Returns the texts. A file is read once, at the start.
    pub(crate) fn texts(&self) -> anyhow::Result<Vec<String>> {
        match self {
            Self::Texts(texts) => Ok(texts.clone()),
            Self::File(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read replan_when {}", path.display()))?;
                serde_json::from_str(&text).with_context(|| {
                    format!("replan_when {} is no JSON list of texts", path.display())
                })
            }
        }
    }
}

impl ProfileConfig {
    /// Returns the file of `replan_when`, if it names one.
    pub(crate) fn replan_file(&self) -> Option<PathBuf> {
        match &self.replan_when {
            ReplanWhen::File(path) => Some(path.clone()),
            ReplanWhen::Texts(_) => None,
        }
    }

    /// Converts the settings that say how cases are worked on.
    pub(crate) fn triage_options(&self) -> anyhow::Result<TriageOptions> {
        Ok(TriageOptions {
            strategy: self.strategy,
            reflection: self.reflection,
            history: self.history,
            replan_when: self.replan_when.texts()?,
            counterfactual: self.counterfactual,
            never_send: self.never_send.clone(),
        })
    }
}

impl Default for ProfileConfig {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            analyst: None,
            models: None,
            prompts: PathBuf::new(),
            instructions: String::new(),
            environment: String::new(),
            data_sources: String::new(),
            language: english(),
            pseudonyms: false,
            tools: all_tools(),
            strategy: Strategy::default(),
            reflection: ReflectionMode::default(),
            history: History::default(),
            replan_when: ReplanWhen::default(),
            counterfactual: false,
            never_send: Vec::new(),
        }
    }
}

/// The analyst of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AnalystChoice {
    /// Rules of playbooks; no model is used.
    Playbook,
    /// A language model; the playbooks take over when it gives no answer.
    Model,
}

fn english() -> String {
    "en".to_owned()
}

fn all_tools() -> Vec<String> {
    vec!["*".to_owned()]
}
