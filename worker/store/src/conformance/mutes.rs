//! Tests mutes: the alerts that they cover, their counts, and their preview.

use nightshift_alert::Severity;
use nightshift_pipeline::admission::Mute;
use nightshift_pipeline::digest::MOST_COUNTED;
use nightshift_pipeline::mutes::NewMute;
use nightshift_pipeline::route::Match;

use super::admission::arrival;
use super::*;

on_both_stores! {
    a_mute_hides_and_counts_until_it_is_removed
    a_mute_of_the_configuration_holds_until_its_end
    mutes_apply_only_in_their_own_configuration
    what_a_flood_hid_is_not_counted_to_the_last
    mute_preview_shows_hidden_alerts_and_true_positives
    a_preview_counts_what_other_mutes_hid
    mute_preview_of_a_long_history_covers_its_newest_and_says_so
}

fn dns(severity: Severity) -> NewMute {
    NewMute {
        when: Match {
            kind: Some("Trojan:*".into()),
            ..Match::default()
        },
        severity,
        until: at(1_000),
        why: "a known resolver".into(),
        by: "ana".into(),
    }
}

async fn a_mute_hides_and_counts_until_it_is_removed(fixture: Fixture) {
    let mute = fixture.store.add_mute(dns(Severity::Medium), at(0)).await;
    assert_eq!(mute.unwrap().name, "m1");
    for second in 1..4 {
        let accepted = fixture.take(arrival(second, |_| {})).await;
        assert_eq!(accepted.admission, Admission::Muted("m1".into()));
        assert_eq!(accepted.case_id, None);
    }
    let rows = fixture.store.mutes().await.unwrap();
    assert_eq!((rows[0].hits, rows[0].last_hit), (3, Some(at(3))));
    let severe = arrival(4, |alert| {
        alert.severity = Severity::High;
        alert.key.id = "severe".into();
    });
    assert_eq!(fixture.take(severe).await.admission, Admission::New);
    fixture.store.remove_mute("m1", at(5)).await.unwrap();
    let accepted = fixture.take(arrival(6, |_| {})).await;
    assert_eq!(accepted.admission, Admission::New);
    let rows = fixture.store.mutes().await.unwrap();
    assert_eq!((rows[0].hits, rows[0].removed_at), (3, Some(at(5))));
    for name in ["m1", "m2", "x", ""] {
        let error = fixture.store.remove_mute(name, at(7)).await.unwrap_err();
        assert!(matches!(error, StoreError::NoSuchMute(_)), "{name}");
    }
}

async fn a_mute_of_the_configuration_holds_until_its_end(fixture: Fixture) {
    let mut options = options();
    options.admission.mutes = vec![dns(Severity::Medium).named("resolver")];
    let store = fixture.another(options).await;
    let accept = async |second| {
        let batch = vec![arrival(second, |_| {})];
        store
            .accept(batch.into())
            .await
            .unwrap()
            .remove(0)
            .admission
    };
    assert_eq!(accept(999).await, Admission::Muted("resolver".into()));
    assert_eq!(accept(1_000).await, Admission::New);
    let rows = store.mutes().await.unwrap();
    assert!(rows[0].configured && rows[0].hits == 1, "{rows:?}");
}

async fn mutes_apply_only_in_their_own_configuration(fixture: Fixture) {
    let mut after = options();
    after.admission.mutes = vec![dns(Severity::Medium).named("resolver")];
    let before = fixture.store.clone();
    let after = before.with_settings(after.lease, after.admission);
    for (store, expected) in [
        (&after, Admission::Muted("resolver".into())),
        (&before, Admission::New),
    ] {
        let accepted = store.accept(Arc::new([arrival(1, |_| {})])).await.unwrap();
        assert_eq!(accepted[0].admission, expected);
    }
}

async fn mute_preview_shows_hidden_alerts_and_true_positives(fixture: Fixture) {
    for (number, verdict) in [
        (0, Verdict::TruePositive),
        (1, Verdict::FalsePositive),
        (2, Verdict::FalsePositive),
    ] {
        let came = arrival(number, |alert| alert.key.id = format!("finding {number}"));
        fixture.take(came).await;
        let claimed = fixture.claim().await;
        conclude_as(&fixture.store, &claimed, verdict).await;
    }
    fixture.accept(MINER).await;
    let severe = arrival(5, |alert| {
        alert.key.id = "severe".into();
        alert.severity = Severity::High;
    });
    fixture.take(severe).await;
    let preview = async |severity, since| {
        let mute = dns(severity);
        fixture.store.preview_mute(&mute, since).await.unwrap()
    };
    let found = preview(Severity::Medium, at(0)).await;
    let counts: Vec<_> = found.cases.into_iter().collect();
    assert_eq!(
        counts,
        [("false_positive".into(), 2), ("true_positive".into(), 1)]
    );
    let keys: Vec<_> = found.true_positives.iter().map(|row| &row.key).collect();
    assert!(
        keys.len() == 1 && keys[0].ends_with("finding 0"),
        "{keys:?}"
    );
    let found = preview(Severity::High, at(1)).await;
    assert_eq!(found.cases.get("queued"), Some(&1));
    assert!(found.true_positives.is_empty(), "only what came since");
}

async fn a_preview_counts_what_other_mutes_hid(fixture: Fixture) {
    let mute: Mute = fixture
        .store
        .add_mute(dns(Severity::Medium), at(0))
        .await
        .unwrap();
    fixture.take(arrival(1, |_| {})).await;
    let found = fixture.store.preview_mute(&dns(mute.severity), at(0)).await;
    assert_eq!(found.unwrap().muted, 1);
}

async fn mute_preview_of_a_long_history_covers_its_newest_and_says_so(fixture: Fixture) {
    let dns = dns(Severity::Medium);
    let mute = fixture.store.add_mute(dns.clone(), at(0)).await.unwrap();
    fixture.take(arrival(1, |_| {})).await;
    let twice = async |times| {
        for _ in 0..times {
            let columns =
                "source, received_at, key, feed, type, title, severity, outcome, reason, alert";
            let sql = format!("INSERT INTO arrivals ({columns}) SELECT {columns} FROM arrivals");
            fixture.execute(&sql).await;
        }
        let found = fixture.store.preview_mute(&dns, at(0)).await.unwrap();
        (found.muted, found.only_newest)
    };
    assert_eq!(twice(11).await, (2_048, None), "{} hid them", mute.name);
    assert_eq!(twice(1).await, (3_000, Some(3_000)), "of 4,096");
}

async fn what_a_flood_hid_is_not_counted_to_the_last(fixture: Fixture) {
    let mute = fixture.store.add_mute(dns(Severity::Medium), at(0)).await;
    assert_eq!(mute.unwrap().name, "m1");
    for second in 1..3 {
        fixture.take(arrival(second, |_| {})).await;
    }
    let rows = fixture.store.mutes().await.unwrap();
    assert_eq!((rows[0].hits, rows[0].last_hit), (2, Some(at(2))));
    let columns = "source, received_at, key, feed, type, title, severity, outcome, reason, alert";
    let more = MOST_COUNTED + 7;
    fixture
        .execute(&format!(
            "INSERT INTO arrivals ({columns}) WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {more}) \
             SELECT {columns} FROM n CROSS JOIN (SELECT {columns} FROM arrivals ORDER BY id DESC LIMIT 1) AS one"
        ))
        .await;
    let rows = fixture.store.mutes().await.unwrap();
    assert_eq!(
        (rows[0].hits, rows[0].last_hit),
        (MOST_COUNTED + 1, Some(at(2)))
    );
}
