//! Finds names of checks: the control, rule or detector that made a finding, the same in every account and at every
//! run.
//!
//! A type groups storms, mutes, routes and playbooks. Products append the id of a finding, an account or a run to names
//! of checks. With this suffix each finding would have a type of its own.

/// Placeholders that products write instead of a value.
const PLACEHOLDERS: [&str; 16] = [
    "n/a",
    "na",
    "-",
    "--",
    "none",
    "null",
    "nil",
    "unknown",
    "undefined",
    "not available",
    "not applicable",
    "not set",
    "<na>",
    "<none>",
    "<unknown>",
    "(null)",
];

/// Length in bytes of the longest placeholder.
const MAX_PLACEHOLDER_BYTES: usize = 14;

/// Resource types of ARNs that name the scanner, not the check.
const OBSERVERS: [&str; 4] = ["analyzer", "detector", "hub", "product"];

/// Separators between the parts of a name.
const SEPARATORS: [char; 6] = ['-', '_', '/', ':', '#', '@'];

/// Returns the text, or `None` where it is a placeholder.
pub(crate) fn non_placeholder(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_placeholder = text.len() <= MAX_PLACEHOLDER_BYTES
        && PLACEHOLDERS
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word));
    (!text.is_empty() && !is_placeholder).then_some(text)
}

/// Returns the name of a check without ARN parts and random tails, or `None` where no name is left.
///
/// `security-control/S3.8` is `S3.8`, `prowler-iam_user_mfa_enabled` is itself, and
/// `securityhub-sqs-queue-encrypted-12ab34cd` is `securityhub-sqs-queue-encrypted`.
pub(super) fn check_name(text: &str) -> Option<String> {
    let text = non_placeholder(text)?;
    let name = match text.split_once("security-control/") {
        Some((_, control)) => control.split('/').next()?,
        None => without_arn(text)?,
    };
    let name = without_random_tail(name);
    non_placeholder(name).map(str::to_owned)
}

/// Cuts an ARN down to the check that it names.
///
/// A rule without an account keeps its whole path (`arn:aws:securityhub:::ruleset/cis-aws-…/rule/1.3`), and a rule of
/// an account its last part. The ARN of a scanner gives nothing.
fn without_arn(text: &str) -> Option<&str> {
    let Some(arn) = text.strip_prefix("arn:") else {
        return Some(text);
    };
    let mut fields = arn.splitn(5, ':').skip(1);
    let (service, _region, account) = (fields.next()?, fields.next()?, fields.next()?);
    let resource = fields.next()?;
    let (kind, path) = resource.split_once(['/', ':'])?;
    if OBSERVERS.contains(&kind) {
        return None;
    }
    if account.is_empty() || service == "securityhub" {
        return path.split("/finding/").next();
    }
    path.rsplit(['/', ':']).next()
}

/// Cuts UUIDs, digests, account ids and times off the end of a name.
fn without_random_tail(name: &str) -> &str {
    let mut name = name.trim_end_matches(SEPARATORS);
    while let Some(start) = random_tail(name) {
        name = name
            .get(..start)
            .unwrap_or_default()
            .trim_end_matches(SEPARATORS);
    }
    name
}

/// Returns the position of the random tail of a name.
fn random_tail(name: &str) -> Option<usize> {
    let long = [36, 20, 24]
        .iter()
        .filter_map(|length| name.len().checked_sub(*length));
    let starts = long.chain(std::iter::once(
        name.rfind(SEPARATORS).map_or(0, |at| at + 1),
    ));
    starts
        .into_iter()
        .filter(|start| {
            let before = name.get(..*start);
            before.is_some_and(|before| before.is_empty() || before.ends_with(SEPARATORS))
        })
        .find(|start| name.get(*start..).is_some_and(is_random))
}

fn is_random(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let is_hex = part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = digits == part.len();
    let is_digest = is_hex && !is_number && part.len() >= 8 && (digits > 0 || part.len() >= 16);
    // Ids of rules have up to nine digits.
    let is_epoch_or_account = is_number && part.len() >= 10;
    let is_date = is_number && part.len() == 8 && part.starts_with("20");
    is_digest || is_epoch_or_account || is_date || is_uuid(part) || is_time(part)
}

fn is_uuid(part: &str) -> bool {
    let groups = part.split('-').map(str::len);
    let is_hex = part
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_hex && groups.eq([8, 4, 4, 4, 12])
}

fn is_time(part: &str) -> bool {
    part.contains('T') && chrono::DateTime::parse_from_rfc3339(part).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_tell_nothing() {
        for word in PLACEHOLDERS {
            assert_eq!(
                non_placeholder(&format!(" {} ", word.to_uppercase())),
                None,
                "{word}"
            );
        }
        assert_eq!(non_placeholder(" "), None);
        assert_eq!(non_placeholder(" none of these "), Some("none of these"));
    }

    #[test]
    fn check_names_lose_arns_and_random_tails() {
        for (text, name) in [
            ("security-control/S3.8", "S3.8"),
            (
                "arn:aws:securityhub:eu-west-1:111122223333:security-control/S3.8/finding/0f1e1d00-0000-4000-8000-000000000027",
                "S3.8",
            ),
            (
                "arn:aws:securityhub:::ruleset/cis-aws-foundations-benchmark/v/1.2.0/rule/1.3",
                "cis-aws-foundations-benchmark/v/1.2.0/rule/1.3",
            ),
            (
                "aws-foundational-security-best-practices/v/1.0.0/S3.8",
                "aws-foundational-security-best-practices/v/1.0.0/S3.8",
            ),
            (
                "arn:aws:securityhub:us-east-1:111122223333:subscription/pci-dss/v/3.2.1/PCI.S3.1/finding/0f1e1d00-0000-4000-8000-000000000027",
                "pci-dss/v/3.2.1/PCI.S3.1",
            ),
            (
                "securityhub-sqs-queue-encrypted-12ab34cd",
                "securityhub-sqs-queue-encrypted",
            ),
            (
                "arn:aws:config:eu-west-1:111122223333:config-rule/config-rule-mburzq",
                "config-rule-mburzq",
            ),
            (
                "prowler-iam_user_mfa_enabled",
                "prowler-iam_user_mfa_enabled",
            ),
            (
                "prowler-iam_user_mfa_enabled-111122223333",
                "prowler-iam_user_mfa_enabled",
            ),
            (
                "iam_rotate_access_key_90_days",
                "iam_rotate_access_key_90_days",
            ),
            ("beacon-0f1e1d00-0000-4000-8000-000000000027", "beacon"),
            ("beacon/1795651200123", "beacon"),
            ("scan_20261126", "scan"),
            ("scan-2026-11-26T20:00:00Z", "scan"),
            ("scan-2026-11-26T20:00:00.000Z", "scan"),
            (
                "rule:d41d8cd98f00b204e9800998ecf8427e-0f1e1d00-0000-4000-8000-000000000027",
                "rule",
            ),
            ("CVE-2026-12345", "CVE-2026-12345"),
            ("tenable-plugin-193421", "tenable-plugin-193421"),
            ("Brute force by café", "Brute force by café"),
            ("CIS.1.20", "CIS.1.20"),
        ] {
            assert_eq!(check_name(text).as_deref(), Some(name), "{text}");
        }
    }

    #[test]
    fn placeholders_and_ids_are_no_check_names() {
        for text in [
            "",
            " ",
            "N/A",
            "-",
            "none",
            "NULL",
            "Unknown",
            "0f1e1d00-0000-4000-8000-000000000027",
            "d41d8cd98f00b204e9800998ecf8427e",
            "111122223333",
            "arn:aws:guardduty:eu-west-1:111122223333:detector/12abc34d567e8fa901bc2d34e56789f0",
            "arn:aws:access-analyzer:eu-west-1:111122223333:analyzer/all",
            "arn:aws:fms:eu-west-1:111122223333:policy/0f1e1d00-0000-4000-8000-000000000027",
            "arn:aws",
        ] {
            assert_eq!(check_name(text), None, "{text}");
        }
    }
}
