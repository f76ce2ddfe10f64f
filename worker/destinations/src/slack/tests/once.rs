//! Tests that nothing is sent twice or lost.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

#[tokio::test]
async fn f26_lost_posts_edits_and_look_ups_never_repeat_or_skip() {
    let (clock, slack, to) = soc().await;
    let mut posts = 0;
    // Every second post fails, and every thirteenth of all calls. Half of these are done, half are not.
    slack.breaks(move |method, number| {
        let fault = if number % 2 == 0 {
            SlackFault::LostAfter
        } else {
            SlackFault::LostBefore
        };
        if method == "chat.postMessage" {
            posts += 1;
        }
        let breaks = (method == "chat.postMessage" && posts % 2 == 0) || number % 13 == 0;
        breaks.then_some(fault)
    });
    let all = 200;
    let showings = (0..all)
        .map(|number| case(number, fixture::benign()))
        .collect();
    let refused = drive(&clock, &to, showings).await;
    assert!(refused.is_empty());
    let shown = keys(&slack.channel());
    let wanted: Vec<_> = (0..all)
        .map(|number| (format!("case-{number:04}"), "report".to_owned()))
        .collect();
    assert_eq!(shown, wanted);
    let below = keys(&slack.below());
    let mut once = below.clone();
    once.dedup();
    assert_eq!(below, once);
    let parts = to.below(&case(0, fixture::benign())).len();
    assert_eq!(below.len(), all * parts);
}

#[tokio::test]
async fn f26_the_answer_of_each_of_500_posts_is_lost_once() {
    let (clock, slack, to) = soc().await;
    let lost = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&lost);
    slack.breaks(move |method, _| {
        let is_lost = method == "chat.postMessage" && count.load(Ordering::SeqCst) < 500;
        is_lost.then(|| {
            count.fetch_add(1, Ordering::SeqCst);
            SlackFault::LostAfter
        })
    });
    let mut report = fixture::failed();
    report.alert.sample = true;
    let showings = (0..250)
        .map(|number| case(number, report.clone()))
        .collect();
    drive(&clock, &to, showings).await;
    assert_eq!(lost.load(Ordering::SeqCst), 500);
    assert_eq!((slack.channel().len(), slack.below().len()), (250, 250));
    let below = keys(&slack.below());
    let mut once = below.clone();
    once.dedup();
    assert_eq!(below, once);
}

/// Kills the process during each call, which is done or not, and continues with another process.
#[tokio::test]
async fn a_kill_at_every_boundary_leaves_one_post_and_each_part_once() {
    let (clock, slack, to) = soc().await;
    drive(&clock, &to, vec![case(0, fixture::hostile())]).await;
    let calls = slack.calls().len();
    let parts: Vec<_> = keys(&slack.below())
        .into_iter()
        .map(|(_, part)| part)
        .collect();
    assert!(calls >= 4 && parts.len() + 1 == calls, "{parts:?}");
    // The process dies before the first call and after each call, done or not.
    for dies_at in 0..=calls {
        for fault in [SlackFault::LostBefore, SlackFault::LostAfter] {
            let (clock, slack, to) = soc().await;
            slack.breaks(move |_, number| (number == dies_at).then_some(fault));
            let showing = case(0, fixture::hostile());
            if dies_at > 0 {
                // The answer is lost with the process.
                let _ = to.deliver(&showing).await;
            }
            clock.wait(Duration::from_secs(40));
            slack.breaks(|_, _| None);
            let found = to.find(&showing, Duration::from_secs(40)).await.unwrap();
            let done = dies_at > 1 || (dies_at == 1 && fault == SlackFault::LostAfter);
            assert_eq!(found.is_some(), done, "{dies_at} {fault:?}");
            let again = DeliveryPayload {
                remote_id: found,
                ..showing
            };
            to.deliver(&again).await.unwrap();
            assert_eq!(slack.channel().len(), 1, "{dies_at} {fault:?}");
            let there: Vec<_> = keys(&slack.below())
                .into_iter()
                .map(|(_, part)| part)
                .collect();
            assert_eq!(there, parts, "{dies_at} {fault:?}");
        }
    }
}

#[tokio::test]
async fn what_is_in_doubt_is_not_asked_before_slack_can_have_done_it() {
    let (_, _, to) = soc().await;
    let showing = case(0, fixture::benign());
    let error = to.find(&showing, Duration::from_secs(3)).await.unwrap_err();
    let DeliveryError::NotVisibleYet { after_secs, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(after_secs, 13);
}

#[tokio::test]
async fn message_is_found_on_any_page_and_no_other_case_is_mistaken() {
    let (clock, slack, to) = soc().await;
    let showings = (0..450).map(|number| case(number, early())).collect();
    drive(&clock, &to, showings).await;
    let began = clock.now() - crate::fixture::now();
    let ago = began.to_std().unwrap();
    let find = async |number| to.find(&case(number, early()), ago).await.unwrap();
    let first = slack.channel()[0].ts.clone();
    assert_eq!(find(0).await, Some(format!("{CHANNEL}/{first}")));
    assert_eq!(find(450).await, None);
}

/// Tests that a page of these messages fits into the bound of an answer.
#[tokio::test]
async fn a_message_is_found_behind_500_as_large_as_they_get() {
    let (clock, slack, to) = soc().await;
    let sent = to.deliver(&case(0, early())).await.unwrap();
    clock.wait(PACE);
    let mut value = serde_json::to_value(fixture::hostile()).unwrap();
    let wide = "\u{1f702}".repeat(4_000);
    crate::fixture::replace(&mut value, &mut std::iter::repeat(wide));
    let mut large: Report = serde_json::from_value(value).unwrap();
    // A canary has no thread.
    large.alert.feed = nightshift_alert::CANARY_FEED.to_owned();
    to.deliver(&case(1, large)).await.unwrap();
    slack.repeat_the_last(499);
    assert_eq!(slack.channel().len(), 501);
    let found = to.find(&case(0, early()), place::SETTLE).await.unwrap();
    assert_eq!(found, sent.remote_id);
}

#[tokio::test]
async fn thousand_reports_are_shown_in_order_at_the_channel_pace() {
    let (clock, slack, to) = soc().await;
    let begun = clock.now();
    // The reports are in the order of the store, the most severe first.
    let showings = (0..1000).map(|number| case(number, early())).collect();
    drive(&clock, &to, showings).await;
    let shown: Vec<String> = slack.channel().iter().map(|one| one.key("case")).collect();
    assert!(shown.is_sorted() && shown.len() == 1000);
    // No call was refused for its rate, so no time was lost.
    assert_eq!(slack.calls().len(), 1000);
    assert_eq!(clock.now() - begun, TimeDelta::seconds(1000));
}

#[tokio::test]
async fn the_digest_of_a_day_is_posted_once() {
    let (clock, slack, to) = soc().await;
    let digest = super::look::digest();
    slack.breaks(|_, number| (number == 1).then_some(SlackFault::LostAfter));
    let error = to.post_digest(&digest, false).await.unwrap_err();
    assert!(
        matches!(error, DeliveryError::Ambiguous { .. }),
        "{error:?}"
    );
    clock.wait(Duration::from_secs(60));
    to.post_digest(&digest, true).await.unwrap();
    assert_eq!(slack.channel().len(), 1);
    let next = Digest {
        day: digest.day.succ_opt().unwrap(),
        ..digest
    };
    to.post_digest(&next, true).await.unwrap();
    assert_eq!(slack.channel().len(), 2);
}
