//! Which server a `[[model]]` asks, where its table does not say.

use crate::{ModelConfig, Server};

/// Hosts that say which server answers there: the end of a name, from a dot on.
const HOSTS: [(&str, Server); 4] = [
    (".api.openai.com", Server::Openai),
    (".openai.azure.com", Server::Azure),
    (".cognitiveservices.azure.com", Server::Azure),
    (".services.ai.azure.com", Server::Azure),
];

/// Returns the server at this host, or `None` where neither the host nor the configuration tells.
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
