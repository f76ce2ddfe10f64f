//! Routes: which profile triages an alert, and where its report goes. Pure.

use nightshift_alert::{Alert, Severity};
use nightshift_engine::type_matches;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an alert must be like. An empty match fits every alert.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Match {
    /// Its feed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feed: Option<String>,
    /// A glob over its type; `*` also spans `/` and `:`, case does not matter.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// This severity or above, as sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity_at_least: Option<Severity>,
    /// One of these accounts or projects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub account: Vec<String>,
    /// One of these regions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub region: Vec<String>,
}

impl Match {
    /// Whether the alert fits.
    #[must_use]
    pub fn fits(&self, alert: &Alert) -> bool {
        let among = |list: &[String], value: Option<&String>| {
            list.is_empty() || value.is_some_and(|value| list.contains(value))
        };
        self.feed.as_ref().is_none_or(|feed| *feed == alert.feed)
            && self
                .kind
                .as_ref()
                .is_none_or(|glob| type_matches(glob, &alert.kind))
            && self
                .severity_at_least
                .is_none_or(|least| alert.severity >= least)
            && among(&self.account, alert.account.as_ref())
            && among(&self.region, alert.region.as_ref())
    }
}

/// One rule: the first one that fits counts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Route {
    /// What an alert must be like.
    pub when: Match,
    /// The profile; the default one where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Names of destinations; all of them are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destinations: Option<Vec<String>>,
}

/// The rules, and what counts where none fits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Routes {
    /// The rules in order.
    pub rules: Vec<Route>,
    /// Destinations of an alert that no rule sends elsewhere.
    pub destinations: Vec<String>,
}

impl Routes {
    /// The profile for this alert.
    #[must_use]
    pub fn profile(&self, alert: &Alert) -> &str {
        self.first(alert, |route| route.profile.as_deref())
            .unwrap_or("default")
    }

    /// The destinations for this alert.
    #[must_use]
    pub fn destinations(&self, alert: &Alert) -> &[String] {
        self.first(alert, |route| route.destinations.as_deref())
            .unwrap_or(&self.destinations)
    }

    /// The first rule that fits and says something of what is asked.
    fn first<'a, T: ?Sized>(
        &'a self,
        alert: &Alert,
        says: impl Fn(&'a Route) -> Option<&'a T>,
    ) -> Option<&'a T> {
        self.rules
            .iter()
            .filter(|route| route.when.fits(alert))
            .find_map(says)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alert() -> Alert {
        let bytes = include_bytes!("../../../tests/fixtures/alerts/guardduty-finding.json");
        let batch = nightshift_alert::read(bytes, &nightshift_alert::ReadOptions::default());
        batch.unwrap().alerts.remove(0)
    }

    fn rule(when: Match, profile: Option<&str>, destinations: Option<&[&str]>) -> Route {
        Route {
            when,
            profile: profile.map(str::to_owned),
            destinations: destinations.map(|names| names.iter().map(|n| (*n).to_owned()).collect()),
        }
    }

    #[test]
    fn the_first_rule_that_fits_and_says_something_counts() {
        let dns = Match {
            feed: Some("guardduty".into()),
            kind: Some("trojan:*!dns".into()),
            severity_at_least: Some(Severity::High),
            ..Match::default()
        };
        let elsewhere = Match {
            account: vec!["1".into()],
            ..Match::default()
        };
        let routes = Routes {
            rules: vec![
                rule(elsewhere, Some("other"), Some(&["nowhere"])),
                rule(dns, Some("dns"), None),
                rule(Match::default(), Some("rest"), Some(&["soc"])),
            ],
            destinations: vec!["stdout".into()],
        };
        assert_eq!(routes.profile(&alert()), "dns");
        assert_eq!(routes.destinations(&alert()), ["soc"]);
        assert_eq!(Routes::default().profile(&alert()), "default");
    }
}
