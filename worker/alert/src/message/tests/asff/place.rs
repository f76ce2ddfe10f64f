//! Tests cloud, account and region of a finding's resource.

use super::*;
use crate::CloudProvider;

fn alert_with_resource(resource: Value) -> Alert {
    asff(|finding| {
        finding["Region"] = json!("us-east-1");
        finding["Resources"] = json!([resource]);
    })
}

fn place(alert: &Alert) -> (CloudProvider, Option<&str>, Option<&str>) {
    (
        alert.provider,
        alert.account.as_deref(),
        alert.region.as_deref(),
    )
}

#[test]
fn owner_of_the_resource_wins_over_the_hub() {
    let id = "/subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/pay/providers/Microsoft.Compute/virtualMachines/vm-pay-1";
    let azure = (
        CloudProvider::Azure,
        Some("00000000-1111-2222-3333-444444444444"),
        Some("westeurope"),
    );
    let owner = json!({"Account": {"Id": "00000000-1111-2222-3333-444444444444"}});
    for resource in [
        json!({"Type": "AzureVirtualMachine", "Id": id, "Partition": "AzureCloud", "Region": "westeurope",
            "Provider": "Azure", "Owner": owner}),
        json!({"Type": "AzureVirtualMachine", "Id": "vm-pay-1", "Region": "westeurope", "Owner": owner}),
        json!({"Type": "Other", "Id": id, "Region": "westeurope"}),
    ] {
        let alert = alert_with_resource(resource.clone());
        assert_eq!(place(&alert), azure, "{resource}");
        assert_eq!(alert.key.account, "111122223333");
        // The name belongs to the hub's account.
        assert_eq!(alert.account_name, None);
    }
    let alert = alert_with_resource(json!({"Type": "AzureVirtualMachine", "Id": id}));
    assert!(has(
        &alert,
        IndicatorKind::Instance,
        IndicatorRole::Target,
        "vm-pay-1"
    ));
    assert!(alert.has_indicator(IndicatorKind::Arn, id));
}

#[test]
fn projects_of_google_are_accounts() {
    let alert = alert_with_resource(
        json!({"Type": "GcpComputeInstance", "Provider": "GCP", "Region": "europe-west1",
        "Id": "//compute.googleapis.com/projects/pay-prod/zones/europe-west1-b/instances/vm-1"}),
    );
    assert_eq!(
        place(&alert),
        (CloudProvider::Gcp, Some("pay-prod"), Some("europe-west1"))
    );
}

#[test]
fn resources_of_the_hub_s_cloud_keep_account_and_region() {
    let instance = "arn:aws:ec2:eu-west-1:111122223333:instance/i-1";
    let ours = (CloudProvider::Aws, Some("111122223333"), Some("us-east-1"));
    for resource in [
        json!({"Type": "AwsEc2Instance", "Id": instance}),
        json!({"Type": "AwsEc2Instance", "Id": instance, "Partition": "aws-cn", "Region": "N/A"}),
        json!({"Type": "Other", "Id": "host-1"}),
    ] {
        assert_eq!(
            place(&alert_with_resource(resource.clone())),
            ours,
            "{resource}"
        );
    }
    let shared = alert_with_resource(
        json!({"Type": "AwsEc2Instance", "Id": instance, "Region": "eu-west-1",
        "Owner": {"Account": {"Id": "444455556666"}}}),
    );
    assert_eq!(
        place(&shared),
        (CloudProvider::Aws, Some("444455556666"), Some("eu-west-1"))
    );
}

#[test]
fn account_ids_keep_their_twelve_digits() {
    for id in [
        json!(11_122_223_333_u64),
        json!(1.112_222_333_3e10),
        json!("011122223333"),
    ] {
        let alert = asff(|finding| finding["AwsAccountId"] = id.clone());
        assert_eq!(alert.account.as_deref(), Some("011122223333"), "{id}");
        assert_eq!(alert.key.account, "011122223333");
    }
}
