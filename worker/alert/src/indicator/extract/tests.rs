use proptest::prelude::*;

use super::*;

fn values_of_kind(kind: IndicatorKind, text: &str) -> Vec<String> {
    extract(text)
        .into_iter()
        .filter(|(found, _)| *found == kind)
        .map(|(_, value)| value)
        .collect()
}

#[test]
fn patterns_compile() {
    for pattern in [
        &URL,
        &EMAIL,
        &IPV4,
        &IPV6,
        &DOMAIN,
        &ASCII_DOMAIN,
        &HASH,
        &ARN,
        &CVE,
    ] {
        assert!(pattern.is_some());
    }
}

proptest! {
    #[test]
    fn domains_of_ascii_are_the_same(text in "[aZ0_./:@x-]{0,24}", more in "[ -~]{0,40}") {
        for text in [text, more] {
            prop_assert_eq!(matches(&ASCII_DOMAIN, &text, 9), matches(&DOMAIN, &text, 9));
        }
    }
}

#[test]
fn each_kind_is_found_plain_and_defanged() {
    let text = "From 185.220.101[.]42, 2001:db8::1 and ::ffff:203.0.113.7 to hxxps://evil[.]example[.]com/a?b=c, \
        mail bob@Evil.com, CVE-2023-32784 (d41d8cd98f00b204e9800998ecf8427e) by arn:aws:iam::123456789012:role/x; pool.minexmr.com:4444.";
    assert_eq!(
        values_of_kind(IndicatorKind::Ip, text),
        ["185.220.101.42", "2001:db8::1", "203.0.113.7"]
    );
    assert_eq!(
        values_of_kind(IndicatorKind::Url, text),
        ["https://evil.example.com/a?b=c"]
    );
    assert_eq!(values_of_kind(IndicatorKind::Email, text), ["bob@evil.com"]);
    assert_eq!(values_of_kind(IndicatorKind::Cve, text), ["CVE-2023-32784"]);
    assert_eq!(
        values_of_kind(IndicatorKind::Hash, text),
        ["d41d8cd98f00b204e9800998ecf8427e"]
    );
    assert_eq!(
        values_of_kind(IndicatorKind::Arn, text),
        ["arn:aws:iam::123456789012:role/x"]
    );
    let domains = values_of_kind(IndicatorKind::Domain, text);
    for domain in ["evil.example.com", "evil.com", "pool.minexmr.com"] {
        assert!(domains.contains(&domain.to_owned()), "{domains:?}");
    }
}

#[test]
fn files_versions_fields_and_methods_are_no_domains() {
    for text in [
        "run.sh and /tmp/x.com and C:\\a\\b.com main.py libc.so.6 archive.zip README.md",
        "v1.compute.instances.start google.cloud.compute.Instance actor.user.name src_endpoint.ip",
        "Python/3.11.8 Chrome/120.0.0.0 at 12:30:45 version 1.2.3 AWS::IAM::AccessKey std::fmt",
        "finding.state is e.g. this, i.e. that",
        "foo.invalidtld com co.uk",
    ] {
        assert_eq!(extract(text), [], "{text}");
    }
}

#[test]
fn domains_know_public_suffixes() {
    assert_eq!(
        values_of_kind(IndicatorKind::Domain, "see a.b.co.uk and münchen.de!"),
        ["a.b.co.uk", "xn--mnchen-3ya.de"]
    );
    assert_eq!(
        values_of_kind(IndicatorKind::Domain, "queries 3322.org."),
        ["3322.org"]
    );
    assert_eq!(
        values_of_kind(IndicatorKind::Domain, "x.duckdns.org"),
        ["x.duckdns.org"]
    );
}

#[test]
fn indicators_are_canonical_or_none() {
    let parse = |kind, text| {
        Indicator::parse(kind, text, IndicatorRole::Actor).map(|indicator| indicator.value)
    };
    for (kind, text, value) in [
        (IndicatorKind::Ip, "2001:0DB8:0:0::1", Some("2001:db8::1")),
        (IndicatorKind::Ip, "::ffff:1.2.3.4", Some("1.2.3.4")),
        (IndicatorKind::Ip, "1[.]2[.]3[.]4", Some("1.2.3.4")),
        (IndicatorKind::Ip, "01.2.3.4", None),
        (IndicatorKind::Ip, "1.2.3.4/24", None),
        (IndicatorKind::Domain, "Evil[.]COM.", Some("evil.com")),
        (IndicatorKind::Domain, "localhost", None),
        (IndicatorKind::Domain, "a b.com", None),
        (IndicatorKind::Domain, "1.2.3.4", None),
        (IndicatorKind::Domain, "<secret>.evil.example", None),
        (
            IndicatorKind::Url,
            "hxxp://Evil[.]com/A",
            Some("http://evil.com/A"),
        ),
        (
            IndicatorKind::Url,
            "stratum+tcp://pool.minexmr.com:4444",
            Some("stratum+tcp://pool.minexmr.com:4444"),
        ),
        (IndicatorKind::Url, "javascript:alert(1)", None),
        (
            IndicatorKind::Url,
            "https://u:hunter22@evil.com/",
            Some("https://u:[redacted:url_password]@evil.com/"),
        ),
        (
            IndicatorKind::Hash,
            "sha256:D41D8CD98F00B204E9800998ECF8427ED41D8CD98F00B204E9800998ECF8427E",
            Some("d41d8cd98f00b204e9800998ecf8427ed41d8cd98f00b204e9800998ecf8427e"),
        ),
        (
            IndicatorKind::Hash,
            "sha256:a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6",
            None,
        ),
        (
            IndicatorKind::AccessKey,
            "AKIAEXAMPLE00000001",
            Some("AKIAEXAMPLE00000001"),
        ),
        (
            IndicatorKind::AccessKey,
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            None,
        ),
        (IndicatorKind::Cve, "cve-2023-32784", Some("CVE-2023-32784")),
        (
            IndicatorKind::Principal,
            " ci\u{200b}-deployer\n",
            Some("ci-deployer#hidden-5bbc4008086454ef"),
        ),
        (IndicatorKind::Principal, "", None),
    ] {
        assert_eq!(parse(kind, text).as_deref(), value, "{kind} {text:?}");
    }
}

#[test]
fn only_letters_of_ascii_have_case_in_a_mail_address() {
    let parse = |text| Indicator::parse(IndicatorKind::Email, text, IndicatorRole::Actor);
    assert_eq!(
        parse("Mike@Shop.example").unwrap().value,
        "mike@shop.example"
    );
    assert_eq!(parse("mi\u{212a}e@shop.example"), None);
}

proptest! {
    #[test]
    fn any_text_never_panics_and_what_is_found_parses_to_itself(text in "[a-zA-Z0-9.:/@\\[\\]() é_-]{0,80}") {
        for (kind, value) in extract(&text) {
            let again = Indicator::parse(kind, &value, IndicatorRole::Related).unwrap();
            prop_assert_eq!(again.value, value);
        }
    }
}

#[test]
fn a21_a_url_holds_nothing_that_is_taken_out_of_a_text() {
    let random = "q7Zk2Vx9Lm4Tb8Rw3Yd6Nc1Hf5Gs0Jp";
    let hex = "a3f09c71be52d846a3f09c71be52d846a3f09c71";
    for (url, clean) in [
        (
            format!("https://api.telegram.org/bot5260181590:AA{random}Xy/sendMessage"),
            "https://api.telegram.org/bot[redacted:telegram_token~da76bf17086e9605]/sendMessage",
        ),
        (
            format!("https://discord.com/api/v10/webhooks/123456789012345678/{random}{random}"),
            "https://discord.com/api/v10/webhooks/[redacted:discord_webhook~9a7580ebf79fc36f]",
        ),
        (
            format!("https://hooks.slack-gov.com/services/T0000000/B0000000/{random}"),
            "https://hooks.slack-gov.com/services/[redacted:slack_webhook~68989a0bcecd5681]",
        ),
        (
            format!("https://storage.googleapis.com/b/o?X-Goog-Signature={hex}&x=1"),
            "https://storage.googleapis.com/b/o?X-Goog-Signature=[redacted:url_parameter]&x=1",
        ),
        (
            format!(
                "https://b.s3.amazonaws.com/k?AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Signature={random}%3D"
            ),
            "https://b.s3.amazonaws.com/k?AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Signature=[redacted:url_parameter]",
        ),
        (
            format!("https://app.example.com/cb?code={hex}&state=x"),
            "https://app.example.com/cb?code=[redacted:url_parameter]&state=x",
        ),
        (
            format!("https://app.example.com/x?auth={hex}"),
            "https://app.example.com/x?auth=[redacted:url_parameter]",
        ),
        (
            format!("https://app.example.com/acs?SAMLResponse={random}{random}"),
            "https://app.example.com/acs?SAMLResponse=[redacted:url_parameter]",
        ),
        (
            format!("https://{hex}@github.com/x/y.git"),
            "https://[redacted:url_password]@github.com/x/y.git",
        ),
        (
            format!("https://{random}@git.example.com/{random}/x?{random}#{random}"),
            "https://[redacted:high_entropy]@git.example.com/[redacted:high_entropy~5acc873089eb85b2]/x?[redacted:high_entropy~5acc873089eb85b2]#[redacted:high_entropy~5acc873089eb85b2]",
        ),
    ] {
        let found = Indicator::parse(IndicatorKind::Url, &url, IndicatorRole::Related).unwrap();
        assert_eq!(found.value, clean);
        assert_eq!(
            values_of_kind(IndicatorKind::Url, &format!("got {url} it"))[0].trim_end_matches(']'),
            clean.trim_end_matches(']')
        );
        let (text, _) = crate::text::redact(&url);
        assert_eq!(text, clean, "in a text too");
    }
}

#[test]
fn what_a_url_says_of_its_place_stays() {
    let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    for url in [
        format!("https://www.virustotal.com/gui/file/{digest}"),
        "http://kq2m5z9x1c7v3b0n4l6j8h2g5f9d1s3x.evil.com:8080/payloads/Stage2-Loader_x64.exe".to_owned(),
        "https://raw.githubusercontent.com/org/Repo-Name_2/main/scripts/Install-Agent.ps1?raw=true".to_owned(),
        "s3://prod-customer-data-eu-west-1/2026/11/22/export-000123.parquet".to_owned(),
        "https://console.aws.amazon.com/ec2/home?region=eu-west-1#Instances:instanceId=i-0a1b2c3d4e5f60718".to_owned(),
    ] {
        let found = Indicator::parse(IndicatorKind::Url, &url, IndicatorRole::Related).unwrap();
        assert_eq!(found.value, url);
    }
}
