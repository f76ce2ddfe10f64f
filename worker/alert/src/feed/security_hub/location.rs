//! Reads cloud, account and region of the finding's resource.
//!
//! Security Hub gathers findings about other accounts and clouds. The owner of the main resource counts. The key keeps
//! the account that the finding was made for.

use super::super::check_name::non_placeholder;
use super::super::cloud::{cloud_named, cloud_of};
use super::super::{Draft, Node};
use crate::CloudProvider;

/// Prefixes of the account in ids of resources.
const ACCOUNTS: [(CloudProvider, &str); 2] = [
    (CloudProvider::Azure, "/subscriptions/"),
    (CloudProvider::Gcp, "/projects/"),
];

pub(super) fn read_location(draft: &mut Draft, node: Node<'_>) {
    let main = node.at("Resources").items().next();
    let hub_account = account_id(node.at("AwsAccountId"), CloudProvider::Aws);
    draft.key_account = hub_account.clone().unwrap_or_default();
    draft.provider = main.map_or(CloudProvider::Aws, provider);
    let owner = main.and_then(|main| owner(main, draft.provider));
    draft.account = match draft.provider {
        CloudProvider::Aws => owner.or(hub_account),
        provider => owner.or_else(|| account_in_id(main?.at("Id").str()?, provider)),
    };
    let regions = [main.map(|main| main.at("Region")), Some(node.at("Region"))];
    let mut regions = regions.into_iter().flatten().filter_map(Node::str);
    draft.region = regions.find_map(non_placeholder).map(str::to_owned);
}

/// Returns the account that owns a resource.
pub(super) fn owner(resource: Node<'_>, provider: CloudProvider) -> Option<String> {
    account_id(resource.path("Owner/Account/Id"), provider)
}

/// Returns an account's id. AWS ids have twelve digits; a number loses a leading 0.
fn account_id(node: Node<'_>, provider: CloudProvider) -> Option<String> {
    let text = match node.value()? {
        serde_json::Value::Number(_) => node.count()?.to_string(),
        _ => node.text()?,
    };
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    if provider == CloudProvider::Aws && is_number {
        return Some(format!("{text:0>12}"));
    }
    non_placeholder(&text).map(str::to_owned)
}

/// Returns the cloud of a resource: its own field, else by its type, else by its id, else AWS, the hub's own cloud.
fn provider(resource: Node<'_>) -> CloudProvider {
    for key in ["Provider", "Partition", "Type", "Id"] {
        let Some(word) = resource.at(key).str().and_then(non_placeholder) else {
            continue;
        };
        let cloud = match key {
            "Provider" => cloud_named(word),
            _ => cloud_of(word),
        };
        match cloud {
            Some(provider) => return provider,
            None if key == "Provider" => return CloudProvider::Other,
            None => {}
        }
    }
    CloudProvider::Aws
}

/// Returns the subscription or project in the id of a resource.
fn account_in_id(id: &str, provider: CloudProvider) -> Option<String> {
    let (_, marker) = ACCOUNTS.iter().find(|(known, _)| *known == provider)?;
    let at = id.to_ascii_lowercase().find(marker)?;
    let rest = id.get(at + marker.len()..)?;
    rest.split('/').next().map(str::to_owned)
}
