//! Defines `[[source]] kind = "sqs"`.

use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use nightshift_engine::hosts::is_loopback;

/// Configuration of a queue of SQS.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Sqs")]
pub struct SqsConfig {
    /// Name of the source.
    pub name: String,
    /// URL of the queue, as SQS reports it. The URL of a FIFO queue ends in `.fifo`.
    pub queue_url: String,
    /// Region. Defaults to that of the URL, then to that of the AWS environment.
    #[serde(default)]
    pub region: Option<String>,
    /// Endpoint of SQS and S3 if it is not AWS: LocalStack, moto, a VPC endpoint.
    #[serde(default)]
    pub endpoint_url: Option<String>,
    /// Seconds until unsettled messages are redelivered. A slow commit extends them. The range is 30 to 43200.
    #[serde(default = "visibility")]
    pub visibility_secs: u32,
    /// Buckets from which payloads of the extended client may be read. Pointers elsewhere are never followed.
    #[serde(default)]
    pub buckets: Vec<String>,
    /// Allows plain http to another machine.
    #[serde(default)]
    pub allow_private: bool,
    /// Feeds that the queue may carry. If empty, all are allowed.
    #[serde(default)]
    pub feeds: Vec<String>,
}

const fn visibility() -> u32 {
    60
}

impl SqsConfig {
    pub(crate) fn check(&self) -> Result<(), String> {
        self.check_url("queue_url", &self.queue_url)?;
        if let Some(endpoint) = &self.endpoint_url {
            self.check_url("endpoint_url", endpoint)?;
        }
        // Half of a shorter time is too short for a commit. SQS refuses a longer one.
        if !(30..=43_200).contains(&self.visibility_secs) {
            return Err(format!(
                "visibility_secs = {}: use 30 to 43200",
                self.visibility_secs
            ));
        }
        match self.buckets.iter().find(|name| !is_bucket(name)) {
            Some(name) => Err(format!("buckets: {name:?} is no name of a bucket")),
            None => Ok(()),
        }
    }

    fn check_url(&self, key: &str, text: &str) -> Result<(), String> {
        let url = Url::parse(text).map_err(|error| format!("{key}: {error}"))?;
        let host = url.host_str().unwrap_or_default();
        match url.scheme() {
            "https" => Ok(()),
            "http" if is_loopback(host) || self.allow_private => Ok(()),
            "http" => Err(format!(
                "{key}: http:// to {host} is not encrypted: use https://, or set allow_private = true"
            )),
            other => Err(format!("{key}: {other}:// is not supported: use https://")),
        }
    }

    /// Returns the region that the configuration or the URL names.
    #[cfg(feature = "sqs")]
    pub(super) fn region(&self) -> Option<String> {
        let of_url = || {
            let url = Url::parse(&self.queue_url).ok()?;
            let mut labels = url.host_str()?.split('.');
            let is_aws = labels.next()? == "sqs";
            let region = labels.next().filter(|_| is_aws)?;
            (labels.next()? == "amazonaws").then(|| region.to_owned())
        };
        self.region.clone().or_else(of_url)
    }

    /// Returns whether messages of a group are delivered in order.
    #[cfg(feature = "sqs")]
    pub(super) fn is_fifo(&self) -> bool {
        self.queue_url.ends_with(".fifo")
    }
}

/// Returns whether the name may be a bucket, which is a part of a host name: 3 to 63 characters.
fn is_bucket(name: &str) -> bool {
    let fits = |one: u8| one.is_ascii_lowercase() || one.is_ascii_digit() || b".-".contains(&one);
    (3..=63).contains(&name.len()) && name.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_region_stands_in_the_url_of_a_queue() {
        let region = |url: &str| {
            let config: SqsConfig =
                toml::from_str(&format!("name = 'q'\nqueue_url = '{url}'")).unwrap();
            config.region()
        };
        let told = region("https://sqs.eu-west-1.amazonaws.com/111122223333/alerts");
        assert_eq!(told.as_deref(), Some("eu-west-1"));
        let told = region("https://sqs.cn-north-1.amazonaws.com.cn/111122223333/alerts");
        assert_eq!(told.as_deref(), Some("cn-north-1"));
        assert_eq!(region("http://127.0.0.1:4566/000000000000/alerts"), None);
        assert_eq!(region("https://sqs.example.com/alerts"), None);
    }
}
