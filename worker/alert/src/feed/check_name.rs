//! Finds names of checks: the control, rule or detector that made a finding, the same in every account and at every
//! run.
//!
//! A type groups storms, mutes, routes and playbooks. Products append the id of a finding, an account or a run to names
//! of checks. With this suffix each finding would have a type of its own.

/// Placeholders that products write instead of a value.
const PLACEHOLDERS: &[&str] = &[
    "n/a",
    "n.a.",
    "na",
    "-",
    "--",
    "none",
    "null",
    "nil",
    "unknown",
    "undefined",
    "unspecified",
    "tbd",
    "nan",
    "[]",
    "{}",
    "not available",
    "not set",
    "not_set",
    "not specified",
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
const SEPARATORS: [char; 15] = [
    '-', '_', '/', ':', '#', '@', '.', ',', ';', '|', '=', ' ', '(', '[', '{',
];

/// Characters that may follow a random tail.
const CLOSERS: [char; 3] = [')', ']', '}'];

/// Maximum length of a random tail, in bytes.
const MAX_TAIL_BYTES: usize = 64;

/// Prefix of the Config rules that Security Hub makes, each with a tail of eight hexadecimal digits.
const CONFIG_RULES: &str = "securityhub-";

/// What Config puts behind the name of a rule of a conformance pack, before nine random characters.
const CONFORMANCE_PACK: &str = "conformance-pack-";

/// Prefixes of the ids of AWS resources, which 17 hexadecimal digits follow.
const RESOURCE_IDS: [&str; 10] = [
    "acl-", "ami-", "eni-", "i-", "rtb-", "sg-", "snap-", "subnet-", "vol-", "vpc-",
];

/// Formats of times beside RFC 3339, with their lengths.
const TIMES: [(&str, usize); 4] = [
    ("%Y-%m-%dT%H:%M:%S", 19),
    ("%Y-%m-%d %H:%M:%S", 19),
    ("%Y%m%dT%H%M%SZ", 16),
    ("%Y%m%dT%H%M%S", 15),
];

/// Returns the text, or `None` where it is a placeholder.
pub(crate) fn non_placeholder(text: &str) -> Option<&str> {
    let text = text.trim();
    // Every text of a finding is examined, and few begin like a placeholder.
    let begins_like_one = text.starts_with(['n', 'N', 'u', 'U', 't', 'T', '-', '[', '{', '<', '(']);
    let is_placeholder = begins_like_one
        && text.len() <= MAX_PLACEHOLDER_BYTES
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
        // A check may be followed by the resource that it looked at.
        let at = text.find("arn:aws").and_then(|at| text.get(..at));
        let check = at.filter(|check| check.ends_with(SEPARATORS));
        return Some(check.map_or(text, |check| check.trim_end_matches(SEPARATORS)));
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

/// Cuts UUIDs, digests, account ids, ids of resources and times off the end of a name, with what encloses them.
fn without_random_tail(name: &str) -> &str {
    let mut name = name;
    while let Some(start) = random_tail(name) {
        let head = name.get(..start).unwrap_or_default();
        name = head.trim_end_matches(SEPARATORS);
    }
    name
}

/// Returns the position of the random tail of a name.
fn random_tail(name: &str) -> Option<usize> {
    let end = name
        .trim_end_matches(|one: char| SEPARATORS.contains(&one) || CLOSERS.contains(&one))
        .len();
    let first = name.ceil_char_boundary(end.saturating_sub(MAX_TAIL_BYTES));
    let is_config_rule = name.starts_with(CONFIG_RULES);
    let tails = name.get(first..end)?.char_indices();
    let mut starts = tails.map(|(at, _)| first + at);
    starts.find(|start| {
        let before = name.get(..*start);
        let begins = before.is_some_and(|one| one.is_empty() || one.ends_with(SEPARATORS));
        let tail = name.get(*start..end).filter(|_| begins);
        tail.is_some_and(|tail| is_random(tail) || is_config_rule && is_hex(tail, 8))
    })
}

fn is_random(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let length = part.len();
    let is_number = digits == length;
    let is_digest =
        is_hex(part, length) && !is_number && length >= 8 && (digits > 0 || length >= 16);
    // Ids of rules have up to nine digits.
    let is_epoch_or_account = is_number && length >= 10;
    let is_date = is_number && length == 8 && part.starts_with("20");
    let mut prefixes = RESOURCE_IDS.iter();
    let is_resource = prefixes.any(|prefix| {
        let id = part.strip_prefix(prefix);
        id.is_some_and(|id| is_hex(id, 17))
    });
    let pack = part.strip_prefix(CONFORMANCE_PACK);
    let is_pack =
        pack.is_some_and(|id| id.len() == 9 && id.bytes().all(|one| one.is_ascii_alphanumeric()));
    is_digest
        || is_pack
        || is_epoch_or_account
        || is_date
        || is_resource
        || is_uuid(part)
        || is_ulid(part, digits)
        || is_time(part)
}

fn is_hex(part: &str, length: usize) -> bool {
    part.len() == length && part.bytes().all(|one| one.is_ascii_hexdigit())
}

fn is_uuid(part: &str) -> bool {
    let groups = part.split('-').map(str::len);
    let is_hex = part
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_hex && groups.eq([8, 4, 4, 4, 12])
}

/// Returns whether the part is a ULID: 26 characters of Crockford's alphabet, of which the first ten are a time.
fn is_ulid(part: &str, digits: usize) -> bool {
    let is_known = |one: u8| one.is_ascii_alphanumeric() && !b"ILOUilou".contains(&one);
    part.len() == 26
        && part.starts_with(|one: char| matches!(one, '0'..='7'))
        && part.bytes().all(is_known)
        && digits >= 4
}

fn is_time(part: &str) -> bool {
    let is_day = |day: &str| chrono::NaiveDate::parse_from_str(day, "%Y-%m-%d").is_ok();
    let is_other = |(format, length): &(&str, usize)| {
        part.len() == *length && chrono::NaiveDateTime::parse_from_str(part, format).is_ok()
    };
    part.starts_with("20")
        && (part.len() == 10 && is_day(part)
            || chrono::DateTime::parse_from_rfc3339(part).is_ok()
            || TIMES.iter().any(is_other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendor_names::{
        GUARDDUTY_TYPES, SCC_CATEGORIES, SECURITY_HUB_CONTROLS, names, pairs,
    };

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
            (
                "s3-public.0f1e1d00-0000-4000-8000-000000000027",
                "s3-public",
            ),
            (
                "Public bucket (0f1e1d00-0000-4000-8000-000000000027)",
                "Public bucket",
            ),
            ("public {0f1e1d00-0000-4000-8000-000000000027}", "public"),
            ("rule_9f8e7d6c5b4a", "rule"),
            ("check-1764194400", "check"),
            ("check/2026-11-26", "check"),
            ("check-20261126T200000Z", "check"),
            ("check 2026-11-26T20:00:00.000+01:00 ", "check"),
            ("open-port-i-0aaaaaaaaaaaaaaaa", "open-port"),
            ("open-port-arn:aws:s3:::shop", "open-port"),
            ("public-01JDQ4Z8W3N5T7V9X2B4C6D8F0", "public"),
            (
                "securityhub-sqs-queue-encrypted-12345678",
                "securityhub-sqs-queue-encrypted",
            ),
            (
                "sqs-queue-encrypted-conformance-pack-yk3r9zbc2",
                "sqs-queue-encrypted",
            ),
            ("tenable-plugin-12345678", "tenable-plugin-12345678"),
            (
                "ET MALWARE Win32/AgentTesla CnC M3 (POST)",
                "ET MALWARE Win32/AgentTesla CnC M3 (POST)",
            ),
            ("Gen:Variant.Razy.123456", "Gen:Variant.Razy.123456"),
            ("CVE-2026-12345", "CVE-2026-12345"),
            ("tenable-plugin-193421", "tenable-plugin-193421"),
            ("Brute force by café", "Brute force by café"),
            ("CIS.1.20", "CIS.1.20"),
        ] {
            assert_eq!(check_name(text).as_deref(), Some(name), "{text}");
        }
    }

    #[test]
    fn documented_types_have_no_random_tail() {
        let lists = [GUARDDUTY_TYPES, SECURITY_HUB_CONTROLS];
        let categories = pairs(SCC_CATEGORIES).map(|(_, name)| name);
        for name in lists.into_iter().flat_map(names).chain(categories) {
            assert_eq!(check_name(name).as_deref(), Some(name));
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
