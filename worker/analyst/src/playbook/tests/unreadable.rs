use nightshift_alert::{CloudProvider, Severity};
use nightshift_engine::conclusion::{Leaning, Verdict, VerdictReason};

use super::alerts::sample;
use super::case_fixture::{DEFAULT, PlaybookCase, nothing};

#[test]
fn an_unreadable_message_is_reported_as_wrong_data() {
    let mut alert = sample("guardduty-eventbridge-dns");
    "nightshift".clone_into(&mut alert.feed);
    "Nightshift:UnreadableMessage".clone_into(&mut alert.kind);
    "Unreadable message from gd".clone_into(&mut alert.title);
    "A message of 12 bytes from gd could not be read: no JSON at line 1"
        .clone_into(&mut alert.description);
    alert.provider = CloudProvider::Other;
    alert.indicators.clear();
    alert.state.sample = false;
    let ran =
        PlaybookCase::with(&DEFAULT, |kind, arguments| Ok(nothing(kind, arguments))).run(alert);
    let end = &ran.conclusion;
    assert_eq!(
        (end.verdict, end.leaning, end.reason),
        (
            Verdict::Inconclusive,
            Leaning::None,
            VerdictReason::WrongData
        )
    );
    assert_eq!(end.assessed_severity, Severity::High);
    insta::assert_snapshot!(ran.claims(), @r#"
    For [E0] Unreadable message from gd
    For [E0] A message of 12 bytes from gd could not be read: no JSON at line 1
    "#);
    assert_eq!(ran.actions(), ["inspect-message", "check-feed"]);
}
