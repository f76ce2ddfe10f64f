//! Tests resources with their roles, and their cloud and account.

use super::*;
use insta::assert_snapshot;

fn lateral_movement() -> Value {
    json!({"class_uid": 2004, "activity_id": 1, "severity_id": 4, "status_id": 1, "time": 1_795_651_200_000_u64,
        "finding_info": {"uid": "f-53", "title": "Lateral movement", "types": ["Lateral Movement"]},
        "metadata": {"product": {"name": "Example XDR", "vendor_name": "Example"}},
        "resources": [
            {"name": "jump-1", "uid": "vm-1", "role_id": 2, "role": "Actor", "ip": "10.0.0.5", "hostname": "jump-1.corp.example"},
            {"name": "pay-1", "uid": "vm-17", "role_id": 1, "role": "Target", "ip": "10.0.0.17", "hostname": "pay-1.corp.example"}],
        "actor": {"user": {"name": "svc-backup", "programmatic_credentials": [{"uid": "AKIAEXAMPLECASE00053"}]}},
        "evidences": [{"http_request": {"url": {"hostname": "c2.bad.example", "path": "/x"}},
            "resources": [{"uid": "arn:aws:s3:::payroll"}]}]})
}

#[test]
fn resources_play_the_part_that_is_told() {
    let alert = one_of(&lateral_movement());
    assert_eq!(alert.subject(), Some("pay-1"));
    assert_eq!(alert.addresses, ["10.0.0.17"]);
    let resources: Vec<&str> = alert.resources.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(resources, ["vm-17", "vm-1", "arn:aws:s3:::payroll"]);
    assert_snapshot!(indicators(&alert), @"
    target ip 10.0.0.17
    actor ip 10.0.0.5
    remote domain c2.bad.example
    related domain jump-1.corp.example
    related domain pay-1.corp.example
    actor principal svc-backup
    actor access_key AKIAEXAMPLECASE00053
    related arn arn:aws:s3:::payroll
    actor instance jump-1
    target instance pay-1
    related bucket payroll
    ");
    assert_snapshot!(details(&alert), @"http_request /x (c2.bad.example)");
}

#[test]
fn parts_are_told_by_number_or_word() {
    let roles = |role: Value| {
        let mut resource = json!({"name": "web-1", "ip": "10.0.0.9"});
        resource
            .as_object_mut()
            .unwrap()
            .extend(role.as_object().unwrap().clone());
        let finding = with(json!({"resources": [resource], "device": null, "evidences": []}));
        let alert = one_of(&finding);
        alert
            .indicators
            .iter()
            .map(|one| one.role)
            .collect::<Vec<_>>()
    };
    for (role, expected) in [
        (json!({}), IndicatorRole::Target),
        (json!({"role": "target"}), IndicatorRole::Target),
        (json!({"role_id": 3}), IndicatorRole::Target),
        (
            json!({"role_id": 99, "role": "Actor"}),
            IndicatorRole::Actor,
        ),
        (json!({"role_id": 4}), IndicatorRole::Related),
    ] {
        assert_eq!(roles(role.clone()), [expected, expected], "{role}");
    }
}

#[test]
fn resource_in_another_cloud_has_its_owner_s_account() {
    let machine = "/subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/pay/providers/Microsoft.Compute/virtualMachines/vm-pay-1";
    let mut finding = with(json!({"device": null, "evidences": [],
        "cloud": {"provider": "AWS", "region": "eu-west-1", "account": {"uid": "111122223333", "name": "hub"}},
        "resources": [{"uid": machine, "type": "AzureVirtualMachine", "provider": "Azure", "region": "westeurope",
            "owner": {"account": {"uid": "00000000-1111-2222-3333-444444444444", "name": "pay-sub"}}}]}));
    let place = |finding: &Value| {
        let alert = one_of(finding);
        let account = alert.account.unwrap_or_default();
        (
            alert.provider,
            account,
            alert.account_name,
            alert.region,
            alert.key.account,
        )
    };
    let expected = (
        CloudProvider::Azure,
        "00000000-1111-2222-3333-444444444444".to_owned(),
        Some("pay-sub".to_owned()),
        Some("westeurope".to_owned()),
        "111122223333".to_owned(),
    );
    assert_eq!(place(&finding), expected);
    assert!(has(
        &one_of(&finding),
        IndicatorKind::Instance,
        IndicatorRole::Target,
        "vm-pay-1"
    ));
    // The partition names the cloud too, and the id the subscription.
    finding["resources"][0]["provider"] = Value::Null;
    finding["resources"][0]["cloud_partition"] = json!("AzureCloud");
    assert_eq!(place(&finding), expected);
    finding["resources"][0]["owner"] = Value::Null;
    assert_eq!(
        (place(&finding).0, place(&finding).1),
        (expected.0, expected.1)
    );
    // A name that looks like an id of another cloud does not change the cloud.
    finding["resources"][0]["cloud_partition"] = Value::Null;
    finding["resources"][0]["uid"] = json!("//compute.googleapis.com/projects/p");
    let told = place(&finding);
    assert_eq!(
        (told.0, told.1.as_str()),
        (CloudProvider::Aws, "111122223333")
    );
    // The same holds within one cloud.
    finding["resources"][0] =
        json!({"uid": "arn:aws:s3:::b", "owner": {"account": {"uid": "999988887777"}}});
    let alert = one_of(&finding);
    assert_eq!(alert.account.as_deref(), Some("999988887777"));
    assert_eq!(
        (alert.provider, alert.region.as_deref(), alert.account_name),
        (CloudProvider::Aws, Some("eu-west-1"), None)
    );
    assert_eq!(alert.key.account, "111122223333");
}

#[test]
fn data_store_is_what_a_data_security_finding_concerns() {
    let mut finding = with(json!({"class_uid": 2006, "device": null, "evidences": [],
        "src_endpoint": {"ip": "198.51.100.44"}, "actor": {"user": {"name": "contractor"}},
        "databucket": {"name": "payroll", "uid": "arn:aws:s3:::payroll", "file": {"path": "2026/salaries.csv"}}}));
    let alert = one_of(&finding);
    assert_eq!(
        (alert.class, alert.subject()),
        (FindingClass::SensitiveData, Some("payroll"))
    );
    assert_snapshot!(indicators(&alert), @"
    actor ip 198.51.100.44
    actor principal contractor
    related arn arn:aws:s3:::payroll
    target bucket payroll
    related file 2026/salaries.csv
    ");
    finding["databucket"] = Value::Null;
    finding["database"] = json!({"name": "people", "type": "Relational"});
    let alert = one_of(&finding);
    assert_eq!(alert.subject(), Some("people"));
    assert!(has(
        &alert,
        IndicatorKind::Database,
        IndicatorRole::Target,
        "people"
    ));
}

#[test]
fn user_is_what_an_iam_analysis_concerns() {
    let alert = one_of(&with(
        json!({"class_uid": 2008, "device": null, "evidences": [],
        "user": {"name": "ci-admin", "uid": "AIDAEXAMPLE00000042", "type": "IAMUser"}}),
    ));
    assert_eq!(
        (alert.class, alert.subject()),
        (FindingClass::Posture, Some("ci-admin"))
    );
    assert_eq!(indicators(&alert), "target principal ci-admin");
}

#[test]
fn key_that_was_looked_at_has_not_acted() {
    let keys = |class: u64| {
        let alert = one_of(&with(
            json!({"class_uid": class, "device": null, "evidences": [],
            "resources": [{"uid": "AKIAEXAMPLE00000042", "type": "AwsIamAccessKey", "name": "ci"}]}),
        ));
        alert
            .indicators
            .iter()
            .map(|one| one.role)
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(2003), [IndicatorRole::Target, IndicatorRole::Target]);
    assert_eq!(keys(2004), [IndicatorRole::Actor, IndicatorRole::Actor]);
}

#[test]
fn account_of_a_google_resource_is_in_its_name() {
    let of = |cloud: Value, uid: &str| {
        let finding = with(json!({"device": null, "evidences": [], "cloud": cloud,
            "resources": [{"uid": uid, "provider": "GCP"}]}));
        one_of(&finding).account
    };
    let machine = "//compute.googleapis.com/projects/field-pay/zones/z/instances/vm";
    let hub = json!({"provider": "AWS", "account": {"uid": "111122223333"}});
    for cloud in [json!(null), json!({"provider": "GCP"}), hub] {
        assert_eq!(
            of(cloud.clone(), machine).as_deref(),
            Some("field-pay"),
            "{cloud}"
        );
    }
    let numbered = "//compute.googleapis.com/projects/998877665544/zones/z/instances/vm";
    let cloud = json!({"provider": "GCP", "account": {"uid": "field-pay"}});
    assert_eq!(of(cloud, numbered).as_deref(), Some("field-pay"));
}

#[test]
fn account_that_is_sent_as_a_number_keeps_its_leading_zero() {
    let finding = with(json!({"device": null, "evidences": [],
        "cloud": {"provider": "AWS", "account": {"uid": 11_122_223_333_u64}},
        "resources": [{"uid": "x", "owner": {"account": {"uid": 11_122_223_333_u64}}}]}));
    let alert = one_of(&finding);
    assert_eq!(alert.account.as_deref(), Some("011122223333"));
    assert_eq!(alert.key.account, "011122223333");
}
