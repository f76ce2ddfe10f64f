//! Tests the record of a person's verdict on a case and the alerts that it clears later.

use nightshift_tests::Sandbox;
use serde_json::Value;

/// Triages a brute force from this address under this finding id.
fn probe(place: &Sandbox, id: &str, from: &str) -> Value {
    let finding = serde_json::json!({
        "schemaVersion": "2.0", "accountId": "444455556666", "region": "eu-west-1", "partition": "aws",
        "id": id, "arn": format!("arn:aws:guardduty:eu-west-1:444455556666:detector/d/finding/{id}"),
        "type": "UnauthorizedAccess:EC2/SSHBruteForce", "severity": 5.0, "title": "SSH brute force",
        "description": "x", "createdAt": "2026-03-02T02:00:00Z", "updatedAt": "2026-03-02T02:30:00Z",
        "resource": {"resourceType": "Instance", "instanceDetails": {"instanceId": "i-0a1b2c3d4e5f60718"}},
        "service": {
            "serviceName": "guardduty", "detectorId": "d", "count": 3, "archived": false,
            "eventFirstSeen": "2026-03-02T02:00:00Z", "eventLastSeen": "2026-03-02T02:20:00Z",
            "resourceRole": "TARGET",
            "action": {"actionType": "NETWORK_CONNECTION", "networkConnectionAction": {
                "connectionDirection": "INBOUND", "protocol": "TCP", "blocked": false,
                "localPortDetails": {"port": 22}, "remoteIpDetails": {"ipAddressV4": from}}}
        }
    });
    let bytes = finding.to_string();
    let arguments = ["run", "-", "--quiet", "--format", "json"];
    let ran = place.run_with_input(&arguments, bytes.as_bytes()).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

fn kinds(report: &Value) -> Vec<&str> {
    let all = report["exonerations"].as_array().unwrap();
    all.iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect()
}

#[test]
fn a_persons_verdict_is_kept_shown_and_clears_only_the_same() {
    let place = Sandbox::new().unwrap();
    place
        .write_file(
            "nightshift.toml",
            "[metrics]\ntextfile = \"metrics.prom\"\n",
        )
        .unwrap();
    let first = probe(&place, "f1", "198.51.100.7");
    let id = first["case_id"].as_str().unwrap();
    assert_eq!(kinds(&first), Vec::<&str>::new());
    let ours = first["verdict"].as_str().unwrap();
    let disagree = |verdict: &str| {
        let note = "the pen test of the auditors";
        let arguments = [
            "cases",
            "disagree",
            id,
            "--verdict",
            verdict,
            "--note",
            note,
            "--by",
            "ana",
        ];
        place.run(&arguments).unwrap()
    };
    let same = disagree(ours);
    assert_eq!(same.code, Some(2), "{same:?}");
    assert!(same.stderr.contains("cases agree"), "{same:?}");
    let ran = disagree("benign_true_positive");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("ana disagrees") && ran.stdout.contains("90 days"),
        "{ran:?}"
    );
    let metrics = std::fs::read_to_string(place.path().join("metrics.prom")).unwrap();
    assert!(
        metrics.contains("nightshift_feedback_total{agreed=\"false\"} 1"),
        "{metrics}"
    );
    let shown = place.run(&["cases", "show", id]).unwrap();
    assert!(
        shown.stdout.contains("the pen test of the auditors"),
        "{shown:?}"
    );
    let shown = place.run(&["cases", "show", id, "--json"]).unwrap();
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["person_verdicts"][0]["by"], "ana");
    assert_eq!(shown["case"]["verdict"], ours, "ours is left as it was");
    // The person's verdict covers the same address under another id, but no other address.
    assert_eq!(
        kinds(&probe(&place, "f2", "198.51.100.7")),
        ["person_verdict"]
    );
    assert_eq!(
        kinds(&probe(&place, "f3", "198.51.100.8")),
        Vec::<&str>::new()
    );
}

#[test]
fn nobody_agrees_with_what_is_not_there() {
    let place = Sandbox::new().unwrap();
    place.run(&["migrate"]).unwrap();
    let ran = place
        .run(&["cases", "agree", "k3f9-x2mq", "--by", "ana"])
        .unwrap();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let told = "no case, or more than one, has an id that begins with \"k3f9-x2mq\" (four characters at least)";
    assert!(ran.stderr.contains(told), "{ran:?}");
}
