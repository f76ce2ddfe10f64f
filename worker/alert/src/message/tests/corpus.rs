//! Tests with a finding of every documented type, built in its product's shape.
//!
//! The expected resources, actors, class and severity are known by construction.

mod asff;
mod guardduty;
mod ocsf;
mod scc;

use std::collections::BTreeMap;

use super::*;
use crate::{ContentFlag, FindingClass, Severity};

const INSTANCE: &str = "i-0abc1234def567890";
const FAR_END: &str = "198.51.100.7";
const DOMAIN: &str = "c2.bad.example";

/// A finding and the expected alert.
pub(super) struct CorpusCase {
    pub(super) finding: Value,
    kind: String,
    /// Id of the main resource.
    resource: Option<String>,
    /// The exact role that each of these values must have.
    roles: Vec<(IndicatorRole, IndicatorKind, String)>,
    class: FindingClass,
    severity: Severity,
}

/// Returns all findings of all feeds.
pub(super) fn all() -> Vec<CorpusCase> {
    let mut all = guardduty::cases();
    all.extend(scc::cases());
    all.extend(asff::cases());
    all.extend(ocsf::cases());
    all
}

fn role(
    role: IndicatorRole,
    kind: IndicatorKind,
    value: &str,
) -> (IndicatorRole, IndicatorKind, String) {
    (role, kind, value.to_owned())
}

/// Adds the members of `more` to an object.
fn extend(object: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (object, more) {
        object.extend(more);
    }
}

/// Returns the faults of an alert, one per line.
fn faults(case: &CorpusCase, alert: &Alert) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |is_wrong: bool, what: String| {
        if is_wrong {
            faults.push(format!("{}: {what}", case.kind));
        }
    };
    fault(alert.kind != case.kind, format!("type {}", alert.kind));
    fault(
        alert.class != case.class,
        format!("class {} for {}", alert.class, case.class),
    );
    fault(
        alert.severity != case.severity,
        format!("severity {}", alert.severity),
    );
    let resource = alert.resources.first().map(|one| one.id.as_str());
    fault(
        case.resource.is_some() && resource != case.resource.as_deref(),
        format!("resource {resource:?}"),
    );
    for (role, kind, value) in &case.roles {
        let found: Vec<IndicatorRole> = alert
            .indicators
            .iter()
            .filter(|one| one.kind == *kind && one.value == *value)
            .map(|one| one.role)
            .collect();
        fault(found != [*role], format!("{kind} {value} is {found:?}"));
    }
    let redacted = |flag: &ContentFlag| {
        matches!(
            flag,
            ContentFlag::Redacted { .. } | ContentFlag::Instructions { .. }
        )
    };
    fault(alert.flags.iter().any(redacted), "redacted".to_owned());
    fault(alert.title.is_empty(), "no title".to_owned());
    fault(alert.times.window().is_none(), "no time".to_owned());
    fault(
        alert.account.as_deref() == Some("") || alert.account.is_none(),
        "no account".to_owned(),
    );
    let said = alert.what_happened();
    fault(
        said.len() < 20 || said.contains("[redacted"),
        format!("says {said:?}"),
    );
    for one in alert.with_role(IndicatorRole::Actor) {
        let is_concerned = said.contains(&format!(" on {}", one.value));
        fault(is_concerned, format!("{} acted: {said}", one.value));
    }
    faults
}

#[test]
fn every_documented_type_is_read_as_it_is_built() {
    let cases = all();
    assert!(cases.len() > 800, "{}", cases.len());
    let faults: Vec<String> = cases
        .iter()
        .flat_map(|case| faults(case, &one_of(&case.finding)))
        .collect();
    assert!(faults.is_empty(), "{}\n{}", faults.len(), faults.join("\n"));
}

/// Renders one finding of each feed and kind of action, for a review from the view of the person on call.
#[test]
fn sentences_of_the_corpus_say_who_did_what() {
    let mut said = BTreeMap::new();
    for case in all() {
        let alert = one_of(&case.finding);
        let action = alert.action.clone().unwrap_or_default();
        said.entry((alert.feed.clone(), alert.class.as_str(), action))
            .or_insert(format!("{}: {}", alert.kind, alert.what_happened()));
    }
    let lines: Vec<String> = said.into_values().collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    AttackSequence:EC2/CompromisedInstanceGroup: GuardDuty reports: "A finding of the type AttackSequence:EC2/CompromisedInstanceGroup" by alice from 198.51.100.7 on web-1, 3 times.
    CredentialAccess:IAMUser/AnomalousBehavior: alice read objects of a bucket, from 198.51.100.7, 3 times.
    Backdoor:EC2/C&CActivity.B!DNS: web-1 looked up the domain c2.bad.example, 3 times, reported as command and control; c2.bad.example is on threat list ProofPoint.
    CredentialAccess:Kubernetes/AnomalousBehavior.SecretsAccessed: alice ran "list secrets in pay" on Kubernetes cluster pay, from 198.51.100.7, 3 times, reported as "A finding of the type CredentialAccess:Kubernetes/AnomalousBehavior.SecretsAccessed".
    Object:S3/MaliciousFile: GuardDuty reports: "A finding of the type Object:S3/MaliciousFile" on pay-exports, 3 times; found: EICAR-Test-File.
    UnauthorizedAccess:EC2/RDPBruteForce: 198.51.100.7 connected to port 22 of web-1, 3 times, reported as RDP password guessing.
    Backdoor:EC2/C&CActivity.B: web-1 connected to port 40522 of 198.51.100.7, 3 times, reported as command and control.
    Recon:EC2/PortProbeEMRUnprotectedPort: 198.51.100.7 probed port 6379 of web-1, 3 times, reported as "A finding of the type Recon:EC2/PortProbeEMRUnprotectedPort".
    CredentialAccess:RDS/AnomalousBehavior.FailedLogin: 198.51.100.7 as pay tried to log in to pay-db and failed, 30 attempts, 3 times, reported as "A finding of the type CredentialAccess:RDS/AnomalousBehavior.FailedLogin".
    DefenseEvasion:Runtime/FilelessExecution: GuardDuty reports: "A finding of the type DefenseEvasion:Runtime/FilelessExecution" on web-1, 3 times; command line: xmrig -o pool.
    S3.8: instance web-1 fails control S3.8: "A finding of the class Compliance Finding".
    Data Security Finding rule: Example EDR reports: "A finding of the class Data Security Finding" on web-1.
    Security Finding rule: Example EDR reports: "A finding of the class Security Finding" on web-1.
    CVE-2026-1000: CVE-2026-1000 on web-1.
    API_DISABLED: Security Command Center reports: "API_DISABLED" on pay.
    ACCESS_TRANSPARENCY_DISABLED: project pay fails control ACCESS_TRANSPARENCY_DISABLED.
    DATA_SENSITIVITY: Security Command Center reports: "DATA_SENSITIVITY" on pay.
    Log4j Malware: Bad Domain: Security Command Center reports: "Log4j Malware: Bad Domain" on pay involving c2.bad.example.
    Active Scan: Log4j Vulnerable to RCE: alice@example.com created a key for a service account, from 198.51.100.7.
    ACCESSIBLE_GIT_REPOSITORY: Security Command Center reports: "ACCESSIBLE_GIT_REPOSITORY" on pay.
    Account.1: S3 bucket pay-exports fails control Account.1: "The check Account.1 should pass".
    TTPs/Command and Control/Beaconing: AwsAccount-1 connected to port 443 of 198.51.100.7, reported as "Beaconing".
    "#);
}

/// Checks a finding that lists the results of a user and of the address. A login that succeeded must not read as
/// failed.
#[test]
fn user_who_got_in_is_not_told_to_have_failed() {
    let brute_force = "CredentialAccess:RDS/AnomalousBehavior.SuccessfulBruteForce";
    let case = all().into_iter().find(|case| case.kind == brute_force);
    assert_eq!(
        one_of(&case.unwrap().finding).what_happened(),
        "198.51.100.7 as pay logged in to pay-db, 3 times, reported as password guessing."
    );
}
