use proptest::prelude::*;

use super::*;

fn of(kind: IndicatorKind, text: &str) -> Vec<String> {
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
        of(IndicatorKind::Ip, text),
        ["185.220.101.42", "2001:db8::1", "203.0.113.7"]
    );
    assert_eq!(
        of(IndicatorKind::Url, text),
        ["https://evil.example.com/a?b=c"]
    );
    assert_eq!(of(IndicatorKind::Email, text), ["bob@evil.com"]);
    assert_eq!(of(IndicatorKind::Cve, text), ["CVE-2023-32784"]);
    assert_eq!(
        of(IndicatorKind::Hash, text),
        ["d41d8cd98f00b204e9800998ecf8427e"]
    );
    assert_eq!(
        of(IndicatorKind::Arn, text),
        ["arn:aws:iam::123456789012:role/x"]
    );
    let domains = of(IndicatorKind::Domain, text);
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
        of(IndicatorKind::Domain, "see a.b.co.uk and münchen.de!"),
        ["a.b.co.uk", "xn--mnchen-3ya.de"]
    );
    assert_eq!(of(IndicatorKind::Domain, "queries 3322.org."), ["3322.org"]);
    assert_eq!(
        of(IndicatorKind::Domain, "x.duckdns.org"),
        ["x.duckdns.org"]
    );
}

#[test]
fn indicators_are_canonical_or_none() {
    let parse =
        |kind, text| Indicator::parse(kind, text, Role::Actor).map(|indicator| indicator.value);
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
    let parse = |text| Indicator::parse(IndicatorKind::Email, text, Role::Actor);
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
            let again = Indicator::parse(kind, &value, Role::Related).unwrap();
            prop_assert_eq!(again.value, value);
        }
    }
}
