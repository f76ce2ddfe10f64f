//! Tests resources of every type, with their details.

use super::*;

/// Types that ASFF has details of, and others that its documentation names.
const TYPES: &str = "AwsAccount AwsAmazonMqBroker AwsApiGatewayRestApi AwsApiGatewayStage AwsApiGatewayV2Api \
    AwsApiGatewayV2Stage AwsAppSyncGraphQlApi AwsAthenaWorkGroup AwsAutoScalingAutoScalingGroup \
    AwsAutoScalingLaunchConfiguration AwsBackupBackupPlan AwsBackupBackupVault AwsBackupRecoveryPoint \
    AwsCertificateManagerCertificate AwsCloudFormationStack AwsCloudFrontDistribution AwsCloudTrailTrail \
    AwsCloudWatchAlarm AwsCodeBuildProject AwsDmsEndpoint AwsDmsReplicationInstance AwsDmsReplicationTask \
    AwsDynamoDbTable AwsEc2ClientVpnEndpoint AwsEc2Eip AwsEc2Instance AwsEc2LaunchTemplate AwsEc2NetworkAcl \
    AwsEc2NetworkInterface AwsEc2RouteTable AwsEc2SecurityGroup AwsEc2Subnet AwsEc2TransitGateway AwsEc2Volume \
    AwsEc2Vpc AwsEc2VpcEndpointService AwsEc2VpcPeeringConnection AwsEc2VpnConnection AwsEcrContainerImage \
    AwsEcrRepository AwsEcsCluster AwsEcsContainer AwsEcsService AwsEcsTask AwsEcsTaskDefinition AwsEfsAccessPoint \
    AwsEksCluster AwsElasticBeanstalkEnvironment AwsElasticsearchDomain AwsElbLoadBalancer AwsElbv2LoadBalancer \
    AwsEventSchemasRegistry AwsEventsEndpoint AwsEventsEventbus AwsGuardDutyDetector AwsIamAccessKey AwsIamGroup \
    AwsIamPolicy AwsIamRole AwsIamUser AwsKinesisStream AwsKmsKey AwsLambdaFunction AwsLambdaLayerVersion \
    AwsMskCluster AwsNetworkFirewallFirewall AwsNetworkFirewallFirewallPolicy AwsNetworkFirewallRuleGroup \
    AwsOpenSearchServiceDomain AwsRdsDbCluster AwsRdsDbClusterSnapshot AwsRdsDbInstance AwsRdsDbSecurityGroup \
    AwsRdsDbSnapshot AwsRdsEventSubscription AwsRedshiftCluster AwsRoute53HostedZone AwsS3AccessPoint \
    AwsS3AccountPublicAccessBlock AwsS3Bucket AwsS3Object AwsSageMakerNotebookInstance AwsSecretsManagerSecret \
    AwsSnsTopic AwsSqsQueue AwsSsmPatchCompliance AwsStepFunctionStateMachine AwsWafRateBasedRule \
    AwsWafRegionalRateBasedRule AwsWafRegionalRule AwsWafRegionalRuleGroup AwsWafRegionalWebAcl AwsWafRule \
    AwsWafRuleGroup AwsWafWebAcl AwsWafv2RuleGroup AwsWafv2WebAcl AwsXrayEncryptionConfig AzureResource \
    CodeRepository Container GcpResource Other SomethingNew";

fn alert_with_details(kind: &str, id: &str, details: Value) -> Alert {
    asff(|finding| {
        finding["Resources"] = json!([{"Type": kind, "Id": id, "Details": {kind: details}}]);
    })
}

#[test]
fn every_type_gives_a_resource_with_its_arn() {
    for kind in TYPES.split_whitespace() {
        let id = format!("arn:aws:example:eu-west-1:111122223333:thing/{kind}-1");
        let alert = alert_with_details(kind, &id, json!({"Unknown": {"deep": [1]}}));
        let ids: Vec<&str> = alert.resources.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, [&id], "{kind}");
        assert!(alert.has_indicator(IndicatorKind::Arn, &id), "{kind}");
    }
}

#[test]
fn resources_without_an_arn_keep_their_id() {
    for (kind, id) in [
        ("AwsAccount", "AWS::::Account:111122223333"),
        ("Other", "host-7"),
        ("AzureResource", "vm 7"),
    ] {
        assert_eq!(
            alert_with_details(kind, id, Value::Null).resources[0].id,
            id
        );
    }
}

/// Returns the result of a type's details: details, then indicators beside the resource's own ARN, one per line.
fn told(kind: &str, details: Value) -> String {
    let alert = alert_with_details(kind, "arn:aws:x:eu-west-1:111122223333:thing/one", details);
    let details = alert
        .details
        .iter()
        .map(|one| format!("{} {}", one.kind, one.value));
    let beside = alert
        .indicators
        .iter()
        .filter(|one| one.kind != IndicatorKind::Arn || !one.value.ends_with("/one"));
    let beside = beside.map(|one| format!("{} {} {}", one.role.as_str(), one.kind, one.value));
    details.chain(beside).collect::<Vec<_>>().join("\n")
}

#[test]
fn details_of_machines_and_networks_are_read() {
    insta::assert_snapshot!(told("AwsEc2Instance", json!({
        "ImageId": "ami-1", "IpV4Addresses": ["10.0.0.7"], "IpV6Addresses": ["2001:db8::7"], "VpcId": "vpc-1",
        "SubnetId": "subnet-1", "IamInstanceProfileArn": "arn:aws:iam::111122223333:instance-profile/web"})), @"
    vpc vpc-1
    subnet subnet-1
    related ip 10.0.0.7
    related ip 2001:db8::7
    related arn arn:aws:iam::111122223333:instance-profile/web
    target instance one
    related image ami-1
    ");
    insta::assert_snapshot!(told("AwsEc2SecurityGroup", json!({"GroupId": "sg-1", "VpcId": "vpc-1", "IpPermissions": [
        {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "0.0.0.0/0"}, {"CidrIp": "10.0.0.0/8"}]},
        {"IpProtocol": "-1", "Ipv6Ranges": [{"CidrIpv6": "::/0"}]}]})), @"
    vpc vpc-1
    security_group sg-1
    exposure open to 0.0.0.0/0: tcp 22
    exposure open to ::/0: all traffic
    ");
}

#[test]
fn details_of_databases_and_functions_are_read() {
    insta::assert_snapshot!(told("AwsRdsDbInstance", json!({
        "Endpoint": {"Address": "db.example.com", "Port": 5432}, "PubliclyAccessible": true,
        "VpcSecurityGroups": [{"VpcSecurityGroupId": "sg-2"}], "DbSubnetGroup": {"VpcId": "vpc-2"}})), @"
    local_port 5432
    vpc vpc-2
    security_group sg-2
    exposure publicly accessible
    related domain db.example.com
    target database one
    ");
    insta::assert_snapshot!(told("AwsLambdaFunction", json!({
        "Role": "arn:aws:iam::111122223333:role/fn",
        "VpcConfig": {"VpcId": "vpc-3", "SecurityGroupIds": ["sg-3"], "SubnetIds": ["subnet-3"]}})), @"
    vpc vpc-3
    subnet subnet-3
    security_group sg-3
    related arn arn:aws:iam::111122223333:role/fn
    target function one
    ");
    insta::assert_snapshot!(told("AwsEksCluster", json!({
        "ResourcesVpcConfig": {"SecurityGroupIds": ["sg-4"], "SubnetIds": ["subnet-4"], "EndpointPublicAccess": true}})), @"
    subnet subnet-4
    security_group sg-4
    exposure public endpoint of the cluster's API
    target cluster one
    ");
}

#[test]
fn details_of_containers_and_users_are_read() {
    insta::assert_snapshot!(told("AwsEcsTask", json!({
        "ClusterArn": "arn:aws:ecs:eu-west-1:111122223333:cluster/shop", "Containers": [{"Name": "web", "Image": "shop/web:1"}]})), @"
    related arn arn:aws:ecs:eu-west-1:111122223333:cluster/shop
    target container one
    related container web
    related image shop/web:1
    ");
    insta::assert_snapshot!(told("AwsEc2NetworkInterface", json!({
        "SecurityGroups": [{"GroupId": "sg-5", "GroupName": "web"}], "PublicIp": "203.0.113.5",
        "PrivateIpAddresses": [{"PrivateIpAddress": "10.0.0.5"}], "Attachment": {"InstanceId": "i-5"}})), @"
    security_group sg-5
    related ip 10.0.0.5
    related ip 203.0.113.5
    related instance i-5
    ");
    insta::assert_snapshot!(told("AwsIamUser", json!({"UserName": "one", "GroupList": ["admins"],
        "AttachedManagedPolicies": [{"PolicyName": "AdministratorAccess"}]})), @"
    group admins
    permission AdministratorAccess
    target principal one
    ");
    insta::assert_snapshot!(told("Container", json!({"Name": "web", "ImageName": "shop/web:1", "Privileged": true})), @"
    exposure privileged container
    target container web
    related image shop/web:1
    ");
    insta::assert_snapshot!(told("Other", json!({"host": "jump-1", "peer": "203.0.113.70", "none": "N/A"})), @"
    trait host: jump-1
    trait peer: 203.0.113.70
    related ip 203.0.113.70
    ");
}

#[test]
fn keys_and_users_act_only_where_somebody_acted() {
    let resource = json!({"Type": "AwsIamAccessKey", "Id": "AWS::IAM::AccessKey:AKIAIOSFODNN7EXAMPLE",
        "Details": {"AwsIamAccessKey": {"PrincipalName": "u-one", "PrincipalType": "IAMUser", "PrincipalId": "AIDAEXAMPLE0001"}}});
    let user = |role: &str| json!({"Type": "AwsIamUser", "Id": "arn:aws:iam::111122223333:user/u-two", "ResourceRole": role});
    let used = asff(|finding| finding["Resources"] = json!([resource, user("Target")]));
    assert_eq!(
        parts(&used),
        [
            "actor principal u-one",
            "target principal u-two",
            "actor access_key AKIAIOSFODNN7EXAMPLE"
        ]
    );
    let old = control_finding(|finding| finding["Resources"] = json!([resource]));
    assert_eq!(
        parts(&old),
        [
            "target principal u-one",
            "target access_key AKIAIOSFODNN7EXAMPLE"
        ]
    );
    let acted = asff(|finding| finding["Resources"] = json!([user("Actor")]));
    assert_eq!(parts(&acted), ["actor principal u-two"]);
}

#[test]
fn objects_name_their_bucket_and_what_was_found() {
    let alert = asff(|finding| {
        finding["Resources"] = json!([{"Type": "AwsS3Object", "Id": "arn:aws:s3:::payroll/2026/list.csv",
            "DataClassification": {"Result": {
                "SensitiveData": [{"Category": "PERSONAL_INFORMATION", "Detections": [
                    {"Count": 34, "Type": "EMAIL_ADDRESS"}, {"Count": 2, "Type": "NAME"}]}],
                "CustomDataIdentifiers": {"Detections": [{"Name": "staff numbers"}]}}}}]);
    });
    assert!(has(
        &alert,
        IndicatorKind::Bucket,
        IndicatorRole::Target,
        "payroll"
    ));
    assert!(has(
        &alert,
        IndicatorKind::File,
        IndicatorRole::Related,
        "2026/list.csv"
    ));
    assert_eq!(
        details(&alert, DetailKind::Trait),
        ["PERSONAL_INFORMATION: 34 EMAIL_ADDRESS, 2 NAME"]
    );
    assert_eq!(details(&alert, DetailKind::CustomRule), ["staff numbers"]);
}
