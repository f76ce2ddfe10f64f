//! Defines the configuration of a ServiceNow destination.

use std::collections::BTreeMap;

use nightshift_alert::Severity;
use nightshift_engine::key::KeyRef;
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use super::super::http::DestinationError;
use super::super::ticket_config::ticket_config;

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

ticket_config! {
    /// `kind = "servicenow"`: an incident of ServiceNow.
    ServiceNowConfig {
        /// The instance: `https://example.service-now.com`.
        url: String,
        /// The owner of the password. Without it the secret is an OAuth token.
        #[serde(default)]
        user: Option<String>,
        /// Password or token: `env:NAME` or `file:PATH`, read again at each call.
        secret: KeyRef,
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

fn incident() -> String {
    "incident".to_owned()
}

impl ServiceNowConfig {
    /// Validates the configuration and returns the address of the instance.
    ///
    /// # Errors
    ///
    /// Names the key, the problem and what would fit.
    pub fn check(&self) -> Result<Url, DestinationError> {
        let bad = |key, problem: &str| Err(DestinationError::bad(&self.name, key, problem));
        let url = self.access().check(&self.name, "url", &self.url)?;
        if !is_name(&self.table) {
            return bad("table", "is no name of a table: write incident, say");
        }
        if !self.fields.keys().all(|name| is_name(name)) {
            return bad(
                "fields",
                "contains an invalid column name: use the name (assignment_group), not the label",
            );
        }
        let levels = self.urgencies.iter().flat_map(BTreeMap::values);
        let levels = levels.flat_map(|(impact, urgency)| [impact, urgency]);
        if !levels.copied().all(|level| (1..=3).contains(&level)) {
            return bad("urgencies", "holds a level that is not 1, 2 or 3");
        }
        Ok(url)
    }

    /// Returns the impact and urgency of an incident. The defaults lead from "1 - Critical" to "5 - Planning" by the
    /// priority table of a new instance.
    pub(super) fn urgency(&self, severity: Severity) -> Option<(u8, u8)> {
        match (&self.urgencies, severity) {
            (Some(urgencies), _) => urgencies.get(&severity).copied(),
            (None, Severity::Critical) => Some((1, 1)),
            (None, Severity::High) => Some((1, 2)),
            (None, Severity::Medium) => Some((2, 2)),
            (None, Severity::Low) => Some((2, 3)),
            (None, Severity::Informational) => Some((3, 3)),
        }
    }
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !text.is_empty() && text.len() <= 80 && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::trial::read_config;
    use super::*;

    #[test]
    fn what_is_wrong_is_named_and_how_to_mend_it() {
        let fits: ServiceNowConfig = read_config(json!({
            "name": "desk", "url": "https://example.service-now.com", "secret": "env:P",
        }));
        assert!(fits.check().is_ok());
        let wrong = |change: fn(&mut ServiceNowConfig)| {
            let mut config = fits.clone();
            change(&mut config);
            config.check().unwrap_err().to_string()
        };
        let said = [
            wrong(|config| config.table = "../sys_user".into()),
            wrong(|config| config.fields = [("Assigned to".into(), "x".into())].into()),
            wrong(|config| config.urgencies = Some([(Severity::Low, (0, 4))].into())),
        ];
        insta::assert_snapshot!(said.join("\n"), @r#"
        [[destination]] "desk": `table` is no name of a table: write incident, say
        [[destination]] "desk": `fields` contains an invalid column name: use the name (assignment_group), not the label
        [[destination]] "desk": `urgencies` holds a level that is not 1, 2 or 3
        "#);
    }
}
