use nightshift_alert::Indicator;

use super::*;
use crate::fixture;

fn sent(kind: &str, direction: Option<Direction>) -> Alert {
    let mut alert = fixture::alert();
    kind.clone_into(&mut alert.kind);
    alert.direction = direction;
    alert.indicators = vec![
        Indicator::new(IndicatorKind::Ip, "10.20.99.5", IndicatorRole::Remote),
        Indicator::new(IndicatorKind::Instance, "i-1", IndicatorRole::Target),
    ];
    alert
}

#[test]
fn what_a_machine_of_ours_does_is_told_by_type_and_direction() {
    let outbound = Some(Direction::Outbound);
    let always = ["Recon:EC2/Portscan", "TTPs/Discovery/Recon:EC2-Portscan"];
    for kind in always {
        assert!(is_outbound(&sent(kind, None)), "{kind}");
    }
    let both_ways = "UnauthorizedAccess:EC2/SSHBruteForce";
    assert!(is_outbound(&sent(both_ways, outbound)));
    assert!(!is_outbound(&sent(both_ways, Some(Direction::Inbound))));
    assert!(!is_outbound(&sent(both_ways, None)));
    assert!(!is_outbound(&sent(
        "CryptoCurrency:EC2/BitcoinTool.B",
        outbound
    )));
    let mut from_outside = sent(both_ways, outbound);
    let caller = Indicator::new(IndicatorKind::Ip, "203.0.113.66", IndicatorRole::Actor);
    from_outside.indicators.push(caller);
    assert!(!is_outbound(&from_outside));
}
