//! Defines the configuration of a Jira destination.

use std::collections::BTreeMap;

use nightshift_alert::Severity;
use nightshift_engine::key::KeyRef;
use serde_json::{Map, Value};
use url::Url;

use super::super::http::DestinationError;
use super::super::ticket_config::ticket_config;

/// The maximum number of characters of a project key. Jira's default limit is 10, and it can be raised to 255.
const MOST_KEY_CHARS: usize = 255;

ticket_config! {
    /// `kind = "jira"`: an issue of Jira Cloud.
    JiraConfig {
        /// The site: `https://example.atlassian.net`.
        url: String,
        /// The owner of the token. Without it the token is an OAuth token.
        #[serde(default)]
        email: Option<String>,
        /// The API token: `env:NAME` or `file:PATH`, read again at each call.
        token: KeyRef,
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
        fields: Map<String, Value>,
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

fn task() -> String {
    "Task".to_owned()
}

impl JiraConfig {
    /// Validates the configuration and returns the address of the site.
    ///
    /// # Errors
    ///
    /// Names the key, the problem and what would fit.
    pub fn check(&self) -> Result<Url, DestinationError> {
        let bad = |key, problem: &str| Err(DestinationError::bad(&self.name, key, problem));
        let url = self.access().check(&self.name, "url", &self.url)?;
        let is_key = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        if !self.project.starts_with(|c: char| c.is_ascii_uppercase())
            || !self.project.chars().all(is_key)
            || self.project.len() > MOST_KEY_CHARS
        {
            return bad(
                "project",
                "is not a project key: use the prefix of its issue numbers, such as SEC",
            );
        }
        if self.issue_type.trim().is_empty() {
            return bad(
                "issue_type",
                "is empty: write the name of an issue type, Task say",
            );
        }
        if self.labels.iter().any(|label| !is_label(label)) {
            return bad(
                "labels",
                "contains an empty label, one above 255 characters, or one with a space",
            );
        }
        Ok(url)
    }

    /// Returns the name of an issue's priority, or `None` if Jira sets it.
    pub(super) fn priority(&self, severity: Severity) -> Option<&str> {
        match (&self.priorities, severity) {
            (Some(names), _) => names.get(&severity).map(String::as_str),
            (None, Severity::Critical) => Some("Highest"),
            (None, Severity::High) => Some("High"),
            (None, Severity::Medium) => Some("Medium"),
            (None, Severity::Low) => Some("Low"),
            (None, Severity::Informational) => Some("Lowest"),
        }
    }
}

/// Returns whether Jira accepts a label.
fn is_label(label: &str) -> bool {
    !label.is_empty()
        && label.chars().count() <= super::page::LABEL
        && !label.chars().any(|c| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::trial::read_config;
    use super::*;

    #[test]
    fn what_is_wrong_is_named_and_how_to_mend_it() {
        let fits: JiraConfig = read_config(json!({
            "name": "tickets", "url": "https://example.atlassian.net", "token": "env:T", "project": "SEC",
        }));
        assert!(fits.check().is_ok());
        let wrong = |change: fn(&mut JiraConfig)| {
            let mut config = fits.clone();
            change(&mut config);
            config.check().unwrap_err().to_string()
        };
        let said = [
            wrong(|config| config.url = "http://example.atlassian.net".into()),
            wrong(|config| config.project = "SEC\" OR 1=1".into()),
            wrong(|config| config.project = String::new()),
            wrong(|config| config.issue_type = " ".into()),
            wrong(|config| config.labels = vec!["two words".into()]),
        ];
        insta::assert_snapshot!(said.join("\n"), @r#"
        [[destination]] "tickets": `url` would send reports unencrypted: use https, or say `allow_private = true`
        [[destination]] "tickets": `project` is not a project key: use the prefix of its issue numbers, such as SEC
        [[destination]] "tickets": `project` is not a project key: use the prefix of its issue numbers, such as SEC
        [[destination]] "tickets": `issue_type` is empty: write the name of an issue type, Task say
        [[destination]] "tickets": `labels` contains an empty label, one above 255 characters, or one with a space
        "#);
    }
}
