//! Defines `[[destination]]` of the kinds that open tickets or page people: Jira, ServiceNow, PagerDuty, GitHub.

use std::collections::BTreeMap;
use std::path::PathBuf;

use nightshift_alert::Severity;
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::key::KeyRef;
use nightshift_report::{
    GitHubConfig, HttpOptions, JiraConfig, Language, Links, PagerDutyConfig, ResolveConfig,
    ServiceNowConfig, TicketPolicy,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// Declares a kind that opens tickets, with the keys that all such kinds share.
macro_rules! ticket {
    ($(#[$about:meta])* $name:ident { $($(#[$key_about:meta])* $vis:vis $key:ident: $of:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            /// Its name; routes use it.
            pub(crate) name: String,
            $($(#[$key_about])* $vis $key: $of,)*
            /// Verdicts that open a ticket. The default is `true_positive`, and `inconclusive` from High up.
            #[serde(default)]
            #[schemars(with = "Option<Vec<String>>")]
            verdicts: Option<Vec<Verdict>>,
            /// Least assessed severity that opens a ticket with any verdict.
            #[serde(default)]
            severity_at_least: Option<Severity>,
            /// Language of Nightshift's own words.
            #[serde(default)]
            language: Language,
            /// Allows plain http to another machine.
            #[serde(default)]
            allow_private: bool,
            /// PEM file of authorities that are trusted beside those of the system.
            #[serde(default)]
            pub(super) ca_file: Option<PathBuf>,
            /// URL of a proxy. Without it `HTTPS_PROXY` and similar environment variables apply; `none` disables
            /// proxies.
            #[serde(default)]
            proxy: Option<String>,
        }

        impl $name {
            fn access(&self) -> HttpOptions {
                HttpOptions {
                    allow_private: self.allow_private,
                    ca_file: self.ca_file.clone(),
                    proxy: self.proxy.clone(),
                }
            }

            fn policy(&self) -> TicketPolicy {
                TicketPolicy {
                    verdicts: self.verdicts.clone(),
                    severity_at_least: self.severity_at_least,
                }
            }

            fn language(&self) -> Language {
                self.language
            }
        }
    };
}

ticket! {
    /// `kind = "jira"`: an issue of Jira Cloud.
    Jira {
        /// The site: `https://example.atlassian.net`.
        url: String,
        /// The owner of the token. Without it the token is an OAuth token.
        #[serde(default)]
        email: Option<String>,
        /// The API token: `env:NAME` or `file:PATH`, read again at each call.
        pub(crate) token: KeyRef,
        /// Key of the project, `SEC` say.
        project: String,
        /// Name of the issue type.
        #[serde(default = "task")]
        issue_type: String,
        /// Names of priorities by assessed severity. The default is the names of a new site; `{}` leaves the priority
        /// to Jira.
        #[serde(default)]
        priorities: Option<BTreeMap<Severity, String>>,
        /// Labels in addition to Nightshift's own.
        #[serde(default)]
        labels: Vec<String>,
        /// Further fields that the project requires, as Jira's API has them.
        #[serde(default)]
        fields: serde_json::Map<String, serde_json::Value>,
        /// Name of the transition, or of the status that it leads to, when people are done with a case. Without it issues
        /// are left alone.
        #[serde(default)]
        done_transition: Option<String>,
        /// The transition for an issue that is done, when its case is open again, by its source or by people, and a new
        /// report of it is delivered. Without it issues stay closed and get comments.
        #[serde(default)]
        reopen_transition: Option<String>,
    }
}

ticket! {
    /// `kind = "servicenow"`: an incident of ServiceNow.
    ServiceNow {
        /// The instance: `https://example.service-now.com`.
        url: String,
        /// The owner of the password. Without it the secret is an OAuth token.
        #[serde(default)]
        user: Option<String>,
        /// Password or token: `env:NAME` or `file:PATH`, read again at each call.
        pub(crate) secret: KeyRef,
        /// The table: `incident`, or one that extends it.
        #[serde(default = "incident")]
        table: String,
        /// Impact and urgency by assessed severity, each 1 to 3.
        #[serde(default)]
        urgencies: Option<BTreeMap<Severity, (u8, u8)>>,
        /// Further columns, `assignment_group` say.
        #[serde(default)]
        fields: BTreeMap<String, String>,
        /// Fields of an incident whose case people closed. Without it only a note is added.
        #[serde(default)]
        resolve: Option<ResolveConfig>,
    }
}

ticket! {
    /// `kind = "pagerduty"`: an alert of PagerDuty, by Events API v2.
    PagerDuty {
        /// `https://events.pagerduty.com`, or that of the EU.
        #[serde(default = "events")]
        url: String,
        /// The integration key: `env:NAME` or `file:PATH`, read again at each event.
        pub(crate) routing_key: KeyRef,
        /// Severities of events by assessed severity: `critical`, `error`, `warning`, `info`.
        #[serde(default)]
        severities: Option<BTreeMap<Severity, String>>,
    }
}

ticket! {
    /// `kind = "github"`: an issue of GitHub.
    GitHub {
        /// `https://api.github.com`, or `https://HOST/api/v3` of an Enterprise Server.
        #[serde(default = "github")]
        url: String,
        /// The token: `env:NAME` or `file:PATH`, read again at each call.
        pub(crate) token: KeyRef,
        /// `owner/name`. The repository should be private, because reports name weaknesses.
        repo: String,
        /// Labels in addition to Nightshift's own.
        #[serde(default)]
        labels: Vec<String>,
    }
}

fn task() -> String {
    JiraConfig::default().issue_type
}

fn incident() -> String {
    ServiceNowConfig::default().table
}

fn events() -> String {
    PagerDutyConfig::default().url
}

fn github() -> String {
    GitHubConfig::default().url
}

impl Jira {
    /// Returns whether an issue is closed when people close its case.
    pub(super) const fn closes(&self) -> bool {
        self.done_transition.is_some()
    }

    /// Converts the table for the adapter.
    pub(crate) fn to_config(&self, links: &Links) -> JiraConfig {
        let mut config = JiraConfig {
            name: self.name.clone(),
            url: self.url.clone(),
            access: self.access(),
            email: self.email.clone(),
            project: self.project.clone(),
            issue_type: self.issue_type.clone(),
            labels: self.labels.clone(),
            fields: self.fields.clone(),
            done_transition: self.done_transition.clone(),
            reopen_transition: self.reopen_transition.clone(),
            policy: self.policy(),
            language: self.language(),
            links: links.clone(),
            ..JiraConfig::default()
        };
        if let Some(priorities) = &self.priorities {
            config.priorities.clone_from(priorities);
        }
        config
    }
}

impl ServiceNow {
    /// Returns whether an incident is resolved when people close its case.
    pub(super) const fn closes(&self) -> bool {
        self.resolve.is_some()
    }

    /// Converts the table for the adapter.
    pub(crate) fn to_config(&self, links: &Links) -> ServiceNowConfig {
        let mut config = ServiceNowConfig {
            name: self.name.clone(),
            url: self.url.clone(),
            access: self.access(),
            user: self.user.clone(),
            table: self.table.clone(),
            fields: self.fields.clone(),
            resolve: self.resolve.clone(),
            policy: self.policy(),
            language: self.language(),
            links: links.clone(),
            ..ServiceNowConfig::default()
        };
        if let Some(urgencies) = &self.urgencies {
            config.urgencies.clone_from(urgencies);
        }
        config
    }
}

impl PagerDuty {
    /// Converts the table for the adapter.
    pub(crate) fn to_config(&self, links: &Links) -> PagerDutyConfig {
        let mut config = PagerDutyConfig {
            name: self.name.clone(),
            url: self.url.clone(),
            access: self.access(),
            policy: self.policy(),
            language: self.language(),
            links: links.clone(),
            ..PagerDutyConfig::default()
        };
        if let Some(severities) = &self.severities {
            config.severities.clone_from(severities);
        }
        config
    }
}

impl GitHub {
    /// Converts the table for the adapter.
    pub(crate) fn to_config(&self, links: &Links) -> GitHubConfig {
        GitHubConfig {
            name: self.name.clone(),
            url: self.url.clone(),
            access: self.access(),
            repo: self.repo.clone(),
            labels: self.labels.clone(),
            policy: self.policy(),
            language: self.language(),
            links: links.clone(),
        }
    }
}
