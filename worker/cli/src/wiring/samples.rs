//! Handles generated samples and canaries. Playbooks triage them, and samples open no ticket or page.
//!
//! They only prove that alerts get from feed to destination. A model would cost money and prove no more.

use nightshift_pipeline::route::{Routes, SampleRoute};

use crate::config::{AnalystChoice, Config, DestinationConfig, ProfileConfig};

/// The profile of samples. No configured profile has this name.
const SAMPLES_PROFILE: &str = "generated samples";

/// Returns the configured routes with the rules for samples.
pub(super) fn routes(config: &Config) -> Routes {
    let tickets = config.destinations.iter();
    let tickets = tickets.filter(|one| one.opens_tickets());
    let by_playbook = (!config.models.is_empty()).then(|| SAMPLES_PROFILE.to_owned());
    Routes {
        rules: config.routes.clone(),
        canary: super::canary::route(config, by_playbook.clone()),
        samples: SampleRoute {
            profile: by_playbook,
            withheld: tickets
                .map(|one| DestinationConfig::name(one).to_owned())
                .collect(),
        },
        ..Routes::default()
    }
}

/// Returns the configured profiles, the default one and, if there are models, that of samples.
pub(super) fn profiles(config: &Config) -> Vec<ProfileConfig> {
    let mut profiles = config.profiles.clone();
    if !profiles.iter().any(|one| one.name == "default") {
        profiles.push(ProfileConfig::default());
    }
    if config.models.is_empty() {
        return profiles;
    }
    let default = profiles.iter().find(|one| one.name == "default");
    let samples = ProfileConfig {
        name: SAMPLES_PROFILE.to_owned(),
        analyst: Some(AnalystChoice::Playbook),
        ..default.cloned().unwrap_or_default()
    };
    profiles.push(samples);
    profiles
}

#[cfg(test)]
mod tests {
    use nightshift_alert::{ReadOptions, read_message};

    use super::*;
    use crate::config::DEFAULTS;

    const SAMPLE: &[u8] =
        include_bytes!("../../../../tests/fixtures/alerts/guardduty-finding.json");

    fn config(models: &str) -> Config {
        let rest = "[[profile]]\nname = \"default\"\ntools = [\"facts\"]\n[[route]]\nprofile = \"default\"\n";
        toml::from_str(&format!("{DEFAULTS}\n{models}{rest}")).unwrap()
    }

    #[test]
    fn a_sample_is_for_the_playbooks_whatever_rules_say() {
        let config =
            config("[[model]]\nname = \"main\"\nprovider = \"openai\"\nmodel = \"gpt-4.1\"\n");
        let alert = read_message(SAMPLE, &ReadOptions::default())
            .unwrap()
            .alerts
            .remove(0);
        assert!(alert.is_sample());
        let name = routes(&config).profile(&alert).to_owned();
        let profiles = profiles(&config);
        let profile = profiles.iter().find(|one| one.name == name).unwrap();
        assert_eq!(profile.analyst, Some(AnalystChoice::Playbook));
        assert_eq!(
            profile.tools,
            ["facts"],
            "with the tools of the default one"
        );
    }

    #[test]
    fn without_models_samples_are_as_all_alerts() {
        let config = config("");
        assert_eq!(routes(&config).samples, SampleRoute::default());
        assert_eq!(profiles(&config).len(), 1);
    }
}
