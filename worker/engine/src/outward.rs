//! Alerts about what a machine of ours does to others: it scans, guesses passwords, floods or sends spam.
//!
//! There the far end is whom it is done to, and the machine is whom a report is about.

use nightshift_alert::{Alert, Direction, IndicatorKind, Role};

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
        && (is_one_of(&ALWAYS)
            || is_one_of(&BOTH_WAYS) && alert.direction == Some(Direction::Outbound))
}

#[cfg(test)]
mod tests;
