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
mod tests {
    use nightshift_alert::Indicator;

    use super::*;
    use crate::{Exoneration, NotCleared, check, clears, fixture};

    const VICTIM: &str = "10.20.99.5";

    fn sent_out(kind: &str, action: &str) -> Alert {
        let mut alert = fixture::alert();
        kind.clone_into(&mut alert.kind);
        alert.action = Some(action.to_owned());
        alert.indicators = vec![
            Indicator::new(IndicatorKind::Ip, VICTIM, Role::Remote),
            Indicator::new(IndicatorKind::Instance, "i-1", Role::Target),
            Indicator::new(IndicatorKind::Ip, "10.20.40.8", Role::Related),
        ];
        alert.addresses = vec!["10.20.40.8".to_owned()];
        alert
    }

    fn record(subject_type: IndicatorKind, subject: &str) -> Exoneration {
        Exoneration {
            kind: "asset".to_owned(),
            subject_type,
            subject: subject.to_owned(),
            from: None,
            until: None,
            covers: vec!["*".to_owned()],
            approved_by: "p.novak".to_owned(),
            reference: "A-1".to_owned(),
            statement: "it is expected".to_owned(),
            detection_wrong: false,
            evidence: None,
        }
    }

    #[test]
    fn a_record_about_the_far_end_clears_no_deed_of_a_machine_of_ours() {
        let outward = [
            ("Recon:EC2/Portscan", "NETWORK_CONNECTION UNKNOWN"),
            ("Impact:EC2/PortSweep", "NETWORK_CONNECTION OUTBOUND"),
            (
                "UnauthorizedAccess:EC2/SSHBruteForce",
                "NETWORK_CONNECTION OUTBOUND",
            ),
            (
                "TTPs/Discovery/Recon:EC2-Portscan",
                "NETWORK_CONNECTION OUTBOUND",
            ),
            (
                "Backdoor:EC2/DenialOfService.Dns",
                "NETWORK_CONNECTION OUTBOUND",
            ),
        ];
        for (kind, action) in outward {
            let alert = sent_out(kind, action);
            let victim = record(IndicatorKind::Ip, VICTIM);
            assert_eq!(
                check(&victim, &alert),
                Err(NotCleared::OtherSubject),
                "{kind}"
            );
            assert!(!clears(&[victim], &alert), "{kind}");
            for own in [
                record(IndicatorKind::Instance, "i-1"),
                record(IndicatorKind::Ip, "10.20.40.8"),
            ] {
                assert_eq!(check(&own, &alert), Ok(()), "{kind}");
                assert!(clears(&[own], &alert), "{kind}");
            }
        }
    }

    #[test]
    fn where_contact_is_the_matter_the_far_end_may_be_cleared_and_an_address_of_ours_is_nobody() {
        let alert = sent_out(
            "CryptoCurrency:EC2/BitcoinTool.B",
            "NETWORK_CONNECTION OUTBOUND",
        );
        assert!(clears(&[record(IndicatorKind::Ip, VICTIM)], &alert));
        let own = record(IndicatorKind::Ip, "10.20.40.8");
        assert_eq!(check(&own, &alert), Err(NotCleared::OtherSubject));
        assert!(!clears(&[own], &alert));
    }

    #[test]
    fn the_address_of_one_of_two_machines_clears_nothing() {
        let mut alert = sent_out("Recon:EC2/Portscan", "NETWORK_CONNECTION OUTBOUND");
        let second = Indicator::new(IndicatorKind::Instance, "i-2", Role::Target);
        alert.indicators.push(second);
        let own = record(IndicatorKind::Ip, "10.20.40.8");
        assert_eq!(check(&own, &alert), Err(NotCleared::OtherSubject));
    }
}
