mod commands;
mod kinds;
mod vendors;

use proptest::prelude::*;

use self::kinds::{hex_noise, noise, secrets};
use super::*;
use crate::text::secrets::SecretPatterns;
use serde_json::Value;

use crate::text::sample::samples;
use crate::text::{JsonBounds, clean_json};
use crate::{Indicator, IndicatorKind, IndicatorRole};

#[test]
fn patterns_compile() {
    assert!(TRIGGERS.is_some() && KEY.is_some());
    let patterns = SecretPatterns::parse(include_str!("../secrets.toml")).unwrap();
    for secret in &patterns.kinds {
        assert!(
            Regex::new(&to_ascii_pattern(&secret.pattern)).is_ok(),
            "{secret:?}"
        );
    }
}

#[test]
fn a21_every_kind_of_secret_passes_the_cheap_look() {
    let triggers = TRIGGERS.as_ref().unwrap();
    let missed: Vec<(&str, String)> = PATTERNS
        .kinds
        .iter()
        .enumerate()
        .filter_map(|(index, secret)| {
            let missed = samples(&to_ascii_pattern(&secret.pattern))
                .into_iter()
                .find(|text| !triggers.matches(text).matched(index));
            missed.map(|text| (secret.kind.as_str(), text))
        })
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn a21_every_name_of_a_secret_passes_the_cheap_look() {
    let names = PATTERNS
        .secret_key
        .replace("^(?:.*[._-])?", "")
        .replace('$', "");
    for name in samples(&names) {
        assert!(ends_like_secret(&name), "{name:?}");
    }
}

#[test]
fn a21_more_than_fifty_kinds_of_secrets_go() {
    let kinds: std::collections::BTreeSet<&str> = secrets().iter().map(|(kind, _)| *kind).collect();
    assert!(kinds.len() >= 50, "{}", kinds.len());
    for secret in &PATTERNS.kinds {
        assert!(
            kinds.contains(secret.kind.as_str()),
            "{secret:?} has no example"
        );
    }
    for (kind, secret) in secrets() {
        let text = format!("before {secret} after");
        let (clean, count) = redact(&text);
        assert!(count >= 1, "{kind}: {text}");
        assert!(
            [']', '~']
                .iter()
                .any(|end| clean.contains(&format!("[redacted:{kind}{end}"))),
            "{kind}: {clean}"
        );
        assert!(
            clean.starts_with("before ") && clean.ends_with(" after")
                || kind.ends_with("_key")
                || kind == "authorization",
            "{kind}: {clean}"
        );
        // No window of twelve characters of the secret is left.
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
fn a21_no_half_of_a_secret_is_left_where_a_text_is_cut() {
    let bounds = JsonBounds {
        text_bytes: 2_560,
        ..JsonBounds::default()
    };
    let jwt = format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{} ", noise(43));
    let tokens = jwt.repeat(24);
    for (kind, secret) in secrets() {
        // A secret may begin just before the position where the text is cut.
        for before in 1..secret.len().min(100) {
            let room = bounds.text_bytes + 1_024 - '…'.len_utf8() - tokens.len() - before;
            let words: String = "a b ".chars().cycle().take(room - 1).collect();
            let text = format!("{tokens}{words} {secret} end");
            let mut value = Value::from(text);
            clean_json(&mut value, &bounds);
            let clean = value.as_str().unwrap();
            assert!(clean.len() < bounds.text_bytes && clean.contains("a b a b"));
            let left = clean.replace("[redacted:", "");
            for half in [
                &noise(6),
                &hex_noise(6),
                "Tr0u",
                "hunt",
                "S3cr",
                "corr",
                "wJal",
            ] {
                assert!(!left.contains(half), "{kind} {before}: {clean}");
            }
        }
    }
}

#[test]
fn a21_a_secret_behind_an_escape_goes() {
    for (before, after) in [
        (r#"{"out":"export\n"#, r#"\n"}"#),
        (r#"["a\\n"#, r#"\\n"]"#),
        (r"a\t\u0022", r"\u0022"),
        ("https://x.example/?q=%22", "%22&b=1"),
        (r"#!/bin/sh\n", r"\nexit"),
    ] {
        for (kind, secret) in [
            ("digitalocean_token", format!("dop_v1_{}", hex_noise(64))),
            ("shopify_token", format!("shpat_{}", hex_noise(32))),
            ("stripe_key", format!("sk_live_{}", noise(24))),
            (
                "slack_token",
                format!("xoxb-123456789012-123456789012-{}", noise(24)),
            ),
        ] {
            let text = format!("{before}{secret}{after}");
            let (clean, count) = redact(&text);
            assert!(clean.contains(&format!("[redacted:{kind}")), "{clean}");
            assert!(
                clean.starts_with(before) && clean.ends_with(after),
                "{clean}"
            );
            assert_eq!((count, redact(&clean).1), (1, 0));
        }
    }
    for command in [
        "curl -u admin:¤ https://x",
        "mysql -u root -p¤ db",
        "sshpass -p ¤ ssh h",
        "zip -P ¤ out.zip x",
        "app --db-password ¤ -x",
    ] {
        let (clean, _) = redact(command);
        assert_eq!(clean, command, "a sign is no secret");
        let text = format!(r"#!/bin/sh\n{command}\nexit").replace('¤', "Winterberg1703#");
        let (clean, count) = redact(&text);
        assert_eq!(count, 1);
        assert!(
            !clean.contains("Winter") && clean.ends_with(r"\nexit"),
            "{clean}"
        );
    }
    for text in [
        r"C:\new\tools\bob\notes.txt and \\nas\reports",
        r"risk\n task\n sk-\n key-\r",
        "https://x.example/a%20b?c=%22d%22&sort=%2Ddate",
    ] {
        assert_eq!(redact(text), (Cow::Borrowed(text), 0));
    }
}

/// Checks that the time stays bounded. Otherwise each value would be read to the end of the text again for every value
/// before it.
#[test]
fn a21_long_harmless_values_are_scanned_only_once() {
    let harmless = "Cookie: arn:aws:x ".repeat(20_000);
    let text = format!("{harmless}\nAuthorization: Bearer {}", noise(40));
    let (clean, count) = redact(&text);
    let rest = clean.strip_prefix(&harmless);
    assert_eq!(rest, Some("\nAuthorization: [redacted:bearer_token]"));
    assert_eq!(count, 1);
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
        "arn:aws:secretsmanager:eu-west-1:444455556666:secret:payments-abc123",
        "arn:aws-cn:secretsmanager:cn-north-1:444455556666:secret:prod/db/password-AbC123, then it left",
        r#"{"SecretId":"arn:aws:secretsmanager:eu-west-1:444455556666:secret:rds!db-c1a8d5d0-77a7-4a67-9f5c-6b9a4d0a9a02-AbC123"}"#,
        "AWS_SECRET_ARN=arn:aws:secretsmanager:eu-west-1:444455556666:secret:prod/token-AbC123:password::",
        "arn:aws:secretsmanager:eu-west-1:444455556666:secret:prod/db-AbC123:SecretString:password:AWSCURRENT",
        "arn:aws:secretsmanager:eu-west-1:444455556666:secret:db-AbC123:password::c1a8d5d0-77a7-4a67-9f5c-6b9a4d0a9a02",
        "arn:aws:secretsmanager:*:*:secret:prod-??????",
        "docker run --name login -p 8080:8080 nginx",
        "docker login -u x --password-stdin evil.com && docker run -p 8080:8080 nginx",
        "podman login -u x evil.com; mkdir -p /srv/data",
        "user could not login -p is no option",
        r#"{"authorization":{"action":"Microsoft.Compute/write"},"socket_cookie": 4242424242, "x": 1}"#,
    ] {
        assert_eq!(redact(text), (Cow::Borrowed(text), 0));
    }
}

#[test]
fn a21_a_password_of_a_login_goes() {
    for (command, clean) in [
        (
            "docker login -u x -p ¤ evil.com",
            "docker login -u x -p ¤ evil.com",
        ),
        (
            "sudo /usr/bin/docker login -p¤",
            "sudo /usr/bin/docker login -p¤",
        ),
        (
            "docker.exe --config C:\\x login -p=¤",
            "docker.exe --config C:\\x login -p=¤",
        ),
        (
            "podman login evil.com -p '¤ ¤' -u x",
            "podman login evil.com -p ¤ -u x",
        ),
        (
            r#"helm registry login -p "¤ ¤" evil.com"#,
            "helm registry login -p ¤ evil.com",
        ),
        (
            r#"{"cmd":"helm registry login -p \"¤\" x"}"#,
            r#"{"cmd":"helm registry login -p ¤ x"}"#,
        ),
        (
            "az login --service-principal -u x -p ¤ --tenant t",
            "az login --service-principal -u x -p ¤ --tenant t",
        ),
    ] {
        let mark = "[redacted:login_password]";
        let text = command.replace('¤', "S3cretPw");
        let clean = clean.replace('¤', mark);
        assert_eq!(redact(&text), (Cow::Owned(clean), 1));
    }
    for command in [
        "docker login -u x --password S3cretPw evil.com",
        "podman login --password=S3cretPw evil.com",
    ] {
        let clean = command.replace("S3cretPw", "[redacted:cli_password]");
        assert_eq!(redact(command), (Cow::Owned(clean), 1));
    }
}

#[test]
fn a21_cookies_in_json_as_text_go() {
    for (text, clean) in [
        (
            r#"{"headers":{"cookie":"session=tigerlily; theme=x","host":"evil.com"}}"#,
            r#"{"headers":{"cookie":"[redacted:authorization]","host":"evil.com"}}"#,
        ),
        (
            r#"{"cookies":{"a":{"value":"tigerlily"},"b":"tigerlily"},"host":"evil.com"}"#,
            r#"{"cookies":[redacted:cookies],"host":"evil.com"}"#,
        ),
        (
            r#"{"cookies": [{"name":"a","value":"x"},{"name":"b","value":"tigerlily"}], "y": 1}"#,
            r#"{"cookies": [redacted:cookies], "y": 1}"#,
        ),
        (
            "get(url, cookies={'session': 'tigerlily'})",
            "get(url, cookies=[redacted:cookies])",
        ),
    ] {
        assert_eq!(redact(text), (Cow::Owned(clean.to_owned()), 1));
        assert_eq!(redact(clean), (Cow::Borrowed(clean), 0));
    }
}

#[test]
fn a21_beside_the_arn_of_a_secret_secrets_go() {
    let arn = "arn:aws:secretsmanager:eu-west-1:444455556666:secret:";
    for (text, clean) in [
        ("secret: hunter2", "secret: ¤"),
        ("secret:hunter2", "secret:¤"),
        ("arn:aws:secret:hunter2", "arn:aws:secret:¤"),
        ("{arn} hunter2", "{arn} ¤"),
        ("{arn}db-AbC123 secret:hunter2", "{arn}db-AbC123 secret:¤"),
        (
            "{arn}db-AbC123,password=hunter2",
            "{arn}db-AbC123,password=¤",
        ),
        (
            "{arn}db-AbC123:password:hunter2",
            "{arn}db-AbC123:password:¤",
        ),
        (
            "{arn}db-AbC123?password=hunter2",
            "{arn}db-AbC123?password=¤",
        ),
        (
            "{arn}db-AbC123:password = hunter2",
            "{arn}db-AbC123:password = ¤",
        ),
    ] {
        let text = text.replace("{arn}", arn);
        let clean = clean.replace("{arn}", arn);
        let clean = clean.replace('¤', "[redacted:assigned_secret]");
        assert_eq!(redact(&text), (Cow::Owned(clean), 1));
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
    // Random text contains words now and then: one in a hundred may pass without a label.
    assert!(missed.len() <= 10, "{missed:?}");
}

fn indicator() -> impl Strategy<Value = Indicator> {
    let make = |kind: IndicatorKind| {
        move |text: String| Indicator::parse(kind, &text, IndicatorRole::Actor)
    };
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
        "arn:aws:secretsmanager:eu-west-1:[0-9]{12}:secret:(secret|token|[a-z]{1,9})/[A-Za-z0-9_+.@-]{1,20}-[A-Za-z0-9]{6}"
            .prop_filter_map("arn", |arn| {
                let typed = Indicator::parse(IndicatorKind::Arn, &arn, IndicatorRole::Actor)?;
                // The unparsed text, because parsed values are redacted already.
                Some(Indicator { value: arn, ..typed })
            }),
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
        key in "[a-zA-Z._-]{0,6}([pP]ass([wW](or)?d|[pP]hrase)?|pwd|[sS]ecret|[kK\u{212a}]ey|[tT]oken|[sS\u{17f}]tring|[aA]uthorization|[cC]oo[kK]ie[s\u{17f}]?|[_-]){1,3}[a-zA-Z_]?",
    ) {
        let is_secret = KEY.as_ref().unwrap().is_match(&snake_case(&key));
        prop_assert!(ends_like_secret(&key) || !is_secret, "{key:?}");
    }

    #[test]
    fn any_text_never_panics(text in "\\PC{0,120}") {
        let _ = redact(&text);
    }
}
