//! Reads logins to databases: `rdsLoginAttemptAction` and `resource.rdsDbUserDetails`.
//!
//! <https://docs.aws.amazon.com/guardduty/latest/ug/findings-rds-protection.html>

use super::add_details;
use super::network::{addresses, canonical, read_far_end};
use crate::caller::CallRecord;
use crate::feed::{Draft, Node};
use crate::{DetailKind, IndicatorKind, IndicatorRole, Outcome};

/// Details of a database user, beside the name.
const USER: [(DetailKind, &str); 4] = [
    (DetailKind::Application, "application"),
    (DetailKind::DatabaseName, "database"),
    (DetailKind::LogonType, "authMethod"),
    (DetailKind::Protocol, "ssl"),
];

pub(super) fn read_login(draft: &mut Draft, login: Node<'_>) -> Option<String> {
    let address = read_far_end(draft, IndicatorRole::Actor, login.at("remoteIpDetails"));
    let (mut succeeded, mut failed, mut has_attempts) = (0_u64, 0_u64, false);
    let addresses = addresses(login.at("remoteIpDetails"));
    for attributes in login.at("loginAttributes").items() {
        has_attempts |= attributes.at("user").str().is_some();
        let (successes, failures) = attempts(draft, attributes, &addresses);
        succeeded = succeeded.saturating_add(successes);
        failed = failed.saturating_add(failures);
    }
    has_attempts |= draft.has_kind_in_role(IndicatorKind::Principal, IndicatorRole::Related);
    let by_type = outcome_of_type(&draft.kind);
    draft.outcome = match (succeeded, failed) {
        (1.., _) => Some(Outcome::Succeeded),
        (_, 1..) if by_type != Some(Outcome::Succeeded) => Some(Outcome::Failed),
        _ if has_attempts => by_type.filter(|outcome| *outcome != Outcome::NotAttempted),
        _ => by_type.or(Some(Outcome::NotAttempted)),
    };
    let result = match draft.outcome {
        Some(Outcome::Succeeded) => "SUCCESS",
        Some(Outcome::Failed) => "FAIL",
        _ => return None,
    };
    draft.add_detail_text(DetailKind::AuthResult, result, address.as_deref());
    None
}

/// Reads the attempts of one user and returns the numbers of successes and failures.
fn attempts(draft: &mut Draft, attributes: Node<'_>, addresses: &[String]) -> (u64, u64) {
    let user = attributes.at("user");
    let successes = attributes.at("successfulLoginAttempts").count();
    let failures = attributes.at("failedLoginAttempts").count();
    // A failed login may use any name.
    let role = match successes {
        Some(logins) if logins > 0 => IndicatorRole::Actor,
        None if is_successful_login(&draft.kind) => IndicatorRole::Actor,
        _ => IndicatorRole::Related,
    };
    let name = draft.add(IndicatorKind::Principal, role, user);
    if role == IndicatorRole::Actor {
        add_login(draft, name, addresses.to_vec());
    }
    let about = user.str();
    draft.add_detail_about(DetailKind::Application, attributes.at("application"), about);
    let (successes, failures) = (successes.unwrap_or(0), failures.unwrap_or(0));
    for (count, word) in [(failures, "failed"), (successes, "succeeded")] {
        if count > 0 {
            let text = format!("log-in attempts that {word}: {count}");
            draft.add_detail_text(DetailKind::AuthResult, &text, about);
        }
    }
    let total = successes.saturating_add(failures);
    if total > 0 {
        draft.add_detail_text(DetailKind::EventCount, &total.to_string(), about);
    }
    (successes, failures)
}

/// Reads the user of a login or an attempt.
pub(super) fn read_user(draft: &mut Draft, user: Node<'_>) {
    // A failed login may use any name.
    let role = if is_successful_login(&draft.kind) {
        IndicatorRole::Actor
    } else {
        IndicatorRole::Related
    };
    draft.add(IndicatorKind::Principal, role, user.at("user"));
    add_details(draft, user, &USER, user.at("user").str());
}

/// Adds the caller of a login: the user of the resource with the address of the action.
pub(super) fn add_caller(draft: &mut Draft, resource: Node<'_>, action: Node<'_>) {
    let user = resource.path("rdsDbUserDetails/user");
    if is_successful_login(&draft.kind) {
        let from = addresses(action.path("rdsLoginAttemptAction/remoteIpDetails"));
        let name = canonical(IndicatorKind::Principal, user);
        add_login(draft, name.into_iter().collect(), from);
    }
}

fn add_login(draft: &mut Draft, principals: Vec<String>, addresses: Vec<String>) {
    draft.add_call(&CallRecord {
        principals,
        access_keys: Vec::new(),
        addresses,
    });
}

/// Returns whether a database login finding reports a success, as
/// `CredentialAccess:RDS/AnomalousBehavior.SuccessfulBruteForce` does.
fn is_successful_login(kind: &str) -> bool {
    kind.contains(".Successful")
}

/// Returns the outcome that a type implies. A discovery means a connection to the database without a login attempt.
pub(in crate::feed) fn outcome_of_type(kind: &str) -> Option<Outcome> {
    if !kind.contains(":RDS/") {
        None
    } else if is_successful_login(kind) {
        Some(Outcome::Succeeded)
    } else if kind.contains(".Failed") {
        Some(Outcome::Failed)
    } else {
        kind.starts_with("Discovery:")
            .then_some(Outcome::NotAttempted)
    }
}
