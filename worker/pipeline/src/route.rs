//! Routes decide which profile triages an alert, and where its report goes. The code is pure.

use std::collections::BTreeMap;

use nightshift_alert::{Alert, Severity};
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::exoneration::type_matches;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::type_globs;

/// Conditions on an alert. Without conditions every alert matches.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Match {
    /// Feed of the alert.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feed: Option<String>,
    /// Glob over the finding type. `*` also matches `/` and `:`, and case is ignored.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Minimum severity, as sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity_at_least: Option<Severity>,
    /// Accounts or projects, one of which must match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub account: Vec<String>,
    /// Regions, one of which must match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub region: Vec<String>,
    /// Classes, one of which must match: `threat`, `posture`, `vulnerability`, `sensitive_data`, `other`, or the
    /// feed's own words such as `MISCONFIGURATION`. Case is ignored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub class: Vec<String>,
    /// Verdicts, one of which must match once there is one. This condition selects destinations only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub verdict: Vec<Verdict>,
    /// Tags or labels of a resource with globs for their values. This condition selects destinations only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub label: BTreeMap<String, String>,
}

impl Match {
    /// Returns whether there are no conditions, or only a severity and a type that matches everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.says_at_most_a_type()
            && self
                .kind
                .as_deref()
                .is_none_or(|glob| glob.is_empty() || type_globs::matches_every_scheme(glob))
    }

    /// Returns whether the type matches every alert of at least one product.
    #[must_use]
    pub fn is_boundless(&self) -> bool {
        let kind = self.kind.as_deref();
        self.says_at_most_a_type() && kind.is_some_and(type_globs::matches_whole_scheme)
    }

    fn says_at_most_a_type(&self) -> bool {
        self.feed.is_none()
            && self.account.is_empty()
            && self.region.is_empty()
            && self.class.is_empty()
            && self.label.is_empty()
    }

    /// Returns whether a condition may only select destinations.
    #[must_use]
    pub fn picks_destinations_only(&self) -> bool {
        !self.verdict.is_empty() || !self.label.is_empty()
    }

    /// Returns whether the alert and the verdict of its case match. Without a verdict no match that requires one
    /// applies.
    #[must_use]
    pub fn fits_verdict(&self, alert: &Alert, verdict: Option<Verdict>) -> bool {
        let is_wanted = |verdict| self.verdict.contains(&verdict);
        self.fits(alert) && (self.verdict.is_empty() || verdict.is_some_and(is_wanted))
    }

    /// Returns whether the alert matches, without its verdict.
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
            && (self.class.is_empty() || self.names_class_of(alert))
            && self.label.iter().all(|(name, glob)| {
                let values = alert.resources.iter().filter_map(|one| one.tags.get(name));
                values.into_iter().any(|value| type_matches(glob, value))
            })
    }

    fn names_class_of(&self, alert: &Alert) -> bool {
        let sent = alert.class_sent.as_deref().unwrap_or_default();
        self.class.iter().any(|word| {
            word.eq_ignore_ascii_case(sent) || word.eq_ignore_ascii_case(alert.class.as_str())
        })
    }
}

/// A rule of the routing. The first one that matches counts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Route {
    /// Conditions on the alert.
    pub when: Match,
    /// Profile that triages the alert; by default `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Names of destinations; each receives the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destinations: Option<Vec<String>>,
    /// Destinations that take a report which another one refuses permanently, in this order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Vec<String>>,
}

/// All routing rules and their defaults.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Routes {
    /// Rules in order.
    pub rules: Vec<Route>,
    /// Destinations of alerts without a rule that names some.
    pub destinations: Vec<String>,
    /// Routing of generated samples.
    pub samples: SampleRoute,
    /// Routing of canaries, which overrides the rules.
    pub canary: CanaryRoute,
}

/// Route of canaries: a single destination that shows that the path works.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CanaryRoute {
    /// Playbook profile that triages canaries; `None` if every profile uses playbooks.
    pub profile: Option<String>,
    /// Destination that shows canaries; `None` if they are off.
    pub destination: Option<String>,
}

/// Route of generated samples, which prove that the path works. The playbook triages them, and they cause neither
/// tickets nor pages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SampleRoute {
    /// Profile that triages samples and overrides the rules; `None` if every profile uses playbooks.
    pub profile: Option<String>,
    /// Destinations that open tickets or page people. Samples never go there.
    pub withheld: Vec<String>,
}

impl Routes {
    /// Returns the profile for this alert.
    #[must_use]
    pub fn profile(&self, alert: &Alert) -> &str {
        if alert.is_canary() {
            return self.canary.profile.as_deref().unwrap_or("default");
        }
        let for_samples = self.samples.profile.as_deref();
        for_samples
            .filter(|_| alert.is_sample())
            .or_else(|| {
                let fits = |route: &&Route| {
                    !route.when.picks_destinations_only() && route.when.fits(alert)
                };
                let rules = self.rules.iter().filter(fits);
                rules.into_iter().find_map(|route| route.profile.as_deref())
            })
            .unwrap_or("default")
    }

    /// Returns the destinations for this alert and the verdict of its case, if it has one.
    #[must_use]
    pub fn destinations(&self, alert: &Alert, verdict: Option<Verdict>) -> Vec<String> {
        if alert.is_canary() {
            return self.canary.destination.iter().cloned().collect();
        }
        let mut names = self
            .first_match(alert, verdict, |route| route.destinations.as_deref())
            .unwrap_or(&self.destinations)
            .to_vec();
        if alert.is_sample() {
            names.retain(|name| !self.samples.withheld.contains(name));
        }
        names
    }

    /// Returns the destinations that may take a report of this alert after `refused` refused it, in order; empty if
    /// there are none.
    #[must_use]
    pub fn failover_chain(
        &self,
        alert: &Alert,
        verdict: Option<Verdict>,
        refused: &str,
    ) -> Vec<&str> {
        let chain = self.first_match(alert, verdict, |route| route.otherwise.as_deref());
        let chain = chain.filter(|_| !alert.is_canary()).unwrap_or_default();
        let next = chain
            .iter()
            .position(|name| name == refused)
            .map_or(0, |at| at + 1);
        let withheld = |name: &&String| alert.is_sample() && self.samples.withheld.contains(name);
        let rest = chain.iter().skip(next).filter(|name| !withheld(name));
        rest.map(String::as_str).collect()
    }

    /// Returns the rules that name a class. Alerts that match them are triaged although their class would be set
    /// aside.
    #[must_use]
    pub fn class_exceptions(&self) -> Vec<Match> {
        let named = self.rules.iter().filter(|rule| !rule.when.class.is_empty());
        named.map(|rule| rule.when.clone()).collect()
    }

    /// Returns the value of the first matching rule that sets it.
    fn first_match<'a, T: ?Sized>(
        &'a self,
        alert: &Alert,
        verdict: Option<Verdict>,
        says: impl Fn(&'a Route) -> Option<&'a T>,
    ) -> Option<&'a T> {
        self.rules
            .iter()
            .filter(|route| route.when.fits_verdict(alert, verdict))
            .find_map(says)
    }
}

#[cfg(test)]
mod tests {
    use nightshift_alert::FindingClass;

    use super::*;

    fn alert() -> Alert {
        let bytes = include_bytes!("../../../tests/fixtures/alerts/guardduty-finding.json");
        let batch =
            nightshift_alert::read_message(bytes, &nightshift_alert::ReadOptions::default());
        batch.unwrap().alerts.remove(0)
    }

    fn rule(when: Match, profile: Option<&str>, destinations: Option<&[&str]>) -> Route {
        Route {
            when,
            profile: profile.map(str::to_owned),
            destinations: destinations.map(|names| names.iter().map(|n| (*n).to_owned()).collect()),
            otherwise: None,
        }
    }

    #[test]
    fn f28_the_chain_of_a_route_is_gone_through_to_its_end() {
        let chain = ["mail", "file"].map(str::to_owned).to_vec();
        let routes = Routes {
            rules: vec![Route {
                otherwise: Some(chain),
                ..Route::default()
            }],
            ..Routes::default()
        };
        let alert = alert();
        assert_eq!(routes.failover_chain(&alert, None, "soc"), ["mail", "file"]);
        assert_eq!(routes.failover_chain(&alert, None, "mail"), ["file"]);
        assert_eq!(routes.failover_chain(&alert, None, "file"), [""; 0]);
        assert_eq!(
            Routes::default().failover_chain(&alert, None, "soc"),
            [""; 0]
        );
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
            ..Routes::default()
        };
        assert_eq!(routes.profile(&alert()), "dns");
        assert_eq!(routes.destinations(&alert(), None), ["soc"]);
        assert_eq!(Routes::default().profile(&alert()), "default");
    }

    #[test]
    fn samples_go_to_their_profile_and_never_to_a_ticket() {
        let routes = Routes {
            rules: vec![rule(
                Match::default(),
                Some("model"),
                Some(&["soc", "jira"]),
            )],
            destinations: Vec::new(),
            samples: SampleRoute {
                profile: Some("playbook".into()),
                withheld: vec!["jira".into()],
            },
            ..Routes::default()
        };
        let mut alert = alert();
        alert.state.sample = false;
        assert_eq!(routes.profile(&alert), "model");
        assert_eq!(routes.destinations(&alert, None), ["soc", "jira"]);
        alert.state.sample = true;
        assert_eq!(routes.profile(&alert), "playbook");
        assert_eq!(routes.destinations(&alert, None), ["soc"]);
    }

    #[test]
    fn a_canary_goes_to_its_one_destination_whatever_rules_say() {
        let everything = Route {
            otherwise: Some(vec!["mail".into()]),
            ..rule(Match::default(), Some("model"), Some(&["soc", "pager"]))
        };
        let mut routes = Routes {
            rules: vec![everything],
            canary: CanaryRoute {
                profile: Some("canary".into()),
                destination: Some("quiet".into()),
            },
            ..Routes::default()
        };
        let mut alert = alert();
        alert.feed = nightshift_alert::CANARY_FEED.to_owned();
        assert_eq!(routes.profile(&alert), "canary");
        assert_eq!(routes.destinations(&alert, None), ["quiet"]);
        assert_eq!(routes.failover_chain(&alert, None, "quiet"), [""; 0]);
        routes.canary = CanaryRoute::default();
        assert_eq!(routes.destinations(&alert, None), [""; 0]);
    }

    #[test]
    fn verdicts_and_labels_pick_destinations_and_no_profile() {
        let when = Match {
            verdict: vec![Verdict::TruePositive],
            label: BTreeMap::from([("env".into(), "prod*".into())]),
            ..Match::default()
        };
        let routes = Routes {
            rules: vec![
                rule(when, Some("special"), Some(&["soc", "jira"])),
                rule(Match::default(), Some("rest"), Some(&["soc"])),
            ],
            ..Routes::default()
        };
        let mut alert = alert();
        alert.state.sample = false;
        alert.resources.truncate(1);
        let proven = Some(Verdict::TruePositive);
        assert_eq!(routes.destinations(&alert, proven), ["soc"], "no label");
        alert.resources[0]
            .tags
            .insert("env".into(), "production".into());
        assert_eq!(routes.destinations(&alert, proven), ["soc", "jira"]);
        assert_eq!(routes.destinations(&alert, None), ["soc"], "no verdict yet");
        let cleared = Some(Verdict::FalsePositive);
        assert_eq!(routes.destinations(&alert, cleared), ["soc"]);
        assert_eq!(routes.profile(&alert), "rest");
    }

    #[test]
    fn a_rule_that_names_a_class_wants_it() {
        let vulnerable = Match {
            class: vec!["vulnerability".into()],
            ..Match::default()
        };
        let routes = Routes {
            rules: vec![
                rule(Match::default(), None, None),
                rule(vulnerable.clone(), None, Some(&["soc"])),
            ],
            ..Routes::default()
        };
        assert_eq!(
            routes.class_exceptions().as_slice(),
            std::slice::from_ref(&vulnerable)
        );
        let mut alert = alert();
        assert!(!vulnerable.fits(&alert));
        alert.class = FindingClass::Vulnerability;
        assert!(vulnerable.fits(&alert));
        assert!(!vulnerable.is_empty() && Match::default().is_empty());
    }
}
