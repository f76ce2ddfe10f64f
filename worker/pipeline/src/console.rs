//! The link to a finding in its vendor's own console: made of a template and of typed facts that have their vendor's form,
//! percent-encoded. No address that an alert, a tool or an analyst wrote becomes a link.

use nightshift_alert::Provider;

use crate::report::AlertFacts;

/// Longest link; what is longer is left out. Slack takes 3,000 characters in a button.
const LONGEST: usize = 2_000;

/// The finding in its vendor's own console; none where its facts do not say which that is.
///
/// Sources: GuardDuty user guide, "Processing GuardDuty findings with Amazon EventBridge" (the link of its template);
/// the links that Security Hub's own console makes of a filter; Security Command Center's page of a project.
#[must_use]
pub fn console_link(alert: &AlertFacts) -> Option<String> {
    let (product, rest) = alert.key.split_once('/')?;
    let (_, id) = rest.split_once('/')?;
    match (alert.feed.as_str(), product, alert.provider) {
        ("guardduty" | "security_hub", "guardduty", Provider::Aws) => {
            let (host, region) = aws(alert.region.as_deref()?)?;
            let id = Some(id).filter(|id| has_only(id, "-_") && id.len() <= 300)?;
            fits(format!(
                "https://{host}/guardduty/home?region={region}#/findings?search=id%3D{id}"
            ))
        }
        ("security_hub", _, Provider::Aws) => {
            let (host, region) = aws(alert.region.as_deref()?)?;
            // The console reads its own filter from a fragment, where it is encoded twice.
            let id = encoded(&encoded(id));
            fits(format!(
                "https://{host}/securityhub/home?region={region}#/findings?search=Id%3D%255Coperator%255C%253AEQUALS%255C%253A{id}"
            ))
        }
        ("scc", ..) => {
            let project = Some(alert.account.as_deref()?).filter(|id| is_project(id))?;
            fits(format!(
                "https://console.cloud.google.com/security/command-center/findingsv2?project={}",
                encoded(project)
            ))
        }
        _ => None,
    }
}

/// The console's host of a region's partition, and the region.
fn aws(region: &str) -> Option<(&'static str, &str)> {
    let is_region = region.len() <= 30
        && region.split('-').count() >= 3
        && region
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let host = if region.starts_with("cn-") {
        "console.amazonaws.cn"
    } else if region.starts_with("us-gov-") {
        "console.amazonaws-us-gov.com"
    } else {
        "console.aws.amazon.com"
    };
    is_region.then_some((host, region))
}

/// Whether this has the form of a Google project's id, with or without its domain, and is no number of an organisation.
fn is_project(id: &str) -> bool {
    (6..=63).contains(&id.len())
        && id.starts_with(|c: char| c.is_ascii_lowercase())
        && has_only(id, "-.:")
}

fn has_only(text: &str, more: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

/// Percent-encoded, spaces too.
fn encoded(text: &str) -> String {
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

fn fits(link: String) -> Option<String> {
    (link.len() <= LONGEST).then_some(link)
}
