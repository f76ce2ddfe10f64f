//! Defines the configuration `[[source]] kind = "http"`: who may post alerts, and how they authenticate.
//!
//! A source has its own credentials, separate from those of the pages. [`HttpConfig::check`] reports what is wrong
//! without reading secrets. Secrets are read for each request, so that a changed file takes effect immediately.

use std::fmt;

use nightshift_engine::hosts::is_loopback;
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use crate::config::without_credentials;

/// Google's public keys for tokens of Pub/Sub
/// (<https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions>).
const GOOGLE_KEYS: &str = "https://www.googleapis.com/oauth2/v3/certs";

/// Configuration of an HTTP source.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Http")]
pub struct HttpConfig {
    /// The source's name.
    pub name: String,
    /// Bearer tokens for posts to `/v1/alerts`: `env:NAME` or `file:PATH`, at least 20 characters each.
    #[serde(default)]
    pub tokens: Vec<String>,
    /// Secrets for posts to `/v1/alerts` that are signed by Standard Webhooks instead: `whsec_` and base64, in
    /// `env:NAME` or `file:PATH`.
    #[serde(default)]
    pub signing_secrets: Vec<String>,
    /// Topics of Amazon SNS, at `/v1/alerts/sns`.
    #[serde(default)]
    pub sns: Option<HttpSnsConfig>,
    /// A push subscription of Google Cloud Pub/Sub, at `/v1/alerts/pubsub`.
    #[serde(default)]
    pub pubsub: Option<HttpPubsubConfig>,
    /// The feeds that are accepted. If empty, all are.
    #[serde(default)]
    pub feeds: Vec<String>,
    /// Allows plain http to another machine in `endpoint_url` and `jwks_url`.
    #[serde(default)]
    pub allow_private: bool,
}

/// Topics of Amazon SNS.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HttpSns")]
pub struct HttpSnsConfig {
    /// ARNs of the topics. Messages of other topics are refused, and their subscriptions are not confirmed.
    pub topics: Vec<String>,
    /// Endpoint for certificates and confirmations instead of the region's own SNS, such as a VPC endpoint.
    #[serde(default)]
    pub endpoint_url: Option<String>,
}

/// A push subscription of Pub/Sub.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HttpPubsub")]
pub struct HttpPubsubConfig {
    /// The audience of the subscription's tokens: the configured one, or else the push URL.
    pub audience: String,
    /// Emails of the service accounts whose tokens are accepted.
    pub service_accounts: Vec<String>,
    /// URL of the public keys of tokens. The default is Google's.
    #[serde(default)]
    pub jwks_url: Option<String>,
}

/// An SNS topic, parsed from its ARN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SnsTopic {
    pub(super) arn: String,
    /// `sns.<region>.amazonaws.com`, with `.cn` in China: the only host that may serve its certificates.
    pub(super) host: String,
}

impl HttpConfig {
    /// Checks the configuration by itself, without reading a secret or making a call.
    ///
    /// # Errors
    ///
    /// Returns the first problem and its correction.
    pub fn check(&self) -> Result<(), String> {
        let fits = |one: char| one.is_ascii_alphanumeric() || one == '-' || one == '_';
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(fits) {
            return Err("name: use 1 to 64 characters of a-z, A-Z, 0-9, _ and -".to_owned());
        }
        for (key, secrets) in [
            ("tokens", &self.tokens),
            ("signing_secrets", &self.signing_secrets),
        ] {
            if secrets.iter().any(|one| !is_secret_reference(one)) {
                return Err(format!(
                    "{key}: one is written out; put it into the environment or a file, and write \"env:NAME\" or \
                     \"file:PATH\""
                ));
            }
        }
        if !self.accepts_posts() && self.sns.is_none() && self.pubsub.is_none() {
            return Err(
                "no sender could authenticate: set tokens, signing_secrets, sns or pubsub"
                    .to_owned(),
            );
        }
        self.topics()?;
        if let Some(sns) = &self.sns {
            self.endpoint("sns.endpoint_url", sns.endpoint_url.as_deref())?;
        }
        self.check_push()
    }

    /// Returns whether `/v1/alerts` accepts posts for this source.
    pub(super) fn accepts_posts(&self) -> bool {
        !self.tokens.is_empty() || !self.signing_secrets.is_empty()
    }

    /// Parses the topics.
    ///
    /// # Errors
    ///
    /// Names the invalid ARN.
    pub(super) fn topics(&self) -> Result<Vec<SnsTopic>, String> {
        let Some(sns) = &self.sns else {
            return Ok(Vec::new());
        };
        if sns.topics.is_empty() {
            return Err("sns.topics is empty: name the topics by their ARNs".to_owned());
        }
        sns.topics.iter().map(|arn| topic(arn)).collect()
    }

    /// Returns the endpoint that replaces the host of SNS.
    pub(super) fn sns_endpoint(&self) -> Option<Url> {
        let sns = self.sns.as_ref()?;
        self.endpoint("sns.endpoint_url", sns.endpoint_url.as_deref())
            .ok()
            .flatten()
    }

    /// Returns the URL of the keys of Pub/Sub's tokens.
    pub(super) fn jwks_url(&self) -> Option<Url> {
        let push = self.pubsub.as_ref()?;
        let own = self.endpoint("pubsub.jwks_url", push.jwks_url.as_deref());
        own.ok().flatten().or_else(|| Url::parse(GOOGLE_KEYS).ok())
    }

    fn check_push(&self) -> Result<(), String> {
        let Some(push) = &self.pubsub else {
            return Ok(());
        };
        if push.audience.is_empty() {
            return Err("pubsub.audience is empty: write what the subscription has, else the address that it pushes to".to_owned());
        }
        if push.service_accounts.is_empty() {
            return Err("pubsub.service_accounts is empty: anybody with an account of Google could push; name the \
                        subscription's own"
                .to_owned());
        }
        if let Some(odd) = push.service_accounts.iter().find(|one| !one.contains('@')) {
            return Err(format!(
                "pubsub.service_accounts: {odd:?} is no email; write it as in \
                 \"nightshift-push@project.iam.gserviceaccount.com\""
            ));
        }
        self.endpoint("pubsub.jwks_url", push.jwks_url.as_deref())
            .map(drop)
    }

    fn endpoint(&self, key: &str, text: Option<&str>) -> Result<Option<Url>, String> {
        let Some(text) = text else {
            return Ok(None);
        };
        let url = Url::parse(text).ok().filter(Url::has_host);
        let shown = without_credentials(text);
        let url = url.ok_or_else(|| {
            format!("{key} = {shown:?} is no address; write it as in \"https://host/path\"")
        })?;
        let is_here = url.host_str().is_some_and(is_loopback);
        match url.scheme() {
            "https" => Ok(Some(url)),
            "http" if is_here || self.allow_private => Ok(Some(url)),
            "http" => Err(format!(
                "{key} = {shown:?} is plain http to another machine: anybody on the network path \
                 could forge signatures; use https, or set allow_private = true"
            )),
            _ => Err(format!("{key} = {shown:?}: write https://…")),
        }
    }
}

fn is_secret_reference(reference: &str) -> bool {
    let named = |scheme: &str| {
        reference
            .strip_prefix(scheme)
            .is_some_and(|rest| !rest.is_empty())
    };
    named("env:") || named("file:")
}

/// Parses `arn:aws:sns:eu-west-1:111122223333:name`.
fn topic(arn: &str) -> Result<SnsTopic, String> {
    let wrong = || {
        format!(
            "sns.topics: {arn:?} is no ARN of a topic; write it as in \"arn:aws:sns:eu-west-1:111122223333:guardduty\""
        )
    };
    let parts: Vec<&str> = arn.split(':').collect();
    let ["arn", partition, "sns", region, account, name] = parts[..] else {
        return Err(wrong());
    };
    let is_word = |text: &str| {
        let fits = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-';
        !text.is_empty() && text.chars().all(fits)
    };
    let is_account = account.len() == 12 && account.bytes().all(|one| one.is_ascii_digit());
    let suffix = match partition {
        "aws" | "aws-us-gov" => "",
        "aws-cn" => ".cn",
        _ => return Err(wrong()),
    };
    if !is_word(region) || !is_account || name.is_empty() {
        return Err(wrong());
    }
    Ok(SnsTopic {
        arn: arn.to_owned(),
        host: format!("sns.{region}.amazonaws.com{suffix}"),
    })
}

impl fmt::Display for SnsTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.arn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<(), String> {
        let json = format!("{{\"name\": \"in\", {text}}}");
        serde_json::from_str::<HttpConfig>(&json).unwrap().check()
    }

    #[test]
    fn each_way_in_is_enough_by_itself() {
        for good in [
            r#""tokens": ["env:A"]"#,
            r#""signing_secrets": ["file:a"]"#,
            r#""sns": {"topics": ["arn:aws:sns:eu-west-1:111122223333:gd"]}"#,
            r#""sns": {"topics": ["arn:aws:sns:eu-west-1:111122223333:gd"], "endpoint_url": "http://127.0.0.1:1"}"#,
            r#""pubsub": {"audience": "a", "service_accounts": ["a@b"]}"#,
            r#""allow_private": true, "pubsub": {"audience": "a", "service_accounts": ["a@b"], "jwks_url": "http://keys/"}"#,
        ] {
            checked(good).unwrap();
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_how_to_mend_it() {
        for (text, said) in [
            (r#""feeds": []"#, "set tokens"),
            (r#""tokens": ["0123456789abcdef0123"]"#, "written out"),
            (r#""signing_secrets": ["whsec_AAAA"]"#, "written out"),
            (r#""tokens": ["env:"]"#, "written out"),
            (r#""sns": {"topics": []}"#, "sns.topics is empty"),
            (r#""sns": {"topics": ["gd"]}"#, "no ARN"),
            (
                r#""sns": {"topics": ["arn:aws:sns:evil.com/:111122223333:gd"]}"#,
                "no ARN",
            ),
            (
                r#""sns": {"topics": ["arn:evil:sns:eu-west-1:111122223333:gd"]}"#,
                "no ARN",
            ),
            (
                r#""sns": {"topics": ["arn:aws:sns:eu-west-1:111122223333:gd"], "endpoint_url": "http://10.0.0.1"}"#,
                "allow_private",
            ),
            (
                r#""pubsub": {"audience": "", "service_accounts": ["a@b"]}"#,
                "audience",
            ),
            (
                r#""pubsub": {"audience": "a", "service_accounts": []}"#,
                "anybody",
            ),
            (
                r#""pubsub": {"audience": "a", "service_accounts": ["b"]}"#,
                "no email",
            ),
            (
                r#""pubsub": {"audience": "a", "service_accounts": ["a@b"], "jwks_url": "keys"}"#,
                "no address",
            ),
            (
                r#""pubsub": {"audience": "a", "service_accounts": ["a@b"], "jwks_url": "http://u:hunter2@keys/"}"#,
                "http://…@keys/",
            ),
        ] {
            let error = checked(text).unwrap_err();
            assert!(
                error.contains(said) && !error.contains("hunter2"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_topic_names_the_one_host_of_its_region() {
        let host = |arn: &str| topic(arn).unwrap().host;
        assert_eq!(
            host("arn:aws:sns:eu-west-1:111122223333:gd"),
            "sns.eu-west-1.amazonaws.com"
        );
        assert_eq!(
            host("arn:aws-cn:sns:cn-north-1:111122223333:gd"),
            "sns.cn-north-1.amazonaws.com.cn"
        );
        assert_eq!(
            host("arn:aws-us-gov:sns:us-gov-west-1:111122223333:gd.fifo"),
            "sns.us-gov-west-1.amazonaws.com"
        );
    }
}
