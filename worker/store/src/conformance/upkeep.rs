//! Tests retention.

use nightshift_pipeline::maintenance::RetentionClass;

use super::admission::arrival;
use super::*;

on_both_stores! {
    what_grew_old_goes_in_batches_and_what_is_young_stays
    messages_go_at_the_latest_with_what_came_of_them
    what_grew_old_goes_however_many_dead_letters_came_before_it
    case_journals_are_pruned_once_and_again_after_a_retriage
    journals_of_earlier_triages_go_while_their_case_goes_on
    old_data_of_a_live_case_is_pruned_and_its_latest_stays
    what_is_kept_for_no_time_that_anybody_sets_is_swept
    a_day_of_the_ledger_is_read_without_the_rest
    the_schema_says_which_migrations_it_has
    clean_up_expires_by_the_earlier_clock
    clean_up_goes_one_day_further_where_the_clock_jumped
}

pub(super) async fn rows(fixture: &Fixture, table: &str) -> i64 {
    fixture
        .count(&format!("SELECT count(*) FROM {table}"))
        .await
}

/// Creates three cases that are over, a case that waits, a dead letter with its case, and an alert that was set aside.
pub(super) async fn history(fixture: &Fixture) -> Vec<CaseId> {
    let mut ids = Vec::new();
    for number in 0..3 {
        let came = arrival(number, |alert| {
            alert.key.id = format!("finding {number}");
            alert.account = Some(format!("account {number}"));
        });
        ids.push(case_of(&fixture.take(came).await));
        let claimed = fixture.claim().await;
        conclude(&fixture.store, &claimed).await;
    }
    fixture.accept(b"nonsense").await;
    fixture
        .take(arrival(5, |alert| alert.state.archived = true))
        .await;
    fixture.accept(MINER).await;
    ids
}

async fn what_grew_old_goes_in_batches_and_what_is_young_stays(fixture: Fixture) {
    history(&fixture).await;
    let store = &fixture.store;
    let (future, past) = (at(86_400), at(-86_400));
    for kind in RetentionClass::ALL {
        assert_eq!(store.expire(kind, past, 100).await.unwrap(), 0, "{kind:?}");
    }
    assert_eq!(
        store.expire(RetentionClass::Raw, future, 2).await.unwrap(),
        2
    );
    assert_eq!(
        store
            .expire(RetentionClass::Raw, future, 100)
            .await
            .unwrap(),
        3
    );
    assert_eq!(
        rows(&fixture, "raw_messages").await,
        1,
        "that of the dead letter"
    );
    assert_eq!(
        store
            .expire(RetentionClass::Journals, future, 2)
            .await
            .unwrap(),
        2
    );
    assert_eq!(
        store
            .expire(RetentionClass::Journals, future, 2)
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        store
            .expire(RetentionClass::Journals, future, 2)
            .await
            .unwrap(),
        0
    );
    assert_eq!(rows(&fixture, "journal").await, 0);
    assert_eq!(rows(&fixture, "conclusions").await, 3);
    assert_eq!(
        store
            .expire(RetentionClass::Cases, future, 2)
            .await
            .unwrap(),
        2
    );
    assert_eq!(
        store
            .expire(RetentionClass::Cases, future, 2)
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        store
            .expire(RetentionClass::Cases, future, 2)
            .await
            .unwrap(),
        0
    );
    assert_eq!(rows(&fixture, "cases").await, 2, "those that wait");
    let orphans = "SELECT count(*) FROM indicators WHERE case_id NOT IN (SELECT id FROM cases)";
    assert_eq!(fixture.count(orphans).await, 0);
    assert_eq!(
        store
            .expire(RetentionClass::DeadLetters, future, 9)
            .await
            .unwrap(),
        1
    );
    assert_eq!(rows(&fixture, "raw_messages").await, 0);
    assert_eq!(
        store
            .expire(RetentionClass::Hidden, future, 9)
            .await
            .unwrap(),
        1
    );
    assert_eq!(rows(&fixture, "arrivals").await, 2);
}

async fn messages_go_at_the_latest_with_what_came_of_them(fixture: Fixture) {
    history(&fixture).await;
    let store = &fixture.store;
    // The message has two alerts: one waits, the other has no case.
    let waits = arrival(6, |alert| alert.key.id = "waits".into());
    let mut hidden = waits.clone();
    let alert = Arc::make_mut(&mut hidden.alert);
    (alert.key.id, alert.state.archived) = ("hidden".into(), true);
    store.accept(Arc::new([waits, hidden])).await.unwrap();
    assert_eq!(rows(&fixture, "raw_messages").await, 7);
    let future = at(86_400);
    assert_eq!(
        store
            .expire(RetentionClass::Hidden, future, 9)
            .await
            .unwrap(),
        2
    );
    assert_eq!(rows(&fixture, "raw_messages").await, 6);
    assert_eq!(
        store
            .expire(RetentionClass::Cases, future, 9)
            .await
            .unwrap(),
        3
    );
    let left = "SELECT count(*) FROM raw_messages WHERE id IN (SELECT raw_id FROM arrivals)";
    let left = (
        fixture.count(left).await,
        rows(&fixture, "raw_messages").await,
    );
    assert_eq!(left, (3, 3), "of what waits, and of the dead letter");
}

async fn what_grew_old_goes_however_many_dead_letters_came_before_it(fixture: Fixture) {
    let store = &fixture.store;
    for second in 0..50 {
        let mut letter = arrivals(b"nonsense").remove(0);
        letter.at = at(second / 30);
        fixture.take(letter).await;
    }
    for second in 60..63 {
        let came = arrival(second, |alert| alert.key.id = format!("finding {second}"));
        fixture.take(came).await;
    }
    let future = at(86_400);
    // Each statement examines ten or twenty rows.
    assert_eq!(
        store.expire(RetentionClass::Raw, future, 2).await.unwrap(),
        2
    );
    let now = arrival(1, |alert| alert.key.id = "late".into());
    fixture.take(now).await;
    assert_eq!(
        store.expire(RetentionClass::Raw, future, 2).await.unwrap(),
        1
    );
    assert_eq!(
        store.expire(RetentionClass::Raw, future, 2).await.unwrap(),
        0
    );
    assert_eq!(
        store.expire(RetentionClass::Raw, future, 1).await.unwrap(),
        1,
        "anew"
    );
    assert_eq!(
        store.expire(RetentionClass::Raw, future, 1).await.unwrap(),
        0
    );
    assert_eq!(rows(&fixture, "raw_messages").await, 50);
}

async fn case_journals_are_pruned_once_and_again_after_a_retriage(fixture: Fixture) {
    let ids = history(&fixture).await;
    let store = &fixture.store;
    let future = at(86_400);
    assert_eq!(
        store
            .expire(RetentionClass::Journals, future, 9)
            .await
            .unwrap(),
        3
    );
    let looked_at =
        "SELECT count(*) FROM cases WHERE status = 'concluded' AND journals_removed_to < revision";
    assert_eq!(
        fixture.count(looked_at).await,
        0,
        "the next round looks at none of them"
    );
    store.retry(&ids[1].0).await.unwrap();
    let claimed = store.claim_one(&ids[1]).await.unwrap().unwrap();
    conclude(store, &claimed).await;
    assert_eq!(rows(&fixture, "journal").await, 5);
    assert_eq!(
        store
            .expire(RetentionClass::Journals, future, 9)
            .await
            .unwrap(),
        1
    );
    assert_eq!(rows(&fixture, "journal").await, 0);
    // Without this mark, the journals that were removed before cannot be told from the others.
    fixture
        .execute("UPDATE cases SET journals_removed_to = 0")
        .await;
    assert_eq!(
        store
            .expire(RetentionClass::Journals, future, 9)
            .await
            .unwrap(),
        3
    );
}

/// Triages the case again and checks its revision.
async fn again(fixture: &Fixture, id: &CaseId, revision: u32) {
    let store = &fixture.store;
    store.retry(&id.0).await.unwrap();
    let claimed = store.claim_one(id).await.unwrap().unwrap();
    assert_eq!(claimed.lease.revision, revision);
    conclude(store, &claimed).await;
}

async fn journals_of_earlier_triages_go_while_their_case_goes_on(fixture: Fixture) {
    let ids = history(&fixture).await;
    let (store, id) = (&fixture.store, &ids[1]);
    for revision in [2, 3] {
        again(&fixture, id, revision).await;
    }
    let later = "UPDATE conclusions SET concluded_at = '2999-01-01T00:00:00.000000Z' WHERE revision = 3; \
        UPDATE cases SET concluded_at = '2999-01-01T00:00:00.000000Z' WHERE revision = 3";
    fixture.execute(later).await;
    store.retry(&id.0).await.unwrap();
    let runs = store.claim_one(id).await.unwrap().unwrap();
    let event = [opened(&runs.alert, &id.0)];
    let append = store.append(&runs.lease, &event, Charge::default());
    append.await.unwrap();
    let future = at(86_400);
    assert_eq!(
        store
            .expire(RetentionClass::Journals, future, 9)
            .await
            .unwrap(),
        2
    );
    assert_eq!(
        store
            .expire(RetentionClass::Journals, future, 9)
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        store
            .expire(RetentionClass::Journals, future, 9)
            .await
            .unwrap(),
        0
    );
    let left = "SELECT revision, count(*) FROM journal GROUP BY revision ORDER BY revision";
    assert_eq!(fixture.texts(left).await, [["3", "5"], ["4", "1"]]);
    assert_eq!(
        store
            .expire(RetentionClass::Journals, future, 9)
            .await
            .unwrap(),
        0
    );
    conclude(store, &runs).await;
    assert_eq!(
        store
            .expire(RetentionClass::Journals, future, 9)
            .await
            .unwrap(),
        1
    );
    assert_eq!(rows(&fixture, "journal").await, 0);
}

async fn old_data_of_a_live_case_is_pruned_and_its_latest_stays(fixture: Fixture) {
    const DAY: i64 = 86_400;
    let store = &fixture.store;
    let came = |second| arrival(second, |_| {});
    let id = case_of(&fixture.take(came(0)).await);
    for second in [1, 2, 2 * DAY, 2 * DAY + 1] {
        fixture.take(came(second)).await;
    }
    conclude(store, &fixture.claim().await).await;
    for revision in [2, 3, 4] {
        again(&fixture, &id, revision).await;
    }
    let judged = format!(
        "INSERT INTO person_verdicts (case_id, revision, decided_at, decided_by, verdict, agreed, note) \
        VALUES ('{id}', 2, '2026-03-02T00:00:00.000000Z', 'ana', 'inconclusive', {}, '')",
        if fixture.is_sqlite() { "1" } else { "true" }
    );
    fixture.execute(&judged).await;
    store.retry(&id.0).await.unwrap();
    let runs = store.claim_one(&id).await.unwrap().unwrap();
    let said = runs.previous_run.as_ref().map(|again| again.revision);
    assert_eq!(said, Some(4), "what was said last");
    assert_eq!(
        store
            .expire(RetentionClass::Cases, at(DAY), 9)
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        store
            .expire(RetentionClass::Cases, at(DAY), 9)
            .await
            .unwrap(),
        0
    );
    let left = "SELECT revision FROM conclusions ORDER BY revision";
    assert_eq!(fixture.texts(left).await, [["2"], ["4"]]);
    let journals = "SELECT DISTINCT revision FROM journal WHERE revision < 5 ORDER BY revision";
    assert_eq!(
        fixture.texts(journals).await,
        [["4"]],
        "with what they came to"
    );
    for table in ["arrivals", "sightings", "raw_messages"] {
        assert_eq!(rows(&fixture, table).await, 2, "{table}");
    }
    assert_eq!(
        store
            .expire(RetentionClass::Cases, at(9 * DAY), 9)
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        store
            .expire(RetentionClass::Cases, at(9 * DAY), 9)
            .await
            .unwrap(),
        0
    );
    assert_eq!(rows(&fixture, "arrivals").await, 1, "by which it is found");
    assert_eq!(rows(&fixture, "raw_messages").await, 1, "with what came");
    assert_eq!(rows(&fixture, "sightings").await, 0);
    conclude(store, &runs).await;
    let counted = store.view(&id.0).await.unwrap().row.sightings;
    assert_eq!(counted, 4, "as often as it came");
    assert_eq!(
        store
            .expire(RetentionClass::Cases, at(9 * DAY), 9)
            .await
            .unwrap(),
        1
    );
    assert_eq!(rows(&fixture, "cases").await, 0);
}

async fn what_is_kept_for_no_time_that_anybody_sets_is_swept(fixture: Fixture) {
    fixture.accept(DNS).await;
    let today = fixture.claim().await;
    let charge = Charge {
        day: chrono::NaiveDate::from_ymd_opt(2999, 1, 1).unwrap(),
        urgent: false,
        usd: 8.0,
    };
    fixture
        .store
        .append(&today.lease, &[], charge)
        .await
        .unwrap();
    let old = "INSERT INTO spending (day, case_id, urgent, usd) VALUES \
        ('2026-01-02', 'a', 1 = 1, 0.5), ('2026-01-02', 'b', 1 = 1, 1.5), ('2026-01-02', 'a', 1 = 0, 4), \
        ('2026-01-03', 'c', 1 = 1, 2)";
    fixture.execute(old).await;
    if !fixture.is_sqlite() {
        let batch = "INSERT INTO batches (id, accepted_at, alerts) \
            VALUES (gen_random_uuid(), now() - interval '25 hours', 1)";
        fixture.execute(batch).await;
    }
    let first = chrono::NaiveDate::from_ymd_opt(2026, 1, 2).unwrap();
    let before = fixture.store.spent_on(first).await.unwrap();
    for _ in 0..2 {
        assert_eq!(fixture.store.sweep().await.unwrap(), 0, "blobs");
    }
    assert_eq!(fixture.store.spent_on(first).await.unwrap(), before);
    let spending = "SELECT case_id, usd FROM spending ORDER BY day, usd";
    assert_eq!(
        fixture.texts(spending).await,
        [
            ["", "2"],
            ["", "4"],
            ["", "2"],
            [today.lease.case_id.0.as_str(), "8"]
        ]
    );
    // Later charges of another process for such a day are added.
    fixture.execute(old).await;
    fixture.store.sweep().await.unwrap();
    let again = fixture.store.spent_on(first).await.unwrap();
    assert!((again.total_usd() - 2.0 * before.total_usd()).abs() < 1e-9);
    if !fixture.is_sqlite() {
        assert_eq!(rows(&fixture, "batches").await, 1, "that of today");
    }
}

async fn a_day_of_the_ledger_is_read_without_the_rest(fixture: Fixture) {
    let explain = if fixture.is_sqlite() {
        "EXPLAIN QUERY PLAN"
    } else {
        "SET enable_seqscan = off; EXPLAIN"
    };
    let sql = format!(
        "{explain} SELECT source, max(received_at) FROM arrivals \
         WHERE received_at >= '2026-03-01' AND received_at < '2026-03-08' AND feed <> 'canary' GROUP BY source"
    );
    let plan = format!("{:?}", fixture.texts(&sql).await);
    assert!(plan.contains("arrivals_received"), "{plan}");
}

async fn the_schema_says_which_migrations_it_has(fixture: Fixture) {
    let names = fixture.store.migrations().await.unwrap();
    assert_eq!(names[0], "V1__schema");
    let again = fixture.another(options()).await;
    assert_eq!(again.migrations().await.unwrap(), names);
}

async fn clean_up_expires_by_the_earlier_clock(fixture: Fixture) {
    let ahead = at(40_000_000_000);
    let first = fixture.store.advance_retention_time(ahead).await.unwrap();
    assert_eq!(first == ahead, fixture.is_sqlite());
    let now = fixture.store.advance_retention_time(at(0)).await.unwrap();
    assert_eq!(now, at(0), "the clock was set back");
}

async fn clean_up_goes_one_day_further_where_the_clock_jumped(fixture: Fixture) {
    const DAY: i64 = 86_400;
    for (clock, expires_by) in [
        (0, 0),
        (3_600, 3_600),
        (365 * DAY, 3_600 + DAY),
        (365 * DAY, 3_600 + 2 * DAY),
        (7_200, 7_200),
        (365 * DAY, 7_200 + DAY),
    ] {
        // Each worker continues where the previous one stopped.
        let store = fixture.another(options()).await;
        let now = store.advance_retention_time(at(clock)).await.unwrap();
        assert_eq!(now, at(expires_by), "{clock}");
    }
}
