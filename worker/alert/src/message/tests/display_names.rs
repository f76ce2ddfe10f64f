//! Tests display names of products, checks and resources.

use super::bases::{asff, ocsf};
use super::*;
use crate::{DetailKind, FindingClass};

#[test]
fn product_has_the_name_that_the_finding_tells() {
    let arn = |path: &str| format!("arn:aws:securityhub:eu-west-1::product/{path}");
    for (path, name, company, told) in [
        ("wiz-inc/wiz-security", "Wiz", "Wiz", "Wiz"),
        ("wiz-inc/wiz-security", "", "", "Wiz Security"),
        (
            "crowdstrike/crowdstrike-falcon",
            "CrowdStrike Falcon",
            "CrowdStrike",
            "CrowdStrike Falcon",
        ),
        ("111122223333/default", "Default", "Acme", "Acme"),
        (
            "111122223333/default",
            "Amazon GuardDuty",
            "Acme",
            "111122223333 Amazon GuardDuty",
        ),
        ("aws/securityhub", "Wiz", "Wiz", "Security Hub"),
    ] {
        let alert = one_of(&asff(
            json!({"ProductArn": arn(path), "ProductName": name, "CompanyName": company}),
        ));
        assert_eq!(alert.product_name(), told, "{path}");
    }
    let entra = json!({"metadata": {"product": {"name": "Entra ID", "vendor_name": "Microsoft"}}});
    let entra = one_of(&ocsf(entra));
    assert_eq!(entra.product_name(), "Entra ID");
    assert_eq!(entra.key.product, "entra_id");
}

#[test]
fn check_is_told_by_the_last_part_of_its_type() {
    let kind = "Software and Configuration Checks/AWS Security Best Practices/Network Reachability";
    let alert = one_of(&asff(
        json!({"Types": [kind], "Title": "Port 22 is reachable",
        "ProductArn": "arn:aws:securityhub:eu-west-1::product/aws/inspector", "GeneratorId": "AWSInspector",
        "Resources": [{"Type": "AwsEc2Instance", "Id": "arn:aws:ec2:eu-west-1:444455556666:instance/i-0bbb"}]}),
    ));
    assert_eq!(
        (alert.class, alert.kind.as_str()),
        (FindingClass::Posture, kind)
    );
    let other = one_of(&asff(
        json!({"Types": ["Software & Configuration Checks/Patch Management"],
        "ProductArn": "arn:aws:securityhub:eu-west-1::product/aws/ssm-patch-manager", "GeneratorId": "ssm-patch-manager"}),
    ));
    let mut controls = other.details_of(DetailKind::Control);
    assert_eq!(controls.next(), Some("Patch Management"));
    let controls: Vec<&str> = alert.details_of(DetailKind::Control).collect();
    assert_eq!(controls, ["Network Reachability"]);
    assert_eq!(
        alert.what_happened(),
        r#"instance i-0bbb fails control Network Reachability: "Port 22 is reachable"."#
    );
}

#[test]
fn resource_of_ocsf_has_the_end_of_its_arn_for_a_name() {
    let arn = "arn:aws:sqs:eu-west-1:444455556666:orders";
    for resource in [
        json!({"uid": arn, "type": "AwsSqsQueue"}),
        json!({"uid": arn, "name": arn, "type": "AwsSqsQueue"}),
    ] {
        let alert = one_of(&ocsf(json!({"class_uid": 2003, "resources": [resource]})));
        assert_eq!(alert.resources[0].id, arn);
        assert_eq!(alert.resources[0].name.as_deref(), Some("orders"));
    }
}

#[test]
fn network_of_everybody_is_no_address() {
    let alert = one_of(&asff(
        json!({"Title": "Groups should not allow 0.0.0.0/0 or ::/0 to port 22 of 10.1.2.3"}),
    ));
    let mut addresses = alert
        .indicators
        .iter()
        .filter(|one| one.kind == IndicatorKind::Ip);
    assert_eq!(
        addresses.next().map(|one| one.value.as_str()),
        Some("10.1.2.3")
    );
    assert_eq!(addresses.next(), None);
}

#[test]
fn flaw_of_trivy_has_its_id_package_and_fix() {
    let of = |generator: &str, kind: &str, other: Value| {
        one_of(&asff(json!({"GeneratorId": generator, "Types": [kind],
            "Resources": [{"Type": "Container", "Id": "registry.example.com/shop:1", "Details": {"Other": other,
                "Container": {"ImageName": "registry.example.com/shop:1"}}}]})))
    };
    let flaw = of(
        "Trivy/CVE-2026-1234",
        "Software and Configuration Checks/Vulnerabilities/CVE",
        json!({"CVE ID": "CVE-2026-1234", "PkgName": "openssl", "Installed Package": "1.0", "Patched Package": "1.1"}),
    );
    assert_eq!(flaw.kind, "CVE-2026-1234");
    assert_eq!(
        flaw.what_happened(),
        "CVE-2026-1234 in package openssl 1.0 on shop:1, fixed in 1.1."
    );
    let check = of(
        "Trivy/DS002",
        "Software and Configuration Checks",
        json!({"Message": "Image user should not be root", "Filename": "Dockerfile"}),
    );
    assert_eq!(
        (check.class, check.kind.as_str()),
        (FindingClass::Posture, "DS002")
    );
    assert_eq!(check.details_of(DetailKind::Package).count(), 0);
}
