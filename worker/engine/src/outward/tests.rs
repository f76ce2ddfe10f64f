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
        scope: crate::Scope::default(),
        extent: crate::Extent::default(),
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
