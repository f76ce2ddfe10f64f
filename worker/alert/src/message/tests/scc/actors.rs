//! Tests actors, targets and outcomes in every position that a detector uses.

use super::*;

#[test]
fn address_that_got_in_is_told_from_one_that_did_not() {
    let alert = one_of(&case("brute force"));
    insta::assert_snapshot!(parts(&alert), @"
    actor ip 198.51.100.70
    actor ip 203.0.113.71
    actor principal admin
    related principal root
    target arn //compute.googleapis.com/projects/field-gcp-prod/zones/europe-west1-b/instances/vm1
    target instance vm1
    ");
    insta::assert_snapshot!(details(&alert), @"
    auth_result: FAIL [198.51.100.70]
    auth_result: SUCCESS [203.0.113.71]
    ");
    assert_eq!(alert.outcome, Some(Outcome::Succeeded));

    let failed = properties(json!({"attempts": [
        {"sourceIp": "198.51.100.70", "username": "root", "vmName": "vm-7", "authResult": "FAIL", "attemptCount": 40}]}));
    assert_eq!(failed.outcome, Some(Outcome::Failed));
    assert!(has(
        &failed,
        IndicatorKind::Instance,
        IndicatorRole::Target,
        "vm-7"
    ));
    assert_eq!(
        failed
            .details_of(DetailKind::EventCount)
            .collect::<Vec<_>>(),
        ["40"]
    );
}

#[test]
fn external_member_is_related_and_its_group_is_the_target() {
    let alert = one_of(&case("external member"));
    insta::assert_snapshot!(parts(&alert), @"
    target principal admins@example.com
    related principal eve@example.net
    actor principal mallory@example.com
    target arn //cloudidentity.googleapis.com/groups/admins@example.com
    ");
    insta::assert_snapshot!(details(&alert), @"
    group: admins@example.com
    permission: roles/owner [//cloudresourcemanager.googleapis.com/organizations/1]
    ");
}

#[test]
fn who_read_data_acted_on_the_bucket() {
    let alert = one_of(&case("data access"));
    insta::assert_snapshot!(parts(&alert), @"
    actor principal contractor@corp.example
    target arn //storage.googleapis.com/payroll
    target bucket payroll
    ");
    insta::assert_snapshot!(details(&alert), @"operation: COPY [contractor@corp.example]");
    assert_eq!(alert.action.as_deref(), Some("COPY"));
    let first = alert.times.first_seen.unwrap().to_rfc3339();
    assert_eq!(first, "2026-11-26T00:59:00+00:00");

    let flow = one_of(&finding(
        json!({"dataFlowEvents": [{"principalEmail": "a@example.com",
        "operation": "MOVE", "violatedLocation": "us-east4", "eventTime": "2026-11-26T00:50:00Z"}]}),
    ));
    insta::assert_snapshot!(parts(&flow), @"actor principal a@example.com");
    insta::assert_snapshot!(details(&flow), @"
    operation: MOVE [a@example.com]
    trait: data went to us-east4 [a@example.com]
    ");
}

/// Checks every rule of Event Threat Detection, which writes the principal into `properties`, or into a record named
/// after the rule.
#[test]
fn every_rule_tells_who_acted() {
    for record in [
        "anomalousLocation",
        "anomalousSoftware",
        "changeFromBadIp",
        "customRoleSensitivePermissions",
        "exportToGcs",
        "externalMemberAddedToPrivilegedGroup",
        "externalMemberInvitedToPolicy",
        "newApiMethod",
        "privilegedGroupOpenedToPublic",
        "restoreToExternalInstance",
        "sensitiveRoleGrant",
        "sensitiveRoleToHybridGroup",
        "serviceAccountGetsOwnIamPolicy",
        "aRuleOfTomorrow",
    ] {
        let alert = properties(
            json!({record: {"principalEmail": "mallory@example.com", "callerIp": "203.0.113.5"}}),
        );
        for (kind, value) in [
            (IndicatorKind::Principal, "mallory@example.com"),
            (IndicatorKind::Ip, "203.0.113.5"),
        ] {
            assert!(
                has(&alert, kind, IndicatorRole::Actor, value),
                "{record} {value}"
            );
        }
    }
    for record in [
        "dataExfiltrationAttempt",
        "extractionAttempt",
        "vpcViolation",
    ] {
        let alert = properties(json!({record: {"userEmail": "mallory@example.com"}}));
        assert!(
            has(
                &alert,
                IndicatorKind::Principal,
                IndicatorRole::Actor,
                "mallory@example.com"
            ),
            "{record}"
        );
    }
}

#[test]
fn properties_without_a_record_tell_who_acted() {
    let flat = properties(
        json!({"principalEmail": "mallory@example.com", "callerIp": "203.0.113.5",
        "callerUserAgent": "gcloud", "gceInstanceId": "4711", "metadataKeyOperation": "MODIFIED",
        "serviceName": "login.googleapis.com", "methodName": "google.login.LoginService.2svDisable",
        "ssoState": "UNKNOWN", "domainName": "example.com"}),
    );
    insta::assert_snapshot!(parts(&flat), @"
    actor ip 203.0.113.5
    actor principal mallory@example.com
    target instance 4711
    ");
    insta::assert_snapshot!(details(&flat), @"
    operation: login.googleapis.com google.login.LoginService.2svDisable
    user_agent: gcloud
    trait: domain example.com
    trait: metadata key: MODIFIED
    trait: single sign-on: UNKNOWN
    ");
    assert_eq!(
        flat.action.as_deref(),
        Some("google.login.LoginService.2svDisable")
    );
}

#[test]
fn grants_tell_members_and_roles() {
    let alert = properties(
        json!({"sensitiveRoleGrant": {"principalEmail": "mallory@example.com",
        "members": ["user:eve@example.net"],
        "bindingDeltas": [{"action": "ADD", "role": "roles/owner", "member": "user:eve@example.net"},
            {"action": "REMOVE", "role": "roles/viewer", "member": "group:staff@example.com"}]}}),
    );
    insta::assert_snapshot!(parts(&alert), @"
    actor principal eve@example.net
    actor principal mallory@example.com
    related principal staff@example.com
    ");
    insta::assert_snapshot!(details(&alert), @"
    permission: roles/owner [eve@example.net]
    permission: roles/viewer (removed) [staff@example.com]
    grantee: eve@example.net
    ");
    let bindings = one_of(&finding(json!({"iamBindings": [
        {"action": "ADD", "role": "roles/editor", "member": "allUsers"}]})));
    insta::assert_snapshot!(details(&bindings), @"
    permission: roles/editor [allUsers]
    exposure: allUsers
    ");
}

#[test]
fn exfiltration_tells_what_was_taken_and_where_it_went() {
    let alert = properties(
        json!({"dataExfiltrationAttempt": {"jobState": "SUCCEEDED", "userEmail": "mallory@example.com",
        "query": "SELECT * FROM payroll.salaries",
        "sourceTables": [{"resourceUri": "https://bigquery.googleapis.com/…", "projectId": "shop-prod",
            "datasetId": "payroll", "tableId": "salaries"}],
        "destinationTables": [{"projectId": "evil-lab", "datasetId": "loot", "tableId": "t1"}]}}),
    );
    insta::assert_snapshot!(parts(&alert), @"
    actor principal mallory@example.com
    remote database evil-lab.loot.t1
    target database shop-prod.payroll.salaries
    ");
    insta::assert_snapshot!(details(&alert), @"
    other_account: evil-lab [evil-lab.loot.t1]
    database_query: SELECT * FROM payroll.salaries
    ");
    assert_eq!(alert.outcome, Some(Outcome::Succeeded));

    let extraction = properties(
        json!({"extractionAttempt": {"userEmail": "mallory@example.com",
        "sourceTable": {"projectId": "shop-prod", "datasetId": "payroll", "tableId": "salaries"},
        "destinations": [{"originalUri": "gs://loot/x.csv", "collectionType": "GCS_BUCKET", "collectionName": "loot"}]}}),
    );
    insta::assert_snapshot!(parts(&extraction), @"
    actor principal mallory@example.com
    remote bucket loot
    target database shop-prod.payroll.salaries
    ");

    let export = properties(
        json!({"exportToGcs": {"principalEmail": "mallory@example.com",
        "cloudsqlInstanceResource": "//cloudsql.googleapis.com/projects/shop-prod/instances/db-1",
        "gcsUri": "gs://loot/dump.sql", "bucketResource": "//storage.googleapis.com/loot",
        "bucketAccess": "PUBLICLY_ACCESSIBLE", "exportScope": "WHOLE_INSTANCE"}}),
    );
    insta::assert_snapshot!(parts(&export), @"
    actor principal mallory@example.com
    target arn //cloudsql.googleapis.com/projects/shop-prod/instances/db-1
    remote arn //storage.googleapis.com/loot
    remote bucket loot
    target database db-1
    ");
    insta::assert_snapshot!(details(&export), @"
    exposure: bucket: PUBLICLY_ACCESSIBLE
    trait: data went to gs://loot/dump.sql
    trait: export of WHOLE_INSTANCE
    ");

    let record = one_of(&finding(
        json!({"exfiltration": {"totalExfiltratedBytes": "1048576",
        "sources": [{"name": "//bigquery.googleapis.com/projects/shop-prod/datasets/payroll", "components": ["salaries"]}],
        "targets": [{"name": "//storage.googleapis.com/loot"}]}}),
    ));
    insta::assert_snapshot!(parts(&record), @"
    target arn //bigquery.googleapis.com/projects/shop-prod/datasets/payroll
    remote arn //storage.googleapis.com/loot
    remote bucket loot
    target database payroll
    ");
    insta::assert_snapshot!(details(&record), @"
    bytes: 1048576
    trait: part of the data: salaries [//bigquery.googleapis.com/projects/shop-prod/datasets/payroll]
    ");
}

#[test]
fn what_was_denied_is_told() {
    let denied = |access: Value| {
        let alert = one_of(&finding(json!({"access": access})));
        let code = alert.details_of(DetailKind::ErrorCode).next();
        (alert.outcome, code.map(str::to_owned))
    };
    let permission = (Some(Outcome::Denied), Some("PERMISSION_DENIED".to_owned()));
    assert_eq!(denied(json!({"status": {"code": 7}})), permission);
    assert_eq!(denied(json!({"status": "PERMISSION_DENIED"})), permission);
    assert_eq!(
        denied(json!({"status": {"code": 0}})).0,
        Some(Outcome::Succeeded)
    );
    assert_eq!(
        denied(json!({"status": {"code": 5}})).0,
        Some(Outcome::Failed)
    );
    assert_eq!(denied(json!({"status": "open"})), (None, None));
    let perimeter = properties(
        json!({"vpcViolation": {"userEmail": "a@example.com", "violationReason": "NO_MATCHING_ACCESS_LEVEL"}}),
    );
    assert_eq!(perimeter.outcome, Some(Outcome::Denied));
    let blocked = one_of(&finding(
        json!({"category": "Initial Access: Suspicious Login Blocked"}),
    ));
    assert_eq!(blocked.outcome, Some(Outcome::Blocked));
}

#[test]
fn caller_is_told_with_agent_country_call_and_delegation() {
    let key = "0123456789abcdef0123456789abcdef01234567";
    let name = format!(
        "//iam.googleapis.com/projects/shop-prod/serviceAccounts/ci@shop-prod.iam.gserviceaccount.com/keys/{key}"
    );
    let alert = one_of(&finding(json!({"access": {
        "principalEmail": "ci@shop-prod.iam.gserviceaccount.com", "callerIp": "203.0.113.5",
        "callerIpGeo": {"regionCode": "NL"}, "userAgent": "curl/8", "userAgentFamily": "curl",
        "serviceName": "compute.googleapis.com", "methodName": "v1.compute.instances.insert",
        "principalSubject": "serviceAccount:ci@shop-prod.iam.gserviceaccount.com",
        "serviceAccountKeyName": name,
        "serviceAccountDelegationInfo": [{"principalEmail": "mallory@example.com"},
            {"principalSubject": "principal://iam.googleapis.com/locations/global/workforcePools/p/subject/eve"}]}})));
    insta::assert_snapshot!(parts(&alert), @"
    actor ip 203.0.113.5
    actor principal ci@shop-prod.iam.gserviceaccount.com
    actor principal mallory@example.com
    actor principal principal://iam.googleapis.com/locations/global/workforcePools/p/subject/eve
    actor access_key 0123456789abcdef0123456789abcdef01234567
    related arn //iam.googleapis.com/projects/shop-prod/serviceAccounts/ci@shop-prod.iam.gserviceaccount.com/keys/0123456789abcdef0123456789abcdef01234567
    ");
    insta::assert_snapshot!(details(&alert), @"
    session: mallory@example.com [ci@shop-prod.iam.gserviceaccount.com]
    session: principal://iam.googleapis.com/locations/global/workforcePools/p/subject/eve [ci@shop-prod.iam.gserviceaccount.com]
    operation: compute.googleapis.com v1.compute.instances.insert
    user_agent: curl/8
    country: NL [203.0.113.5]
    ");
}
