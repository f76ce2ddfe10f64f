//! Describes findings without an actor: a control that fails, a vulnerability.

use super::entity::{affected_object, join_names, name_of_resource, short_line};
use super::{MAX_TITLE, title};
use crate::{Alert, DetailKind, IndicatorKind};

/// Plain words for types of resources. The first one that the type contains counts.
const NOUNS: [(&str, &str); 16] = [
    ("s3bucket", "S3 bucket"),
    ("s3::bucket", "S3 bucket"),
    ("bucket", "bucket"),
    ("securitygroup", "security group"),
    ("accesskey", "access key"),
    ("dbinstance", "database"),
    ("dbcluster", "database"),
    ("instance", "instance"),
    ("user", "user"),
    ("role", "role"),
    ("cluster", "cluster"),
    ("function", "function"),
    ("queue", "queue"),
    ("volume", "volume"),
    ("project", "project"),
    ("account", "account"),
];

/// Part of the types that are ASFF categories of checks: `Software and …`, `Software & …`.
const CHECKS: &str = " Configuration Checks/";

/// Returns a sentence such as `S3 bucket pay fails control S3.8: "Buckets should block public access".`
pub(super) fn describe_control(alert: &Alert) -> Option<String> {
    let what = match alert.resources.first() {
        Some(resource) => {
            let kind = resource.kind.to_ascii_lowercase();
            let noun = NOUNS.iter().find(|(word, _)| kind.contains(word));
            let name = name_of_resource(resource);
            noun.map_or_else(|| name.clone(), |(_, noun)| format!("{noun} {name}"))
        }
        None => affected_object(alert)?,
    };
    let result = alert.details_of(DetailKind::CheckResult).next();
    let verb = match result.map(str::to_ascii_uppercase).as_deref() {
        _ if alert.state.passed => "passes",
        Some("NOT_AVAILABLE" | "NOT_APPLICABLE") => "was not evaluated for",
        Some(_) => "needs a look by hand for",
        None => "fails",
    };
    let title = title(alert, MAX_TITLE);
    // The last part of an ASFF type path names the check.
    let check = match alert.kind.split_once(CHECKS) {
        Some((_, path)) => path.rsplit('/').next().unwrap_or(path),
        None => &alert.kind,
    };
    Some(match check.eq_ignore_ascii_case(&title) {
        true => format!("{what} {verb} control {}.", short_line(check)),
        false => format!("{what} {verb} control {}: \"{title}\".", short_line(check)),
    })
}

/// Returns a sentence such as `CVE-2026-1 in openssl 1.1.1 on i-0abc, fixed in 1.1.2.`
pub(super) fn describe_vulnerability(alert: &Alert) -> Option<String> {
    let flaws = alert.indicators.iter();
    let flaws: Vec<&str> = flaws
        .filter(|one| one.kind == IndicatorKind::Cve)
        .map(|one| one.value.as_str())
        .collect();
    let packages: Vec<&str> = alert.details_of(DetailKind::Package).collect();
    let fixed: Vec<&str> = alert.details_of(DetailKind::FixedVersion).collect();
    let with = |before: &str, values: &[&str]| match values {
        [] => String::new(),
        values => format!("{before}{}", join_names(values)),
    };
    let flaw = match (flaws.is_empty(), packages.is_empty()) {
        (true, true) => return None,
        (true, false) => "A known vulnerability".to_owned(),
        (false, _) => join_names(&flaws),
    };
    let place = affected_object(alert).map_or_else(String::new, |place| format!(" on {place}"));
    Some(format!(
        "{flaw}{}{place}{}.",
        with(" in package ", &packages),
        with(", fixed in ", &fixed),
    ))
}
