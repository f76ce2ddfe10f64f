//! Implements the tool `indicator_facts`: address class and range, cloud range, parts of a domain or URL, kind of a
//! digest.
//!
//! The tool never resolves or fetches anything and knows no reputation. Cloud ranges come only from files that the
//! organisation downloads from the clouds.

pub(crate) mod address;
mod cloud;
mod domain;

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::IndicatorKind;
use nightshift_engine::tool::{CallContext, ToolError, ToolOutput, ToolSpec, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arguments::{self, Arguments, Subject};
use crate::content::{CachedContent, ContentSource};
use crate::register::{RegisterReport, build_report};
use crate::tool::{Tool, run_blocking, spec, unavailable};
use cloud::CloudRanges;

const SUPPORTED_KINDS: [IndicatorKind; 5] = [
    IndicatorKind::Ip,
    IndicatorKind::Url,
    IndicatorKind::Hash,
    IndicatorKind::Email,
    IndicatorKind::Domain,
];

const KIND: &str = "indicator_facts";

/// Paths that are computed from published tables and the form of the value. Parts of the value (host, path, names)
/// stay external.
const COMPUTED_FIELDS: [&str; 20] = [
    "type",
    "version",
    "class",
    "range",
    "public",
    "cloud",
    "cloud_source",
    "public_suffix",
    "suffix_known",
    "labels",
    "punycode",
    "dynamic_dns",
    "special_use",
    "longest_label",
    "looks_random",
    "algorithm",
    "scheme",
    "port",
    "has_query",
    "has_credentials",
];

/// Configuration of `indicator_facts`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "IndicatorFacts")]
pub struct IndicatorFactsConfig {
    /// The tool's name.
    pub name: String,
    /// Published address ranges: `ip-ranges.json` of AWS, `cloud.json` of Google.
    #[serde(default)]
    pub cloud_ranges: Vec<ContentSource>,
}

impl IndicatorFactsConfig {
    pub(crate) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            cloud_ranges: Vec::new(),
        }
    }
}

pub(crate) struct IndicatorFacts {
    spec: ToolSpec,
    cloud_ranges: Arc<[CachedContent<CloudRanges>]>,
}

impl IndicatorFacts {
    pub(crate) fn new(config: IndicatorFactsConfig) -> Self {
        let description = "Facts about one indicator, computed without asking anybody: class and range of an ip address \
            (public, private, documentation, …; cloud provider where known), parts of a domain (registrable part, public \
            suffix, dynamic DNS, random look), host of a url, algorithm of a hash. Says nothing about reputation: ask a \
            watchlist for that. Cheap, use it first.";
        let paths: Vec<String> = COMPUTED_FIELDS
            .iter()
            .flat_map(|name| [format!("/{name}"), format!("/host_facts/{name}")])
            .collect();
        let trust: Vec<(&str, Trust)> = paths
            .iter()
            .map(|path| (path.as_str(), Trust::Platform))
            .collect();
        Self {
            spec: spec(
                &config.name,
                KIND,
                description,
                vec![arguments::indicator_argument(
                    "indicator",
                    "the ip, domain, url, email or hash to describe",
                    &SUPPORTED_KINDS,
                )],
                &trust,
            ),
            cloud_ranges: config
                .cloud_ranges
                .into_iter()
                .map(|content| CachedContent::new(content, cloud::parse))
                .collect(),
        }
    }
}

#[async_trait]
impl Tool for IndicatorFacts {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(
        &self,
        arguments: Arguments<'_>,
        _context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let subject = arguments.required_indicator("indicator", &SUPPORTED_KINDS)?;
        let clouds = Arc::clone(&self.cloud_ranges);
        if clouds.is_empty() {
            return facts(&subject, &[]).map(ToolOutput::from_body);
        }
        run_blocking(move || facts(&subject, &clouds).map(ToolOutput::from_body)).await
    }

    fn reports(&self) -> Vec<RegisterReport> {
        self.cloud_ranges
            .iter()
            .map(|ranges| {
                build_report(
                    &self.spec.name,
                    KIND,
                    ranges.name(),
                    ranges.get(),
                    |ranges| (ranges.len(), Vec::new()),
                )
            })
            .collect()
    }
}

fn facts(subject: &Subject, clouds: &[CachedContent<CloudRanges>]) -> Result<Value, ToolError> {
    let mut body = match subject.kind {
        IndicatorKind::Ip => address_facts(subject, clouds)?,
        IndicatorKind::Domain => domain::facts(&subject.value),
        IndicatorKind::Url => url_facts(&subject.value, clouds)?,
        IndicatorKind::Email => {
            let host = subject.value.rsplit('@').next().unwrap_or_default();
            json!({ "domain": host, "host_facts": domain::facts(host) })
        }
        _ => json!({ "algorithm": hash_algorithm(&subject.value) }),
    };
    if let Some(map) = body.as_object_mut() {
        map.insert("indicator".to_owned(), Value::from(subject.value.clone()));
        map.insert("type".to_owned(), Value::from(subject.kind.as_str()));
    }
    Ok(body)
}

fn address_facts(
    subject: &Subject,
    clouds: &[CachedContent<CloudRanges>],
) -> Result<Value, ToolError> {
    let ip = subject.ip.ok_or_else(|| ToolError::Argument {
        argument: "indicator".to_owned(),
        problem: format!("{:?} is no ip address", subject.value),
    })?;
    let mut body = address::facts(ip);
    let (found, source) = cloud::find(ip, clouds).map_err(unavailable)?;
    if let Some(map) = body.as_object_mut() {
        map.insert("cloud".to_owned(), found);
        map.insert("cloud_source".to_owned(), Value::from(source));
    }
    Ok(body)
}

fn url_facts(text: &str, clouds: &[CachedContent<CloudRanges>]) -> Result<Value, ToolError> {
    let refused = |problem: String| ToolError::Argument {
        argument: "indicator".to_owned(),
        problem,
    };
    let url = url::Url::parse(text).map_err(|error| refused(format!("no url: {error}")))?;
    let host = url
        .host()
        .ok_or_else(|| refused("a url without a host".to_owned()))?;
    let host_facts = match host {
        url::Host::Domain(name) => facts(
            &Subject::new(IndicatorKind::Domain, name.to_ascii_lowercase()),
            clouds,
        )?,
        url::Host::Ipv4(ip) => facts(&Subject::new(IndicatorKind::Ip, ip.to_string()), clouds)?,
        url::Host::Ipv6(ip) => facts(&Subject::new(IndicatorKind::Ip, ip.to_string()), clouds)?,
    };
    Ok(json!({
        "scheme": url.scheme(),
        "host": url.host_str(),
        "port": url.port_or_known_default(),
        "path": url.path(),
        "has_query": url.query().is_some(),
        "has_credentials": !url.username().is_empty() || url.password().is_some(),
        "host_facts": host_facts,
    }))
}

/// Returns the algorithm by the length in hex: MD5 (RFC 1321), SHA-1, SHA-256 and SHA-512 (FIPS 180-4).
fn hash_algorithm(digest: &str) -> Option<&'static str> {
    match digest.len() {
        32 => Some("md5"),
        40 => Some("sha1"),
        64 => Some("sha256"),
        128 => Some("sha512"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
