//! Whose an address is: what an alert concerns has some, and who attacked it.

use super::*;

#[test]
fn who_guesses_passwords_of_a_machine_is_told_and_who_got_in() {
    let mut finding = parsed("scc-crypto-miner");
    finding["finding"]["category"] = json!("Brute Force: SSH");
    finding["finding"]["sourceProperties"] = json!({"properties": {"attempts": [
        {"sourceIp": "203.0.113.201", "username": "admin", "vmName": "web", "authResult": "FAIL"},
        {"sourceIp": "203.0.113.202", "username": "root", "vmName": "web", "authResult": "SUCCESS"}]}});
    let alert = one_of(&finding);
    for (kind, role, value) in [
        (IndicatorKind::Ip, Role::Actor, "203.0.113.201"),
        (IndicatorKind::Ip, Role::Actor, "203.0.113.202"),
        (IndicatorKind::Principal, Role::Related, "admin"),
        (IndicatorKind::Principal, Role::Actor, "root"),
    ] {
        assert!(has(&alert, kind, role, value), "{value}");
    }
}
