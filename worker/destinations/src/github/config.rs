//! Defines the configuration of a GitHub destination.

use nightshift_engine::key::KeyRef;
use url::Url;

use super::super::http::DestinationError;
use super::super::ticket_config::ticket_config;

ticket_config! {
    /// `kind = "github"`: an issue of GitHub.
    GitHubConfig {
        /// `https://api.github.com`, or `https://HOST/api/v3` of an Enterprise Server.
        #[serde(default = "github")]
        url: String,
        /// The token: `env:NAME` or `file:PATH`, read again at each call.
        token: KeyRef,
        /// `owner/name`. The repository should be private, because reports name weaknesses.
        repo: String,
        /// Labels in addition to Nightshift's own.
        #[serde(default)]
        labels: Vec<String>,
    }
}

fn github() -> String {
    "https://api.github.com".to_owned()
}

impl GitHubConfig {
    /// Validates the configuration and returns the address of the API.
    ///
    /// # Errors
    ///
    /// Names the key, the problem and what would fit.
    pub fn check(&self) -> Result<Url, DestinationError> {
        let bad = |key, problem: &str| Err(DestinationError::bad(&self.name, key, problem));
        let url = self.access().check(&self.name, "url", &self.url)?;
        if split(&self.repo).is_none() {
            return bad("repo", "is no repository: write owner/name");
        }
        let fits = |label: &String| {
            !label.trim().is_empty() && label.chars().count() <= super::body::LABEL
        };
        if !self.labels.iter().all(fits) {
            return bad(
                "labels",
                "holds one that is empty or longer than 50 characters",
            );
        }
        Ok(url)
    }
}

/// Splits a repository into owner and name.
pub(super) fn split(repo: &str) -> Option<(&str, &str)> {
    let is_part = |part: &str| {
        let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !part.is_empty() && part.len() <= 100 && part.chars().all(harmless) && part != ".."
    };
    let (owner, name) = repo.split_once('/')?;
    (is_part(owner) && is_part(name) && name != ".").then_some((owner, name))
}

/// Returns the web address that belongs to an API: github.com for `api.github.com`, and the address without `/api/v3`
/// for an Enterprise Server. The web address of any other API is unknown.
pub(super) fn pages(api: &Url) -> Option<Url> {
    let mut pages = api.clone();
    pages.set_path("");
    if api.host_str() == Some("api.github.com") {
        pages.set_host(Some("github.com")).ok()?;
        return Some(pages);
    }
    let is_server = api.path().trim_end_matches('/') == "/api/v3";
    is_server.then_some(pages)
}
