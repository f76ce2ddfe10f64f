//! Tests the allowed addresses, and lost or refused calls when duplicates would be visible.

use chrono::{DateTime, Utc};
use nightshift_engine::key::KeySource;
use serde_json::Value;

use super::*;
use crate::fixture;
use crate::webhook::{Stub, say};

struct FixtureClock;

impl Clock for FixtureClock {
    fn now(&self) -> DateTime<Utc> {
        fixture::now()
    }
}

fn check(url: &str, access: &HttpOptions) -> Result<Url, DestinationError> {
    access.check("hook", "url", url)
}

#[test]
fn plain_http_goes_to_this_machine_only_unless_it_is_allowed() {
    for fits in [
        "https://soar.example.com/hooks/1?sig=x",
        "https://10.0.0.5/hook",
        "http://127.0.0.1:8080/",
        "http://localhost:8080/",
        "http://[::1]:8080/",
    ] {
        assert!(check(fits, &HttpOptions::default()).is_ok(), "{fits}");
    }
    for plain in [
        "http://soar.example.com/",
        "http://10.0.0.5/",
        "http://169.254.169.254/",
        "http://localhost.example.com/",
        "http://[::ffff:127.0.0.1]/",
    ] {
        let mut access = HttpOptions::default();
        let error = check(plain, &access).unwrap_err().to_string();
        assert!(error.contains("allow_private = true"), "{plain}: {error}");
        access.allow_private = true;
        assert!(check(plain, &access).is_ok(), "{plain}");
    }
}

#[test]
fn configuration_errors_are_named_without_possible_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("ca.pem");
    std::fs::write(&empty, "none\n").unwrap();
    let mut said = Vec::new();
    for (url, proxy, ca_file) in [
        ("hush/hush", None, None),
        ("ftp://example.com/hush", None, None),
        ("https://user:hush@example.com/", None, None),
        ("https://example.com/#hush", None, None),
        ("http://example.com/hush", None, None),
        ("https://example.com/hush", Some("socks9://u:hush@p"), None),
        ("https://example.com/hush", None, Some(empty)),
        (
            "https://example.com/hush",
            None,
            Some(dir.path().join("no.pem")),
        ),
    ] {
        let access = HttpOptions {
            proxy: proxy.map(str::to_owned),
            ca_file,
            ..HttpOptions::default()
        };
        let made = check(url, &access).and_then(|url| access.client("hook", &url));
        said.push(made.unwrap_err().to_string());
    }
    let said = said
        .join("\n")
        .replace(&dir.path().display().to_string(), "DIR");
    assert!(!said.contains("hush"), "{said}");
    insta::assert_snapshot!(said, @r#"
    [[destination]] "hook": `url` is no URL (relative URL without a base): write https://HOST/…
    [[destination]] "hook": `url` has the scheme "ftp": use https
    [[destination]] "hook": `url` holds a user or password: a secret has its own key
    [[destination]] "hook": `url` holds a fragment, which is never sent: leave it out
    [[destination]] "hook": `url` would send reports unencrypted: use https, or say `allow_private = true`
    [[destination]] "hook": `proxy` is no URL of a proxy: write http://HOST:PORT, or `none`
    [[destination]] "hook": `ca_file` DIR/ca.pem holds no certificate in PEM form
    [[destination]] "hook": `ca_file`: cannot read DIR/no.pem
    "#);
}

/// Returns how a call ends when the receiver answers with `says`.
async fn ends(says: &str, repeat: Repeat) -> String {
    let stub = Stub::start(vec![says.to_owned()]).await;
    ends_at(&stub.url, repeat).await
}

async fn ends_at(url: &str, repeat: Repeat) -> String {
    let url = Url::parse(url).unwrap();
    let caller = Caller::new(
        "hook",
        &url,
        &HttpOptions::default(),
        Arc::new(FixtureClock),
    )
    .unwrap();
    let request = caller.client().post(url).body("{}");
    let ended = match caller.send(request, repeat).await {
        Ok(answer) if answer.status().is_success() => answer.json::<Value>(64).await,
        Ok(answer) => Err(answer.refused("", |_| None).await),
        Err(error) => Err(error),
    };
    match ended {
        Ok(_) => "taken",
        Err(DeliveryError::Transient { .. }) => "later",
        Err(DeliveryError::Ambiguous { .. }) => "unclear",
        Err(DeliveryError::Permanent { .. }) => "never",
        Err(DeliveryError::Partial { .. }) => "partly",
        Err(DeliveryError::NotVisibleYet { .. }) => "settling",
    }
    .to_owned()
}

#[tokio::test]
async fn what_may_have_been_done_is_unclear_where_doubles_show() {
    for (says, doubles, harmless) in [
        (say(200, "", "{}"), "taken", "taken"),
        (String::new(), "unclear", "later"),
        (say(200, "", "{"), "unclear", "later"),
        (say(200, "", &"[1],".repeat(40)), "unclear", "later"),
        (
            "HTTP/1.1 200 X\r\ncontent-length: 99\r\n\r\n{".into(),
            "unclear",
            "later",
        ),
        (say(500, "", ""), "unclear", "later"),
        (say(502, "", ""), "unclear", "later"),
        (say(504, "", ""), "unclear", "later"),
        (say(503, "", ""), "unclear", "later"),
        (say(503, "retry-after: 7\r\n", ""), "later", "later"),
        (say(429, "", ""), "later", "later"),
        (say(400, "", ""), "never", "never"),
        (say(302, "", ""), "never", "never"),
    ] {
        assert_eq!(ends(&says, Repeat::Doubles).await, doubles, "{says}");
        assert_eq!(ends(&says, Repeat::Harmless).await, harmless, "{says}");
    }
    // Nothing listens on port 1, so nothing was sent.
    assert_eq!(
        ends_at("http://127.0.0.1:1/", Repeat::Doubles).await,
        "later"
    );
}

#[test]
fn a_secret_is_read_when_it_is_used_and_never_shown() {
    let url = Url::parse("https://example.com").unwrap();
    let caller = Caller::new("soc", &url, &HttpOptions::default(), Arc::new(FixtureClock)).unwrap();
    let of = |text: &'static str| -> KeySource { Arc::new(move || Ok(text.into())) };
    let read = caller.secret("token", &of(" xoxb-1 \n")).unwrap();
    assert_eq!(read.expose_secret(), "xoxb-1");
    for (wrong, says) in [
        ("", "is empty"),
        ("hush\nhush", "not allowed in a header"),
        ("hüsh", "not allowed in a header"),
    ] {
        let error = caller.secret("token", &of(wrong)).unwrap_err();
        assert!(matches!(error, DeliveryError::Transient { .. }));
        let what = error.to_string();
        assert!(
            what.starts_with("[[destination]] \"soc\": `token`") && what.contains(says),
            "{what}"
        );
        assert!(!what.contains("hush") && !what.contains("hüsh"), "{what}");
    }
}
