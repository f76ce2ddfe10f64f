//! Tests Slack's refusals: temporary, permanent, and the advice that people get.

use super::super::place::SETTLE;
use super::*;

#[tokio::test]
async fn f28_what_passes_waits_and_what_does_not_goes_elsewhere() {
    for (fault, wanted) in [
        (SlackFault::TooMany(17), "later 17"),
        (SlackFault::Says("ratelimited"), "later"),
        (SlackFault::Says("service_unavailable"), "later"),
        (SlackFault::Says("internal_error"), "unclear"),
        (SlackFault::Says("fatal_error"), "unclear"),
        (SlackFault::LostBefore, "unclear"),
        (SlackFault::Says("is_archived"), "never"),
        (SlackFault::Says("channel_not_found"), "never"),
        (SlackFault::Says("not_in_channel"), "never"),
        (SlackFault::Says("invalid_auth"), "never"),
        (SlackFault::Says("token_revoked"), "never"),
        (SlackFault::Says("account_inactive"), "never"),
        (SlackFault::Says("missing_scope"), "never"),
    ] {
        let (_, slack, to) = soc().await;
        slack.breaks(move |_, _| Some(fault));
        let error = to.deliver(&case(0, fixture::benign())).await.unwrap_err();
        let said = match &error {
            DeliveryError::Transient {
                after_secs: Some(secs),
                ..
            } => format!("later {secs}"),
            DeliveryError::Transient { .. } => "later".to_owned(),
            DeliveryError::Ambiguous { .. } => "unclear".to_owned(),
            DeliveryError::Permanent { .. } => "never".to_owned(),
            DeliveryError::Partial { .. } => "partly".to_owned(),
            DeliveryError::NotVisibleYet { .. } => "settling".to_owned(),
        };
        assert_eq!(said, wanted, "{fault:?}: {error}");
        assert!(!error.to_string().contains("hush"), "{error}");
    }
}

#[tokio::test]
async fn f28_busy_channel_is_waited_for_and_archived_loses_nothing() {
    let (clock, slack, to) = soc().await;
    slack.breaks(|_, number| (number % 3 == 0).then_some(SlackFault::TooMany(30)));
    let showings = (0..20)
        .map(|number| case(number, fixture::benign()))
        .collect();
    assert!(drive(&clock, &to, showings).await.is_empty());
    assert_eq!(slack.channel().len(), 20);
    slack.breaks(|_, _| Some(SlackFault::Says("is_archived")));
    let showings = (20..23)
        .map(|number| case(number, fixture::benign()))
        .collect();
    // The delivery loop hands these over to the next destination of their route.
    assert_eq!(drive(&clock, &to, showings).await.len(), 3);
}

#[tokio::test]
async fn what_is_refused_for_ever_says_what_to_do() {
    let mut said = Vec::new();
    for error in [
        "channel_not_found",
        "not_in_channel",
        "is_archived",
        "invalid_auth",
        "missing_scope",
        "<!channel> odd",
    ] {
        let (_, slack, to) = soc().await;
        slack.breaks(move |_, _| Some(SlackFault::Says(error)));
        said.push(
            to.deliver(&case(0, fixture::benign()))
                .await
                .unwrap_err()
                .to_string(),
        );
    }
    insta::assert_snapshot!(said.join("\n"), @"
    Slack answered chat.postMessage with channel_not_found (is `channel` the id of a channel, C…, and is the app a member of it?)
    Slack answered chat.postMessage with not_in_channel (invite the app to the channel: /invite @…)
    Slack answered chat.postMessage with is_archived (unarchive the channel, or set another one)
    Slack answered chat.postMessage with invalid_auth (the `token` is not valid: set the bot token of the installed app, xoxb-…)
    Slack answered chat.postMessage with missing_scope (give the app the scope chat:write and install it again)
    Slack answered chat.postMessage with <!channel> odd
    ");
}

#[tokio::test]
async fn a_thread_that_broke_off_is_filled_up_and_not_begun_again() {
    let (_, slack, to) = soc().await;
    slack.breaks(|_, number| (number == 2).then_some(SlackFault::Says("invalid_auth")));
    let showing = case(0, fixture::true_positive());
    let error = to.deliver(&showing).await.unwrap_err();
    let DeliveryError::Partial { remote_id, .. } = error else {
        panic!("{error:?}");
    };
    assert!(slack.below().is_empty());
    slack.breaks(|_, _| None);
    let again = DeliveryPayload {
        remote_id: Some(remote_id.clone()),
        ..showing
    };
    let sent = to.deliver(&again).await.unwrap();
    assert_eq!(sent.remote_id, Some(remote_id));
    assert_eq!(slack.channel().len(), 1);
    assert!(!slack.below().is_empty());
}

/// Tests that a delivery is bounded, because another process may take over the channel.
#[tokio::test]
async fn a_thread_that_takes_too_long_is_gone_on_with_by_the_next_try() {
    let (hands, slack, to) = soc().await;
    slack.breaks(move |_, _| {
        hands.wait(Duration::from_secs(5));
        None
    });
    let showing = case(0, fixture::hostile());
    let mut next = showing.clone();
    let mut tries = 0;
    while let Err(error) = to.deliver(&next).await {
        let DeliveryError::Partial { remote_id, .. } = error else {
            panic!("{error:?}");
        };
        next.remote_id = Some(remote_id);
        tries += 1;
        assert!(tries < 20, "it never ends");
    }
    assert!(tries > 1);
    let parts = to.below(&showing).len();
    assert_eq!((slack.channel().len(), slack.below().len()), (1, parts));
}

#[tokio::test]
async fn what_somebody_removed_is_posted_anew_and_once() {
    let (clock, slack, to) = soc().await;
    let showing = case(0, fixture::true_positive());
    let sent = to.deliver(&showing).await.unwrap();
    slack.remove(&slack.channel()[0].ts);
    clock.wait(Duration::from_secs(5));
    let next = later(&showing, sent.remote_id.clone(), fixture::true_positive());
    let posted = slack.calls().len();
    // The answer is lost, so the outbox still has the old id.
    slack.breaks(move |method, number| {
        (number > posted && method == "chat.postMessage").then_some(SlackFault::LostAfter)
    });
    let mut next = next;
    next.report.case_id = showing.report.case_id.clone();
    assert!(to.deliver(&next).await.is_err());
    slack.breaks(|_, _| None);
    clock.wait(Duration::from_secs(60));
    let again = to.deliver(&next).await.unwrap();
    assert_eq!(slack.channel().len(), 1);
    assert_ne!(again.remote_id, sent.remote_id);
}

/// Configures a new channel, which gets the cases that the previous one no longer accepts.
#[tokio::test]
async fn case_of_a_deleted_channel_is_posted_in_the_configured_one() {
    let (_, slack, to) = soc().await;
    let showing = case(0, fixture::true_positive());
    let was = Some("C0000G0NE/1795143600.000100".to_owned());
    let mut next = later(&showing, was, fixture::true_positive());
    next.report.case_id = showing.report.case_id.clone();
    slack.breaks(|method, _| (method == "chat.update").then_some(SlackFault::Says("is_archived")));
    next.is_minor = true;
    let sent = to.deliver(&next).await.unwrap();
    assert_eq!(slack.channel().len(), 1);
    assert!(!slack.below().is_empty(), "its thread is not in the other");
    let place = sent.remote_id.unwrap();
    assert!(place.starts_with(&format!("{CHANNEL}/")), "{place}");
    // A refusal in the configured channel is final.
    next.remote_id = Some(place);
    let refused = to.deliver(&next).await.unwrap_err();
    assert!(
        matches!(refused, DeliveryError::Permanent { .. }),
        "{refused:?}"
    );
}

/// Returns the parts of the thread of each message of the channel.
fn threads(slack: &Slack) -> Vec<Vec<String>> {
    let below = slack.below();
    let of = |parent: &stub::PostedMessage| {
        let its = |one: &&stub::PostedMessage| one.thread_ts.as_ref() == Some(&parent.ts);
        below
            .iter()
            .filter(its)
            .map(|one| one.key("part"))
            .collect()
    };
    slack.channel().iter().map(of).collect()
}

/// Returns a delivered case whose message was removed, with a later sighting or another verdict of the same revision.
async fn removed(
    is_minor: bool,
) -> (
    Arc<ManualClock>,
    Slack,
    SlackDestination,
    DeliveryPayload,
    Vec<String>,
) {
    let (clock, slack, to) = soc().await;
    let first = case(0, fixture::true_positive());
    let sent = to.deliver(&first).await.unwrap();
    let told = threads(&slack).remove(0);
    assert!(!told.is_empty());
    slack.remove(&slack.channel()[0].ts);
    clock.wait(Duration::from_secs(5));
    let mut next = later(&first, sent.remote_id, first.report.clone());
    next.is_minor = is_minor;
    next.report.alert.sightings = 4;
    (clock, slack, to, next, told)
}

#[tokio::test]
async fn reposted_case_has_its_thread_though_it_was_delivered_before() {
    for is_minor in [true, false] {
        let (_, slack, to, next, told) = removed(is_minor).await;
        to.deliver(&next).await.unwrap();
        assert_eq!(threads(&slack), [told], "minor: {is_minor}");
    }
}

#[tokio::test]
async fn thread_of_a_reposted_case_is_complete_wherever_it_stopped() {
    let (_, slack, to, next, told) = removed(true).await;
    let before = slack.calls().len();
    to.deliver(&next).await.unwrap();
    let calls = slack.calls().len() - before;
    assert_eq!(calls, 3 + told.len(), "edit, look-up, post, thread");
    for dies_at in 3..=calls {
        for fault in [
            SlackFault::LostBefore,
            SlackFault::LostAfter,
            SlackFault::TooMany(9),
        ] {
            let (clock, slack, to, next, told) = removed(true).await;
            let number = slack.calls().len() + dies_at;
            slack.breaks(move |_, call| (call == number).then_some(fault));
            assert!(drive(&clock, &to, vec![next]).await.is_empty());
            assert_eq!(threads(&slack), [told], "{dies_at} {fault:?}");
        }
    }
}

#[tokio::test]
async fn what_has_no_thread_gets_none_when_it_is_posted_anew() {
    let (clock, slack, to) = soc().await;
    for showing in [case(0, early()), fixture::canary()] {
        let sent = to.deliver(&showing).await.unwrap();
        slack.remove(&slack.channel()[0].ts);
        clock.wait(PACE);
        let mut next = later(&showing, sent.remote_id, showing.report.clone());
        next.is_minor = true;
        to.deliver(&next).await.unwrap();
        assert_eq!(threads(&slack), [Vec::<String>::new()]);
        slack.remove(&slack.channel()[0].ts);
        clock.wait(PACE);
    }
}

#[test]
fn what_is_configured_wrongly_is_named() {
    let clock = ManualClock::new();
    let base = config("https://slack.com/api");
    let hook = SlackConfig {
        token: None,
        webhook_url: Some("env:W".into()),
        ..base.clone()
    };
    let links = Links {
        public_url: Some("ftp://x".into()),
    };
    let wrong = [
        SlackConfig {
            channel: "#soc".into(),
            ..base.clone()
        },
        SlackConfig {
            api_url: "http://slack.example.com".into(),
            ..base.clone()
        },
        hook.clone(),
        SlackConfig {
            links,
            ..base.clone()
        },
        SlackConfig {
            name: " ".into(),
            ..base
        },
    ];
    let said: Vec<String> = wrong
        .into_iter()
        .map(|one| {
            SlackDestination::new(one, secret(TOKEN), clock.clone())
                .unwrap_err()
                .to_string()
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    [[destination]] "soc": `channel` is no channel id: open the channel's details in Slack, its id (C…) stands at their end
    [[destination]] "soc": `api_url` would send reports unencrypted: use https, or say `allow_private = true`
    [[destination]] "soc": `interactive` needs a bot `token`: what an incoming webhook posted cannot be edited when somebody presses a button
    [[destination]] "soc": `public_url` is not a web address: use https://HOST
    [[destination]] " ": `name` is empty: routes need a name to lead to
    "#);
    let fits = SlackConfig {
        signing_secret: None,
        ..hook
    };
    let hush = secret("https://hooks.slack.com/services/hush");
    let shown = format!("{:?}", SlackDestination::new(fits, hush, clock).unwrap());
    assert!(!shown.contains("hush"), "{shown}");
}

#[tokio::test]
async fn an_incoming_webhook_has_the_report_and_no_more() {
    use crate::webhook::{Stub, say};
    let clock = ManualClock::new();
    let stub = Stub::start(vec![
        say(200, "", "ok"),
        String::new(),
        say(404, "", "no_service"),
    ])
    .await;
    let url = stub.url.clone();
    let config = SlackConfig {
        token: None,
        webhook_url: Some("env:W".into()),
        signing_secret: None,
        ..config("")
    };
    let secret: KeySource = Arc::new(move || Ok(url.as_str().into()));
    let to = SlackDestination::resting(config, secret, clock.clone(), clock).unwrap();
    let showing = case(0, fixture::true_positive());
    assert_eq!(
        to.deliver(&showing).await.unwrap(),
        DeliveryReceipt::default()
    );
    let lost = to.deliver(&showing).await.unwrap_err();
    assert!(
        matches!(lost, DeliveryError::Ambiguous { .. }),
        "at least once: {lost:?}"
    );
    let again = DeliveryPayload {
        in_doubt: true,
        ..showing.clone()
    };
    assert_eq!(to.find(&again, SETTLE).await.unwrap(), None);
    let gone = to.deliver(&again).await.unwrap_err();
    assert!(matches!(gone, DeliveryError::Permanent { .. }), "{gone:?}");
    assert_eq!(
        gone.to_string(),
        "127.0.0.1 answered 404 Not Found (incoming webhook): no_service"
    );
    let body: Value = serde_json::from_str(&stub.posts()[0].body).unwrap();
    assert_eq!(body["blocks"], to.preview(&showing)["blocks"]);
    // A possible duplicate says so below its header.
    let mut body: Value = serde_json::from_str(&stub.posts()[2].body).unwrap();
    let said = body["blocks"].as_array_mut().unwrap().remove(1);
    assert!(
        said.to_string().contains("This may be here twice"),
        "{said}"
    );
    assert_eq!(body["blocks"], to.preview(&showing)["blocks"]);
    assert!(!to.wants(&case(0, early())));
    let minor = DeliveryPayload {
        is_minor: true,
        ..showing
    };
    assert!(!to.wants(&minor));
}
