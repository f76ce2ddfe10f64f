//! Builds the models of a configuration, each with the layers around its adapter, and chains of them.
//!
//! The order of the layers is decided here, from outside in:
//!
//! | layer | reason for its position |
//! |---|---|
//! | chain | another model answers after the retries of the first |
//! | retry | each attempt waits for its own turn |
//! | rate | waits for a turn without holding a place |
//! | concurrency | waits for a place; a request with a place is sent at once |
//! | circuit | after all waiting, so that no queued request reaches a model that went down |
//! | metering | counts each attempt that reaches the model |
//! | price | its cost is counted by metering |
//! | estimated usage | missing usage is estimated before it is priced |
//! | adapter | protocol |

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::chat::{ChatModel, Usage};
use nightshift_engine::key::{KeyLocation, KeySource};
use nightshift_engine::limits::Cost;
use nightshift_engine::port::Meter;

use crate::circuit::{BreakerConfig, CircuitBreaker, CircuitGuard, CircuitRegistry};
use crate::concurrency::{ConcurrencyLimit, ConcurrencySlots};
use crate::estimated_usage::EstimatedUsage;
use crate::fallback::FallbackChain;
use crate::metering::MeteredModel;
use crate::price::PricedModel;
use crate::rate::{MinuteLimits, RateLimit, SharedRateLimit, usual_output_tokens};
use crate::retry::Retry;
use crate::{ModelConfig, ModelError, connect};

/// The models of a configuration, by name. Clones share them.
#[derive(Clone)]
pub struct ModelRegistry {
    models: BTreeMap<String, ConfiguredModel>,
    circuits: CircuitRegistry,
}

#[derive(Clone)]
struct ConfiguredModel {
    chat: Arc<dyn ChatModel>,
    config: ModelConfig,
    limits: ModelLimits,
}

/// Limits and circuit of a model. They persist across reloads while the model's configuration is unchanged: requests
/// of an earlier configuration count, and a model that is down stays down.
#[derive(Clone)]
struct ModelLimits {
    breaker: CircuitBreaker,
    rate_limit: Arc<SharedRateLimit>,
    /// Without it, only the parallel cases and steps bound the requests.
    slots: Option<Arc<ConcurrencySlots>>,
}

impl ModelLimits {
    fn from_config(config: &ModelConfig) -> Self {
        Self {
            breaker: CircuitBreaker::new(BreakerConfig::default()),
            rate_limit: SharedRateLimit::new(MinuteLimits {
                requests_per_minute: config.requests_per_minute,
                tokens_per_minute: config.tokens_per_minute,
            }),
            slots: config.concurrent.map(ConcurrencySlots::new),
        }
    }
}

impl ModelRegistry {
    /// Connects all models of a configuration. `keys` makes the source of a key from its place. Models that are
    /// unchanged since the configuration `before` share its limits and circuits.
    ///
    /// # Errors
    ///
    /// Returns an error when a model cannot be connected as configured, a key has no source, or two models have the
    /// same name.
    pub fn build(
        configs: &[ModelConfig],
        keys: &dyn Fn(KeyLocation<'_>) -> Result<KeySource, String>,
        meter: &Arc<dyn Meter>,
        before: Option<&Self>,
    ) -> Result<Self, ModelError> {
        Self::assemble(configs, meter, before, |config| {
            let key = config.api_key.as_ref().map(|key| keys(key.location()));
            let key = key
                .transpose()
                .map_err(|problem| config.invalid_value("api_key", problem))?;
            connect(config, key)
        })
    }

    /// Puts all layers around the adapter that `connect` returns.
    fn assemble(
        configs: &[ModelConfig],
        meter: &Arc<dyn Meter>,
        before: Option<&Self>,
        connect: impl Fn(&ModelConfig) -> Result<Arc<dyn ChatModel>, ModelError>,
    ) -> Result<Self, ModelError> {
        let mut models = BTreeMap::new();
        let mut breakers = BTreeMap::new();
        for config in configs {
            let kept = before.and_then(|before| before.limits_for(config));
            let bounds = kept.unwrap_or_else(|| ModelLimits::from_config(config));
            breakers.insert(config.name.clone(), bounds.breaker.clone());
            let model = ConfiguredModel {
                chat: build_layers(connect(config)?, config, &bounds, Arc::clone(meter)),
                config: config.clone(),
                limits: bounds,
            };
            if models.insert(config.name.clone(), model).is_some() {
                return Err(config.invalid_value(
                    "name",
                    "is another model's, too: give each its own, since profiles ask by it",
                ));
            }
        }
        Ok(Self {
            models,
            circuits: CircuitRegistry::new(breakers),
        })
    }

    /// Returns the models with these names as one model, asked in this order.
    ///
    /// # Errors
    ///
    /// Returns an error when there is no name, or a name is unknown.
    pub fn chain(&self, names: &[&str]) -> Result<Arc<dyn ChatModel>, ModelError> {
        let mut chats = Vec::new();
        for name in names {
            chats.push(Arc::clone(&self.get(name)?.chat));
        }
        let mut chats = chats.into_iter();
        let first = chats.next().ok_or(ModelError::NoModel)?;
        let further: Vec<_> = chats.collect();
        Ok(if further.is_empty() {
            first
        } else {
            Arc::new(FallbackChain::new(first, further))
        })
    }

    /// Returns the cost to reserve for one question to these models: the most expensive of them, without cache, and
    /// an answer of usual length.
    ///
    /// # Errors
    ///
    /// Returns an error when a name is unknown.
    pub fn reserve(
        &self,
        names: &[&str],
        input_tokens: u64,
        max_output_tokens: u32,
    ) -> Result<Cost, ModelError> {
        let mut cost = Cost {
            input_tokens,
            model_calls: 1,
            ..Cost::default()
        };
        for name in names {
            let model = self.get(name)?;
            let cap = max_output_tokens.min(model.chat.traits().max_output_tokens);
            let usage = Usage {
                input_tokens,
                output_tokens: usual_output_tokens(cap),
                ..Usage::default()
            };
            cost.output_tokens = cost.output_tokens.max(usage.output_tokens);
            cost.usd = cost.usd.max(
                model
                    .config
                    .price
                    .map_or(0.0, |price| price.cost_usd(usage)),
            );
        }
        Ok(cost)
    }

    /// Returns the circuits of all models.
    #[must_use]
    pub fn circuits(&self) -> &CircuitRegistry {
        &self.circuits
    }

    /// Returns whether each circuit is open, by `provider/model`. Several models with the same name count as open
    /// when any is. A model that is not in `asked` counts as closed, because no request would detect its recovery.
    #[must_use]
    pub fn open_circuits(&self, asked: &BTreeSet<String>) -> BTreeMap<&str, bool> {
        let mut open = BTreeMap::new();
        for (name, model) in &self.models {
            let of_name = open.entry(model.chat.traits().name.as_str()).or_default();
            *of_name |= asked.contains(name) && self.circuits.is_open(name);
        }
        open
    }

    /// Returns the names of all models, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    /// Returns the limits and circuit of a model with the same configuration.
    fn limits_for(&self, config: &ModelConfig) -> Option<ModelLimits> {
        let same = self.models.get(&config.name);
        let same = same.filter(|model| model.config == *config)?;
        Some(same.limits.clone())
    }

    fn get(&self, name: &str) -> Result<&ConfiguredModel, ModelError> {
        self.models.get(name).ok_or_else(|| ModelError::Unknown {
            name: name.to_owned(),
            hint: self.hint(name),
        })
    }

    /// Returns the most similar name, or all known names.
    fn hint(&self, name: &str) -> String {
        let nearest = self
            .names()
            .map(|known| (strsim::jaro_winkler(name, known), known))
            .filter(|(likeness, _)| *likeness > 0.7)
            .max_by(|one, other| one.0.total_cmp(&other.0));
        match nearest {
            Some((_, known)) => format!("did you mean {known:?}?"),
            None if self.models.is_empty() => "none is configured".to_owned(),
            None => format!("there are {}", self.names().collect::<Vec<_>>().join(", ")),
        }
    }
}

/// Returns one model with all its layers. The table above gives their order.
fn build_layers(
    adapter: Arc<dyn ChatModel>,
    config: &ModelConfig,
    bounds: &ModelLimits,
    meter: Arc<dyn Meter>,
) -> Arc<dyn ChatModel> {
    let mut model: Arc<dyn ChatModel> = Arc::new(EstimatedUsage::new(adapter));
    if let Some(price) = config.price {
        model = Arc::new(PricedModel::new(model, price));
    }
    model = Arc::new(MeteredModel::new(
        model,
        config.provider.as_str(),
        &config.model,
        meter,
    ));
    let breaker = || bounds.breaker.clone();
    model = Arc::new(CircuitGuard::new(model, breaker()));
    if let Some(places) = &bounds.slots {
        model = Arc::new(ConcurrencyLimit::new(model, Arc::clone(places), breaker()));
    }
    model = Arc::new(RateLimit::new(
        model,
        Arc::clone(&bounds.rate_limit),
        breaker(),
    ));
    Arc::new(Retry::new(model))
}

#[cfg(test)]
mod tests;
