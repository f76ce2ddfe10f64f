//! Recognises alerts about attacks by the organisation's own machine on others. The machine scans, guesses passwords,
//! floods or sends spam.
//!
//! In these alerts the far end is the victim, and the report is about the machine.

use nightshift_alert::{Alert, Direction, IndicatorKind, IndicatorRole};

use crate::exoneration::type_matches;

/// Finding types that always describe acts of the alert's own resource. GuardDuty's follow its documentation:
/// <https://docs.aws.amazon.com/guardduty/latest/ug/guardduty_finding-types-ec2.html>.
const OUTBOUND_TYPES: [&str; 6] = [
    "*Recon:EC2?Portscan*",
    "*Impact:EC2?PortSweep*",
    "*Impact:EC2?WinRMBruteForce*",
    "*Backdoor:*DenialOfService*",
    "*Backdoor:*Spambot*",
    "*Outgoing DoS*",
];

/// Finding types that are used for both directions.
const BIDIRECTIONAL_TYPES: [&str; 8] = [
    "*PortScan*",
    "*Port Scan*",
    "*Network Scan*",
    "*BruteForce*",
    "*Brute Force*",
    "*Password Spray*",
    "*Password Guess*",
    "*DenialOfService*",
];

/// Returns whether the alert says that its own resource did this to others. An actor with an address came from
/// outside.
#[must_use]
pub fn is_outbound(alert: &Alert) -> bool {
    let is_one_of = |types: &[&str]| types.iter().any(|glob| type_matches(glob, &alert.kind));
    let mut actors = alert.with_role(IndicatorRole::Actor);
    !actors.any(|actor| actor.kind == IndicatorKind::Ip)
        && (is_one_of(&OUTBOUND_TYPES)
            || is_one_of(&BIDIRECTIONAL_TYPES) && alert.direction == Some(Direction::Outbound))
}

#[cfg(test)]
mod tests;
