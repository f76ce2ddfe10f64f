//! Tests that a sender without the key cannot make a canary, and a replayed canary proves nothing.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::admission::{Admission, AdmissionContext, AdmissionPolicy, SetAsideReason, admit};
use crate::intake::Arrival;

fn admitted(alert: Alert) -> Admission {
    let arrival = Arrival {
        source: "siem".to_owned(),
        at: noon(),
        alert: Arc::new(alert),
        raw: b"{}".as_slice().into(),
        unreadable: None,
        on_demand: false,
        link: None,
    };
    admit(
        &arrival,
        &AdmissionContext::default(),
        &AdmissionPolicy::default(),
    )
}

#[test]
fn a_forged_canary_is_none() {
    let canary = signed_with(KEY);
    let message = String::from_utf8(canary.message(7, noon()).unwrap()).unwrap();
    let code = message.split("v1=").nth(1).unwrap().trim_end_matches("\"}");
    let other = signed_with("fedcba9876543210fedcba9876543210");
    let forged = [
        message.replace("\"n\":7", "\"n\":8"),
        message.replace("12:00:00", "12:15:00"),
        message.replace("\"siem\"", "\"other\""),
        message.replace("v1=", ""),
        message.replace("v1=", "v2="),
        message.replace(code, ""),
        message.replace(code, &"0".repeat(64)),
        message.replace(code, code.get(..62).unwrap()),
        message.replace(code, &format!("{code}00")),
        String::from_utf8(other.message(7, noon()).unwrap()).unwrap(),
    ];
    assert!(
        canary
            .verify_message("siem", message.as_bytes(), noon())
            .is_some()
    );
    for forged in forged {
        assert_ne!(forged, message);
        assert!(
            canary
                .verify_message("siem", forged.as_bytes(), noon())
                .is_none(),
            "{forged}"
        );
    }
    assert!(
        canary
            .verify_message("other", message.as_bytes(), noon())
            .is_none(),
        "of another source"
    );
}

#[test]
fn nothing_in_a_real_alert_makes_it_a_canary() {
    let canary = signed_with(KEY);
    let message = String::from_utf8(canary.message(7, noon()).unwrap()).unwrap();
    let inner = message.trim_start_matches('{').trim_end_matches('}');
    let hidden = [
        format!("[{message}]"),
        format!("{message}\n{message}"),
        format!("{{{inner},\"detail\":{{\"type\":\"Trojan:EC2/DNS\"}}}}"),
        format!("{{\"detail\":{message}}}"),
        format!("{{\"Message\":{message:?}}}"),
        format!("{{\"nightshift-canary\":{{}},{inner}}}"),
        message.replace("{\"at\"", "{\"severity\":9,\"at\""),
        format!("{message}{}", " ".repeat(512)),
    ];
    for hidden in hidden {
        assert!(
            canary
                .verify_message("siem", hidden.as_bytes(), noon())
                .is_none(),
            "{hidden}"
        );
    }
}

#[test]
fn replayed_canary_is_set_aside_and_timely_one_is_a_sighting() {
    let canary = signed_with(KEY);
    let message = canary.message(7, noon()).unwrap();
    let at = |secs| {
        canary
            .verify_message("siem", &message, after(secs))
            .unwrap()
    };
    assert_eq!(admitted(at(1_800)), Admission::New);
    for late in [1_801, 86_400, -901] {
        let found = admitted(at(late));
        assert_eq!(
            found,
            Admission::SetAside(SetAsideReason::Inactive),
            "{late}"
        );
    }
    assert_eq!(at(0).key, at(1_800).key);
}

proptest! {
    #[test]
    fn no_bytes_without_the_key_are_a_canary(
        at in 0usize..160, byte in any::<u8>(), cut in 0usize..200,
    ) {
        let canary = signed_with(KEY);
        let whole = canary.message(7, noon()).unwrap();
        let mut changed = whole.clone();
        if let Some(place) = changed.get_mut(at) {
            *place = byte;
        }
        changed.truncate(cut);
        let reads = canary.verify_message("siem", &changed, noon());
        // Another notation of the same time is signed, too.
        let same = reads.as_ref().is_none_or(|alert| alert.times.first_seen == Some(noon()));
        prop_assert!(changed == whole || same);
        if changed.len() < whole.len() {
            prop_assert!(reads.is_none());
        }
    }
}
