//! Findings in OCSF of those who gather incidents and watch machines.

use super::*;
use crate::FeedState;

fn incident() -> Value {
    json!({"activity_id": 2, "class_uid": 2005, "class_name": "Incident Finding", "severity_id": 5,
        "status_id": 1, "time": 1_795_142_472_000_u64, "desc": "Ransomware on fs-1",
        "metadata": {"uid": "inc-77", "product": {"name": "SOAR", "vendor_name": "Acme"}},
        "finding_info_list": [
            {"uid": "f-1", "title": "Shadow copies deleted", "attacks": [{"technique": {"uid": "T1490"}}]},
            {"uid": "f-2", "title": "Mass encryption"}]})
}

#[test]
fn an_incident_on_hold_waits_for_somebody_and_a_closed_one_is_resolved() {
    let state = |status: u64| {
        let mut incident = incident();
        incident["status_id"] = json!(status);
        one_of(&incident).state
    };
    let resolved = FeedState {
        resolved: true,
        ..FeedState::default()
    };
    for status in [1, 2, 3, 99] {
        assert_eq!(state(status), FeedState::default(), "{status}");
    }
    for status in [4, 5] {
        assert_eq!(state(status), resolved, "{status}");
    }
}

#[test]
fn an_incident_says_what_it_is_about_and_which_findings_it_gathers() {
    let alert = one_of(&incident());
    assert_eq!(alert.title, "Ransomware on fs-1");
    assert_eq!(
        alert.description,
        "Ransomware on fs-1\nShadow copies deleted\nMass encryption"
    );
    assert_eq!(alert.key.to_string(), "soar/-/inc-77");
    assert_eq!(alert.techniques[0].id, "T1490");
    let mut bare = incident();
    bare["metadata"].as_object_mut().unwrap().remove("uid");
    bare.as_object_mut().unwrap().remove("desc");
    let alert = one_of(&bare);
    assert_eq!(alert.title, "Shadow copies deleted");
    assert_eq!(alert.key.to_string(), "soar/-/incident/f-1");
}
