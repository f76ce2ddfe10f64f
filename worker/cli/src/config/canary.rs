//! Defines `[canary]`: signed alerts of Nightshift itself, which show whether alerts reach a destination.

use std::time::Duration;

use nightshift_engine::key::{KeyLocation, KeyRef};
use schemars::JsonSchema;
use secrecy::ExposeSecret as _;
use serde::Deserialize;

use super::{AnySourceConfig, Config, DestinationConfig};

/// Longest interval of canaries, in minutes.
const MAX_MINUTES: u64 = 1_440;
/// Assumed interval of other senders, in minutes, if none are sent here.
const DEFAULT_MINUTES: u64 = 15;

/// `[canary]`
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CanaryConfig {
    /// Minutes between two canaries, up to 1440. With 0 none is sent.
    pub(crate) every_minutes: u64,
    /// The `[[source]]` whose queue receives canaries. If empty, it is the first source that messages can be published
    /// to.
    source: String,
    /// The `[[destination]]` that shows canaries for a moment. If empty, it is the first destination that can remove
    /// them.
    destination: String,
    /// The key that signs canaries: `env:NAME` or `file:PATH`, at least 20 characters. Several keys with spaces between
    /// them are accepted, and the first signs. With a key alone, canaries of other workers are accepted.
    pub(crate) key: Option<KeyRef>,
}

impl CanaryConfig {
    /// Returns whether canaries are sent.
    pub(crate) const fn is_enabled(&self) -> bool {
        self.every_minutes > 0
    }

    /// Returns whether canaries are accepted, whether sent here or by other workers of the same queue.
    pub(crate) fn accepts_canaries(&self) -> bool {
        self.key().is_some()
    }

    /// Returns the interval of canaries.
    pub(crate) const fn every(&self) -> Duration {
        let minutes = match self.every_minutes {
            0 => DEFAULT_MINUTES,
            minutes => minutes,
        };
        Duration::from_secs(minutes * 60)
    }

    /// Returns the key that signs canaries.
    pub(crate) fn key(&self) -> Option<&KeyRef> {
        self.key.as_ref().filter(|key| match key.location() {
            KeyLocation::Value(value) => !value.expose_secret().trim().is_empty(),
            KeyLocation::Env(_) | KeyLocation::File(_) => true,
        })
    }

    /// Validates the table against the rest of the configuration.
    pub(super) fn check(&self, config: &Config) -> Result<(), String> {
        if !self.is_enabled() {
            return Ok(());
        }
        if self.every_minutes > MAX_MINUTES {
            return Err(format!(
                "[canary] every_minutes = {}: use 1 to {MAX_MINUTES}, or 0 for none",
                self.every_minutes
            ));
        }
        if self.key().is_none() {
            return Err(
                "[canary] key is missing: canaries are signed with it. Write `openssl rand -hex 32` into a file, and its name here as \"file:PATH\""
                    .to_owned(),
            );
        }
        self.source(config)?;
        self.destination(config).map(drop)
    }

    /// Returns the source whose queue receives canaries.
    pub(crate) fn source<'a>(&self, config: &'a Config) -> Result<&'a AnySourceConfig, String> {
        let mut all = config.sources.iter();
        if self.source.is_empty() {
            let found = all.find(|one| one.check_publishable(&config.web).is_ok());
            return found.ok_or_else(|| {
                "[canary] has nowhere to put a canary: no [[source]] is a queue of RabbitMQ or SQS, a spool directory, or posted to with tokens or signing_secrets".to_owned()
            });
        }
        let found = all.find(|one| one.name() == self.source);
        let found = found.ok_or_else(|| {
            format!(
                "[canary] source = {:?}: there is no [[source]] of that name",
                self.source
            )
        })?;
        let able = found.check_publishable(&config.web);
        able.map_err(|why| format!("[canary] source = {:?}: {why}", self.source))?;
        Ok(found)
    }

    /// Returns the destination that shows canaries.
    pub(crate) fn destination<'a>(
        &self,
        config: &'a Config,
    ) -> Result<&'a DestinationConfig, String> {
        let mut all = config.destinations.iter();
        if self.destination.is_empty() {
            let found = all.find(|one| one.check_canary_support().is_ok());
            return found.ok_or_else(|| {
                "[canary] has no destination: add a [[destination]] that shows canaries, as those of the kinds slack, file and webhook do".to_owned()
            });
        }
        let found = all.find(|one| one.name() == self.destination);
        let found = found.ok_or_else(|| {
            format!(
                "[canary] destination = {:?}: there is no [[destination]] of that name",
                self.destination
            )
        })?;
        let able = found.check_canary_support();
        able.map_err(|why| format!("[canary] destination = {:?}: {why}", self.destination))?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DEFAULTS;

    const WHOLE: &str = "[[source]]\nname = \"pulled\"\nkind = \"pubsub\"\nsubscription = \"projects/p-1/subscriptions/s\"\n\
        [[source]]\nname = \"drop\"\nkind = \"spool\"\ndir = \"spool\"\n\
        [[destination]]\nname = \"pager\"\nkind = \"pagerduty\"\nrouting_key = \"env:A\"\n\
        [[destination]]\nname = \"hook\"\nkind = \"slack\"\nwebhook_url = \"env:A\"\n\
        [[destination]]\nname = \"tickets\"\nkind = \"jira\"\nurl = \"https://acme.atlassian.net\"\nemail = \"a@b.c\"\ntoken = \"env:A\"\nproject = \"SEC\"\n\
        [[destination]]\nname = \"archive\"\nkind = \"file\"\npath = \"reports\"\n";

    fn config(canary: &str, rest: &str) -> Config {
        let defaults = DEFAULTS.split("\n[canary]").next().unwrap();
        let after = DEFAULTS.split("\n[canary]").nth(1).unwrap();
        let after = after.split_once("\n\n").map_or("", |(_, after)| after);
        toml::from_str(&format!("{defaults}\n[canary]\n{canary}\n{after}\n{rest}")).unwrap()
    }

    fn refused(canary: &str, rest: &str) -> String {
        let config = config(canary, rest);
        config.canary.check(&config).unwrap_err()
    }

    #[test]
    fn first_capable_source_and_destination_carry_canaries() {
        let config = config("every_minutes = 15\nkey = \"env:K\"", WHOLE);
        config.canary.check(&config).unwrap();
        assert_eq!(config.canary.source(&config).unwrap().name(), "drop");
        assert_eq!(
            config.canary.destination(&config).unwrap().name(),
            "archive"
        );
        let off = super::super::Config {
            canary: CanaryConfig::default(),
            ..config
        };
        off.canary.check(&off).unwrap();
    }

    #[test]
    fn what_cannot_be_says_what_to_mend() {
        let on = |more: &str| format!("every_minutes = 15\nkey = \"env:K\"\n{more}");
        let said = [
            refused("every_minutes = 15", WHOLE),
            refused("every_minutes = 15\nkey = \" \"", WHOLE),
            refused("every_minutes = 1441\nkey = \"env:K\"", WHOLE),
            refused(&on(""), ""),
            refused(&on("source = \"x\""), WHOLE),
            refused(&on("source = \"pulled\""), WHOLE),
            refused(&on("destination = \"x\""), WHOLE),
            refused(&on("destination = \"pager\""), WHOLE),
            refused(&on("destination = \"hook\""), WHOLE),
            refused(&on("destination = \"tickets\""), WHOLE),
            refused(
                &on(""),
                "[[source]]\nname = \"drop\"\nkind = \"spool\"\ndir = \"s\"\n",
            ),
        ];
        insta::assert_snapshot!(said.join("\n"), @r#"
        [canary] key is missing: canaries are signed with it. Write `openssl rand -hex 32` into a file, and its name here as "file:PATH"
        [canary] key is missing: canaries are signed with it. Write `openssl rand -hex 32` into a file, and its name here as "file:PATH"
        [canary] every_minutes = 1441: use 1 to 1440, or 0 for none
        [canary] has nowhere to put a canary: no [[source]] is a queue of RabbitMQ or SQS, a spool directory, or posted to with tokens or signing_secrets
        [canary] source = "x": there is no [[source]] of that name
        [canary] source = "pulled": cannot publish to a Pub/Sub subscription; publish to its topic
        [canary] destination = "x": there is no [[destination]] of that name
        [canary] destination = "pager": a canary must wake nobody; name another destination
        [canary] destination = "hook": an incoming webhook of Slack cannot take away what it posted; use a bot (`channel` and `token`)
        [canary] destination = "tickets": its issues would stay open; set `done_transition`
        [canary] has no destination: add a [[destination]] that shows canaries, as those of the kinds slack, file and webhook do
        "#);
    }
}
