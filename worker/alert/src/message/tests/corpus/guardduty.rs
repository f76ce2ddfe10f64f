//! Builds GuardDuty findings, whose resource and service follow from the type.

use super::*;
use crate::vendor_names::{GUARDDUTY_TYPES, names};

const ACCOUNT: &str = "111122223333";
const BUCKET: &str = "arn:aws:s3:::pay-exports";
const CLUSTER: &str = "arn:aws:eks:eu-west-1:111122223333:cluster/pay";
const DATABASE: &str = "arn:aws:rds:eu-west-1:111122223333:db:pay-db";
const FUNCTION: &str = "arn:aws:lambda:eu-west-1:111122223333:function:pay-export";

type FindingBuilder = fn() -> Value;

/// Builders of resources by the service or kind in the type.
const RESOURCES: [(&str, FindingBuilder); 11] = [
    ("EC2", instance),
    ("Runtime", instance),
    ("S3", bucket),
    ("Kubernetes", cluster),
    ("EKS", cluster),
    ("RDS", database),
    ("Lambda", function),
    ("Container", container),
    ("ECS", ecs_cluster),
    ("Object", bucket),
    ("", access_key),
];

pub(super) fn cases() -> Vec<CorpusCase> {
    names(GUARDDUTY_TYPES).map(case).collect()
}

fn case(kind: &str) -> CorpusCase {
    let (purpose, rest) = kind.split_once(':').unwrap();
    let (part, name) = rest.split_once('/').unwrap();
    let (_, resource) = RESOURCES
        .iter()
        .find(|(of, _)| *of == part || of.is_empty())
        .unwrap();
    let mut resource = resource();
    let (service, roles) = service(purpose, part, name);
    if service["action"].get("awsApiCallAction").is_some() {
        extend(
            &mut resource,
            json!({"accessKeyDetails": access_key()["accessKeyDetails"]}),
        );
    }
    if service.get("runtimeDetails").is_some() && name.contains("Container") {
        extend(
            &mut resource,
            json!({"containerDetails": container()["containerDetails"]}),
        );
    }
    if name.ends_with("!RecoveryPoint") {
        resource = json!({"resourceType": "EC2RecoveryPoint", "recoveryPointDetails":
            {"recoveryPointArn": "arn:aws:backup:eu-west-1:111122223333:recovery-point:rp-1", "backupVaultName": "nightly"}});
    }
    let arn = format!(
        "arn:aws:guardduty:eu-west-1:{ACCOUNT}:detector/d0/finding/5ac49b6c7d8e9f0a1b2c3d4e5f607182"
    );
    let mut finding = json!({
        "schemaVersion": "2.0", "accountId": ACCOUNT, "region": "eu-west-1", "partition": "aws",
        "id": "5ac49b6c7d8e9f0a1b2c3d4e5f607182", "arn": arn, "type": kind, "severity": 8,
        "createdAt": "2026-11-26T01:06:00Z", "updatedAt": "2026-11-26T01:06:00Z",
        "title": format!("A finding of the type {kind}."), "description": format!("GuardDuty saw {name}."),
        "resource": resource,
        "service": {"serviceName": "guardduty", "detectorId": "d0", "archived": false, "count": 3,
            "eventFirstSeen": "2026-11-26T01:00:00Z", "eventLastSeen": "2026-11-26T01:05:00Z"},
    });
    extend(&mut finding["service"], service);
    CorpusCase {
        resource: main_resource(&finding["resource"]),
        finding,
        kind: kind.to_owned(),
        roles,
        class: FindingClass::Threat,
        severity: Severity::High,
    }
}

/// Returns the expected id of the main resource.
fn main_resource(resource: &Value) -> Option<String> {
    let id = match resource["resourceType"].as_str().unwrap() {
        "Instance" => INSTANCE,
        "S3Bucket" => BUCKET,
        "EKSCluster" => CLUSTER,
        "RDSDBInstance" => DATABASE,
        "Lambda" => FUNCTION,
        _ => return None,
    };
    Some(id.to_owned())
}

type ExpectedIndicators = (Value, Vec<(IndicatorRole, IndicatorKind, String)>);

/// Returns the service part of a finding and the roles that follow from it.
fn service(purpose: &str, part: &str, name: &str) -> ExpectedIndicators {
    let is_file = name.contains("MaliciousFile") || name.contains("SuspiciousFile");
    let is_dns = ["DNS", "Domain", "!DNS"]
        .iter()
        .any(|word| name.contains(word))
        && !name.contains("UnusualDNSResolver");
    let is_flow = matches!(part, "EC2" | "Lambda")
        && !matches!(
            name,
            "UnsecuredCredentials"
                | "DisableOrModifyTools"
                | "TransferDataToCloudAccount"
                | "RemoteServices"
                | "BootOrLogonInitializationScripts"
                | "ExternalRemoteServices"
                | "AccountManipulation"
                | "ModifyAuthenticationProcess"
        );
    match (purpose, part) {
        ("AttackSequence", _) => sequence(),
        _ if is_file && part == "S3" => object_scan(),
        _ if is_file && part != "Runtime" => volume_scan(),
        (_, "Runtime") => runtime(is_dns, name),
        (_, "Kubernetes") => kubernetes_call(),
        (_, "RDS")
            if name.contains("Login") || name.contains("IPCaller") || name.contains("Brute") =>
        {
            login(name)
        }
        _ if is_flow && is_dns => dns(),
        _ if is_flow && name.contains("PortProbe") => port_probe(),
        _ if is_flow => connection(matches!(
            name,
            "SSHBruteForce" | "RDPBruteForce" | "TorIPCaller"
        )),
        _ => api_call(),
    }
}

fn far_end() -> Value {
    json!({"ipAddressV4": FAR_END, "country": {"countryName": "Netherlands"}, "city": {"cityName": "Amsterdam"},
        "organization": {"asn": "64500", "asnOrg": "Example Hosting", "isp": "Example", "org": "Example"}})
}

fn api_call() -> ExpectedIndicators {
    let action = json!({"action": {"actionType": "AWS_API_CALL", "awsApiCallAction": {
        "api": "GetObject", "serviceName": "s3.amazonaws.com", "callerType": "Remote IP", "userAgent": "aws-cli/2.17",
        "remoteIpDetails": far_end(), "affectedResources": {}}}});
    let roles = vec![
        role(IndicatorRole::Actor, IndicatorKind::Ip, FAR_END),
        role(IndicatorRole::Actor, IndicatorKind::Principal, "alice"),
    ];
    (action, roles)
}

fn connection(is_inbound: bool) -> ExpectedIndicators {
    let (direction, far) = match is_inbound {
        true => ("INBOUND", IndicatorRole::Actor),
        false => ("OUTBOUND", IndicatorRole::Remote),
    };
    let action = json!({"action": {"actionType": "NETWORK_CONNECTION", "networkConnectionAction": {
        "connectionDirection": direction, "protocol": "TCP", "blocked": false, "remoteIpDetails": far_end(),
        "localPortDetails": {"port": 22, "portName": "SSH"}, "remotePortDetails": {"port": 40522, "portName": "Unknown"},
        "localIpDetails": {"ipAddressV4": "10.0.0.7"}}}});
    (action, vec![role(far, IndicatorKind::Ip, FAR_END)])
}

fn port_probe() -> ExpectedIndicators {
    let action = json!({"action": {"actionType": "PORT_PROBE", "portProbeAction": {"blocked": false,
        "portProbeDetails": [{"localPortDetails": {"port": 6379, "portName": "Unknown"},
            "localIpDetails": {"ipAddressV4": "10.0.0.7"}, "remoteIpDetails": far_end()}]}}});
    (
        action,
        vec![role(IndicatorRole::Actor, IndicatorKind::Ip, FAR_END)],
    )
}

fn dns() -> ExpectedIndicators {
    let action = json!({"action": {"actionType": "DNS_REQUEST",
        "dnsRequestAction": {"domain": DOMAIN, "protocol": "UDP", "blocked": false}},
        "evidence": {"threatIntelligenceDetails": [{"threatListName": "ProofPoint", "threatNames": []}]}});
    (
        action,
        vec![role(IndicatorRole::Remote, IndicatorKind::Domain, DOMAIN)],
    )
}

fn kubernetes_call() -> ExpectedIndicators {
    let action = json!({"action": {"actionType": "KUBERNETES_API_CALL", "kubernetesApiCallAction": {
        "requestUri": "/api/v1/namespaces/pay/secrets", "verb": "list", "userAgent": "kubectl/v1.31",
        "statusCode": 200, "resource": "secrets", "namespace": "pay", "sourceIps": [FAR_END],
        "remoteIpDetails": far_end()}}});
    let roles = vec![
        role(IndicatorRole::Actor, IndicatorKind::Ip, FAR_END),
        role(IndicatorRole::Actor, IndicatorKind::Principal, "alice"),
    ];
    (action, roles)
}

fn login(name: &str) -> ExpectedIndicators {
    let action = json!({"action": {"actionType": "RDS_LOGIN_ATTEMPT", "rdsLoginAttemptAction": {
        "remoteIpDetails": far_end(), "loginAttributes": [{"user": "pay", "application": "psql",
            "failedLoginAttempts": 30, "successfulLoginAttempts": u8::from(name.contains("Successful"))}]}}});
    (
        action,
        vec![role(IndicatorRole::Actor, IndicatorKind::Ip, FAR_END)],
    )
}

fn runtime(is_dns: bool, name: &str) -> ExpectedIndicators {
    let is_network = ["C&C", "BitcoinTool", "Traffic", "DropPoint", "Tor"]
        .iter()
        .any(|word| name.contains(word));
    let (mut service, roles) = match () {
        () if is_dns => dns(),
        () if is_network => connection(false),
        () => (json!({}), Vec::new()),
    };
    extend(
        &mut service,
        json!({"runtimeDetails": {"process": {"name": "xmrig", "executablePath": "/tmp/xmrig",
            "executableSha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "pid": 4711, "user": "www-data",
            "startTime": "2026-11-26T00:59:00Z", "lineage": []}, "context": {"commandLineExample": "xmrig -o pool"}}}),
    );
    (service, roles)
}

fn volume_scan() -> ExpectedIndicators {
    let scan = json!({"ebsVolumeScanDetails": {"scanId": "s1", "triggerFindingId": "f0", "scanDetections": {
        "highestSeverityThreatDetails": {"severity": "HIGH", "threatName": "EICAR-Test-File", "count": 1},
        "threatDetectedByName": {"itemCount": 1, "uniqueThreatNameCount": 1, "shortened": false, "threatNames": [
            {"name": "EICAR-Test-File", "severity": "HIGH", "itemCount": 1, "filePaths": [{"filePath": "/opt/eicar.com",
                "volumeArn": "arn:aws:ec2:eu-west-1:111122223333:volume/vol-0a1b2c3d4e5f60718", "fileName": "eicar.com",
                "hash": "275a021bbfb6489e54d471899f7db9d1663fc695ec2fe2a2c4538aabf651fd0f"}]}]}}}});
    (scan, Vec::new())
}

fn object_scan() -> ExpectedIndicators {
    let scan = json!({"malwareScanDetails": {"threats": [{"name": "EICAR-Test-File", "source": "AMAZON",
        "itemPaths": [{"nestedItemPath": "eicar.com",
            "hash": "275a021bbfb6489e54d471899f7db9d1663fc695ec2fe2a2c4538aabf651fd0f"}]}]}});
    (scan, Vec::new())
}

fn sequence() -> ExpectedIndicators {
    let sequence = json!({"detection": {"sequence": {"uid": "q1", "description": "Signals that belong together.",
        "actors": [{"id": "a1", "user": {"name": "alice", "uid": "AIDACKCEVSQ6C2EXAMPLE", "type": "IAMUser"}}],
        "endpoints": [{"id": "e1", "ip": FAR_END, "autonomousSystem": {"name": "Example Hosting", "number": 64500}}],
        "signals": [{"uid": "s1", "type": "CLOUD_TRAIL", "name": "GetObject", "count": 2,
            "firstSeenAt": "2026-11-26T01:00:00Z", "lastSeenAt": "2026-11-26T01:05:00Z"}],
        "sequenceIndicators": [{"key": "ATTACK_TACTIC", "values": ["Exfiltration"]}]}}});
    let roles = vec![
        role(IndicatorRole::Actor, IndicatorKind::Ip, FAR_END),
        role(IndicatorRole::Actor, IndicatorKind::Principal, "alice"),
    ];
    (sequence, roles)
}

fn access_key() -> Value {
    json!({"resourceType": "AccessKey", "accessKeyDetails": {"accessKeyId": "AKIAIOSFODNN7EXAMPLE", "userName": "alice",
        "principalId": "AIDACKCEVSQ6C2EXAMPLE", "userType": "IAMUser"}})
}

fn instance() -> Value {
    json!({"resourceType": "Instance", "instanceDetails": {"instanceId": INSTANCE, "instanceType": "m7i.large",
        "imageId": "ami-0a1b2c3d4e5f60718", "availabilityZone": "eu-west-1a", "instanceState": "running",
        "iamInstanceProfile": {"arn": "arn:aws:iam::111122223333:instance-profile/web", "id": "AIPACKCEVSQ6C2EXAMPLE"},
        "networkInterfaces": [{"networkInterfaceId": "eni-0123456789abcdef0", "privateIpAddress": "10.0.0.7",
            "publicIp": "203.0.113.9", "subnetId": "subnet-0f1e2d3c4b5a69788", "vpcId": "vpc-0a1b2c3d4e5f60718",
            "securityGroups": [{"groupId": "sg-0123456789abcdef0", "groupName": "web"}]}],
        "tags": [{"key": "Name", "value": "web-1"}]}})
}

fn bucket() -> Value {
    json!({"resourceType": "S3Bucket", "s3BucketDetails": [{"arn": BUCKET, "name": "pay-exports", "type": "Destination",
        "owner": {"id": "CanonicalId"}, "createdAt": "2025-01-01T00:00:00Z",
        "publicAccess": {"effectivePermission": "NOT_PUBLIC"},
        "tags": [{"key": "team", "value": "pay"}]}]})
}

fn cluster() -> Value {
    json!({"resourceType": "EKSCluster",
        "eksClusterDetails": {"name": "pay", "arn": CLUSTER, "vpcId": "vpc-0a1b2c3d4e5f60718", "status": "ACTIVE"},
        "kubernetesDetails": {"kubernetesUserDetails": {"username": "alice", "uid": "u1", "groups": ["system:authenticated"]},
            "kubernetesWorkloadDetails": {"name": "api", "type": "pods", "uid": "w1", "namespace": "pay",
                "containers": [{"name": "api", "image": "registry.example/api:1"}]}}})
}

fn database() -> Value {
    json!({"resourceType": "RDSDBInstance",
        "rdsDbInstanceDetails": {"dbInstanceIdentifier": "pay-db", "dbInstanceArn": DATABASE, "engine": "postgres"},
        "rdsDbUserDetails": {"user": "pay", "application": "psql", "database": "ledger", "ssl": "TLSv1.3", "authMethod": "password"}})
}

fn function() -> Value {
    json!({"resourceType": "Lambda", "lambdaDetails": {"functionArn": FUNCTION, "functionName": "pay-export",
        "role": "arn:aws:iam::111122223333:role/pay-export", "vpcConfig": {"vpcId": "vpc-0a1b2c3d4e5f60718"}}})
}

fn container() -> Value {
    json!({"resourceType": "Container",
        "containerDetails": {"id": "c1a2b3", "name": "api", "containerRuntime": "docker", "image": "registry.example/api:1"}})
}

fn ecs_cluster() -> Value {
    json!({"resourceType": "ECSCluster", "ecsClusterDetails": {"name": "pay",
        "arn": "arn:aws:ecs:eu-west-1:111122223333:cluster/pay", "status": "ACTIVE", "taskDetails": {
            "arn": "arn:aws:ecs:eu-west-1:111122223333:task/pay/1", "containers": [{"name": "api", "image": "registry.example/api:1"}]}}})
}
