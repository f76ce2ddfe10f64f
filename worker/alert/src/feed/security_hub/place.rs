//! Where it is: cloud, account and region of what the finding concerns.
//!
//! Security Hub gathers what lives in other accounts and clouds. The owner of the main resource counts; the key stays
//! with the account that the finding was made for.

use super::super::cloud::{cloud_named, cloud_of};
use super::super::control::told;
use super::super::{Draft, Node};
use crate::Provider;

/// What stands before the account in ids of resources.
const ACCOUNTS: [(Provider, &str); 2] = [
    (Provider::Azure, "/subscriptions/"),
    (Provider::Gcp, "/projects/"),
];

pub(super) fn read(draft: &mut Draft, node: Node<'_>) {
    let main = node.at("Resources").items().next();
    let hub_account = account_id(node.at("AwsAccountId"), Provider::Aws);
    draft.key_account = hub_account.clone().unwrap_or_default();
    draft.provider = main.map_or(Provider::Aws, provider);
    let owner = main.and_then(|main| owner(main, draft.provider));
    draft.account = match draft.provider {
        Provider::Aws => owner.or(hub_account),
        provider => owner.or_else(|| account_in_id(main?.at("Id").str()?, provider)),
    };
    let regions = [main.map(|main| main.at("Region")), Some(node.at("Region"))];
    let mut regions = regions.into_iter().flatten().filter_map(Node::str);
    draft.region = regions.find_map(told).map(str::to_owned);
}

/// The account that owns a resource.
pub(super) fn owner(resource: Node<'_>, provider: Provider) -> Option<String> {
    account_id(resource.path("Owner/Account/Id"), provider)
}

/// An account's id. Those of AWS have twelve digits, whose first may be 0, which numbers lose.
fn account_id(node: Node<'_>, provider: Provider) -> Option<String> {
    let text = match node.value()? {
        serde_json::Value::Number(_) => node.count()?.to_string(),
        _ => node.text()?,
    };
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    if provider == Provider::Aws && is_number {
        return Some(format!("{text:0>12}"));
    }
    told(&text).map(str::to_owned)
}

/// The cloud of a resource: as it says itself, else by its type, else by its id. Without any of these it is the hub's own.
fn provider(resource: Node<'_>) -> Provider {
    for key in ["Provider", "Partition", "Type", "Id"] {
        let Some(word) = resource.at(key).str().and_then(told) else {
            continue;
        };
        let cloud = match key {
            "Provider" => cloud_named(word),
            _ => cloud_of(word),
        };
        match cloud {
            Some(provider) => return provider,
            None if key == "Provider" => return Provider::Other,
            None => {}
        }
    }
    Provider::Aws
}

/// The subscription or project in the id of a resource.
fn account_in_id(id: &str, provider: Provider) -> Option<String> {
    let (_, marker) = ACCOUNTS.iter().find(|(known, _)| *known == provider)?;
    let at = id.to_ascii_lowercase().find(marker)?;
    let rest = id.get(at + marker.len()..)?;
    rest.split('/').next().map(str::to_owned)
}
