//! Routes: which profile triages an alert, and where its report goes. Pure.

use std::collections::BTreeMap;

use nightshift_alert::{Alert, Severity};
use nightshift_engine::{Verdict, type_matches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::naming;

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
    /// One of these classes (`threat`, `posture`, `vulnerability`, `sensitive_data`, `other`), or the feed's own words for
    /// them, such as `MISCONFIGURATION`; case does not matter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub class: Vec<String>,
    /// One of these verdicts, once there is one: picks destinations only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub verdict: Vec<Verdict>,
    /// Tags or labels that one of its resources has, with these values as globs: picks destinations only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub label: BTreeMap<String, String>,
}

impl Match {
    /// Whether it says nothing, or nothing but a severity and a type that fits everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.says_at_most_a_type()
            && self
                .kind
                .as_deref()
                .is_none_or(|glob| glob.is_empty() || naming::fits_every_scheme(glob))
    }

    /// Whether it fits whatever at least one product may send, though it says a type.
    #[must_use]
    pub fn is_boundless(&self) -> bool {
        let kind = self.kind.as_deref();
        self.says_at_most_a_type() && kind.is_some_and(naming::fits_a_whole_scheme)
    }

    fn says_at_most_a_type(&self) -> bool {
        self.feed.is_none()
            && self.account.is_empty()
            && self.region.is_empty()
            && self.class.is_empty()
            && self.label.is_empty()
    }

    /// Whether it says what only destinations may be picked by.
    #[must_use]
    pub fn is_of_the_report(&self) -> bool {
        !self.verdict.is_empty() || !self.label.is_empty()
    }

    /// Whether the alert fits, and the verdict of its case; none: it has none yet, so that nothing fits which asks for one.
    #[must_use]
    pub fn fits_verdict(&self, alert: &Alert, verdict: Option<Verdict>) -> bool {
        let is_wanted = |verdict| self.verdict.contains(&verdict);
        self.fits(alert) && (self.verdict.is_empty() || verdict.is_some_and(is_wanted))
    }

    /// Whether the alert fits, whatever its verdict.
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
    /// Destinations that take a report which another one refuses for good, one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Vec<String>>,
}

/// The rules, and what counts where none fits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Routes {
    /// The rules in order.
    pub rules: Vec<Route>,
    /// Destinations of an alert that no rule sends elsewhere.
    pub destinations: Vec<String>,
    /// What else holds for generated samples.
    pub samples: Samples,
    /// What holds for canaries, whatever rules say.
    pub canary: CanaryRoute,
}

/// Where canaries go: one place that shows that the way is open, and nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CanaryRoute {
    /// The profile that triages them, by playbook; none where every profile thinks so.
    pub profile: Option<String>,
    /// The destination that shows them; none where none are wanted.
    pub destination: Option<String>,
}

/// Generated samples prove that the way is open: the playbook triages them, and nobody gets a ticket or a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Samples {
    /// The profile that triages them, whatever rules say; none where every profile thinks by playbook.
    pub profile: Option<String>,
    /// Destinations that open tickets or page people: samples never go there.
    pub withheld: Vec<String>,
}

impl Routes {
    /// The profile for this alert.
    #[must_use]
    pub fn profile(&self, alert: &Alert) -> &str {
        if alert.is_canary() {
            return self.canary.profile.as_deref().unwrap_or("default");
        }
        let for_samples = self.samples.profile.as_deref();
        for_samples
            .filter(|_| alert.is_sample())
            .or_else(|| {
                let fits =
                    |route: &&Route| !route.when.is_of_the_report() && route.when.fits(alert);
                let rules = self.rules.iter().filter(fits);
                rules.into_iter().find_map(|route| route.profile.as_deref())
            })
            .unwrap_or("default")
    }

    /// The destinations for this alert and the verdict of its case, if it has one.
    #[must_use]
    pub fn destinations(&self, alert: &Alert, verdict: Option<Verdict>) -> Vec<String> {
        if alert.is_canary() {
            return self.canary.destination.iter().cloned().collect();
        }
        let mut names = self
            .first(alert, verdict, |route| route.destinations.as_deref())
            .unwrap_or(&self.destinations)
            .to_vec();
        if alert.is_sample() {
            names.retain(|name| !self.samples.withheld.contains(name));
        }
        names
    }

    /// The destinations that may take a report of this alert which `refused` does not, one after the other; none where
    /// nobody is left.
    #[must_use]
    pub fn after(&self, alert: &Alert, verdict: Option<Verdict>, refused: &str) -> Vec<&str> {
        let chain = self.first(alert, verdict, |route| route.otherwise.as_deref());
        let chain = chain.filter(|_| !alert.is_canary()).unwrap_or_default();
        let next = chain
            .iter()
            .position(|name| name == refused)
            .map_or(0, |at| at + 1);
        let withheld = |name: &&String| alert.is_sample() && self.samples.withheld.contains(name);
        let rest = chain.iter().skip(next).filter(|name| !withheld(name));
        rest.map(String::as_str).collect()
    }

    /// The rules that name a class: what they fit is triaged, though its class would be set aside.
    #[must_use]
    pub fn wanted(&self) -> Vec<Match> {
        let named = self.rules.iter().filter(|rule| !rule.when.class.is_empty());
        named.map(|rule| rule.when.clone()).collect()
    }

    /// The first rule that fits and says something of what is asked.
    fn first<'a, T: ?Sized>(
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
    use nightshift_alert::Class;

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
        assert_eq!(routes.after(&alert, None, "soc"), ["mail", "file"]);
        assert_eq!(routes.after(&alert, None, "mail"), ["file"]);
        assert_eq!(routes.after(&alert, None, "file"), [""; 0]);
        assert_eq!(Routes::default().after(&alert, None, "soc"), [""; 0]);
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
            samples: Samples {
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
        assert_eq!(routes.after(&alert, None, "quiet"), [""; 0]);
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
            routes.wanted().as_slice(),
            std::slice::from_ref(&vulnerable)
        );
        let mut alert = alert();
        assert!(!vulnerable.fits(&alert));
        alert.class = Class::Vulnerability;
        assert!(vulnerable.fits(&alert));
        assert!(!vulnerable.is_empty() && Match::default().is_empty());
    }
}
