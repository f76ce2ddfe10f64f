//! Builds the analysts of profiles from the configured language models.
//!
//! Models are connected only when a command triages something, so listing cases needs no key.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use async_trait::async_trait;
use nightshift_analyst::model::{
    ModelAnalyst, ModelSettings, PerQuestion, Prompts, PseudonymSettings,
};
use nightshift_analyst::playbook::PlaybookSet;
use nightshift_engine::key::{KeyLocation, KeyRef, KeySource};
use nightshift_engine::limits::Cost;
use nightshift_engine::port::Meter;
use nightshift_llm::chat::{ChatMessage, ChatModel, ChatPart, ChatRequest, ChatRole, QuestionKind};
use nightshift_llm::{ChainHealth, ModelConfig, ModelProvider, ModelRegistry};
use nightshift_pipeline::loops::ModelHealth;

use tokio::time::Instant;

use crate::config::{AnalystChoice, ProfileConfig, QuestionModels, secret_reader, variable};
use crate::exit::Exit;

/// Prompt tokens that are reserved for a question. The actual use is settled afterwards.
const RESERVED_INPUT_TOKENS: u64 = 8_000;
/// Answer tokens that are reserved for a question.
const RESERVED_OUTPUT_TOKENS: u32 = 2_000;

/// Time limit for a probe of a model that was down.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);

/// Models, and the names of those that new cases ask.
#[derive(Clone)]
pub(super) struct ModelsInUse {
    pub(super) models: ModelRegistry,
    pub(super) names: BTreeSet<String>,
}

/// The connected models of a configuration.
pub(crate) struct ConnectedModels {
    models: ModelRegistry,
    names: Vec<String>,
    /// The model that the command line names for every question.
    chosen: Option<String>,
}

/// A profile's analyst and its reserved cost.
pub(super) struct ProfileAnalyst {
    pub(super) analyst: Arc<ModelAnalyst>,
    /// All its models as `provider/model`.
    pub(super) models: Vec<String>,
    pub(super) reserve: Cost,
    pub(super) prompts: String,
}

impl ConnectedModels {
    /// Connects all configured models and the one of the command line. Models that are configured as `before` share
    /// its limits and circuits.
    pub(super) fn new(
        configured: &[ModelConfig],
        base: &Path,
        wanted: Option<&str>,
        meter: &Arc<dyn Meter>,
        before: Option<&ModelRegistry>,
    ) -> Result<Self, Exit> {
        let keys = |place: KeyLocation<'_>| {
            let key = secret_reader(place, base);
            key().map(|_| key)
        };
        Self::with_keys(configured, wanted, meter, before, &keys)
    }

    /// Connects the same models with another source of keys.
    pub(super) fn with_keys(
        configured: &[ModelConfig],
        wanted: Option<&str>,
        meter: &Arc<dyn Meter>,
        before: Option<&ModelRegistry>,
        keys: &dyn Fn(KeyLocation<'_>) -> Result<KeySource, String>,
    ) -> Result<Self, Exit> {
        let mut configs = configured.to_vec();
        let chosen = wanted
            .map(|wanted| select_model(&mut configs, wanted))
            .transpose()?;
        let models = ModelRegistry::build(&configs, keys, meter, before)
            .map_err(|error| Exit::Config(error.into()))?;
        Ok(Self {
            models,
            names: configs.into_iter().map(|config| config.name).collect(),
            chosen,
        })
    }

    pub(super) const fn models(&self) -> &ModelRegistry {
        &self.models
    }

    /// Returns whether a model triages the profile's cases.
    pub(super) fn uses_models(&self, profile: &ProfileConfig) -> bool {
        self.chosen.is_some()
            || match profile.analyst {
                Some(analyst) => analyst == AnalystChoice::Model,
                None => !self.names.is_empty(),
            }
    }

    /// Builds the analyst of a profile.
    pub(super) fn analyst(
        &self,
        profile: &ProfileConfig,
        playbooks: &Arc<PlaybookSet>,
    ) -> anyhow::Result<ProfileAnalyst> {
        let chains = self.chains(profile)?;
        let mut names: Vec<&str> = Vec::new();
        for name in QuestionKind::ALL
            .iter()
            .flat_map(|asked| chains.chain(*asked))
        {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let dir = &profile.prompts;
        let dir = (!dir.as_os_str().is_empty()).then_some(dir.as_path());
        let settings = ModelSettings {
            prompts: Prompts::load(dir)
                .with_context(|| format!("[[profile]] {:?}: prompts", profile.name))?,
            instructions: profile.instructions.clone(),
            environment: profile.environment.clone(),
            data_sources: profile.data_sources.clone(),
            language: profile.language.clone(),
            pseudonyms: profile.pseudonyms.then(|| pseudonyms(profile)),
            ..ModelSettings::default()
        };
        let models = PerQuestion {
            plan: self.chain(&chains, QuestionKind::Plan)?,
            turn: self.chain(&chains, QuestionKind::Turn)?,
            decide: self.chain(&chains, QuestionKind::Decide)?,
            reflect: self.chain(&chains, QuestionKind::Reflect)?,
            conclude: self.chain(&chains, QuestionKind::Conclude)?,
        };
        let analyst = ModelAnalyst::new(models, settings, Some(Arc::clone(playbooks)));
        Ok(ProfileAnalyst {
            prompts: analyst.prompts_hash(),
            reserve: self
                .models
                .reserve(&names, RESERVED_INPUT_TOKENS, RESERVED_OUTPUT_TOKENS)?,
            models: names
                .iter()
                .map(|name| Ok(self.models.chain(&[*name])?.traits().name.clone()))
                .collect::<anyhow::Result<_>>()?,
            analyst: Arc::new(analyst),
        })
    }

    /// Returns the health of these profiles' models, or `None` if no profile uses one.
    pub(super) fn health(
        &self,
        profiles: &[ProfileConfig],
    ) -> anyhow::Result<Option<Arc<dyn ModelHealth>>> {
        let all = self.chains_in_use(profiles)?;
        Ok((!all.is_empty()).then(|| {
            Arc::new(ModelChains {
                models: self.models.clone(),
                all,
            }) as Arc<dyn ModelHealth>
        }))
    }

    /// Returns the names of the models that these profiles use.
    pub(super) fn names_in_use(
        &self,
        profiles: &[ProfileConfig],
    ) -> anyhow::Result<BTreeSet<String>> {
        Ok(self
            .chains_in_use(profiles)?
            .into_iter()
            .flatten()
            .collect())
    }

    /// Returns the fallback chains that these profiles use.
    fn chains_in_use(&self, profiles: &[ProfileConfig]) -> anyhow::Result<Vec<Vec<String>>> {
        let default = [ProfileConfig::default()];
        let has_default = profiles.iter().any(|one| one.name == "default");
        let defaults = if has_default { &[][..] } else { &default[..] };
        let mut all = Vec::new();
        for profile in profiles
            .iter()
            .chain(defaults)
            .filter(|one| self.uses_models(one))
        {
            let chains = self.chains(profile)?;
            for asked in QuestionKind::ALL {
                let chain = chains.chain(asked).to_vec();
                if !all.contains(&chain) {
                    all.push(chain);
                }
            }
        }
        Ok(all)
    }

    fn chain(
        &self,
        chains: &QuestionModels,
        asked: QuestionKind,
    ) -> anyhow::Result<Arc<dyn ChatModel>> {
        let names: Vec<&str> = chains.chain(asked).iter().map(String::as_str).collect();
        Ok(self.models.chain(&names)?)
    }

    /// Returns the models of each question: that of the command line, those of the profile, or the only one
    /// configured.
    fn chains(&self, profile: &ProfileConfig) -> anyhow::Result<QuestionModels> {
        if let Some(name) = &self.chosen {
            return Ok(QuestionModels::single_model(name));
        }
        if let Some(models) = &profile.models {
            return Ok(models.clone());
        }
        match self.names.as_slice() {
            [only] => Ok(QuestionModels::single_model(only)),
            [] => Err(anyhow!(
                "[[profile]] {:?}: analyst = \"model\", and there is no [[model]]",
                profile.name
            )),
            several => Err(anyhow!(
                "[[profile]] {:?}: there are the models {}; say which one answers what: \
                 models = {{ plan = [\"{}\"], turn = [\"{}\"] }}",
                profile.name,
                several.join(", "),
                several.first().map_or("", String::as_str),
                several.first().map_or("", String::as_str),
            )),
        }
    }
}

/// The fallback chains of all questions.
struct ModelChains {
    models: ModelRegistry,
    all: Vec<Vec<String>>,
}

impl ModelChains {
    fn health(&self) -> impl Iterator<Item = ChainHealth> {
        self.all.iter().map(|chain| self.health_of(chain))
    }

    fn health_of(&self, chain: &[String]) -> ChainHealth {
        let names: Vec<&str> = chain.iter().map(String::as_str).collect();
        self.models.circuits().health(&names)
    }

    /// Returns the chains that are down and may be probed now, even if other requests must wait.
    fn due_chains(&self) -> impl Iterator<Item = &Vec<String>> {
        let now = Instant::now();
        self.all.iter().filter(move |chain| {
            matches!(self.health_of(chain), ChainHealth::Down { probe_at, .. } if probe_at <= now)
        })
    }

    /// Returns models that are down in chains that are up and may be probed now. No other code probes them before the
    /// next case.
    fn unprobed_models(&self) -> Vec<&str> {
        let (now, circuits) = (Instant::now(), self.models.circuits());
        let up = self.all.iter();
        let up = up.filter(|chain| self.health_of(chain) == ChainHealth::Up);
        let mut names: Vec<&str> = up.flatten().map(String::as_str).collect();
        names.retain(|name| circuits.probe_at(name).is_some_and(|at| at <= now));
        names.sort_unstable();
        names.dedup();
        names
    }

    async fn probe_models(&self, names: &[&str]) {
        if let Ok(model) = self.models.chain(names) {
            // The circuit records the result, with any answer.
            drop(model.chat(&probe_request()).await);
        }
    }
}

#[async_trait]
impl ModelHealth for ModelChains {
    fn are_down(&self) -> bool {
        self.health().any(|health| health != ChainHealth::Up)
    }

    fn may_probe(&self) -> bool {
        self.due_chains().next().is_some() || !self.unprobed_models().is_empty()
    }

    async fn probe(&self) {
        for chain in self.due_chains() {
            let names: Vec<&str> = chain.iter().map(String::as_str).collect();
            self.probe_models(&names).await;
        }
        for name in self.unprobed_models() {
            self.probe_models(&[name]).await;
        }
    }
}

/// Returns the shortest possible question.
fn probe_request() -> ChatRequest {
    ChatRequest {
        question: QuestionKind::Turn,
        urgent: true,
        system: "Somebody wants to know whether you can be reached.".into(),
        messages: vec![ChatMessage {
            role: ChatRole::User,
            parts: vec![ChatPart::text("Answer with the word OK.")],
        }],
        tools: Arc::new([]),
        may_call: false,
        output: None,
        max_output_tokens: 64,
        deadline: Instant::now() + PROBE_TIMEOUT,
    }
}

/// Returns the texts that must never go to a third party. They are replaced in addition to account ids, principals,
/// hosts and private addresses.
fn pseudonyms(profile: &ProfileConfig) -> PseudonymSettings {
    let mut settings = PseudonymSettings::default();
    for own in &profile.never_send {
        match own.parse() {
            Ok(range) => settings.ranges.push(range),
            Err(_) => settings.names.push(own.clone()),
        }
    }
    settings
}

/// Returns the name of the model for `--model`: a configured one, or one with the usual key of its provider, which is
/// added.
fn select_model(configs: &mut Vec<ModelConfig>, wanted: &str) -> Result<String, Exit> {
    let known = configs
        .iter()
        .find(|config| config.name == wanted || config.full_name() == wanted);
    if let Some(config) = known {
        return Ok(config.name.clone());
    }
    let (provider, model) = wanted.split_once('/').ok_or_else(|| {
        let names: Vec<_> = configs.iter().map(|config| config.name.as_str()).collect();
        let configured = if names.is_empty() {
            "no [[model]] is configured".to_owned()
        } else {
            format!("configured are {}", names.join(", "))
        };
        Exit::usage(format!(
            "--model {wanted:?}: use PROVIDER/NAME, such as anthropic/claude-sonnet-4-6, or the name of a [[model]]; {configured}"
        ))
    })?;
    let provider: ModelProvider = provider
        .parse()
        .map_err(|error| Exit::usage(format!("--model {wanted:?}: {error}")))?;
    let mut config = ModelConfig::new(provider, model);
    config.name = wanted.to_owned();
    config.base_url = variable(base_url_variable(provider));
    let key = provider.key_variable();
    if variable(key).is_some() {
        config.api_key = Some(KeyRef::from(format!("env:{key}").as_str()));
    } else if provider != ModelProvider::Bedrock && config.base_url.is_none() {
        return Err(Exit::usage(format!(
            "--model {wanted:?}: the environment variable {key} is not set; set it, or configure a [[model]] with its api_key"
        )));
    }
    if provider == ModelProvider::Bedrock {
        config.region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
    }
    configs.push(config);
    Ok(wanted.to_owned())
}

/// Returns the environment variable that the provider's own SDK reads for another address.
const fn base_url_variable(provider: ModelProvider) -> &'static str {
    match provider {
        ModelProvider::Openai => "OPENAI_BASE_URL",
        ModelProvider::Anthropic => "ANTHROPIC_BASE_URL",
        ModelProvider::Gemini => "GOOGLE_GEMINI_BASE_URL",
        ModelProvider::Bedrock => "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    }
}
