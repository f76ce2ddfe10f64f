//! Defines the configuration of a ServiceNow destination.

use std::collections::BTreeMap;

use nightshift_alert::Severity;
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use super::super::http::{DestinationError, HttpOptions};
use super::super::policy::TicketPolicy;
use crate::{Language, Links};

/// The fields that resolve an incident.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveConfig {
    /// The state, as the number behind its name; 6 is Resolved on a new instance.
    pub state: String,
    /// The resolution code, in the instance's own words.
    pub close_code: String,
    /// The state of a resolved incident when its case is open again, by its source or by people, and a new report is
    /// sent: 2 is In Progress on a new instance. Without this key incidents stay resolved, and the report is still
    /// sent.
    #[serde(default)]
    pub reopen_state: Option<String>,
}

/// A table of a ServiceNow instance.
#[derive(Clone)]
pub struct ServiceNowConfig {
    /// The name in configuration and metrics.
    pub name: String,
    /// The instance, `https://example.service-now.com`.
    pub url: String,
    /// Network access to the instance.
    pub access: HttpOptions,
    /// The user of the password. Without a user the secret is an OAuth token, sent as bearer.
    pub user: Option<String>,
    /// The table: `incident`, or one that extends it, such as `sn_si_incident`.
    pub table: String,
    /// The impact and urgency by assessed severity, from 1 (high) to 3 (low). The instance derives the priority from
    /// them.
    pub urgencies: BTreeMap<Severity, (u8, u8)>,
    /// Further fields, such as `assignment_group` or `caller_id`. They do not replace the fields of Nightshift.
    pub fields: BTreeMap<String, String>,
    /// The fields of an incident whose case people closed. Without them only a note is added.
    pub resolve: Option<ResolveConfig>,
    /// The policy that decides which reports become incidents.
    pub policy: TicketPolicy,
    /// The language of labels and sentences of Nightshift.
    pub language: Language,
    /// The links that reports contain.
    pub links: Links,
}

impl Default for ServiceNowConfig {
    /// Returns incidents from "1 - Critical" to "5 - Planning", by the priority table of a new instance.
    fn default() -> Self {
        let urgencies = [
            (Severity::Critical, (1, 1)),
            (Severity::High, (1, 2)),
            (Severity::Medium, (2, 2)),
            (Severity::Low, (2, 3)),
            (Severity::Informational, (3, 3)),
        ];
        Self {
            name: String::new(),
            url: String::new(),
            access: HttpOptions::default(),
            user: None,
            table: "incident".into(),
            urgencies: urgencies.into_iter().collect(),
            fields: BTreeMap::new(),
            resolve: None,
            policy: TicketPolicy::default(),
            language: Language::default(),
            links: Links::default(),
        }
    }
}

impl ServiceNowConfig {
    /// Validates the configuration and returns the address of the instance.
    ///
    /// # Errors
    ///
    /// Names the key, the problem and what would fit.
    pub fn check(&self) -> Result<Url, DestinationError> {
        let bad = |key, problem: &str| Err(DestinationError::bad(&self.name, key, problem));
        let url = self.access.check(&self.name, "url", &self.url)?;
        if !is_name(&self.table) {
            return bad("table", "is no name of a table: write incident, say");
        }
        if !self.fields.keys().all(|name| is_name(name)) {
            return bad(
                "fields",
                "contains an invalid column name: use the name (assignment_group), not the label",
            );
        }
        let levels = self
            .urgencies
            .values()
            .flat_map(|(impact, urgency)| [impact, urgency]);
        if !levels.into_iter().all(|level| (1..=3).contains(level)) {
            return bad("urgencies", "holds a level that is not 1, 2 or 3");
        }
        Ok(url)
    }
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !text.is_empty() && text.len() <= 80 && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named_and_how_to_mend_it() {
        let fits = ServiceNowConfig {
            name: "desk".into(),
            url: "https://example.service-now.com".into(),
            ..ServiceNowConfig::default()
        };
        assert!(fits.check().is_ok());
        let wrong = |change: fn(&mut ServiceNowConfig)| {
            let mut config = fits.clone();
            change(&mut config);
            config.check().unwrap_err().to_string()
        };
        let said = [
            wrong(|config| config.table = "../sys_user".into()),
            wrong(|config| config.fields = [("Assigned to".into(), "x".into())].into()),
            wrong(|config| config.urgencies = [(Severity::Low, (0, 4))].into()),
        ];
        insta::assert_snapshot!(said.join("\n"), @r#"
        [[destination]] "desk": `table` is no name of a table: write incident, say
        [[destination]] "desk": `fields` contains an invalid column name: use the name (assignment_group), not the label
        [[destination]] "desk": `urgencies` holds a level that is not 1, 2 or 3
        "#);
    }
}
