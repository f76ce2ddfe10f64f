//! Tests which configurations are served, and the errors for the others.

use super::*;

fn config(change: impl Fn(&mut WebConfig)) -> WebConfig {
    let mut config = WebConfig::default();
    change(&mut config);
    config
}

fn refused(change: impl Fn(&mut WebConfig)) -> String {
    config(change).check().unwrap_err().to_string()
}

fn proxy_of(header: &str, network: &str) -> TrustedProxy {
    TrustedProxy {
        header: header.into(),
        networks: vec![network.into()],
    }
}

#[test]
fn loopback_address_is_open_and_others_need_token_or_proxy() {
    for open in ["127.0.0.1:8080", "127.3.2.1:1", "[::1]:8080", "localhost:0"] {
        config(|web| web.listen = open.into()).check().unwrap();
    }
    for shut in [
        "0.0.0.0:8080",
        "[::]:8080",
        "10.0.0.7:80",
        "[::ffff:10.0.0.7]:80",
    ] {
        let told = refused(|web| web.listen = shut.into());
        assert!(
            told.contains("could read every case") && told.contains("tokens"),
            "{told}"
        );
        config(|web| {
            web.listen = shut.into();
            web.tokens = vec!["env:TOKEN".into()];
        })
        .check()
        .unwrap();
        config(|web| {
            web.listen = shut.into();
            web.trusted_proxies = vec![proxy_of("x-forwarded-user", "10.0.0.9")];
        })
        .check()
        .unwrap();
    }
}

#[test]
fn what_cannot_be_is_refused_with_how_to_mend_it() {
    type ConfigEdit = fn(&mut WebConfig);
    let cases: [(&str, ConfigEdit); 13] = [
        ("not an address and port", |web| web.listen = "8080".into()),
        ("metrics_listen", |web| {
            web.metrics_listen = "nowhere".into()
        }),
        ("public_url", |web| {
            web.public_url = "nightshift.example.com".into()
        }),
        ("public_url", |web| {
            web.public_url = "https://a.example/under".into()
        }),
        ("public_url", |web| {
            web.public_url = "https://u:hunter2@a.example".into()
        }),
        ("https://…@a.example", |web| {
            web.public_url = "https://u:hunter2@x@a.example/under".into()
        }),
        ("hosts", |web| web.hosts = vec!["u:hunter2@a".into()]),
        ("no host name", |web| web.hosts = vec!["https://a".into()]),
        ("in plain text", |web| {
            web.tokens = vec!["hunter2-hunter2-hunter2".into()]
        }),
        ("no name of a header", |web| {
            web.trusted_proxies = vec![proxy_of("a b", "10.0.0.0/8")]
        }),
        ("no network", |web| {
            web.trusted_proxies = vec![proxy_of("x-user", "ten")]
        }),
        ("covers all addresses", |web| {
            web.trusted_proxies = vec![proxy_of("x-user", "0.0.0.0/0")]
        }),
        ("no networks", |web| {
            web.trusted_proxies = vec![TrustedProxy {
                header: "x-user".into(),
                networks: Vec::new(),
            }];
        }),
    ];
    for (words, change) in cases {
        let told = refused(change);
        assert!(told.contains(words) && told.starts_with("[web] "), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}

#[test]
fn no_two_addresses_are_one() {
    let set = |listen: &str, metrics: &str, intake: &str| WebConfig {
        listen: listen.into(),
        metrics_listen: metrics.into(),
        intake_listen: intake.into(),
        tokens: vec!["env:TOKEN".into()],
        ..WebConfig::default()
    };
    for (listen, metrics, intake, said) in [
        (
            "127.0.0.1:1",
            "127.0.0.1:1",
            "",
            "listen and metrics_listen",
        ),
        ("127.0.0.1:1", "", "localhost:1", "listen and intake_listen"),
        (
            "127.0.0.1:1",
            "[::1]:2",
            "[::1]:2",
            "metrics_listen and intake_listen",
        ),
        (
            "0.0.0.0:1",
            "127.0.0.1:2",
            "10.0.0.7:1",
            "listen and intake_listen",
        ),
    ] {
        let told = set(listen, metrics, intake)
            .check()
            .unwrap_err()
            .to_string();
        assert!(told.contains(said) && told.starts_with("[web] "), "{told}");
    }
    for (listen, metrics, intake) in [
        ("127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"),
        ("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"),
        ("127.0.0.1:1", "10.0.0.7:1", "[::1]:1"),
    ] {
        set(listen, metrics, intake).check().unwrap();
    }
}

#[test]
fn a_token_that_is_missing_or_short_is_told_by_its_place_alone() {
    let web = config(|web| web.tokens = vec!["env:A".into(), "file:b".into()]);
    let short = |name: &str| {
        Ok(SecretString::from(match name {
            "env:A" => "0123456789abcdef0123456789abcdef",
            _ => "short",
        }))
    };
    let told = web.options(short).unwrap_err().to_string();
    assert!(
        told.contains("token 2 is shorter") && !told.contains("short\""),
        "{told}"
    );
    let told = web
        .options(|_| Err("A is not set".into()))
        .unwrap_err()
        .to_string();
    assert_eq!(told, "[web] tokens: cannot read token 1: A is not set");
}
