//! Tests that vendors' names are not secrets: types, categories, controls, field names, resource ids.

use serde_json::json;

use crate::text::{JsonBounds, clean_json, redact};
use crate::vendor_names::{
    ASFF_RESOURCE_TYPES, AWS_FIELDS, GUARDDUTY_TYPES, OCSF_CLASSES, SCC_CATEGORIES, SCC_FIELDS,
    SECURITY_HUB_CONTROLS, camel_case, names, pairs,
};

/// Resource ids in the formats of the clouds.
const IDS: [&str; 40] = [
    "i-0abc1234def567890",
    "i-99999999",
    "sg-0123456789abcdef0",
    "vpc-0a1b2c3d4e5f60718",
    "subnet-0f1e2d3c4b5a69788",
    "eni-0123456789abcdef0",
    "vol-0a1b2c3d4e5f60718",
    "snap-0a1b2c3d4e5f60718",
    "ami-0a1b2c3d4e5f60718",
    "tgw-attach-0a1b2c3d4e5f60718",
    "eipalloc-0a1b2c3d4e5f60718",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "AROAJ2EXAMPLE7QX4DMKE2",
    "AIDACKCEVSQ6C2EXAMPLE",
    "AROAJ2EXAMPLE7QX4DMKE2:i-0abc1234def567890",
    "arn:aws:iam::111122223333:role/aws-service-role/Ec2DeployRoleV2",
    "arn:aws:s3:::pay-exports-9f3K2mQ8zR1",
    "arn:aws:securityhub:eu-west-1:111122223333:security-control/S3.8/finding/6f1e8a1c-2d3b-4c5d-8e9f-0a1b2c3d4e5f",
    "arn:aws:guardduty:eu-west-1:111122223333:detector/12abc34d567e8fa901bc2d34e56789f0/finding/5ac49b6c7d8e9f0a1b2c3d4e5f607182",
    "arn:aws-cn:ec2:cn-north-1:111122223333:instance/i-0abc1234def567890",
    "arn:aws-us-gov:lambda:us-gov-west-1:111122223333:function:PayExportV2Handler9",
    "arn:aws:elasticloadbalancing:eu-west-1:111122223333:loadbalancer/app/Pay2Web/50dc6c495c0c9188",
    "arn:aws:secretsmanager:eu-west-1:111122223333:secret:Pay2Db/Main-a1B2c3",
    "//compute.googleapis.com/projects/pay-prod-1/zones/europe-west1-b/instances/6871234567890123456",
    "//storage.googleapis.com/pay-exports-9f3K2mQ8zR1",
    "//container.googleapis.com/projects/pay-prod-1/locations/europe-west1/clusters/pay-1",
    "//cloudresourcemanager.googleapis.com/projects/123456789012",
    "organizations/123456789012/sources/5678901234567890123/findings/6b1e8a1c2d3b4c5d8e9f0a1b2c3d4e5f",
    "projects/pay-prod-1/serviceAccounts/svc-export@pay-prod-1.iam.gserviceaccount.com",
    "/subscriptions/6f1e8a1c-2d3b-4c5d-8e9f-0a1b2c3d4e5f/resourceGroups/Pay2Prod-Rg/providers/Microsoft.Compute/virtualMachines/Pay2Vm1",
    "/subscriptions/6F1E8A1C-2D3B-4C5D-8E9F-0A1B2C3D4E5F/resourceGroups/RG1/providers/Microsoft.Storage/storageAccounts/pay2exports",
    "6f1e8a1c-2d3b-4c5d-8e9f-0a1b2c3d4e5f",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "111122223333.dkr.ecr.eu-west-1.amazonaws.com/pay/api@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "AWSServiceRoleForAmazonGuardDuty",
    "AWSReservedSSO_AdministratorAccess_0123456789abcdef",
    "gke-pay-prod-1-default-pool-6a1b2c3d-x9k2",
    "pay-api-7d9f8b6c5d-x2k9q",
];

/// Returns all documented vendor names and sample ids, without duplicates.
fn vendors_names() -> Vec<String> {
    let one_column = [
        ASFF_RESOURCE_TYPES,
        AWS_FIELDS,
        GUARDDUTY_TYPES,
        SCC_FIELDS,
        SECURITY_HUB_CONTROLS,
    ];
    let two_columns = [SCC_CATEGORIES, OCSF_CLASSES].into_iter().flat_map(pairs);
    let mut all: Vec<String> = one_column
        .into_iter()
        .flat_map(names)
        .chain(two_columns.map(|(_, name)| name))
        .chain(IDS)
        .map(str::to_owned)
        .collect();
    all.extend(names(SCC_FIELDS).map(camel_case));
    assert!(all.len() > 4_000, "{}", all.len());
    all
}

#[test]
fn names_of_vendors_are_no_secrets() {
    let changed: Vec<(String, String)> = vendors_names()
        .iter()
        .flat_map(|name| {
            [
                name.clone(),
                format!("The finding {name} was reported for pay-1."),
                format!("type={name}"),
                format!("[{name}] should be looked at, see \"{name}\", ({name})."),
                format!("alerts/{name}/pay-1"),
                format!("{name}-1"),
            ]
        })
        .filter_map(|text| {
            let (clean, count) = redact(&text);
            (count > 0).then(|| (text.clone(), clean.into_owned()))
        })
        .collect();
    assert!(changed.is_empty(), "{changed:#?}");
}

/// Names of resources that CloudFormation and CDK made.
const STACK_NAMES: [&str; 8] = [
    "PayStack-OrdersQueueB7C1D2E3-Yk38gMq7StX6",
    "PayStack-AlarmTopicD01E77F9-m7PUFXK8GXMU",
    "pay-app-LogsBucket9C4D8843-1B3C5D7E9F1G",
    "PayStack-LedgerTable1F2B3C4D-1QAZ2WSX3EDC4",
    "PayStack-HandlerServiceRoleFCDC14AE-1A2B3C4D5E6F",
    "PayStack-ExportMachine2A3B4C5D-a8BcD7eFgH6i",
    "pay-WebServerRole-1XK3Q9Z2ABCDE",
    "eksctl-pay-nodegroup-ng1-NodeInstanceRole-1V4N8QW3K2J7P",
];

#[test]
fn names_by_cloudformation_are_no_secrets() {
    for name in STACK_NAMES {
        for text in [
            name.to_owned(),
            format!("Queue {name} is not encrypted."),
            format!("/aws/codebuild/{name}"),
            format!("name={name}, see {name}"),
            format!("arn:aws:sqs:eu-west-1:111122223333:{name}"),
        ] {
            assert_eq!(redact(&text), (text.as_str().into(), 0));
        }
    }
}

#[test]
fn a21_random_keys_with_a_short_tail_go() {
    for key in [
        "aB3xK9mQ2vR7tY5wZ1cD-Yk38gMq7StX6",
        "x9Kq2-Lm9Wn4Vb7Tc1Yd6-1B3C5D7E9F1G",
        "q7Zk2Vx9Lm4Tb8Rw3YdA1B2C3D4-m7PUFXK8GXMU",
    ] {
        assert_eq!(redact(&format!("found {key} there")).1, 1, "{key}");
    }
}

#[test]
fn words_about_a_secret_are_no_secret() {
    for text in [
        "Okta API token: created by admin",
        "Secret key: rotated 90 days ago",
        "credentials: leaked on GitHub.",
        "Secrets Manager secret: unused for 90 days",
        "password: compromised.",
        "MFA token: device lost",
        "private key: id_rsa is world readable",
        "User reset password: dana@corp.example",
        "Cookie: session fixation detected",
        "Kubernetes secret: default-token-x7k2m was read",
        "Secrets Manager secret: Pay/Main-a1B2c3 was read",
        "pwd: /var/www/html",
        r"OLDPWD=C:\Users\dana",
        "RSA SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDQqL2vqZ9bDsQJkYw",
    ] {
        assert_eq!(redact(text), (text.into(), 0));
    }
}

#[test]
fn a21_a_secret_in_a_sentence_goes() {
    for text in [
        "password: tigerlily",
        "The password: tigerlily was found",
        "password=compromised",
        "password = created",
        r#""password": "created""#,
        "API token: created1",
        "X-Api-Key: tigerlily",
        "API token: tigerlily",
        "token: 4f8a91c3d2b7",
        "API token: Tigerlily",
        "password: Dana7@corp.example",
        "password=dana@corp.example",
        "Cookie: a=b; session=tigerlily",
        "Cookie: session fixation7",
        "secret: tigerlily-horse",
        "Kubernetes password: tigerlily",
        "DB_PWD=/var/www",
        "net user dana Winter2026 && whoami",
        r"net use \\dc1\R&D Winter2026 /user:dana",
    ] {
        assert_eq!(redact(text).1, 1, "{text}");
    }
}

#[test]
fn names_of_vendors_stay_in_json() {
    for name in vendors_names() {
        let sent = json!({"type": name, "list": [name], name.clone(): 7});
        let mut value = sent.clone();
        let flags = clean_json(&mut value, &JsonBounds::default());
        assert_eq!((value, flags), (sent, vec![]), "{name}");
    }
}

#[test]
fn a21_random_keys_in_words_of_a_path_go() {
    for key in [
        "wJalrXUtnFEMI7K8MDENGbPxRfiCYEXAMPLEKEY",
        "aB3xK9mQ2vR7tY5wZ1cD",
        "Zx8Kq2Lm9Wn4Vb7Tc1Yd6Rf3",
        "Q2hhbmdlTWVQbGVhc2UxMjM0NTY3OA==",
    ] {
        for text in [
            format!("Backdoor:EC2/{key}"),
            format!("AwsEc2Instance {key}"),
            format!("/opt/PayExport/{key}/run"),
        ] {
            assert_eq!(redact(&text).1, 1, "{text}");
        }
    }
}
