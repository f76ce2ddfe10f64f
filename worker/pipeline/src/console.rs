//! Builds the link to a finding in its vendor's console from a template and from typed facts that have the vendor's
//! form, percent-encoded. No address that an alert, a tool or an analyst wrote becomes a link.

use nightshift_alert::CloudProvider;

use crate::report::AlertFacts;

/// Longest link; a longer one is left out. Slack takes 3,000 characters in a button.
const MAX_LINK_BYTES: usize = 2_000;

/// Consoles of AWS by prefix of the region; the first match counts. An empty console marks a partition that cannot be
/// reached from outside.
const AWS_CONSOLES: [(&str, &str); 6] = [
    ("cn-", "console.amazonaws.cn"),
    ("us-gov-", "console.amazonaws-us-gov.com"),
    ("eusc-", "console.amazonaws-eusc.eu"),
    ("us-iso", ""),
    ("eu-iso", ""),
    ("", "console.aws.amazon.com"),
];
/// Services whose findings Security Hub stores under their own ARN.
const IN_SECURITY_HUB: [&str; 4] = ["securityhub", "inspector2", "macie2", "access-analyzer"];

/// Returns the link to the finding in its vendor's console, or `None` if the facts do not identify it.
///
/// Sources: GuardDuty user guide, "Processing GuardDuty findings with Amazon EventBridge" (the link of its template);
/// the links that the consoles of Security Hub (`v2` for findings in OCSF) make of a filter; Google Security
/// Operations' "Collect Security Command Center findings" (the link with a finding's name); the page of a project.
#[must_use]
pub fn console_link(alert: &AlertFacts) -> Option<String> {
    let (product, rest) = alert.key.split_once('/')?;
    let (_, key_id) = rest.split_once('/')?;
    let id = alert.finding_id.as_deref().unwrap_or(key_id);
    let arn = aws_arn(id);
    // If the resource is elsewhere, for example in another cloud, the finding is in the region of its ARN.
    let region = match arn {
        Some((_, region)) => Some(region),
        None => alert
            .region
            .as_deref()
            .filter(|_| alert.provider == CloudProvider::Aws),
    };
    let (service, _) = arn.unwrap_or_default();
    match (alert.feed.as_str(), product) {
        ("guardduty" | "security_hub" | "ocsf", "guardduty") => guardduty(region?, key_id),
        ("security_hub", _) => security_hub("securityhub/home", "Id", region?, id),
        ("ocsf", _) if IN_SECURITY_HUB.contains(&service) => {
            security_hub("securityhub/v2/home", "finding_info.uid", region?, id)
        }
        ("scc", _) => scc(alert.account.as_deref(), id),
        _ => None,
    }
}

fn guardduty(region: &str, id: &str) -> Option<String> {
    let host = aws_console(region)?;
    let id = Some(id).filter(|id| has_only(id, "-_") && id.len() <= 300)?;
    limit_length(format!(
        "https://{host}/guardduty/home?region={region}#/findings?search=id%3D{id}"
    ))
}

/// Returns a link with a filter. The console reads its filter from a fragment, where it is encoded twice.
fn security_hub(page: &str, field: &str, region: &str, id: &str) -> Option<String> {
    let host = aws_console(region)?;
    let id = percent_encode(&percent_encode(id));
    limit_length(format!(
        "https://{host}/{page}?region={region}#/findings?search={field}%3D%255Coperator%255C%253AEQUALS%255C%253A{id}"
    ))
}

/// Returns the link to the finding by its full name, or else to the page of its project.
fn scc(account: Option<&str>, id: &str) -> Option<String> {
    const PAGE: &str = "https://console.cloud.google.com/security/command-center/findingsv2";
    let project = account.filter(|id| is_project(id));
    let project = project.map(|project| format!("?project={}", percent_encode(project)));
    if is_scc_name(id) {
        let name = percent_encode(id);
        return limit_length(format!("{PAGE};name={name}{}", project.unwrap_or_default()));
    }
    limit_length(format!("{PAGE}{}", project?))
}

/// Returns service and region of an AWS ARN.
fn aws_arn(id: &str) -> Option<(&str, &str)> {
    let mut parts = id.split(':');
    let is_arn = parts.next() == Some("arn") && parts.next()?.starts_with("aws");
    let (service, region) = (parts.next()?, parts.next()?);
    (is_arn && !region.is_empty()).then_some((service, region))
}

/// Returns the host of the console for the partition of a region, or `None` if the text is not a region.
fn aws_console(region: &str) -> Option<&'static str> {
    let is_region = region.len() <= 30
        && region.split('-').count() >= 3
        && region
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let mut consoles = AWS_CONSOLES
        .iter()
        .filter(|(head, _)| region.starts_with(head));
    let (_, host) = consoles.next()?;
    (is_region && !host.is_empty()).then_some(host)
}

/// Returns whether this is the name of a finding: `organizations/1/sources/2/locations/global/findings/3`.
fn is_scc_name(id: &str) -> bool {
    let parts: Vec<&str> = id.split('/').collect();
    let is_plain = |part: &&str| !part.is_empty() && has_only(part, "-_");
    let is_parent = |part: &str| matches!(part, "organizations" | "folders" | "projects");
    match parts.as_slice() {
        [parent, _, "sources", _, "findings", _]
        | [parent, _, "sources", _, "locations", _, "findings", _] => {
            is_parent(parent) && parts.iter().all(is_plain)
        }
        _ => false,
    }
}

/// Returns whether this has the form of a Google project id, with or without a domain, and is not the number of an
/// organisation.
fn is_project(id: &str) -> bool {
    (6..=63).contains(&id.len())
        && id.starts_with(|c: char| c.is_ascii_lowercase())
        && has_only(id, "-.:")
}

fn has_only(text: &str, more: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

/// Percent-encodes the text, including spaces.
fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn limit_length(link: String) -> Option<String> {
    (link.len() <= MAX_LINK_BYTES).then_some(link)
}
