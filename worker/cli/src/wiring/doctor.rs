//! Probes of `nightshift doctor` that need the wiring: the store's options, destinations, profiles and their tools.

use std::path::Path;
use std::sync::Arc;

use nightshift_destinations::{DestinationError, SlackConfig};
use nightshift_engine::doctor::{CheckSeverity, HealthReport};
use nightshift_engine::error_chain::format_error_chain;
use nightshift_engine::port::{Clock, Meter, NoMeter, Toolbox};
use nightshift_store::StoreOptions;
use nightshift_tools::ConfiguredToolbox;

use super::destinations::DestinationBuilder;
use super::filtered_toolbox::FilteredToolbox;
use super::models::ConnectedModels;
use super::{load_playbooks, samples, store_options};
use crate::config::{Config, DestinationConfig, LoadedConfig, secret_reader};
use crate::exit::Exit;

/// Returns the options of the store. The error describes a problem with its password.
pub(crate) fn store_probe_options(loaded: &LoadedConfig) -> Result<StoreOptions, String> {
    store_options(loaded).map_err(|error| error.to_string())
}

/// Probes a destination.
pub(crate) async fn probe_destination(
    config: &DestinationConfig,
    base: &Path,
    clock: &Arc<dyn Clock>,
) -> HealthReport {
    let building = DestinationBuilder {
        base,
        clock,
        trace_sample_ratio: 0.0,
    };
    let mut checkup = HealthReport::default();
    let built = building
        .check_secret(config)
        .and_then(|()| building.build(config));
    match built {
        Ok(destination) => checkup.merge(destination.probe().await),
        Err(error) => {
            let check = match error {
                DestinationError::Secret { .. } => "destination.secret",
                _ => "destination.configuration",
            };
            checkup.add_error(
                check,
                format_error_chain(&error),
                "the worker does not start to deliver",
                "mend it in [[destination]]; a secret must be there as the user of the worker sees it",
            );
        }
    }
    if let DestinationConfig::Slack(slack) = config {
        buttons(slack, &building, &mut checkup);
    }
    checkup
}

/// Checks whether any person can press the configured buttons.
fn buttons(slack: &SlackConfig, building: &DestinationBuilder<'_>, checkup: &mut HealthReport) {
    let Some(secret) = &slack.signing_secret else {
        return;
    };
    if let Err(problem) = building.secret(secret)() {
        checkup.add_error(
            "destination.buttons",
            format!("signing_secret: {problem}"),
            "what people press is refused",
            "put the signing secret of the app (Basic Information) where signing_secret says",
        );
    } else if !slack.is_interactive() {
        checkup.add_warning(
            "destination.buttons",
            "there is a signing_secret, and no [web] public_url",
            "messages have no buttons: Slack would not know whom to tell what was pressed",
            "set [web] public_url, and the Request URL of the app to it with /slack/interactions",
        );
    }
}

/// Checks whether every profile has its models, and finds models that nothing asks.
pub(crate) fn probe_profiles(loaded: &LoadedConfig) -> HealthReport {
    let config = &loaded.config;
    let mut checkup = HealthReport::default();
    if config.models.is_empty() {
        checkup.add_observation("none: playbooks think");
    }
    let mut names: Vec<&str> = config.models.iter().map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    if let Some([name, _]) = names.array_windows().find(|[one, other]| one == other) {
        checkup.add_error(
            "model.configuration",
            format!("two [[model]] are called {name:?}"),
            "no command that triages starts: profiles ask models by their names",
            "give each its own",
        );
    }
    // Problems of a single model are reported for that model.
    let (Ok(connected), Ok(playbooks)) = (connected(loaded), load_playbooks(config)) else {
        return checkup;
    };
    let playbooks = Arc::new(playbooks);
    let mut asked: Vec<String> = Vec::new();
    for profile in samples::profiles(config)
        .iter()
        .filter(|one| connected.uses_models(one))
    {
        match connected.analyst(profile, &playbooks) {
            Ok(modelled) => asked.extend(modelled.models),
            Err(error) => {
                checkup.add_error(
                    "model.profile",
                    format!("{error:#}"),
                    "no command that triages starts",
                    "see `models` and `prompts` of the [[profile]], and the names of the [[model]] tables",
                );
                return checkup;
            }
        }
    }
    conducts(config, &mut checkup);
    economy(config, &asked, &mut checkup);
    checkup
}

/// Returns the first error that prevents triage, except missing keys of models, which other machines may have.
pub(crate) fn check_profiles(loaded: &LoadedConfig) -> Result<(), Exit> {
    connected(loaded)?;
    let checkup = probe_profiles(loaded);
    let mut wrong = checkup.failed_checks.into_iter();
    match wrong.find(|one| one.severity == CheckSeverity::Error) {
        Some(one) => Err(Exit::Config(anyhow::anyhow!(one.what))),
        None => Ok(()),
    }
}

/// Returns the configured models without asking any or reading a key.
fn connected(loaded: &LoadedConfig) -> Result<ConnectedModels, Exit> {
    let meter: Arc<dyn Meter> = Arc::new(NoMeter);
    ConnectedModels::with_keys(&loaded.config.models, None, &meter, None, &|place| {
        Ok(secret_reader(place, loaded.base()))
    })
}

/// Checks whether every profile has valid settings of how to work.
fn conducts(config: &Config, checkup: &mut HealthReport) {
    for profile in samples::profiles(config) {
        if let Err(error) = profile.triage_options() {
            checkup.add_error(
                "model.profile",
                format!("[[profile]] {:?}: {error:#}", profile.name),
                "no command that triages starts",
                "mend that key of the [[profile]]",
            );
        }
    }
}

/// Checks for models that nothing asks, and for a day budget.
fn economy(config: &Config, asked: &[String], checkup: &mut HealthReport) {
    let unused: Vec<&str> = config
        .models
        .iter()
        .filter(|one| !asked.contains(&one.full_name()))
        .map(|one| one.name.as_str())
        .collect();
    if !unused.is_empty() {
        checkup.add_warning(
            "model.unused",
            format!("no [[profile]] asks {}", unused.join(", ")),
            "it is not even asked when the others are down",
            "name it in `models` of a profile, or take it out",
        );
    }
    let costs = config.models.iter().any(|one| {
        one.price
            .is_some_and(|price| price.max_token_price().input > 0.0)
    });
    if costs && config.limits.day_usd <= 0.0 {
        checkup.add_warning(
            "model.day_budget",
            "[limits] day_usd is 0: a day may cost any amount",
            "a flood of alerts, or somebody who makes one, spends without an end",
            "set day_usd to what a bad day may cost; half of it is kept for high and critical alerts",
        );
    }
}

/// Finds globs of profiles that match no tool.
pub(crate) fn check_tool_globs(loaded: &LoadedConfig, tools: ConfiguredToolbox) -> HealthReport {
    let mut checkup = HealthReport::default();
    let tools: Arc<dyn Toolbox> = Arc::new(tools);
    for profile in &loaded.config.profiles {
        for glob in &profile.tools {
            let of_glob = FilteredToolbox::new(Arc::clone(&tools), std::slice::from_ref(glob));
            // The look-up of earlier cases is always allowed.
            let finds = of_glob
                .specs()
                .iter()
                .any(|spec| nightshift_engine::exoneration::type_matches(glob, &spec.name));
            if !finds {
                checkup.add_warning(
                    "tool.glob",
                    format!(
                        "tools of [[profile]] {:?} names {glob:?}, and there is no such tool",
                        profile.name
                    ),
                    "its cases are triaged without what somebody meant them to have",
                    "see the names with `nightshift tools list`",
                );
            }
        }
    }
    checkup
}
