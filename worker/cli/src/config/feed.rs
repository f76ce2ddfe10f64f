//! Defines `[[feed]]`: a product with its own JSON format, read by JSON pointers.

use std::collections::BTreeMap;

use nightshift_alert::feed::{FIELDS, GenericFeed, SeverityRule};
use nightshift_alert::severity::SeverityScale;
use nightshift_alert::severity::scales::SCALES;
use nightshift_alert::{FindingClass, Severity};
use schemars::JsonSchema;
use serde::Deserialize;

use super::environment::suggest_nearest;

/// `[[feed]]`
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeedConfig {
    /// Its name.
    pub(super) name: String,
    /// JSON pointer to what only findings of this feed have.
    #[serde(rename = "match")]
    matches: String,
    /// JSON pointer to the list of findings, where a message holds several.
    #[serde(default)]
    list: Option<String>,
    /// JSON pointers of the fields: `id`, `type`, `title`, `severity`, `time`, `actor_ip`, … After `envelope:` they
    /// lead into the envelope of the finding (docs/findings.md).
    fields: BTreeMap<String, String>,
    /// The product that makes the findings, if it is not the feed itself.
    #[serde(default)]
    product: Option<String>,
    /// The class of the findings, unless `fields.class` tells another one.
    #[serde(default)]
    #[schemars(with = "String", extend("enum" = classes()))]
    class: FindingClass,
    /// The mapping of severities, for a product whose scale is not known.
    #[serde(default)]
    severity: FeedSeverityConfig,
}

/// `severity` of a `[[feed]]`
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FeedSeverityConfig {
    /// JSON pointer to the severity, where `fields` has none.
    #[serde(default)]
    pointer: Option<String>,
    /// The scale of words and numbers.
    #[serde(default)]
    #[schemars(extend("enum" = scales()))]
    scale: Option<String>,
    /// Words or numbers as they are sent, each with its severity.
    #[serde(default)]
    map: BTreeMap<String, Severity>,
}

/// Returns the names of all classes.
fn classes() -> Vec<&'static str> {
    FindingClass::ALL
        .iter()
        .map(|class| class.as_str())
        .collect()
}

/// Returns the names of all scales.
fn scales() -> Vec<&'static str> {
    SCALES.iter().map(|scale| scale.name).collect()
}

impl FeedConfig {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the scale of its severities is unknown.
    pub(crate) fn lacks_severity_scale(&self) -> bool {
        self.to_generic().wants_scale()
    }

    pub(crate) fn to_generic(&self) -> GenericFeed {
        let scale = self.severity.scale.as_deref();
        GenericFeed {
            name: self.name.clone(),
            matches: self.matches.clone(),
            list: self.list.clone(),
            fields: self.fields.clone(),
            product: self.product.clone(),
            class: self.class,
            severity: SeverityRule {
                pointer: self.severity.pointer.clone(),
                scale: scale.and_then(SeverityScale::parse),
                map: self.severity.map.clone(),
            },
        }
    }

    /// Checks that alerts can be read by this table.
    pub(super) fn check(&self) -> Result<(), String> {
        let generic = self.to_generic();
        let details = nightshift_alert::DetailKind::ALL.iter();
        let known: Vec<&str> = FIELDS
            .iter()
            .map(|(name, _)| *name)
            .chain(details.map(|kind| kind.as_str()))
            .collect();
        let unknown = generic.unknown_fields().map(|field| {
            format!(
                "{field:?} is no field of a feed; {}",
                suggest_nearest(field, &known)
            )
        });
        let scale = self.severity.scale.iter();
        let scale = scale.filter(|scale| SeverityScale::parse(scale).is_none());
        let scale = scale.map(|scale| {
            format!(
                "severity.scale: {scale:?} is no scale; {}",
                suggest_nearest(scale, &scales())
            )
        });
        let faults: Vec<String> = unknown.chain(scale).chain(generic.faults()).collect();
        if faults.is_empty() {
            return Ok(());
        }
        Err(format!("[[feed]] {}: {}", self.name, faults.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(more: &str) -> Result<(), String> {
        let text = format!(
            "name = \"edr\"\nmatch = \"/vendor\"\nfields.id = \"/id\"\nfields.type = \"/rule\"\n{more}\n"
        );
        toml::from_str::<FeedConfig>(&text)
            .map_err(|error| error.message().to_owned())
            .and_then(|feed| feed.check())
    }

    #[test]
    fn unknown_fields_are_refused_with_the_nearest() {
        checked("fields.time = \"/x\"").unwrap();
        checked("fields.claim = \"envelope:/x\"").unwrap();
        insta::assert_snapshot!(checked("fields.actorip = \"/x\"").unwrap_err(), @r#"[[feed]] edr: "actorip" is no field of a feed; did you mean "actor_ip"?"#);
        insta::assert_snapshot!(checked("fields.comand_line = \"/x\"").unwrap_err(), @r#"[[feed]] edr: "comand_line" is no field of a feed; did you mean "command_line"?"#);
        let unlike = checked("fields.at = \"/x\"").unwrap_err();
        assert!(unlike.contains("known are id, type, title,"), "{unlike}");
        assert!(unlike.contains(", time, "), "{unlike}");
    }

    #[test]
    fn faults_of_severities_and_lists_are_told() {
        for more in [
            "severity = { pointer = \"/level\", scale = \"0-100\" }",
            "fields.severity = \"/level\"\nseverity = { map = { Urgent = \"critical\" } }",
            "list = \"/alerts\"",
        ] {
            checked(more).unwrap();
        }
        insta::assert_snapshot!(checked("severity = { pointer = \"/level\", scale = \"0-10O\" }").unwrap_err(), @r#"[[feed]] edr: severity.scale: "0-10O" is no scale; did you mean "0-100"?"#);
        insta::assert_snapshot!(checked("severity = { scale = \"0-100\" }").unwrap_err(), @"[[feed]] edr: severity has no pointer: name it in severity.pointer or fields.severity");
        insta::assert_snapshot!(checked("fields.severity = \"/level\"\nseverity = { pointer = \"/level\" }").unwrap_err(), @"[[feed]] edr: severity has two pointers: keep fields.severity or severity.pointer");
        insta::assert_snapshot!(checked("severity = { pointer = \"level\" }").unwrap_err(), @r#"[[feed]] edr: severity = "level" is no JSON pointer: begin with `/`"#);
        insta::assert_snapshot!(checked("list = \"alerts\"").unwrap_err(), @r#"[[feed]] edr: list = "alerts" is no JSON pointer: begin with `/`"#);
        insta::assert_snapshot!(checked("severity = { pointer = \"/l\", map = { Urgent = \"urgent\" } }").unwrap_err(), @"unknown variant `urgent`, expected one of `informational`, `low`, `medium`, `high`, `critical`");
        insta::assert_snapshot!(checked("severity = { pointer = \"/l\", scales = \"0-10\" }").unwrap_err(), @"unknown field `scales`, expected one of `pointer`, `scale`, `map`");
    }

    /// Returns the example feeds of the documentation with their messages: a TOML block and a JSON block under each
    /// heading.
    fn ready() -> Vec<(&'static str, &'static str)> {
        let pages = [
            include_str!("../../../../docs/feeds.md"),
            include_str!("../../../../docs/feeds-wazuh.md"),
        ];
        let block = |section: &'static str, language: &str| {
            let (_, rest) = section.split_once(&format!("```{language}\n")).unwrap();
            rest.split_once("```").unwrap().0
        };
        let sections = pages
            .into_iter()
            .flat_map(|page| page.split("\n## ").skip(1));
        sections
            .map(|section| (block(section, "toml"), block(section, "json")))
            .collect()
    }

    /// Returns the facts of an alert that people see first.
    fn shown(alert: &nightshift_alert::Alert) -> String {
        let indicators = alert.indicators.iter();
        let indicators =
            indicators.map(|one| format!("{} {} {}", one.role.as_str(), one.kind, one.value));
        let details = alert.details.iter();
        let details = details.map(|one| format!("{} {}", one.kind, one.value));
        let techniques = alert.techniques.iter().map(|one| one.id.clone());
        let seen = alert.times.window().map(|(from, _)| from.to_rfc3339());
        format!(
            "{} {}: {} ({}){}{}\n{}\n",
            alert.feed,
            alert.key,
            alert.kind,
            alert.severity,
            if alert.state.resolved {
                ", resolved"
            } else {
                ""
            },
            alert
                .outcome
                .map(|outcome| format!(", {outcome}"))
                .unwrap_or_default(),
            indicators
                .chain(details)
                .chain(techniques)
                .chain(seen)
                .collect::<Vec<_>>()
                .join("; ")
        )
    }

    #[test]
    fn ready_feeds_of_the_documents_read_their_messages() {
        let feeds = ready();
        let tables: String = feeds.iter().map(|(table, _)| *table).collect();
        let config: crate::config::Config =
            toml::from_str(&format!("{}\n{tables}", crate::config::DEFAULTS)).unwrap();
        config.feeds.iter().try_for_each(FeedConfig::check).unwrap();
        let options = nightshift_alert::ReadOptions {
            generic: config.feeds.iter().map(FeedConfig::to_generic).collect(),
            ..Default::default()
        };
        let mut alerts = String::new();
        for (_, message) in &feeds {
            let batch = nightshift_alert::read_message(message.as_bytes(), &options).unwrap();
            assert_eq!(batch.rejected, []);
            alerts.extend(batch.alerts.iter().map(shown));
        }
        assert!(!config.feeds.iter().any(FeedConfig::lacks_severity_scale));
        insta::assert_snapshot!(alerts, @r#"
        falco falco/-/0b5d8a64-5d53-4b0e-8e59-6a2a34fd1f10: Shell in a container (low)
        actor principal root; target instance node-3; target container pay; related image registry.example.com/pay; related process sh; command_line sh -c id; parent_process runc; 2026-11-26T22:45:00.123456789+00:00
        alertmanager alertmanager/-/aaaa000000000001: EgressToUnknownHost (critical), resolved
        target instance web-1; trait triage; 2026-11-26T21:00:00+00:00
        alertmanager alertmanager/-/aaaa000000000002: EgressToUnknownHost (critical)
        target instance web-2; trait triage; 2026-11-26T22:00:00+00:00
        falcon falcon/-/c1:ind:d1:77: ScriptFromMail (high)
        target ip 10.0.5.33; actor principal dana; target instance lap-33; related process wscript.exe; command_line wscript.exe a.js; parent_process outlook.exe; parent_command_line outlook.exe; T1059.007; 2026-11-26T22:50:00.123+00:00
        suricata suricata/-/1795730400490: Request of a web shell (high), blocked
        target ip 10.0.0.9; actor ip 198.51.100.9; local_port 80; remote_port 40112; protocol TCP; signature 2024897; http_request /up/a.php; 2026-11-26T22:00:00+00:00
        elastic elastic/-/e1: Unusual child of a web server (high)
        actor principal nginx; target instance web-7; related process sh; command_line sh -c id; parent_process nginx; T1505; 2026-11-26T22:00:00+00:00
        defender defender/00000000-0000-4000-8000-0000000000aa/da1: Suspicious sign-in (medium)
        related ip 198.51.100.11; related principal dana@corp.example; target instance lap-11.corp.example; trait InitialAccess; T1078; 2026-11-26T22:00:00+00:00
        okta okta/-/okta-1: user.mfa.factor.deactivate (medium), succeeded
        actor ip 198.51.100.12; target principal dana@corp.example; actor principal helpdesk@corp.example; user_agent curl/8.5; country Germany; asn 64500; organisation Example Net; 2026-11-26T22:00:00+00:00
        wazuh-windows wazuh/-/1795730400.50001: Registry entry to be executed on next logon (low)
        target ip 10.0.0.7; actor principal CORP\dana; target instance lap-7; related process C:\Windows\regedit.exe; signature 92302; registry_key HKU\S-1-5-21-1\Software\Microsoft\Windows\CurrentVersion\Run\upd; T1547.001; 2026-11-26T22:00:00+00:00
        wazuh-audit wazuh/-/1795730400.50002: Audit: Command (informational)
        target ip 10.0.0.5; actor principal dana; target instance db-5; related process /usr/bin/curl; signature 80792; command_line curl; 2026-11-26T22:00:00+00:00
        wazuh-checks wazuh/-/1795730400.50003: Ensure auditd is installed (informational)
        target instance db-5; control CIS Ubuntu 24.04; 2026-11-26T22:00:00+00:00
        wazuh-vulnerabilities wazuh/-/1795730400.50004: CVE-2026-1111 (high)
        target instance db-5; related cve CVE-2026-1111; package openssl; 2026-11-26T22:00:00+00:00
        wazuh wazuh/-/1795730400.49031: sshd: brute force (medium)
        target ip 10.0.0.5; actor ip 198.51.100.7; related principal admin; target instance db-5; signature 5712; T1110; 2026-11-26T22:00:00+00:00
        "#);
    }
}
