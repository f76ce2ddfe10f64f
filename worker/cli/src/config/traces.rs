//! Defines `[traces]`: the destination of spans.

use std::collections::BTreeMap;
use std::path::PathBuf;

use nightshift_engine::hosts::is_loopback;
use nightshift_engine::key::KeyRef;
use reqwest::Url;
use reqwest::header::HeaderName;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[traces]`
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TracesConfig {
    /// Address that spans are posted to, as OTLP over HTTP, up to and including `/v1/traces`. If empty, no spans are
    /// made.
    pub(crate) endpoint: String,
    /// Headers of each post. A value is `env:NAME`, `file:PATH`, which is read again for each post, or the text itself.
    pub(crate) headers: BTreeMap<String, KeyRef>,
    /// The part of all cases that is traced, from 0 to 1.
    pub(crate) sample_ratio: f64,
    /// True if spans hold prompts, answers, arguments and results of tools, redacted as models get them.
    pub(crate) content: bool,
    /// The name of this program for the collector.
    pub(crate) service_name: String,
    /// True if plain http may go to another machine than this.
    pub(crate) allow_private: bool,
    /// PEM file of authorities that are trusted in addition to those of the system. If empty, there are none.
    pub(crate) ca_file: PathBuf,
}

impl TracesConfig {
    /// Returns the fraction of cases that are traced.
    pub(crate) const fn ratio(&self) -> f64 {
        if self.endpoint.is_empty() {
            0.0
        } else {
            self.sample_ratio
        }
    }

    /// Validates the table.
    pub(super) fn check(&self) -> Result<(), String> {
        let bad = |key: &str, problem: &str| Err(format!("[traces] {key}: {problem}"));
        if !(0.0..=1.0).contains(&self.sample_ratio) {
            return bad("sample_ratio", "use a number from 0 to 1");
        }
        let is_header = |name: &String| HeaderName::from_bytes(name.as_bytes()).is_ok();
        if let Some(name) = self.headers.keys().find(|name| !is_header(name)) {
            return bad("headers", &format!("{name:?} is no name of a header"));
        }
        if self.endpoint.is_empty() {
            return Ok(());
        }
        if self.service_name.trim().is_empty() {
            return bad("service_name", "is empty: collectors need a name");
        }
        self.url().map(|_| ())
    }

    /// Parses the address and checks that it is allowed. Errors do not show it, because it may contain a password.
    pub(crate) fn url(&self) -> Result<Url, String> {
        let bad = |problem: &str| Err(format!("[traces] endpoint: {problem}"));
        let Ok(url) = Url::parse(&self.endpoint) else {
            return bad("is no URL: write https://HOST:4318/v1/traces");
        };
        if !url.username().is_empty() || url.password().is_some() {
            return bad("holds a user or password: write it into `headers`");
        }
        if url.fragment().is_some() {
            return bad("holds a fragment, which is never sent: leave it out");
        }
        match url.scheme() {
            "https" => {}
            "http" if self.allow_private || url.host_str().is_some_and(is_loopback) => {}
            "http" => {
                return bad(
                    "would send spans unencrypted: use https, or say `allow_private = true`",
                );
            }
            _ => return bad("write https://HOST:4318/v1/traces"),
        }
        if url.path() == "/" {
            return bad("has no path: it is called as it stands, so write …/v1/traces");
        }
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let start = "service_name = \"x\"\nsample_ratio = 1.0\n";
        let traces: TracesConfig = toml::from_str(&format!("{start}{text}")).unwrap();
        traces.check().err().unwrap_or_default()
    }

    #[test]
    fn spans_go_nowhere_unencrypted_unless_that_is_allowed() {
        for fine in [
            "",
            "endpoint = \"https://otel.example.com/v1/traces\"",
            "endpoint = \"http://127.0.0.1:4318/v1/traces\"",
            "endpoint = \"http://[::1]:4318/v1/traces\"",
            "endpoint = \"http://localhost:4318/v1/traces\"",
            "endpoint = \"http://otel:4318/v1/traces\"\nallow_private = true",
        ] {
            assert_eq!(refused(fine), "");
        }
        insta::assert_snapshot!(refused("endpoint = \"http://otel:4318/v1/traces\""), @"[traces] endpoint: would send spans unencrypted: use https, or say `allow_private = true`");
    }

    #[test]
    fn unusable_traces_address_is_refused_and_not_shown() {
        insta::assert_snapshot!(refused("endpoint = \"https://otel.example.com\""), @"[traces] endpoint: has no path: it is called as it stands, so write …/v1/traces");
        insta::assert_snapshot!(refused("endpoint = \"https://me:s3cret@otel.example.com/v1/traces\""), @"[traces] endpoint: holds a user or password: write it into `headers`");
        insta::assert_snapshot!(refused("endpoint = \"otel.example.com:4318\""), @"[traces] endpoint: write https://HOST:4318/v1/traces");
        insta::assert_snapshot!(refused("endpoint = \"grpc://otel:4317/x\""), @"[traces] endpoint: write https://HOST:4318/v1/traces");
        insta::assert_snapshot!(refused("headers = { \"a b\" = \"x\" }"), @r#"[traces] headers: "a b" is no name of a header"#);
        let twice = toml::from_str::<TracesConfig>("sample_ratio = 2.0").unwrap();
        insta::assert_snapshot!(twice.check().unwrap_err(), @"[traces] sample_ratio: use a number from 0 to 1");
    }
}
