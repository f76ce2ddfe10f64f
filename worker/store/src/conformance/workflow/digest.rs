//! Tests the contents of a daily digest.

use nightshift_alert::Severity;
use nightshift_pipeline::case_workflow::CaseActionKind;
use nightshift_pipeline::digest::{DIGEST_ROWS, Digest, MOST_COUNTED};
use nightshift_pipeline::feedback::NewPersonVerdict;
use nightshift_pipeline::mutes::NewMute;
use nightshift_pipeline::port::PendingDelivery;
use nightshift_pipeline::route::Match;

use super::does;
use crate::conformance::admission::arrival;
use crate::conformance::canaries::canary;
use crate::conformance::reopened::workflow_of;
use crate::conformance::*;

on_both_stores! {
    a_digest_tells_what_a_day_brought
    a_digest_does_not_count_what_waits_to_the_last
    a_digest_counts_once_what_stays_owed_and_was_tried_in_vain
    a_digest_counts_no_canary_that_nobody_took
    a_digest_leaves_out_what_people_called_a_false_positive
    a_digest_counts_a_case_once_as_it_ended_last
    a_digest_names_mutes_that_held_only_for_a_while
}

/// Times in the format of both stores, on the day of [`day`] and before it.
const TODAY: &str = "2026-03-02T12:00:00.000000Z";
const BEFORE: &str = "2026-01-02T03:04:05.000000Z";

/// Collects the digest of a day.
async fn day(fixture: &Fixture) -> Digest {
    fixture
        .store
        .collect_digest(at(-1), at(86_400))
        .await
        .unwrap()
}

/// Concludes a case with this verdict.
async fn ended(fixture: &Fixture, bytes: &[u8], verdict: Verdict) -> CaseId {
    let accepted = fixture.accept(bytes).await;
    conclude_as(&fixture.store, &fixture.claim().await, verdict).await;
    case_of(&accepted)
}

async fn a_digest_tells_what_a_day_brought(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.accept(MINER).await);
    conclude_as(store, &fixture.claim().await, Verdict::TruePositive).await;
    fixture.accept(MINER).await;
    let benign = case_of(&fixture.accept(DNS).await);
    conclude_as(store, &fixture.claim().await, Verdict::FalsePositive).await;
    let never = DeliveryError::Permanent {
        what: "channel_not_found".into(),
    };
    let refused = store.due_deliveries("soc", 10).await.unwrap().remove(0);
    store
        .record_failed("soc", &refused, &never, None)
        .await
        .unwrap();
    let (since, until) = (at(-4_000_000_000), at(4_000_000_000));
    let day = store.collect_digest(since, until).await.unwrap();
    let sums: Vec<(u64, u64, u64)> = day
        .arrived
        .iter()
        .map(|feed| (feed.alerts, feed.triaged, feed.repeated))
        .collect();
    assert_eq!(sums, [(2, 1, 1), (1, 1, 0)]);
    assert!(day.arrived.iter().all(|feed| feed.members == 0));
    // A member of a storm does not count as a repetition.
    fixture
        .execute("UPDATE arrivals SET outcome = 'member', alert = '{}' WHERE outcome = 'sighting'")
        .await;
    let again = store.collect_digest(since, until).await.unwrap();
    assert_eq!(
        (again.arrived[0].repeated, again.arrived[0].members),
        (0, 1)
    );
    assert_eq!(
        day.verdicts,
        [(Verdict::TruePositive, 1), (Verdict::FalsePositive, 1)]
    );
    assert_eq!(
        (day.open.len(), day.open_total),
        (1, 1),
        "nobody waits for what is cleared"
    );
    assert_eq!(day.open[0].case_id, id.0);
    assert_ne!(day.open[0].case_id, benign.0);
    assert_eq!(day.undelivered, [("soc".to_owned(), 1)]);
    assert_eq!((day.failed, day.dead_letters), (0, 0));
    assert!(day.silent.is_empty());
    // Open cases are in the digest of a day without arrivals too.
    let later = store
        .collect_digest(at(3_999_900_000), until)
        .await
        .unwrap();
    assert!(later.arrived.is_empty() && later.verdicts.is_empty());
    assert_eq!((later.open.len(), later.open_total), (1, 1));
    store
        .record_action(&id.0, does(CaseActionKind::Closed, 7))
        .await
        .unwrap();
    assert_eq!(
        store.collect_digest(since, until).await.unwrap().open_total,
        0
    );
}

async fn a_digest_does_not_count_what_waits_to_the_last(fixture: Fixture) {
    let store = &fixture.store;
    fixture.accept(MINER).await;
    conclude_as(store, &fixture.claim().await, Verdict::TruePositive).await;
    let columns = "key, feed, type, title, severity, content, status, workflow_status, verdict, opened_at, revised_at";
    let more = MOST_COUNTED + 7;
    fixture
        .execute(&format!(
            "INSERT INTO cases (id, {columns}) WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {more}) \
             SELECT 'more-' || n, {columns} FROM n CROSS JOIN cases"
        ))
        .await;
    let digest = store.collect_digest(at(0), at(1)).await.unwrap();
    assert_eq!(
        (digest.open_total, digest.open.len()),
        (MOST_COUNTED + 1, DIGEST_ROWS)
    );
}

/// Attempts a delivery that the destination refuses, temporarily or for good.
async fn refuse(fixture: &Fixture, due: &PendingDelivery, for_good: bool) {
    let what = "401 Unauthorized".to_owned();
    let (error, retry_in) = if for_good {
        (DeliveryError::Permanent { what }, None)
    } else {
        let after_secs = None;
        let error = DeliveryError::Transient { what, after_secs };
        (error, Some(Duration::from_secs(3_600)))
    };
    let store = &fixture.store;
    assert!(store.begin_attempt("soc", due).await.unwrap());
    store
        .record_failed("soc", due, &error, retry_in)
        .await
        .unwrap();
}

impl Fixture {
    async fn first_at_soc(&self) -> PendingDelivery {
        let sql = "UPDATE deliveries SET retry_at = NULL";
        self.execute(sql).await;
        self.store.due_deliveries("soc", 1).await.unwrap().remove(0)
    }
}

async fn a_digest_counts_once_what_stays_owed_and_was_tried_in_vain(fixture: Fixture) {
    let store = &fixture.store;
    let untaken = async || day(&fixture).await.undelivered;
    let of = |reports: u64| [("soc".to_owned(), reports)];
    let id = ended(&fixture, MINER, Verdict::TruePositive).await;
    let wished = format!("UPDATE deliveries SET requested_at = '{BEFORE}'");
    fixture.execute(&wished).await;
    assert_eq!(untaken().await, [], "it was not tried yet");
    refuse(&fixture, &fixture.first_at_soc().await, false).await;
    assert_eq!(untaken().await, of(1), "whenever it was wished");
    refuse(&fixture, &fixture.first_at_soc().await, false).await;
    assert_eq!(untaken().await, of(1), "however often it was tried");
    let due = fixture.first_at_soc().await;
    store
        .record_sent("soc", &due, Some(&DeliveryReceipt::default()))
        .await
        .unwrap();
    assert_eq!(untaken().await, []);
    // A minor edit does not count as an undelivered report.
    let acts = does(CaseActionKind::Acknowledged, 5);
    store.record_action(&id.0, acts).await.unwrap();
    let edit = fixture.first_at_soc().await;
    assert!(edit.payload.is_minor);
    refuse(&fixture, &edit, false).await;
    assert_eq!(untaken().await, []);
    let edit = fixture.first_at_soc().await;
    store
        .record_sent("soc", &edit, Some(&DeliveryReceipt::default()))
        .await
        .unwrap();
    // A delivery that is given up still counts once, on the day on which it was requested.
    ended(&fixture, DNS, Verdict::TruePositive).await;
    let wished = format!("UPDATE deliveries SET requested_at = '{TODAY}' WHERE sent_version = 0");
    fixture.execute(&wished).await;
    refuse(&fixture, &fixture.first_at_soc().await, false).await;
    assert_eq!(untaken().await, of(1));
    refuse(&fixture, &fixture.first_at_soc().await, true).await;
    assert_eq!(untaken().await, of(1));
    let later = store.collect_digest(at(86_400), at(172_800)).await.unwrap();
    assert_eq!(later.undelivered, []);
}

async fn a_digest_counts_no_canary_that_nobody_took(fixture: Fixture) {
    for (number, for_good) in [(1, false), (2, true)] {
        fixture.take(canary(0, number)).await;
        conclude(&fixture.store, &fixture.claim().await).await;
        let wished = format!("UPDATE deliveries SET requested_at = '{TODAY}' WHERE attempts = 0");
        fixture.execute(&wished).await;
        let due = fixture
            .store
            .due_deliveries("soc", 1)
            .await
            .unwrap()
            .remove(0);
        refuse(&fixture, &due, for_good).await;
    }
    let rows = "SELECT count(*) FROM deliveries WHERE error IS NOT NULL";
    assert_eq!(fixture.count(rows).await, 2);
    assert_eq!(day(&fixture).await.undelivered, []);
}

async fn a_digest_leaves_out_what_people_called_a_false_positive(fixture: Fixture) {
    let store = &fixture.store;
    let severe = |second, severity| arrival(second, |alert| alert.severity = severity);
    let id = case_of(&fixture.take(severe(0, Severity::Medium)).await);
    conclude_as(store, &fixture.claim().await, Verdict::TruePositive).await;
    let is_open = async || {
        let digest = day(&fixture).await;
        let open: Vec<_> = digest.open.iter().map(|case| &case.case_id).collect();
        let is_open = digest.open_total == 1;
        assert_eq!(open, Vec::from_iter(is_open.then_some(&id.0)));
        let workflow = workflow_of(&fixture, &id).await.0;
        assert_eq!(
            is_open,
            !workflow.is_settled(),
            "as tickets have it: {workflow:?}"
        );
        is_open
    };
    let says = async |verdict: Option<Verdict>, second| {
        let says = NewPersonVerdict {
            verdict,
            by: "ana".into(),
            at: at(second),
            note: String::new(),
        };
        store.add_verdict(&id.0, says).await.unwrap();
    };
    let wrong = Some(Verdict::FalsePositive);
    assert!(is_open().await);
    says(wrong, 2).await;
    assert!(!is_open().await);
    // An acknowledgement says nothing about the verdict.
    let taken = does(CaseActionKind::Acknowledged, 3);
    store.record_action(&id.0, taken).await.unwrap();
    assert!(!is_open().await);
    says(None, 4).await;
    assert!(is_open().await, "they agree now");
    says(wrong, 5).await;
    assert!(!is_open().await);
    says(Some(Verdict::BenignTruePositive), 6).await;
    assert!(is_open().await, "it was no wrong detection");
    says(wrong, 7).await;
    assert!(!is_open().await);
    fixture.take(severe(10, Severity::High)).await;
    assert!(is_open().await, "that was about another alert");
}

/// Ends the next running case with this verdict and status, at a cost of a quarter of a dollar.
async fn ends(fixture: &Fixture, verdict: Verdict, status: CaseStatus) {
    let claimed = fixture.claim().await;
    conclude_with(&fixture.store, &claimed, |closing| {
        closing.conclusion.verdict = verdict;
        closing.report.cost.usd = 0.25;
        (closing.status, closing.report.status) = (status, status);
    })
    .await;
}

async fn a_digest_counts_a_case_once_as_it_ended_last(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.accept(MINER).await);
    ends(&fixture, Verdict::TruePositive, CaseStatus::Concluded).await;
    store.retry(&id.0).await.unwrap();
    ends(&fixture, Verdict::Inconclusive, CaseStatus::Failed).await;
    let sum = async || {
        let sum = "UPDATE conclusions SET concluded_at = ";
        let today = format!("{sum}'{TODAY}' WHERE concluded_at <> '{BEFORE}'");
        fixture.execute(&today).await;
        let day = day(&fixture).await;
        (day.verdicts, day.failed, day.cost_usd)
    };
    assert_eq!(sum().await, (vec![], 1, 0.5));
    store.retry(&id.0).await.unwrap();
    ends(&fixture, Verdict::FalsePositive, CaseStatus::Concluded).await;
    let other = case_of(&fixture.accept(DNS).await);
    assert_ne!(other, id);
    ends(&fixture, Verdict::FalsePositive, CaseStatus::Concluded).await;
    let both = vec![(Verdict::FalsePositive, 2)];
    assert_eq!(sum().await, (both, 0, 1.0), "and what all runs cost");
    // A result of another day is in the digest of that day.
    let last = format!("UPDATE conclusions SET concluded_at = '{BEFORE}' WHERE revision = 3");
    fixture.execute(&last).await;
    let one = vec![(Verdict::FalsePositive, 1)];
    assert_eq!(sum().await, (one, 1, 0.75));
}

async fn a_digest_names_mutes_that_held_only_for_a_while(fixture: Fixture) {
    let store = &fixture.store;
    let add = async |added, until| {
        let mute = NewMute {
            when: Match {
                kind: Some("Trojan:*".into()),
                ..Match::default()
            },
            severity: Severity::Medium,
            until: at(until),
            why: "a known resolver".into(),
            by: "ana".into(),
        };
        store.add_mute(mute, at(added)).await.unwrap().name
    };
    add(-9_000, -8_000).await;
    let removed = add(100, 1_000_000).await;
    let hides = fixture.take(arrival(150, |_| {})).await;
    assert_eq!(hides.admission, Admission::Muted(removed.clone()));
    store.remove_mute(&removed, at(200)).await.unwrap();
    let over = add(300, 400).await;
    let holds = add(500, 1_000_000).await;
    let mut digest = day(&fixture).await;
    digest.set_mutes(&store.mutes().await.unwrap());
    let mutes = digest.mutes.into_iter();
    let mutes: Vec<_> = mutes.map(|one| (one.name, one.until, one.hid)).collect();
    let wanted = [
        (holds, at(1_000_000), 0),
        (over, at(400), 0),
        (removed, at(200), 1),
    ];
    assert_eq!(mutes, wanted);
    assert_eq!(digest.mutes_total, 3);
}
