//! Finds the server of a `[[model]]` table that does not name one.

use crate::{ModelConfig, Server};

/// Suffixes of host names that identify a server, beginning with a dot.
const HOSTS: [(&str, Server); 4] = [
    (".api.openai.com", Server::Openai),
    (".openai.azure.com", Server::Azure),
    (".cognitiveservices.azure.com", Server::Azure),
    (".services.ai.azure.com", Server::Azure),
];

/// Returns the server at this host, or `None` where neither the host nor the configuration identifies it.
pub(super) fn at(config: &ModelConfig, host: &str) -> Option<Server> {
    if config.api_version.is_some() {
        return Some(Server::Azure);
    }
    if config.base_url.is_none() {
        return Some(Server::Openai);
    }
    let host = format!(".{host}");
    let known = HOSTS.iter().find(|(end, _)| host.ends_with(end));
    known.map(|(_, server)| *server)
}
