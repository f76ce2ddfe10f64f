//! Reads AWS Security Hub findings (ASFF), which take the key of the product inside.
//!
//! <https://docs.aws.amazon.com/securityhub/latest/userguide/securityhub-findings-format-syntax.html>. A GuardDuty
//! finding is converted back to GuardDuty's own shape and read by that feed, so that the finding has one key and one
//! content.

mod asff;
mod class;
mod evidence;
mod guardduty;
mod kind;
mod location;
mod network;
mod path;
mod product_fields;
mod resource;
mod types;
mod vulnerability;

pub(super) use types::native_type;

use super::check_name::non_placeholder;
use super::{Draft, Node};
use crate::error::describe;
use crate::severity::scales::DEFAULT;
use crate::severity::{severity_from_product, severity_or_default};
use crate::{FeedState, ReadError, Severity};

pub(super) fn recognises(node: Node<'_>) -> bool {
    let has_product = node
        .at("ProductArn")
        .str()
        .is_some_and(|arn| arn.contains(":securityhub:"));
    let has_shape = node.at("AwsAccountId").exists()
        && (node.at("GeneratorId").exists() || node.at("SchemaVersion").is("2018-10-08"));
    has_product || has_shape
}

pub(super) fn read_finding(node: Node<'_>) -> Result<Draft, ReadError> {
    let Some(id) = node.at("Id").text() else {
        return Err(ReadError::Field {
            feed: "security_hub".to_owned(),
            path: "/Id".to_owned(),
            expected: "the finding's id (a string)".to_owned(),
            found: describe(node.at("Id").value()),
        });
    };
    let mut draft = match product(node) {
        HubProduct::GuardDuty => guardduty::read_guardduty(node, &id)?,
        HubProduct::Other(name) => asff::read_asff(node, &id, &name)?,
    };
    let state = state(node);
    draft.state = FeedState {
        sample: draft.state.sample || state.sample,
        ..state
    };
    // The name belongs to the account that the finding was made for.
    draft.account_name = node
        .at("AwsAccountName")
        .text()
        .filter(|_| draft.account.as_deref() == Some(draft.key_account.as_str()));
    draft.finding_id = Some(id);
    draft.remediation = remediation(node);
    Ok(draft)
}

/// Returns the product's advice with its links, which are not values of the finding.
fn remediation(node: Node<'_>) -> Option<String> {
    let advice = node.path("Remediation/Recommendation");
    let packages = node.descendants("Vulnerabilities/VulnerablePackages/Remediation");
    let mut lines: Vec<String> = Vec::new();
    let all = [advice.at("Text"), advice.at("Url")].into_iter();
    for line in all.chain(packages).chain([node.at("SourceUrl")]) {
        let text = line.text().unwrap_or_default();
        let line = non_placeholder(&text).filter(|line| !lines.iter().any(|known| known == line));
        lines.extend(line.map(str::to_owned));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The product of a finding.
enum HubProduct {
    GuardDuty,
    Other(String),
}

/// Returns the product: `arn:aws:securityhub:eu-west-1::product/aws/guardduty` is `guardduty`. Others go by name.
///
/// Only Amazon's own products are under `product/aws/`. An importer of findings chooses the name of the account's
/// default product, so that name follows the account.
fn product(node: Node<'_>) -> HubProduct {
    let arn = node.at("ProductArn").str();
    let path = arn
        .and_then(|arn| {
            let own = arn.split_once(":product/");
            own.or_else(|| arn.split_once(":productv2/"))
        })
        .map(|(_, path)| path);
    let name = || node.at("ProductName").str().and_then(non_placeholder);
    let name = || name().map(str::to_owned);
    HubProduct::Other(match path.and_then(|path| path.split_once('/')) {
        Some(("aws", "guardduty")) => return HubProduct::GuardDuty,
        Some(("aws", product)) => product.to_owned(),
        Some((account, "default")) => match name() {
            Some(name) => format!("{account}_{name}"),
            None => account.to_owned(),
        },
        Some((company, product)) => format!("{company}_{product}"),
        None => name().unwrap_or_else(|| "security_hub".to_owned()),
    })
}

fn state(node: Node<'_>) -> FeedState {
    let workflow = node.path("Workflow/Status");
    FeedState {
        archived: node.at("RecordState").is("ARCHIVED"),
        inactive: false,
        resolved: workflow.is("RESOLVED")
            || (!workflow.exists() && node.at("WorkflowState").is("RESOLVED")),
        suppressed: workflow.is("SUPPRESSED"),
        passed: node.path("Compliance/Status").is("PASSED"),
        // Only titles of GuardDuty's own findings mark samples. Titles of other products may quote foreign text.
        sample: node.at("Sample").is_true(),
    }
}

/// Fields of a severity that hold the product's own word or number.
const NATIVE: [&str; 2] = ["Original", "Product"];

/// Returns the severity by label, else by the normalised number from 0 to 100, else by the product's own word or
/// number on its scale. The second value says whether the severity is assumed.
fn severity(node: Node<'_>, product: &str) -> (Severity, bool) {
    let given = [
        node.at("Severity"),
        node.path("FindingProviderFields/Severity"),
    ];
    let texts = |key: &'static str| given.into_iter().filter_map(move |one| one.at(key).text());
    let label = texts("Label").find_map(|label| severity_from_product("", &label));
    let numbers = given.map(|one| one.at("Normalized").number());
    let normalized = || {
        let mut numbers = numbers.into_iter().flatten();
        numbers.find_map(|number| DEFAULT.severity(&number.min(100.0).to_string()))
    };
    if let Some(known) = label.or_else(normalized) {
        return (known, false);
    }
    let mut native = NATIVE.into_iter().flat_map(texts);
    let known = native
        .clone()
        .find_map(|sent| severity_from_product(product, &sent));
    match known {
        Some(known) => (known, false),
        None => severity_or_default(product, &native.next().unwrap_or_default()),
    }
}
