//! Alerts about what a machine of ours does to others: it scans, guesses passwords, floods or sends spam.
//!
//! There the far end is whom it is done to. That somebody expects to be scanned says nothing about who scans, so no record
//! about a far end clears such an alert; one about the machine does, also by its address. Where contact itself is the matter
//! (a pool, a known bad name), what the far end is does count, and nothing here speaks of that.

use nightshift_alert::{Alert, IndicatorKind, Role};

use crate::type_matches;

/// Finding types about deeds of what the alert concerns, whatever else the feed tells. Of GuardDuty's by its own words:
/// <https://docs.aws.amazon.com/guardduty/latest/ug/guardduty_finding-types-ec2.html>.
const ALWAYS: [&str; 6] = [
    "*Recon:EC2?Portscan*",
    "*Impact:EC2?PortSweep*",
    "*Impact:EC2?WinRMBruteForce*",
    "*Backdoor:*DenialOfService*",
    "*Backdoor:*Spambot*",
    "*Outgoing DoS*",
];

/// Finding types that are made for both directions.
const BOTH_WAYS: [&str; 8] = [
    "*PortScan*",
    "*Port Scan*",
    "*Network Scan*",
    "*BruteForce*",
    "*Brute Force*",
    "*Password Spray*",
    "*Password Guess*",
    "*DenialOfService*",
];

/// Whether the alert tells that what it concerns did this to others. Who came from an address came from outside.
#[must_use]
pub fn acts_outward(alert: &Alert) -> bool {
    let is_one_of = |types: &[&str]| types.iter().any(|glob| type_matches(glob, &alert.kind));
    let mut actors = alert.with_role(Role::Actor);
    !actors.any(|actor| actor.kind == IndicatorKind::Ip)
        && (is_one_of(&ALWAYS) || is_one_of(&BOTH_WAYS) && is_sent_out(alert))
}

/// Whether the feed says that the resource opened the connection.
fn is_sent_out(alert: &Alert) -> bool {
    let says = |action: &String| action.ends_with(" OUTBOUND");
    let role = || {
        let raw = alert.raw.value();
        let role = raw.pointer("/service/resourceRole");
        role.is_some_and(|role| role == "ACTOR")
    };
    alert.action.as_ref().is_some_and(says) || role()
}

/// Whether this is an address of the one machine that did it, by the feed's own fields.
pub(crate) fn is_its_address(alert: &Alert, kind: IndicatorKind, value: &str) -> bool {
    let targets = alert.with_role(Role::Target);
    let machines = targets.filter(|target| target.kind == IndicatorKind::Instance);
    kind == IndicatorKind::Ip
        && alert.addresses.iter().any(|address| address == value)
        && machines.count() == 1
        && acts_outward(alert)
}

#[cfg(test)]
mod tests;
