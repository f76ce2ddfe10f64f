//! Where issues are made, and of which kind.

use std::collections::BTreeMap;

use nightshift_alert::Severity;
use serde_json::{Map, Value};
use url::Url;

use super::super::http::{Access, DestinationError};
use super::super::policy::TicketPolicy;
use crate::{Language, Links};

/// Most characters of a project's key: Jira's own limit is 10 where nobody raised it, and 255 at most.
const MOST_KEY_CHARS: usize = 255;

/// A project of a Jira Cloud site.
#[derive(Clone)]
pub struct JiraConfig {
    /// Its name in configuration and metrics.
    pub name: String,
    /// The site, `https://example.atlassian.net`, or, for tokens with scopes, `https://api.atlassian.com/ex/jira/<cloud id>`.
    pub url: String,
    /// How it is reached.
    pub access: Access,
    /// Whose token it is; none: the token is an OAuth one, sent as bearer.
    pub email: Option<String>,
    /// Key of the project, `SEC`.
    pub project: String,
    /// Name of the issue type.
    pub issue_type: String,
    /// Names of the priorities by assessed severity. One that is not named leaves the priority to Jira.
    pub priorities: BTreeMap<Severity, String>,
    /// Labels beside our own.
    pub labels: Vec<String>,
    /// Further fields that the project requires, as the API has them. Ours are not replaced.
    pub fields: Map<String, Value>,
    /// Name of the transition, or of the status that it leads to, when people are done with a case; none: it is left alone.
    pub done_transition: Option<String>,
    /// The same for an issue that is done, when its case is open again and a new report is told; none: it is left alone.
    pub reopen_transition: Option<String>,
    /// Which reports become issues.
    pub policy: TicketPolicy,
    /// Language of our own words.
    pub language: Language,
    /// Where links lead.
    pub links: Links,
}

impl Default for JiraConfig {
    /// Tasks, with the priorities that a new site has.
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
            access: Access::default(),
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
    /// The address of the site, where all keys have values that can be.
    ///
    /// # Errors
    ///
    /// Names the key, what is wrong and what would fit.
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
                "is no key of a project: write what stands before the number in its issues, SEC say",
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
                "holds one that is empty, longer than 255 characters, or has a space, which no label of Jira has",
            );
        }
        Ok(url)
    }
}

/// Whether Jira takes it for a label.
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
        [[destination]] "tickets": `project` is no key of a project: write what stands before the number in its issues, SEC say
        [[destination]] "tickets": `project` is no key of a project: write what stands before the number in its issues, SEC say
        [[destination]] "tickets": `issue_type` is empty: write the name of an issue type, Task say
        [[destination]] "tickets": `labels` holds one that is empty, longer than 255 characters, or has a space, which no label of Jira has
        "#);
    }
}
