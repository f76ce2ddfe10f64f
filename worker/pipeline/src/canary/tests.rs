//! Tests that canaries are recognised by their signature alone.

mod attacks;
mod sending;

use std::sync::Arc;

use super::*;

const EVERY: Duration = Duration::from_secs(900);
const KEY: &str = "0123456789abcdef0123456789abcdef";

fn noon() -> DateTime<Utc> {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

fn after(secs: i64) -> DateTime<Utc> {
    noon() + TimeDelta::seconds(secs)
}

fn signed_with(keys: &'static str) -> Canary {
    Canary {
        source: "siem".to_owned(),
        every: EVERY,
        keys: Arc::new(move || match keys {
            "" => Err("the file is gone".to_owned()),
            keys => Ok(keys.into()),
        }),
    }
}

#[test]
fn an_interval_begins_by_the_clock_and_not_with_the_process() {
    let canary = signed_with(KEY);
    let (number, left) = canary.interval(noon());
    assert_eq!(left, EVERY);
    let (same, left) = canary.interval(after(899));
    assert_eq!((same, left), (number, Duration::from_secs(1)));
    assert_eq!(canary.interval(after(900)), (number + 1, EVERY));
}

#[test]
fn canary_is_a_sample_without_severity_keyed_by_interval() {
    let canary = signed_with(KEY);
    let message = canary.message(7, noon()).unwrap();
    insta::assert_snapshot!(String::from_utf8(message.clone()).unwrap(), @r#"{"nightshift-canary":{"at":"2026-11-20T12:00:00Z","n":7,"source":"siem"},"signature":"v1=95cc371f620d75ce7af6b2a11eae85b59cfdc327027bebb9a2c8c9c404373350"}"#);
    let alert = canary.verify_message("siem", &message, after(60)).unwrap();
    assert!(alert.is_canary() && alert.is_sample() && !alert.state.inactive);
    assert_eq!(alert.key.to_string(), "nightshift/-/canary:siem:7");
    assert_eq!(alert.severity, Severity::Informational);
    assert_eq!(alert.lane_severity(), Severity::High);
}

#[test]
fn a_key_that_is_changed_is_known_beside_the_old_one() {
    let both = signed_with("fedcba9876543210fedcba9876543210 0123456789abcdef0123456789abcdef");
    let old = signed_with(KEY).message(7, noon()).unwrap();
    let new = both.message(8, noon()).unwrap();
    for message in [&old, &new] {
        assert!(both.verify_message("siem", message, noon()).is_some());
    }
    assert!(
        signed_with(KEY)
            .verify_message("siem", &new, noon())
            .is_none()
    );
}

#[test]
fn guessable_key_signs_nothing_and_is_not_accepted() {
    let short = signed_with("0123456789abcdef012");
    let error = short.message(7, noon()).unwrap_err();
    assert!(
        error.contains("19 characters") && !error.contains("abcdef"),
        "{error}"
    );
    assert_eq!(
        signed_with(" ").message(7, noon()).unwrap_err(),
        "the key is empty"
    );
    assert_eq!(
        signed_with("").message(7, noon()).unwrap_err(),
        "the file is gone"
    );
    let message = signed_with(KEY).message(7, noon()).unwrap();
    assert!(
        signed_with("")
            .verify_message("siem", &message, noon())
            .is_none()
    );
}
