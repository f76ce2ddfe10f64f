//! How a webhook is reached, and whether it may be. The address is called as it stands in the configuration; only plain
//! http to another machine has to be allowed. Its path and query are never shown: they often are the receiver's password.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::{Certificate, Client, Proxy, redirect, retry};
use url::{Host, Url};

/// Time to get a connection, TLS included.
const CONNECT: Duration = Duration::from_secs(10);
/// Time for a whole post, the answer included: what Standard Webhooks lets a receiver have at most.
const WHOLE: Duration = Duration::from_secs(30);

/// Where a webhook is.
#[derive(Clone, Default)]
pub struct WebhookConfig {
    /// Its name in configuration and metrics.
    pub name: String,
    /// The address that is posted to, `https://…`.
    pub url: String,
    /// Whether plain http may go to another machine than this.
    pub allow_private: bool,
    /// PEM file of authorities that are trusted beside those of the system.
    pub ca_file: Option<PathBuf>,
    /// Proxy, as a URL. Without it those of the environment count; `none`: no proxy.
    pub proxy: Option<String>,
}

/// A webhook cannot be used as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// A key has a value that cannot be.
    #[error("[[destination]] {name:?}: `{key}` {problem}")]
    BadValue {
        /// The destination.
        name: String,
        /// The key.
        key: &'static str,
        /// What is wrong, and what would fit.
        problem: String,
    },
    /// The file of authorities cannot be read.
    #[error("[[destination]] {name:?}: `ca_file`: cannot read {}", path.display())]
    CaFile {
        /// The destination.
        name: String,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// There is no secret, or it cannot sign.
    #[error("[[destination]] {name:?}: `secret`: {problem}")]
    Secret {
        /// The destination.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There can be no HTTP client, for want of any authority to trust, say.
    #[error("[[destination]] {name:?}: cannot make an HTTP client")]
    Client {
        /// The destination.
        name: String,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
}

impl WebhookConfig {
    /// The address, where it may be posted to.
    ///
    /// # Errors
    ///
    /// Names the key, what is wrong and what would fit.
    pub fn check(&self) -> Result<Url, WebhookError> {
        if self.name.trim().is_empty() {
            return Err(self.bad("name", "is empty: routes need a name to lead to"));
        }
        // The value itself is not shown.
        let url = Url::parse(&self.url).map_err(|error| {
            self.bad("url", format!("is no URL ({error}): write https://HOST/…"))
        })?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(self.bad(
                "url",
                "holds a user or password: posts are signed with `secret` instead",
            ));
        }
        if url.fragment().is_some() {
            return Err(self.bad("url", "holds a fragment, which is never sent: leave it out"));
        }
        match url.scheme() {
            "https" => Ok(url),
            "http" if self.allow_private || is_loopback(&url) => Ok(url),
            "http" => Err(self.bad(
                "url",
                "would send reports unencrypted: use https, or say `allow_private = true`",
            )),
            other => Err(self.bad("url", format!("has the scheme {other:?}: use https"))),
        }
    }

    /// # Errors
    ///
    /// When the proxy is none, or the CA file cannot be read or holds no certificate.
    pub(super) fn client(&self, url: &Url) -> Result<Client, WebhookError> {
        let mut builder = Client::builder()
            .user_agent(concat!("nightshift/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .connect_timeout(CONNECT)
            .timeout(WHOLE);
        match self.proxy.as_deref() {
            // What is meant for this machine is no business of the environment's proxy.
            None if is_loopback(url) => builder = builder.no_proxy(),
            None => {}
            Some("none") => builder = builder.no_proxy(),
            Some(proxy) => builder = builder.proxy(self.proxy_at(proxy)?),
        }
        if let Some(path) = &self.ca_file {
            let pem = std::fs::read(path).map_err(|source| WebhookError::CaFile {
                name: self.name.clone(),
                path: path.clone(),
                source,
            })?;
            let roots = Certificate::from_pem_bundle(&pem).unwrap_or_default();
            if roots.is_empty() {
                let problem = format!("{} holds no certificate in PEM form", path.display());
                return Err(self.bad("ca_file", problem));
            }
            builder = builder.tls_certs_merge(roots);
        }
        builder.build().map_err(|source| WebhookError::Client {
            name: self.name.clone(),
            source,
        })
    }

    /// The value is not shown: proxies are where people put passwords into URLs.
    fn proxy_at(&self, text: &str) -> Result<Proxy, WebhookError> {
        let is_proxy = Url::parse(text)
            .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some());
        let proxy = is_proxy.then(|| Proxy::all(text).ok()).flatten();
        proxy.ok_or_else(|| {
            self.bad(
                "proxy",
                "is no URL of a proxy: write http://HOST:PORT, or `none`",
            )
        })
    }

    fn bad(&self, key: &'static str, problem: impl Into<String>) -> WebhookError {
        WebhookError::BadValue {
            name: self.name.clone(),
            key,
            problem: problem.into(),
        }
    }
}

/// Whether it names this machine, by address or as `localhost`.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str) -> WebhookConfig {
        WebhookConfig {
            name: "hook".into(),
            url: url.into(),
            ..WebhookConfig::default()
        }
    }

    #[test]
    fn plain_http_goes_to_this_machine_only_unless_it_is_allowed() {
        for fits in [
            "https://soar.example.com/hooks/1?sig=x",
            "https://10.0.0.5/hook",
            "http://127.0.0.1:8080/",
            "http://localhost:8080/",
            "http://[::1]:8080/",
        ] {
            assert!(config(fits).check().is_ok(), "{fits}");
        }
        for plain in [
            "http://soar.example.com/",
            "http://10.0.0.5/",
            "http://169.254.169.254/",
            "http://localhost.example.com/",
            "http://[::ffff:127.0.0.1]/",
        ] {
            let mut config = config(plain);
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains("allow_private = true"), "{plain}: {error}");
            config.allow_private = true;
            assert!(config.check().is_ok(), "{plain}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_and_no_value_that_may_be_a_secret_is_shown() {
        let dir = tempfile::tempdir().unwrap();
        let empty = dir.path().join("ca.pem");
        std::fs::write(&empty, "none\n").unwrap();
        let mut said = Vec::new();
        for (url, proxy, ca_file) in [
            ("hush/hush", None, None),
            ("ftp://example.com/hush", None, None),
            ("https://user:hush@example.com/", None, None),
            ("https://example.com/#hush", None, None),
            ("http://example.com/hush", None, None),
            ("https://example.com/hush", Some("socks9://u:hush@p"), None),
            ("https://example.com/hush", None, Some(empty)),
            (
                "https://example.com/hush",
                None,
                Some(dir.path().join("no.pem")),
            ),
        ] {
            let config = WebhookConfig {
                proxy: proxy.map(str::to_owned),
                ca_file,
                ..config(url)
            };
            let made = config.check().and_then(|url| config.client(&url));
            said.push(made.unwrap_err().to_string());
        }
        let said = said
            .join("\n")
            .replace(&dir.path().display().to_string(), "DIR");
        assert!(!said.contains("hush"), "{said}");
        insta::assert_snapshot!(said, @r#"
        [[destination]] "hook": `url` is no URL (relative URL without a base): write https://HOST/…
        [[destination]] "hook": `url` has the scheme "ftp": use https
        [[destination]] "hook": `url` holds a user or password: posts are signed with `secret` instead
        [[destination]] "hook": `url` holds a fragment, which is never sent: leave it out
        [[destination]] "hook": `url` would send reports unencrypted: use https, or say `allow_private = true`
        [[destination]] "hook": `proxy` is no URL of a proxy: write http://HOST:PORT, or `none`
        [[destination]] "hook": `ca_file` DIR/ca.pem holds no certificate in PEM form
        [[destination]] "hook": `ca_file`: cannot read DIR/no.pem
        "#);
    }
}
