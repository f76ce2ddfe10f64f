//! Defines `[[mute]]`: a mute in the configuration, converted to a rule of admission.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use nightshift_alert::Severity;
use nightshift_pipeline::mutes::NewMute;
use nightshift_pipeline::route::Match;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::value::Datetime;

/// One rule of the file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MuteConfig {
    /// Its name; called after its place in the file without one.
    #[serde(default)]
    name: Option<String>,
    /// The conditions that an alert must meet.
    pub(super) when: Match,
    /// Greatest severity that it hides.
    #[serde(default = "medium")]
    severity: Severity,
    /// The end of the mute: a date, or a time with its offset.
    #[schemars(with = "String")]
    until: Datetime,
    /// The reason for the mute.
    why: String,
    /// The person who wants the mute.
    #[serde(default = "the_file")]
    by: String,
}

fn medium() -> Severity {
    Severity::Medium
}

fn the_file() -> String {
    "the configuration".to_owned()
}

impl MuteConfig {
    /// Returns the name, or one from its position in the file.
    pub(super) fn name(&self, index: usize) -> String {
        let given = self.name.clone();
        given.unwrap_or_else(|| format!("config-{}", index + 1))
    }

    /// Converts the table to a rule.
    pub(super) fn to_rule(
        &self,
        index: usize,
    ) -> Result<nightshift_pipeline::admission::Mute, String> {
        let name = self.name(index);
        let fault = |what: &str| format!("[[mute]] {name:?}: {what}");
        if is_ours(&name) {
            return Err(fault("names like m1 are for mutes that are added"));
        }
        let until = self.until.to_string();
        let until = parse_end(&until).ok_or_else(|| {
            fault(&format!(
                "until = {until}: write a date, or a time with its offset, as 2026-12-31T00:00:00Z"
            ))
        })?;
        let mute = NewMute {
            when: self.when.clone(),
            severity: self.severity,
            until,
            why: self.why.clone(),
            by: self.by.clone(),
        }
        .named(name.clone());
        if !self.when.verdict.is_empty() {
            return Err(fault(
                "`verdict`: what a mute hides is not triaged, and has no verdict",
            ));
        }
        match mute.faults().first() {
            Some(what) => Err(fault(what)),
            None => Ok(mute),
        }
    }
}

/// Returns whether the store generates names like this.
fn is_ours(name: &str) -> bool {
    name.strip_prefix('m')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Parses the end of a mute: a time with its offset, or a date, which means its first moment in UTC.
pub(crate) fn parse_end(text: &str) -> Option<DateTime<Utc>> {
    let time = DateTime::parse_from_rfc3339(text).map(|at| at.to_utc());
    let date = || text.parse::<NaiveDate>().ok();
    time.ok()
        .or_else(|| Some(date()?.and_time(NaiveTime::MIN).and_utc()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Result<nightshift_pipeline::admission::Mute, String> {
        toml::from_str::<MuteConfig>(text).unwrap().to_rule(0)
    }

    #[test]
    fn a_rule_has_a_name_an_end_and_a_severity() {
        let mute = rule("when = { feed = \"scc\" }\nuntil = 2026-12-31\nwhy = \"a test\"").unwrap();
        assert_eq!(
            (mute.name.as_str(), mute.severity),
            ("config-1", Severity::Medium)
        );
        assert_eq!(mute.until, parse_end("2026-12-31T01:00:00+01:00").unwrap());
        assert_eq!(mute.by, "the configuration");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let fault = |text: &str| rule(text).unwrap_err();
        insta::assert_snapshot!(fault("name = \"x\"\nwhen = {}\nuntil = 2026-12-31\nwhy = \"y\""), @r#"[[mute]] "x": the mute would match everything: add a feed, type, account, region or class"#);
        insta::assert_snapshot!(fault("name = \"m1\"\nwhen = { feed = \"scc\" }\nuntil = 2026-12-31\nwhy = \"y\""), @r#"[[mute]] "m1": names like m1 are for mutes that are added"#);
        insta::assert_snapshot!(fault("when = { feed = \"scc\" }\nuntil = 2026-12-31T00:00:00\nwhy = \"y\""), @r#"[[mute]] "config-1": until = 2026-12-31T00:00:00: write a date, or a time with its offset, as 2026-12-31T00:00:00Z"#);
        insta::assert_snapshot!(fault("when = { feed = \"scc\" }\nseverity = \"critical\"\nuntil = 2026-12-31\nwhy = \"y\""), @r#"[[mute]] "config-1": critical alerts are never muted: use high or below"#);
    }
}
