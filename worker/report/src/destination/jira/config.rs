//! Defines the configuration of a Jira destination.

use std::collections::BTreeMap;

use nightshift_alert::Severity;
use serde_json::{Map, Value};
use url::Url;

use super::super::http::{DestinationError, HttpOptions};
use super::super::policy::TicketPolicy;
use crate::{Language, Links};

/// The maximum number of characters of a project key. Jira's default limit is 10, and it can be raised to 255.
const MOST_KEY_CHARS: usize = 255;

/// A project of a Jira Cloud site.
#[derive(Clone)]
pub struct JiraConfig {
    /// The name in configuration and metrics.
    pub name: String,
    /// The site, `https://example.atlassian.net`, or, for tokens with scopes,
    /// `https://api.atlassian.com/ex/jira/<cloud id>`.
    pub url: String,
    /// Network access to the site.
    pub access: HttpOptions,
    /// The user of the token. Without a user the token is an OAuth token, sent as bearer.
    pub email: Option<String>,
    /// The key of the project, such as `SEC`.
    pub project: String,
    /// The name of the issue type.
    pub issue_type: String,
    /// The names of the priorities by assessed severity. Without a name Jira sets the priority.
    pub priorities: BTreeMap<Severity, String>,
    /// Further labels of each issue.
    pub labels: Vec<String>,
    /// Further fields that the project requires, in the form of the API. They do not replace the fields of Nightshift.
    pub fields: Map<String, Value>,
    /// The name of the transition, or of its status, when people close a case. Without it the issue is not moved.
    pub done_transition: Option<String>,
    /// The name of the transition, or of its status, when a case is open again and a new report is delivered to a
    /// closed issue. Without it the issue is not moved.
    pub reopen_transition: Option<String>,
    /// The policy that decides which reports become issues.
    pub policy: TicketPolicy,
    /// The language of labels and sentences of Nightshift.
    pub language: Language,
    /// The links that reports contain.
    pub links: Links,
}

impl Default for JiraConfig {
    /// Returns issues of type Task with the priorities of a new site.
    fn default() -> Self {
        let priorities = [
            (Severity::Critical, "Highest"),
            (Severity::High, "High"),
            (Severity::Medium, "Medium"),
            (Severity::Low, "Low"),
            (Severity::Informational, "Lowest"),
        ];
        Self {
            name: String::new(),
            url: String::new(),
            access: HttpOptions::default(),
            email: None,
            project: String::new(),
            issue_type: "Task".into(),
            priorities: priorities
                .into_iter()
                .map(|(severity, name)| (severity, name.to_owned()))
                .collect(),
            labels: Vec::new(),
            fields: Map::new(),
            done_transition: None,
            reopen_transition: None,
            policy: TicketPolicy::default(),
            language: Language::default(),
            links: Links::default(),
        }
    }
}

impl JiraConfig {
    /// Validates the configuration and returns the address of the site.
    ///
    /// # Errors
    ///
    /// Names the key, the problem and what would fit.
    pub fn check(&self) -> Result<Url, DestinationError> {
        let bad = |key, problem: &str| Err(DestinationError::bad(&self.name, key, problem));
        let url = self.access.check(&self.name, "url", &self.url)?;
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
}

/// Returns whether Jira accepts a label.
fn is_label(label: &str) -> bool {
    !label.is_empty()
        && label.chars().count() <= super::page::LABEL
        && !label.chars().any(|c| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named_and_how_to_mend_it() {
        let fits = JiraConfig {
            name: "tickets".into(),
            url: "https://example.atlassian.net".into(),
            project: "SEC".into(),
            ..JiraConfig::default()
        };
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
