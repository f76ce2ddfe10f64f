//! Tests wrappings, locations, keys and enumerated words of a finding.

use super::*;

/// Returns the finding with keys in snake case, as clients of the Python API write it.
fn snake(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, inner)| {
                let mut written = String::new();
                for letter in key.chars() {
                    if letter.is_ascii_uppercase() {
                        written.push('_');
                    }
                    written.push(letter.to_ascii_lowercase());
                }
                (written, snake(inner))
            })
            .collect(),
        Value::Array(items) => items.iter().map(snake).collect(),
        other => other.clone(),
    }
}

#[test]
fn azure_and_aws_resources_have_account_name_and_region() {
    let azure = one_of(&case("azure"));
    let aws = json!({"finding": finding(json!({
            "resourceName": "arn:aws:ec2:eu-west-1:444455556666:instance/i-0abc",
        })), "resource": {
            "name": "arn:aws:ec2:eu-west-1:444455556666:instance/i-0abc", "type": "AWS::EC2::Instance",
            "cloudProvider": "AMAZON_WEB_SERVICES", "location": "eu-west-1",
            "awsMetadata": {"account": {"id": "444455556666", "name": "pay-prod"}}}});
    let aws = one_of(&aws);
    for (alert, provider, account, name, region, machine) in [
        (
            &azure,
            CloudProvider::Azure,
            "11111111-2222-4333-8444-555555555555",
            "field-azure-prod",
            "westeurope",
            "field-az-vm",
        ),
        (
            &aws,
            CloudProvider::Aws,
            "444455556666",
            "pay-prod",
            "eu-west-1",
            "i-0abc",
        ),
    ] {
        assert_eq!(alert.provider, provider);
        assert_eq!(alert.account.as_deref(), Some(account));
        assert_eq!(alert.account_name.as_deref(), Some(name));
        assert_eq!(alert.region.as_deref(), Some(region));
        assert!(has(
            alert,
            IndicatorKind::Instance,
            IndicatorRole::Target,
            machine
        ));
        assert_eq!(alert.key.account, account);
    }
    assert!(has(
        &azure,
        IndicatorKind::Ip,
        IndicatorRole::Remote,
        "198.51.100.60"
    ));
    insta::assert_snapshot!(details(&azure), @"
    local_port: 50122 [198.51.100.60]
    remote_port: 4444 [198.51.100.60]
    protocol: TCP [198.51.100.60]
    direction: outbound [198.51.100.60]
    ");
}

#[test]
fn account_of_other_clouds_is_read_where_no_name_holds_it() {
    let bucket = json!({"finding": finding(json!({"resourceName": "arn:aws:s3:::payroll"})),
        "resource": {"cloudProvider": "AMAZON_WEB_SERVICES", "awsMetadata": {"account": {"id": "444455556666"}}}});
    let alert = one_of(&bucket);
    assert_eq!(alert.provider, CloudProvider::Aws);
    assert_eq!(alert.account.as_deref(), Some("444455556666"));
    assert!(has(
        &alert,
        IndicatorKind::Bucket,
        IndicatorRole::Target,
        "payroll"
    ));
    // The resource of a bare finding gives its cloud.
    assert_eq!(one_of(&bucket["finding"]).provider, CloudProvider::Aws);
    assert_eq!(
        one_of(&case("azure")["finding"]).provider,
        CloudProvider::Azure
    );
    // The name of a Google bucket cannot choose the cloud.
    let google = finding(
        json!({"resourceName": "//storage.googleapis.com/x/arn:aws:iam::444455556666:user/eve"}),
    );
    assert_eq!(one_of(&google).provider, CloudProvider::Gcp);
    assert_eq!(one_of(&google).account, None);
}

#[test]
fn shape_of_security_operations_is_read() {
    let sample = case("security operations");
    let alert = one_of(&sample);
    assert_eq!(alert.key.to_string(), "scc/123456789012/51");
    assert_eq!(alert.class, FindingClass::Threat);
    assert_eq!(alert.account_name.as_deref(), Some("shop-prod"));
    assert_eq!(alert.action.as_deref(), Some("SetIamPolicy"));
    assert!(alert.times.first_seen.is_some());
    assert_eq!(
        parts(&alert),
        "actor ip 203.0.113.5\nactor principal mallory@example.com\n\
         target arn //cloudresourcemanager.googleapis.com/projects/123456789012"
    );
    let mut beside = sample.clone();
    beside["findings"]["sourceProperties"] = json!({});
    beside["sourceProperties"] = json!({"properties": {"principalEmail": "eve@example.com"}});
    let alert = one_of(&beside);
    assert!(has(
        &alert,
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        "eve@example.com"
    ));
    let listed = one_of(&json!({"findings": [sample]}));
    assert_eq!(listed.key, one_of(&case("security operations")).key);
}

#[test]
fn snake_and_camel_case_are_one_finding() {
    for name in [
        "azure",
        "brute force",
        "memory hash",
        "external member",
        "data access",
    ] {
        let camel = one_of(&case(name));
        let snake = one_of(&snake(&case(name)));
        assert_eq!(
            (&snake.key, &snake.content),
            (&camel.key, &camel.content),
            "{name}"
        );
        assert_eq!(snake.indicators, camel.indicators, "{name}");
        assert_eq!(snake.details, camel.details, "{name}");
        let listed = one_of(&json!({"list_findings_results": [case(name)], "next_page_token": ""}));
        assert_eq!(listed.content, camel.content, "{name}");
    }
}

#[test]
fn one_finding_has_one_key_under_every_name() {
    for resource in [
        "//compute.googleapis.com/projects/shop-prod/zones/europe-west1-b/instances/web",
        "//compute.googleapis.com/projects/123456789012/zones/europe-west1-b/instances/web",
        "//storage.googleapis.com/payroll",
        "//cloudresourcemanager.googleapis.com/organizations/1",
        "//cloudresourcemanager.googleapis.com/folders/9",
    ] {
        let mut keys = std::collections::BTreeSet::new();
        for parent in ["organizations/1", "folders/9", "projects/123456789012"] {
            for place in ["", "/locations/global"] {
                let name = format!(
                    "{parent}/sources/5678/{}findings/f1",
                    place.trim_start_matches('/')
                );
                let name = name.replace("globalfindings", "global/findings");
                let mut bare = finding(json!({"resourceName": resource}));
                bare["name"] = json!(name);
                let v1 = json!({"finding": bare, "resource": {"name": resource,
                    "project": "//cloudresourcemanager.googleapis.com/projects/123456789012",
                    "projectDisplayName": "shop-prod"}});
                let v2 = json!({"finding": bare, "resource": {"name": resource,
                    "gcpMetadata": {"project": "projects/123456789012", "projectDisplayName": "shop-prod"}}});
                for message in [&bare, &v1, &v2, &json!({"listFindingsResults": [v2]})] {
                    let alert = one_of(message);
                    assert_eq!(alert.finding_id.as_deref(), Some(name.as_str()));
                    keys.insert(alert.key);
                }
            }
        }
        assert_eq!(keys.len(), 1, "{resource}: {keys:?}");
    }
    // Sources choose their ids, so equal ids of two sources are two findings.
    let other = |source: &str| {
        let name = format!("organizations/1/sources/{source}/findings/f1");
        one_of(&finding(
            json!({"resourceName": "//storage.googleapis.com/payroll", "name": name}),
        ))
        .key
    };
    assert_ne!(other("5678"), other("5679"));
}

#[test]
fn canonical_name_is_the_finding_id_where_it_stands_alone() {
    let mut value = finding(json!({}));
    let name = value.as_object_mut().unwrap().remove("name").unwrap();
    value["canonicalName"] = name.clone();
    assert_eq!(one_of(&value).finding_id.as_deref(), name.as_str());
}

#[test]
fn project_is_known_by_number_and_id() {
    let named = |project: &str| {
        format!("//compute.googleapis.com/projects/{project}/zones/europe-west1-b/instances/web")
    };
    let of = |project: &str, resource: Value, more: Value| {
        let mut finding = finding(json!({"resourceName": named(project)}));
        let members = more.as_object().unwrap().clone();
        finding.as_object_mut().unwrap().extend(members);
        one_of(&json!({"finding": finding, "resource": resource}))
    };
    let metadata = |display: &str| json!({"gcpMetadata": {"project": "//cloudresourcemanager.googleapis.com/projects/123456789012", "projectDisplayName": display}});
    let canonical = json!({"canonicalName": "projects/123456789012/sources/2/findings/f1"});
    for alert in [
        of(
            "123456789012",
            json!({"projectDisplayName": "shop-prod"}),
            json!({}),
        ),
        of("shop-prod", metadata("shop-prod"), json!({})),
        of(
            "shop-prod",
            json!({"project": "projects/123456789012"}),
            json!({}),
        ),
        of("shop-prod", json!({}), canonical),
        of(
            "shop-prod",
            json!({}),
            json!({"sourceProperties": {"properties": {"projectId": "shop-prod", "projectNumber": "123456789012"}}}),
        ),
    ] {
        assert_eq!(alert.account.as_deref(), Some("shop-prod"));
        assert_eq!(alert.account_name.as_deref(), Some("123456789012"));
        assert_eq!(alert.resources[0].id, named("shop-prod"));
    }
    let display = of("shop-prod", metadata("Shop (production)"), json!({}));
    assert_eq!(display.account_name.as_deref(), Some("Shop (production)"));
    let alone = of("123456789012", json!({}), json!({}));
    assert_eq!(
        (alone.account.as_deref(), alone.account_name),
        (Some("123456789012"), None)
    );
}

#[test]
fn resource_named_by_number_and_by_id_is_one() {
    let named = |project: &str, pod: &str| {
        format!("//container.googleapis.com/projects/{project}/zones/z/clusters/c{pod}")
    };
    let finding = finding(json!({"resourceName": named("123456789012", ""),
        "sourceProperties": {"properties": {"gcpResourceName": named("shop-prod", "")}}}));
    let both =
        one_of(&json!({"finding": finding, "resource": {"projectDisplayName": "shop-prod"}}));
    assert_eq!(both.resources.len(), 1);
    let arns = both
        .indicators
        .iter()
        .filter(|one| one.kind == IndicatorKind::Arn);
    let arns: Vec<_> = arns.map(|one| (one.role, one.value.as_str())).collect();
    assert_eq!(
        arns,
        [(IndicatorRole::Target, named("shop-prod", "").as_str())]
    );
    // The number stays in the key.
    assert_eq!(both.key.account, "123456789012");
}

#[test]
fn toxic_combination_is_a_threat_by_its_category() {
    let related = [
        "organizations/1/sources/2/findings/a",
        "organizations/1/sources/2/findings/b",
    ];
    let alert = one_of(&finding(
        json!({"category": "Toxic combination: public VM with owner rights",
        "findingClass": "TOXIC_COMBINATION", "toxicCombination": {"attackExposureScore": 7.5, "relatedFindings": related}}),
    ));
    assert_eq!(alert.class, FindingClass::Threat);
    assert_eq!(alert.class_sent.as_deref(), Some("TOXIC_COMBINATION"));
    assert_eq!(alert.kind, "Toxic combination: public VM with owner rights");
    assert_eq!(
        alert
            .details_of(DetailKind::RelatedFinding)
            .collect::<Vec<_>>(),
        related
    );
    // A choke point is a configuration: it is neither an action nor a combination.
    let point = one_of(&finding(
        json!({"findingClass": "CHOKEPOINT", "chokepoint": {"relatedFindings": related}}),
    ));
    assert_eq!(point.class, FindingClass::Posture);
    assert_eq!(
        point
            .details_of(DetailKind::RelatedFinding)
            .collect::<Vec<_>>(),
        related
    );
}

#[test]
fn severities_are_words_or_their_numbers() {
    for (sent, told) in [
        (json!("CRITICAL"), Severity::Critical),
        (json!("high"), Severity::High),
        (json!("MEDIUM"), Severity::Medium),
        (json!("LOW"), Severity::Low),
        (json!("SEVERITY_UNSPECIFIED"), Severity::Medium),
        (json!(null), Severity::Medium),
        (json!(1), Severity::Critical),
        (json!(4), Severity::Low),
        (json!(0), Severity::Medium),
    ] {
        let alert = one_of(&finding(json!({"severity": sent})));
        assert_eq!(alert.severity, told, "{sent}");
    }
    // The detector's value counts where the finding has none.
    let alert = one_of(&finding(json!({"severity": "SEVERITY_UNSPECIFIED",
        "sourceProperties": {"detectionPriority": "HIGH"}})));
    assert_eq!(alert.severity, Severity::High);
}

#[test]
fn class_and_state_are_words_or_their_numbers() {
    for (sent, detector, class) in [
        (json!("THREAT"), "", FindingClass::Threat),
        (json!(3), "", FindingClass::Posture),
        (json!("POSTURE_VIOLATION"), "", FindingClass::Posture),
        (json!("CHOKEPOINT"), "", FindingClass::Posture),
        (json!("TOXIC_COMBINATION"), "", FindingClass::Threat),
        (json!("VULNERABILITY"), "", FindingClass::Vulnerability),
        (
            json!("SENSITIVE_DATA_RISK"),
            "",
            FindingClass::SensitiveData,
        ),
        (json!("OBSERVATION"), "", FindingClass::Other),
        (json!("SCC_ERROR"), "", FindingClass::Other),
        (json!(null), "", FindingClass::Threat),
        (
            json!(null),
            "Security Health Analytics",
            FindingClass::Posture,
        ),
        (
            json!("THREAT"),
            "Security Health Analytics",
            FindingClass::Threat,
        ),
    ] {
        let alert = one_of(&finding(
            json!({"findingClass": sent, "parentDisplayName": detector}),
        ));
        assert_eq!(alert.class, class, "{sent} {detector}");
    }
    let alert = one_of(&finding(json!({"state": 2, "mute": 1})));
    assert!(alert.state.inactive && alert.state.suppressed);
    let alert = one_of(&finding(json!({"state": 1, "mute": 4})));
    assert!(!alert.state.inactive && !alert.state.suppressed);
}

#[test]
fn posture_findings_are_told_apart_by_their_category() {
    let alert = one_of(&finding(
        json!({"category": "PUBLIC_BUCKET_ACL", "findingClass": "MISCONFIGURATION",
        "compliances": [{"standard": "cis", "version": "1.2", "ids": ["5.1", "5.2"]}],
        "nextSteps": "Go to the bucket and remove allUsers."}),
    ));
    assert_eq!(alert.kind, "PUBLIC_BUCKET_ACL");
    assert_eq!(
        alert.details_of(DetailKind::Control).collect::<Vec<_>>(),
        ["PUBLIC_BUCKET_ACL", "cis 1.2 5.1", "cis 1.2 5.2"]
    );
    assert_eq!(
        alert.remediation.as_deref(),
        Some("Go to the bucket and remove allUsers.")
    );
}

#[test]
fn random_tails_are_no_part_of_the_type() {
    for (category, kind) in [
        (
            "Drift detected: 0f8fad5b-d9cb-469f-a165-70867728950e",
            "Drift detected",
        ),
        ("custom_check_9f86d081884c7d65", "custom_check"),
        ("Scan (1700000000123)", "Scan"),
        ("SQL_TRACE_FLAG_3625", "SQL_TRACE_FLAG_3625"),
        (
            "Breakglass Account Used: ops-1",
            "Breakglass Account Used: ops-1",
        ),
        ("Access: deadbeefdeadbeef", "Access: deadbeefdeadbeef"),
        ("9f86d081884c7d65", "9f86d081884c7d65"),
    ] {
        let alert = one_of(&finding(json!({"category": category})));
        assert_eq!(alert.kind, kind);
        assert_eq!(alert.title, category);
    }
}

#[test]
fn fields_that_exports_leave_empty_are_nothing() {
    let empty = one_of(&finding(json!({
        "access": {"principalEmail": "", "callerIp": "", "principalSubject": "user:a@example.com",
            "callerIpGeo": {"regionCode": ""}, "methodName": "", "serviceName": ""},
        "cloudArmor": {"requests": {"ratio": 0, "shortTermAllowed": 0}, "securityPolicy": {"preview": false},
            "duration": "0s"},
        "exfiltration": {"totalExfiltratedBytes": "0"},
        "aiModel": {"name": "", "deploymentPlatform": "DEPLOYMENT_PLATFORM_UNSPECIFIED"},
        "ipRules": {"direction": "DIRECTION_UNSPECIFIED", "allowed": {"ipRules": []}},
        "kernelRootkit": {"name": "", "unexpectedCodeModification": false},
        "vulnerability": {"cve": {"exploitationActivity": "EXPLOITATION_ACTIVITY_UNSPECIFIED", "zeroDay": false,
            "cvssv3": {"baseScore": 0}}, "offendingPackage": {"packageName": ""}},
        "sourceProperties": [], "job": {"state": "JOB_STATE_UNSPECIFIED", "errorCode": 0},
    })));
    assert_eq!(details(&empty), "");
    assert_eq!(parts(&empty), "actor principal a@example.com");
    assert_eq!(empty.outcome, None);
}

#[test]
fn aws_account_that_is_sent_as_a_number_keeps_its_leading_zero() {
    let message = json!({
        "finding": finding(json!({"resourceName": "//ec2.amazonaws.com/x"})),
        "resource": {"name": "//ec2.amazonaws.com/x", "type": "AWS::EC2::Instance",
            "cloudProvider": "AMAZON_WEB_SERVICES",
            "awsMetadata": {"account": {"id": 11_122_223_333_u64, "name": "pay"}}},
    });
    let alert = one_of(&message);
    assert_eq!(alert.account.as_deref(), Some("011122223333"));
    assert_eq!(alert.account_name.as_deref(), Some("pay"));
}
