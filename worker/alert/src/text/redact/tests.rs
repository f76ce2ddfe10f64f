use proptest::prelude::*;

use super::*;
use crate::text::sample::samples;
use crate::{Indicator, IndicatorKind, Role};

/// Letters and digits that look random, so that formats are filled in and never a real secret.
fn noise(length: usize) -> String {
    "q7Zk2Vx9Lm4Tb8Rw3Yd6Nc1Hf5Gs0Jp"
        .chars()
        .cycle()
        .take(length)
        .collect()
}

fn hex_noise(length: usize) -> String {
    "a3f09c71be52d846".chars().cycle().take(length).collect()
}

/// What stands in a text for each kind, and the kind's name.
#[expect(clippy::too_many_lines, reason = "a table, one line per secret")]
fn secrets() -> Vec<(&'static str, String)> {
    let (n, h) = (noise, hex_noise);
    vec![
        (
            "private_key",
            format!(
                "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
                n(64)
            ),
        ),
        (
            "private_key",
            format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{}", n(64)),
        ),
        (
            "putty_key",
            format!(
                "PuTTY-User-Key-File-2: ssh-rsa\n{}\nPrivate-MAC: {}",
                n(64),
                h(40)
            ),
        ),
        (
            "age_key",
            format!("AGE-SECRET-KEY-1{}", n(58).to_uppercase()),
        ),
        (
            "aws_secret_key",
            format!("aws_secret_access_key = {}", n(40)),
        ),
        ("aws_session_token", format!("IQoJb3JpZ2luX2Vj{}", n(120))),
        (
            "aws_presigned_signature",
            format!("https://b.s3.amazonaws.com/k?X-Amz-Signature={}", h(64)),
        ),
        ("aws_bedrock_key", format!("ABSK{}", n(120))),
        (
            "aws_mws_key",
            format!("amzn.mws.{}-{}-{}-{}-{}", h(8), h(4), h(4), h(4), h(12)),
        ),
        ("google_api_key", format!("AIza{}", n(35))),
        ("google_oauth_token", format!("ya29.{}", n(60))),
        ("google_refresh_token", format!("1//0{}", n(40))),
        ("google_oauth_secret", format!("GOCSPX-{}", n(28))),
        (
            "azure_storage_key",
            format!("AccountName=x;AccountKey={}==", n(86)),
        ),
        (
            "azure_sas_signature",
            format!("https://x.blob.core.windows.net/c?sv=2020&sig={}%3D", n(43)),
        ),
        (
            "azure_shared_access_key",
            format!("Endpoint=sb://x/;SharedAccessKey={}=", n(43)),
        ),
        ("azure_client_secret", format!("abc8Q~{}", n(33))),
        ("azure_devops_token", format!("{}AZDO{}", n(76), n(4))),
        ("digitalocean_token", format!("dop_v1_{}", h(64))),
        ("heroku_key", format!("HRKU-{}", n(60))),
        ("fly_token", format!("fo1_{}", n(43))),
        ("github_token", format!("ghp_{}", n(36))),
        ("github_token", format!("github_pat_{}", n(82))),
        ("gitlab_token", format!("glpat-{}", n(20))),
        ("bitbucket_token", format!("ATBB{}", n(32))),
        ("atlassian_token", format!("ATATT3{}", n(180))),
        ("npm_token", format!("npm_{}", n(36))),
        ("pypi_token", format!("pypi-{}", n(80))),
        ("crates_token", format!("cio{}", n(32))),
        ("rubygems_token", format!("rubygems_{}", h(48))),
        ("nuget_key", format!("oy2{}", n(43).to_lowercase())),
        ("docker_token", format!("dckr_pat_{}", n(27))),
        ("docker_auth", format!("{{\"auth\": \"{}\"}}", n(24))),
        ("terraform_token", format!("{}.atlasv1.{}", n(14), n(67))),
        ("vault_token", format!("hvs.{}", n(90))),
        ("pulumi_token", format!("pul-{}", h(40))),
        ("sonar_token", format!("squ_{}", h(40))),
        ("circleci_token", format!("CCIPAT_{}", n(40))),
        ("anthropic_key", format!("sk-ant-api03-{}", n(90))),
        ("openai_key", format!("sk-proj-{}", n(90))),
        ("huggingface_token", format!("hf_{}", n(34))),
        ("groq_key", format!("gsk_{}", n(52))),
        (
            "slack_token",
            format!("xoxb-123456789012-123456789012-{}", n(24)),
        ),
        (
            "slack_webhook",
            format!(
                "https://hooks.slack.com/services/T00000000/B00000000/{}",
                n(24)
            ),
        ),
        (
            "discord_webhook",
            format!(
                "https://discord.com/api/webhooks/123456789012345678/{}",
                n(68)
            ),
        ),
        ("telegram_token", format!("123456789:AA{}", n(33))),
        ("twilio_key", format!("SK{}", h(32))),
        ("sendgrid_key", format!("SG.{}.{}", n(22), n(43))),
        ("mailgun_key", format!("key-{}", h(32))),
        ("mailchimp_key", format!("{}-us12", h(32))),
        ("stripe_key", format!("sk_live_{}", n(24))),
        ("square_token", format!("sq0atp-{}", n(22))),
        ("shopify_token", format!("shpat_{}", h(32))),
        ("datadog_key", format!("DD_API_KEY={}", h(32))),
        ("newrelic_key", format!("NRAK-{}", n(27).to_uppercase())),
        ("grafana_token", format!("glsa_{}_{}", n(32), h(8))),
        (
            "dynatrace_token",
            format!("dt0c01.{}.{}", n(24).to_uppercase(), n(64).to_uppercase()),
        ),
        ("databricks_token", format!("dapi{}", h(32))),
        ("doppler_token", format!("dp.pt.{}", n(43))),
        ("tailscale_key", format!("tskey-auth-{}", n(32))),
        ("notion_token", format!("ntn_{}", n(46))),
        ("airtable_token", format!("pat{}.{}", n(14), h(64))),
        ("postman_key", format!("PMAK-{}-{}", h(24), h(34))),
        (
            "alibaba_key",
            format!("aliyun_key={}", n(30).to_lowercase()),
        ),
        ("cloudflare_key", format!("cfut_{}", n(40))),
        ("artifactory_token", format!("AKCp{}", n(69))),
        ("buildkite_token", format!("bkua_{}", h(40))),
        ("openrouter_key", format!("sk-or-v1-{}", h(64))),
        ("replicate_token", format!("r8_{}", n(37))),
        ("xai_key", format!("xai-{}", n(80))),
        (
            "teams_webhook",
            format!("https://x.webhook.office.com/webhookb2/{}", n(60)),
        ),
        (
            "postmark_token",
            format!("X-Postmark-Server-Token: {}", h(36)),
        ),
        ("pagerduty_key", format!("pagerduty_key: {}", n(20))),
        (
            "paypal_token",
            format!("access_token$production${}${}", h(16), h(32)),
        ),
        ("facebook_token", format!("EAA{}", n(80))),
        ("sentry_token", format!("sntrys_{}", n(60))),
        ("planetscale_token", format!("pscale_tkn_{}", n(43))),
        ("supabase_key", format!("sbp_{}", h(40))),
        ("onepassword_token", format!("ops_eyJ{}", n(80))),
        ("linear_key", format!("lin_api_{}", n(40))),
        ("figma_token", format!("figd_{}", n(40))),
        (
            "jwt",
            format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{}", n(43)),
        ),
        (
            "url_password",
            "postgres://app:Tr0ub4dor@db.internal/prod".to_owned(),
        ),
        ("bearer_token", format!("Bearer {}", n(32))),
        ("basic_auth", "Basic dXNlcjpwYXNzd29yZA==".to_owned()),
        (
            "authorization",
            format!("Cookie: session={}; path=/", n(12)),
        ),
        (
            "cli_password",
            "app --password hunter2secret --verbose".to_owned(),
        ),
        ("mysql_password", "mysql -u root -pS3cretPw db".to_owned()),
        (
            "curl_password",
            "curl -s -u admin:S3cretPw https://x".to_owned(),
        ),
        ("sshpass", "sshpass -p S3cretPw ssh host".to_owned()),
        ("password_hash", format!("$2b$12${}", n(53))),
        (
            "assigned_secret",
            "export DB_PASSWORD=correct-horse".to_owned(),
        ),
        (
            "assigned_secret",
            r#"{\"client_secret\": \"abcdef123\"}"#.to_owned(),
        ),
        ("high_entropy", format!("found {} in a file", n(40))),
        (
            "high_entropy",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
        ),
        (
            "high_entropy",
            "id 8kq2m5z9x1c7v3b0n4l6j8h2g5f9d1s3 end".to_owned(),
        ),
    ]
}

#[test]
fn patterns_compile() {
    assert!(TRIGGERS.is_some() && KEY.is_some());
    for (kind, _, pattern) in SECRETS {
        assert!(Regex::new(&ascii(pattern)).is_ok(), "{kind}");
    }
}

#[test]
fn a21_every_kind_of_secret_passes_the_cheap_look() {
    let triggers = TRIGGERS.as_ref().unwrap();
    let missed: Vec<(&str, String)> = SECRETS
        .iter()
        .enumerate()
        .filter_map(|(index, (kind, _, pattern))| {
            let missed = samples(&ascii(pattern))
                .into_iter()
                .find(|text| !triggers.matches(text).matched(index));
            missed.map(|text| (*kind, text))
        })
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn a21_every_name_of_a_secret_passes_the_cheap_look() {
    let names = SECRET_KEY.replace("^(?:.*[._-])?", "").replace('$', "");
    for name in samples(&names) {
        assert!(ends_like_secret(&name), "{name:?}");
    }
}

#[test]
fn a21_more_than_fifty_kinds_of_secrets_go() {
    let kinds: std::collections::BTreeSet<&str> = secrets().iter().map(|(kind, _)| *kind).collect();
    assert!(kinds.len() >= 50, "{}", kinds.len());
    for (kind, _, _) in SECRETS {
        assert!(kinds.contains(kind), "{kind} has no example");
    }
    for (kind, secret) in secrets() {
        let text = format!("before {secret} after");
        let (clean, count) = redact(&text);
        assert!(count >= 1, "{kind}: {text}");
        assert!(
            clean.contains(&format!("[redacted:{kind}]")),
            "{kind}: {clean}"
        );
        assert!(
            clean.starts_with("before ") && clean.ends_with(" after")
                || kind.ends_with("_key")
                || kind == "authorization",
            "{kind}: {clean}"
        );
        // The secret's own characters are gone: no window of twelve of the noise is left.
        let left = clean.replace("[redacted:", "").replace("amazonaws", "");
        for window in [
            noise(12),
            hex_noise(12),
            "hunter2".into(),
            "S3cretPw".into(),
            "Tr0ub4dor".into(),
            "correct-horse".into(),
        ] {
            assert!(!left.contains(&window), "{kind}: {clean}");
        }
        let (again, none) = redact(&clean);
        assert_eq!((again.as_ref(), none), (clean.as_ref(), 0), "{kind}");
    }
}

#[test]
fn a21_what_only_looks_like_a_secret_stays() {
    for text in [
        "d41d8cd98f00b204e9800998ecf8427e",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "c1a8d5d0-77a7-4a67-9f5c-6b9a4d0a9a02",
        "arn:aws:guardduty:eu-west-1:444455556666:detector/12abc34d567e8fa901bc2d34e56789f0/finding/a4c9b1d2e3f405162738495a6b7c8d9e",
        "arn:aws:sts::444455556666:assumed-role/AWSReservedSSO_Admin_0123456789abcdef/Jane.Doe9",
        "AKIAEXAMPLE00000001 ASIAEXAMPLEKEY000001 AROAEXAMPLEROLE000001:i-0a1b2c3d4e5f60718",
        "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
        "UnauthorizedAccess:IAMUser/InstanceCredentialExfiltration.OutsideAWS",
        "GeneratedFindingSecurityGroupName1 GetAccountAuthorizationDetails2",
        "//compute.googleapis.com/projects/production-project-12345/zones/us-central1-a/instances/web-server-prod-01",
        "organizations/123456789012/sources/1234567890123456789/findings/b9c8d7e6f5a4b3c2d1e0",
        "web-7d4b9c6f5d-x2x8k.shop.svc.cluster.local",
        "/lib/x86_64-linux-gnu/libpthread.so.0 /usr/lib/python3.11/site-packages/urllib3/connectionpool.py",
        "2026-03-02T02:36:02.118Z 1772420400000 52.18.4.201",
        "https://attack.mitre.org/techniques/T1496/ https://docs.aws.amazon.com/guardduty/latest/ug/guardduty_finding-types-iam.html#unauthorizedaccess-iam-instancecredentialexfiltrationoutsideaws",
        "aws-cli/2.15.30 Python/3.11.8 Linux/6.1.0-17-cloud-amd64 exe/x86_64.debian.12 prompt/off",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0",
        "user must change password: required",
        "The token was used from an external IP address.",
        "AWSServiceRoleForAmazonElasticKubernetesService",
        "eni-0f00ba4 subnet-0aa11bb22cc33dd44 ami-0123456789abcdef0",
    ] {
        assert_eq!(redact(text), (Cow::Borrowed(text), 0));
    }
}

#[test]
fn a21_what_overlaps_goes_whole() {
    let jwt = format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{}", noise(43));
    for (text, clean) in [
        (
            format!("Cookie: jwt={jwt}; sessionid=tigerlily77"),
            "Cookie: [redacted:jwt]",
        ),
        (
            format!("Cookie: sessionid=tigerlily77; jwt={jwt}; other=tigerlily78\nHost: evil.com"),
            "Cookie: [redacted:jwt]\nHost: evil.com",
        ),
        (
            format!("Authorization: Bearer {jwt} from 203.0.113.9"),
            "Authorization: [redacted:jwt] from 203.0.113.9",
        ),
        (
            format!("--token={jwt},tigerlily77"),
            "--token=[redacted:jwt]",
        ),
        (
            "X-Amz-Security-Token=0123456789abcdef&a=b".to_owned(),
            "X-Amz-Security-Token=[redacted:aws_presigned_signature]&a=b",
        ),
    ] {
        assert_eq!(redact(&text), (Cow::Owned(clean.to_owned()), 1));
        assert_eq!(redact(clean), (Cow::Borrowed(clean), 0));
    }
}

#[test]
fn a21_random_keys_of_forty_characters_go() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let keys: Vec<String> = (0..1_000)
        .map(|_| "[A-Za-z0-9+]{40}".new_tree(&mut runner).unwrap().current())
        .collect();
    let missed: Vec<&String> = keys.iter().filter(|key| redact(key).1 == 0).collect();
    // Chance writes words now and then: one in a hundred may pass without a label.
    assert!(missed.len() <= 10, "{missed:?}");
}

fn indicator() -> impl Strategy<Value = Indicator> {
    let make = |kind: IndicatorKind| move |text: String| Indicator::parse(kind, &text, Role::Actor);
    prop_oneof![
        any::<std::net::Ipv4Addr>()
            .prop_map(|ip| ip.to_string())
            .prop_filter_map("ip", make(IndicatorKind::Ip)),
        any::<std::net::Ipv6Addr>()
            .prop_map(|ip| ip.to_string())
            .prop_filter_map("ip", make(IndicatorKind::Ip)),
        "[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128}"
            .prop_filter_map("hash", make(IndicatorKind::Hash)),
        "(AKIA|ASIA)[A-Z0-9]{16}".prop_filter_map("key", make(IndicatorKind::AccessKey)),
        "arn:aws:[a-z]{2,8}:eu-west-1:[0-9]{12}:[a-z]{3,8}/[A-Za-z0-9]{5,30}"
            .prop_filter_map("arn", make(IndicatorKind::Arn)),
        "CVE-20[0-9]{2}-[0-9]{4,6}".prop_filter_map("cve", make(IndicatorKind::Cve)),
        "i-[0-9a-f]{17}".prop_filter_map("instance", make(IndicatorKind::Instance)),
        "0x[0-9a-f]{40}".prop_filter_map("wallet", make(IndicatorKind::Wallet)),
    ]
}

proptest! {
    #[test]
    fn a21_redaction_never_alters_typed_indicators(indicator in indicator(), before in "[a-z ]{0,12}", after in "[a-z ]{0,12}") {
        let text = format!("{before} {} {after}", indicator.value);
        let (clean, count) = redact(&text);
        prop_assert_eq!(clean.as_ref(), text.as_str());
        prop_assert_eq!(count, 0);
    }

    #[test]
    fn a21_a_key_that_is_spared_the_pattern_is_none(
        key in "[a-zA-Z._-]{0,6}([pP]ass([wW](or)?d|[pP]hrase)?|pwd|[sS]ecret|[kK\u{212a}]ey|[tT]oken|[sS\u{17f}]tring|[aA]uthorization|[cC]oo[kK]ie|[_-]){1,3}[a-zA-Z_]?",
    ) {
        let is_secret = KEY.as_ref().unwrap().is_match(&words(&key));
        prop_assert!(ends_like_secret(&key) || !is_secret, "{key:?}");
    }

    #[test]
    fn any_text_never_panics(text in "\\PC{0,120}") {
        let _ = redact(&text);
    }
}
