//! Defines `[[destination]]`: the destinations of reports.

use std::path::{Path, PathBuf};

use nightshift_destinations::{
    DestinationError, FileFormat, GitHubConfig, JiraConfig, PagerDutyConfig, ServiceNowConfig,
    SlackConfig, WebhookConfig,
};
use nightshift_engine::key::KeyRef;
use nightshift_render::Links;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[[destination]]`
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum DestinationConfig {
    /// One file per case and revision.
    File {
        /// Its name; routes use it.
        name: String,
        /// A folder: one file per case and revision.
        path: PathBuf,
        /// The format of reports.
        #[serde(default)]
        format: FileFormat,
    },
    /// A signed POST of each report to an address: a CloudEvent, signed as Standard Webhooks has it.
    Webhook(WebhookConfig),
    /// A message of Slack for each case, edited as the case goes on.
    Slack(Box<SlackConfig>),
    /// An issue of Jira Cloud for each case that is worth one.
    Jira(JiraConfig),
    /// An incident of ServiceNow for each case that is worth one.
    #[serde(rename = "servicenow")]
    ServiceNow(ServiceNowConfig),
    /// An alert of PagerDuty for each case that is worth one.
    #[serde(rename = "pagerduty")]
    PagerDuty(PagerDutyConfig),
    /// An issue of GitHub for each case that is worth one.
    #[serde(rename = "github")]
    GitHub(GitHubConfig),
}

impl DestinationConfig {
    /// Returns the `kind` of the configuration.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::File { .. } => "file",
            Self::Webhook(_) => "webhook",
            Self::Slack(_) => "slack",
            Self::Jira(_) => "jira",
            Self::ServiceNow(_) => "servicenow",
            Self::PagerDuty(_) => "pagerduty",
            Self::GitHub(_) => "github",
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::File { name, .. } => name,
            Self::Webhook(one) => &one.name,
            Self::Slack(one) => &one.name,
            Self::Jira(one) => &one.name,
            Self::ServiceNow(one) => &one.name,
            Self::PagerDuty(one) => &one.name,
            Self::GitHub(one) => &one.name,
        }
    }

    /// Returns the references to its secrets.
    pub(crate) fn secrets(&self) -> Vec<&KeyRef> {
        match self {
            Self::File { .. } => Vec::new(),
            Self::Webhook(one) => vec![&one.secret],
            Self::Slack(one) => one.secrets(),
            Self::Jira(one) => vec![&one.token],
            Self::ServiceNow(one) => vec![&one.secret],
            Self::PagerDuty(one) => vec![&one.routing_key],
            Self::GitHub(one) => vec![&one.token],
        }
    }

    /// Returns whether reports open tickets or page a person. Generated samples are not sent to such destinations.
    pub(crate) const fn opens_tickets(&self) -> bool {
        match self {
            Self::File { .. } | Self::Webhook(_) | Self::Slack(_) => false,
            Self::Jira(_) | Self::ServiceNow(_) | Self::PagerDuty(_) | Self::GitHub(_) => true,
        }
    }

    /// Returns whether the daily digest can be posted there.
    pub(crate) const fn accepts_digests(&self) -> bool {
        matches!(self, Self::Slack(_))
    }

    /// Checks whether a canary can be shown and removed or closed there. Nobody is paged for a canary.
    pub(crate) fn check_canary_support(&self) -> Result<(), &'static str> {
        match self {
            Self::File { .. } | Self::Webhook(_) | Self::GitHub(_) => Ok(()),
            Self::Slack(one) => match one.webhook_url {
                Some(_) => Err(
                    "an incoming webhook of Slack cannot take away what it posted; use a bot (`channel` and `token`)",
                ),
                None => Ok(()),
            },
            Self::Jira(one) if one.done_transition.is_some() => Ok(()),
            Self::Jira(_) => Err("its issues would stay open; set `done_transition`"),
            Self::ServiceNow(one) if one.resolve.is_some() => Ok(()),
            Self::ServiceNow(_) => Err("its incidents would stay open; set `resolve`"),
            Self::PagerDuty(_) => Err("a canary must wake nobody; name another destination"),
        }
    }

    /// Validates the table.
    pub(crate) fn check(&self) -> Result<(), DestinationError> {
        match self {
            Self::File { .. } => Ok(()),
            Self::Webhook(one) => one.check().map(|_| ()),
            Self::Slack(one) => one.check(),
            Self::Jira(one) => one.check().map(|_| ()),
            Self::ServiceNow(one) => one.check().map(|_| ()),
            Self::PagerDuty(one) => one.check().map(|_| ()),
            Self::GitHub(one) => one.check().map(|_| ()),
        }
    }

    /// Sets the links that reports contain.
    pub(super) fn set_links(&mut self, links: &Links) {
        match self {
            Self::File { .. } | Self::Webhook(_) => {}
            Self::Slack(one) => one.links.clone_from(links),
            Self::Jira(one) => one.links.clone_from(links),
            Self::ServiceNow(one) => one.links.clone_from(links),
            Self::PagerDuty(one) => one.links.clone_from(links),
            Self::GitHub(one) => one.links.clone_from(links),
        }
    }

    /// Resolves relative paths against the folder of the configuration file.
    pub(super) fn resolve_paths(&mut self, base: &Path) {
        let path = match self {
            Self::File { path, .. } => Some(path),
            Self::Webhook(one) => one.ca_file.as_mut(),
            Self::Slack(one) => one.ca_file.as_mut(),
            Self::Jira(one) => one.ca_file.as_mut(),
            Self::ServiceNow(one) => one.ca_file.as_mut(),
            Self::PagerDuty(one) => one.ca_file.as_mut(),
            Self::GitHub(one) => one.ca_file.as_mut(),
        };
        if let Some(path) = path.filter(|path| path.is_relative()) {
            *path = base.join(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rest: &str) -> Result<DestinationConfig, toml::de::Error> {
        toml::from_str(&format!("name = \"soar\"\nkind = \"webhook\"\n{rest}"))
    }

    #[test]
    fn a_webhook_has_an_address_and_a_secret_that_is_not_shown() {
        let text =
            "url = \"https://soar.example.com/\"\nsecret = \"whsec_hush\"\nca_file = \"ca.pem\"";
        let mut webhook = read(text).unwrap();
        webhook.check().unwrap();
        webhook.resolve_paths(Path::new("/etc/nightshift"));
        let shown = format!("{webhook:?}");
        assert!(shown.contains("/etc/nightshift/ca.pem"), "{shown}");
        assert!(!shown.contains("hush"), "{shown}");
        for missing in ["url = \"https://a/\"", "secret = \"env:A\""] {
            assert!(read(missing).is_err(), "{missing}");
        }
        let unknown = read(&format!("{text}\ntoken = \"x\"")).unwrap_err();
        assert!(
            unknown.message().contains("unknown field `token`"),
            "{unknown}"
        );
    }

    #[test]
    fn plain_http_elsewhere_is_refused_unless_it_is_allowed() {
        let plain = "url = \"http://soar.internal/\"\nsecret = \"env:A\"";
        let error = read(plain).unwrap().check().unwrap_err();
        insta::assert_snapshot!(error, @r#"[[destination]] "soar": `url` would send reports unencrypted: use https, or say `allow_private = true`"#);
        let allowed = read(&format!("{plain}\nallow_private = true")).unwrap();
        allowed.check().unwrap();
    }
}
