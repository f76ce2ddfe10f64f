//! Defines `[digest]`: the daily digest.

use chrono::NaiveTime;
use chrono_tz::Tz;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[digest]`
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DigestConfig {
    /// The time of day, as `09:00`.
    at: String,
    /// The time zone, as `Europe/Madrid`.
    #[serde(default = "utc")]
    timezone: String,
    /// The destination that it is posted to.
    pub(crate) destination: String,
}

fn utc() -> String {
    "UTC".to_owned()
}

impl DigestConfig {
    /// Validates the table.
    pub(crate) fn check(&self, destinations: &[&str]) -> Result<(), String> {
        if self.parsed_at().is_none() {
            return Err(format!(
                "[digest] at = {:?}: write an hour and minutes, as 09:00",
                self.at
            ));
        }
        if self.timezone.parse::<Tz>().is_err() {
            return Err(format!(
                "[digest] timezone = {:?} is no time zone; Europe/Madrid, Asia/Tokyo and UTC are",
                self.timezone
            ));
        }
        if !destinations.contains(&self.destination.as_str()) {
            return Err(format!(
                "[digest] destination = {:?}: there is no [[destination]] of that name that shows digests, as one of kind \"slack\" does",
                self.destination
            ));
        }
        Ok(())
    }

    fn parsed_at(&self) -> Option<NaiveTime> {
        NaiveTime::parse_from_str(&self.at, "%H:%M").ok()
    }

    /// Returns the time of the post, which was validated at load.
    pub(crate) fn post_time(&self) -> NaiveTime {
        self.parsed_at().unwrap_or_default()
    }

    /// Returns the time zone, which was validated at load.
    pub(crate) fn zone(&self) -> Tz {
        self.timezone.parse().unwrap_or(Tz::UTC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said() {
        let read = |text: &str| -> Result<(), String> {
            let digest: DigestConfig = toml::from_str(text).unwrap();
            digest.check(&["soc"])
        };
        read("at = \"09:00\"\ntimezone = \"Europe/Madrid\"\ndestination = \"soc\"").unwrap();
        read("at = \"23:59\"\ndestination = \"soc\"").unwrap();
        for (text, said) in [
            ("at = \"9 o'clock\"\ndestination = \"soc\"", "as 09:00"),
            (
                "at = \"09:00\"\ntimezone = \"Madrid\"\ndestination = \"soc\"",
                "no time zone",
            ),
            (
                "at = \"09:00\"\ndestination = \"sock\"",
                "that shows digests",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
