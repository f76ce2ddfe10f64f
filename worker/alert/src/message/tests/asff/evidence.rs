//! Tests threats, malware, threat lists, processes, patches, notes and advice.

use super::*;

#[test]
fn threats_and_malware_have_name_path_and_hash() {
    let hash = "cd".repeat(32);
    let alert = asff(|finding| {
        finding["Threats"] = json!([{"Name": "EICAR-Test", "ItemCount": 2, "FilePaths": [
            {"FilePath": "/tmp/sample", "Hash": hash, "ResourceId": "arn:aws:ec2:eu-west-1:111122223333:volume/vol-1"},
            {"FileName": "other.bin"}]}]);
        finding["Malware"] = json!([{"Name": "XMRig", "Type": "COIN_MINER", "Path": "/opt/xmrig", "State": "REMOVAL_FAILED"},
            {"Name": "N/A", "Path": "-"}]);
    });
    assert_eq!(
        details(&alert, DetailKind::ThreatName),
        ["EICAR-Test", "XMRig"]
    );
    assert_eq!(details(&alert, DetailKind::EventCount), ["2"]);
    assert_eq!(
        details(&alert, DetailKind::Trait),
        ["malware: COIN_MINER, REMOVAL_FAILED"]
    );
    for (kind, value) in [
        (IndicatorKind::File, "/tmp/sample"),
        (IndicatorKind::File, "other.bin"),
        (IndicatorKind::File, "/opt/xmrig"),
        (IndicatorKind::Hash, hash.as_str()),
        (
            IndicatorKind::Arn,
            "arn:aws:ec2:eu-west-1:111122223333:volume/vol-1",
        ),
    ] {
        assert!(has(&alert, kind, IndicatorRole::Related, value), "{value}");
    }
    let named = alert.details.iter().find(|one| one.value == "EICAR-Test");
    assert_eq!(named.unwrap().about.as_deref(), Some("/tmp/sample"));
}

#[test]
fn threat_lists_are_told_with_their_values() {
    let alert = asff(|finding| {
        finding["ThreatIntelIndicators"] = json!([
            {"Type": "IPV6_ADDRESS", "Value": "2001:DB8::9", "Category": "COMMAND_AND_CONTROL", "Source": "Example feed"},
            {"Type": "EMAIL_ADDRESS", "Value": "boss@bad.example"},
            {"Type": "HASH_MD5", "Value": "AB".repeat(16)},
            {"Type": "MUTEX", "Value": "Global-1"},
            {"Type": "PROCESS", "Value": "evil.exe"}]);
    });
    for (kind, value) in [
        (IndicatorKind::Ip, "2001:db8::9"),
        (IndicatorKind::Email, "boss@bad.example"),
        (IndicatorKind::Hash, &"ab".repeat(16)),
        (IndicatorKind::Process, "evil.exe"),
    ] {
        assert!(has(&alert, kind, IndicatorRole::Related, value), "{value}");
    }
    let listed = alert.details.iter();
    let listed: Vec<_> = listed
        .filter(|one| one.about.as_deref() == Some("2001:db8::9"))
        .map(|one| (one.kind, one.value.as_str()))
        .collect();
    assert_eq!(
        listed,
        [
            (DetailKind::ThreatList, "Example feed"),
            (DetailKind::Trait, "listed as COMMAND_AND_CONTROL")
        ]
    );
    assert_eq!(details(&alert, DetailKind::Signature), ["Global-1"]);
}

#[test]
fn threat_list_value_gets_its_role_from_the_direction() {
    let of = |direction: Value, types: &str| {
        asff(|finding| {
            finding["Types"] = json!([types]);
            finding["Network"] = json!({ "Direction": direction });
            finding["ThreatIntelIndicators"] = json!([{"Type": "IPV4_ADDRESS", "Value": "203.0.113.66", "Source": "Example feed"}]);
        })
    };
    let threat = "TTPs/Command and Control";
    for (direction, types, role) in [
        (json!("IN"), threat, IndicatorRole::Actor),
        (json!("OUT"), threat, IndicatorRole::Remote),
        (Value::Null, threat, IndicatorRole::Related),
        (
            json!("IN"),
            "Software and Configuration Checks/Vulnerabilities/CVE",
            IndicatorRole::Related,
        ),
    ] {
        let alert = of(direction.clone(), types);
        let found = has(&alert, IndicatorKind::Ip, role, "203.0.113.66");
        assert!(found, "{direction} {types}: {:?}", alert.indicators);
        assert_eq!(details(&alert, DetailKind::ThreatList), ["Example feed"]);
    }
}

#[test]
fn entries_beyond_the_limit_are_unseen() {
    for key in ["Threats", "Malware", "ThreatIntelIndicators"] {
        let of = |count: usize| {
            asff(|finding| finding[key] = vec![json!({"Name": "x"}); count].into()).unseen
        };
        assert_eq!((of(64), of(65)), (false, true), "{key}");
    }
}

#[test]
fn process_patches_notes_and_fields_are_told() {
    let alert = asff(|finding| {
        finding["Process"] =
            json!({"Name": "xmrig", "Path": "/opt/xmrig", "Pid": 42, "ParentPid": 1});
        finding["PatchSummary"] =
            json!({"Id": "pb-1", "MissingCount": 3, "FailedCount": 1, "InstalledCount": 0});
        finding["Note"] = json!({"Text": "Looked at it.", "UpdatedBy": "analyst"});
        finding["UserDefinedFields"] = json!({"ticket": "INC-7", "empty": "N/A"});
        finding["ProductFields"] =
            json!({"sensor": "eu-1", "peer": "203.0.113.80", "aws/securityhub/FindingId": "x"});
        finding["RelatedFindings"] = json!([{"ProductArn": "p", "Id": "vendor/49"}]);
        finding["Confidence"] = json!(70);
        finding["VerificationState"] = json!("BENIGN_POSITIVE");
    });
    assert_eq!(
        details(&alert, DetailKind::Trait),
        [
            "confidence 70",
            "note by analyst: Looked at it.",
            "patches: 3 missing, 1 failed",
            "peer: 203.0.113.80",
            "pid 42, parent pid 1",
            "sensor: eu-1",
            "ticket: INC-7"
        ]
    );
    assert_eq!(details(&alert, DetailKind::RelatedFinding), ["vendor/49"]);
    assert_eq!(
        details(&alert, DetailKind::Claim),
        ["verified there as BENIGN_POSITIVE"]
    );
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Related,
        "203.0.113.80"
    ));
}

#[test]
fn advice_keeps_its_links_to_itself() {
    let alert = asff(|finding| {
        finding["Remediation"] = json!({"Recommendation": {
            "Text": "Isolate the machine.", "Url": "https://docs.example.com/isolate"}});
        finding["SourceUrl"] = json!("https://ndr.example.com/findings/50");
    });
    assert_eq!(
        alert.remediation.as_deref(),
        Some(
            "Isolate the machine.\nhttps://docs.example.com/isolate\nhttps://ndr.example.com/findings/50"
        )
    );
    let links = alert.indicators.iter();
    assert_eq!(
        links
            .filter(|one| one.kind == IndicatorKind::Url || one.kind == IndicatorKind::Domain)
            .count(),
        0
    );
    let silent = asff(|finding| {
        finding["Remediation"] = json!({"Recommendation": {"Text": "None", "Url": ""}});
    });
    assert_eq!(silent.remediation, None);
}
