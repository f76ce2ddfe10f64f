//! Finds the server of a `[[model]]` table that does not name one.

use crate::{ModelConfig, ModelServer};

/// Suffixes of host names that identify a server, beginning with a dot.
const HOSTS: [(&str, ModelServer); 4] = [
    (".api.openai.com", ModelServer::Openai),
    (".openai.azure.com", ModelServer::Azure),
    (".cognitiveservices.azure.com", ModelServer::Azure),
    (".services.ai.azure.com", ModelServer::Azure),
];

/// Returns the server at this host, or `None` if neither the host nor the configuration identifies it.
pub(super) fn detect_server(config: &ModelConfig, host: &str) -> Option<ModelServer> {
    if config.api_version.is_some() {
        return Some(ModelServer::Azure);
    }
    if config.base_url.is_none() {
        return Some(ModelServer::Openai);
    }
    let host = format!(".{host}");
    let known = HOSTS.iter().find(|(end, _)| host.ends_with(end));
    known.map(|(_, server)| *server)
}
