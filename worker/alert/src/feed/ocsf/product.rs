//! Finds the product that made a finding.

use super::super::Node;

/// The product of a finding.
pub(super) enum OcsfProduct {
    GuardDuty,
    Other(String),
}

pub(super) fn product(node: Node<'_>) -> OcsfProduct {
    let product = node.path("metadata/product");
    let name = ["name", "uid"]
        .iter()
        .find_map(|key| product.at(key).text())
        .unwrap_or_else(|| "ocsf".to_owned());
    let by_amazon = product
        .at("vendor_name")
        .str()
        .is_some_and(|vendor| matches!(vendor, "AWS" | "Amazon"));
    // `Amazon GuardDuty` and `GuardDuty` are one product, if the vendor is Amazon.
    if by_amazon && name.to_ascii_lowercase().ends_with("guardduty") {
        return OcsfProduct::GuardDuty;
    }
    OcsfProduct::Other(asff_product_name(product.at("uid"), by_amazon).unwrap_or(name))
}

/// Returns the product's name in ASFF, so that a finding has one key in both formats:
/// `arn:aws:securityhub:eu-west-1::productv2/aws/securityhub` is `securityhub`.
///
/// Only Amazon's own products are under `aws/`.
fn asff_product_name(uid: Node<'_>, by_amazon: bool) -> Option<String> {
    let arn = uid.str().filter(|arn| arn.contains(":securityhub:"))?;
    let (_, path) = arn
        .split_once(":productv2/")
        .or_else(|| arn.split_once(":product/"))?;
    match path.split_once('/')? {
        ("aws", name) => by_amazon.then(|| name.to_owned()),
        (_, "default") => None,
        (company, name) => Some(format!("{company}_{name}")),
    }
}
