//! Reads cloud, account and region of the finding's resource.
//!
//! Security Hub gathers findings about other accounts and clouds. The owner of the main resource counts. The key keeps
//! the account that the finding was made for.

use super::super::check_name::non_placeholder;
use super::super::cloud::{account_id, account_in_id, cloud_named, cloud_of};
use super::super::{Draft, Node};
use crate::CloudProvider;

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
    let told = regions.find_map(non_placeholder);
    draft.region = told
        .or_else(|| region_in_arn(node.at("Id")).filter(|_| draft.provider == CloudProvider::Aws))
        .map(str::to_owned);
}

/// Returns the region in the ARN of a finding.
pub(super) fn region_in_arn(id: Node<'_>) -> Option<&str> {
    let region = id.str()?.strip_prefix("arn:")?.split(':').nth(2)?;
    (!region.is_empty()).then_some(region)
}

/// Returns the account that owns a resource.
pub(super) fn owner(resource: Node<'_>, provider: CloudProvider) -> Option<String> {
    account_id(resource.path("Owner/Account/Id"), provider)
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
