//! Tests verdicts of people and their consequences in the store.

use nightshift_alert::{
    ContentHash, Indicator, IndicatorKind, IndicatorRole, Severity, TraceContext,
};
use nightshift_engine::port::PastQuery;
use nightshift_pipeline::admission::RevisionReason;
use nightshift_pipeline::feedback::NewPersonVerdict;

use super::reading::query;
use super::*;

on_both_stores! {
    the_newest_verdict_of_a_person_counts
    f16_feedback_is_recorded_once_though_its_answer_was_lost
    decisions_carry_what_they_are_compared_by_and_no_words
    what_people_decided_about_anything_else_is_not_found
    of_all_decisions_about_an_actor_the_newest_counts
    a_decision_is_found_by_the_account_of_what_was_judged
    true_positive_on_any_subject_ends_an_earlier_decision
    decision_over_what_names_no_actor_is_found_by_its_target
    the_trace_of_a_revision_is_that_of_its_own_message
    a_disputed_case_is_triaged_again_when_anything_changes
}

fn says(verdict: Option<Verdict>, second: i64) -> NewPersonVerdict {
    NewPersonVerdict {
        verdict,
        by: "ana".into(),
        at: at(second),
        note: "the yearly test".into(),
    }
}

/// Returns the first alert of the batch for this account.
fn first_for_account(account: &str, mut batch: Vec<Arrival>) -> Arrival {
    Arc::make_mut(&mut batch[0].alert).key.account = account.into();
    batch.remove(0)
}

/// Returns alerts that differ only in immaterial content.
fn elsewhere() -> Vec<Arrival> {
    let mut batch = arrivals(DNS);
    Arc::make_mut(&mut batch[0].alert).region = Some("eu-south-2".into());
    Arc::make_mut(&mut batch[0].alert).content = ContentHash("elsewhere".into());
    batch
}

async fn f16_feedback_is_recorded_once_though_its_answer_was_lost(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.accept(DNS).await).0;
    conclude(store, &fixture.claim().await).await;
    let said = store.add_verdict(&id, says(None, 2)).await.unwrap();
    assert_eq!(store.add_verdict(&id, says(None, 2)).await.unwrap(), said);
    let view = store.view(&id).await.unwrap();
    assert_eq!(
        (view.person_verdicts.len(), view.workflow.acts.len()),
        (1, 1)
    );
    store.add_verdict(&id, says(None, 3)).await.unwrap();
    assert_eq!(store.view(&id).await.unwrap().person_verdicts.len(), 2);
}

async fn the_newest_verdict_of_a_person_counts(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.accept(DNS).await).0;
    let none = store.add_verdict(&id, says(None, 1)).await;
    assert!(matches!(none, Err(StoreError::NoVerdict(_))), "{none:?}");
    let claimed = fixture.claim().await;
    conclude_as(store, &claimed, Verdict::TruePositive).await;
    let said = store
        .add_verdict(id.get(..6).unwrap(), says(None, 2))
        .await
        .unwrap();
    assert!(said.agreed && said.revision == 1);
    assert_eq!(said.verdict, Verdict::TruePositive);
    let benign = Verdict::BenignTruePositive;
    let said = store.add_verdict(&id, says(Some(benign), 3)).await.unwrap();
    assert!(!said.agreed);
    let view = store.view(&id).await.unwrap();
    assert_eq!(view.person_verdicts.len(), 2);
    assert_eq!(view.person_verdicts[0], said);
    assert_eq!(view.row.verdict, Some(Verdict::TruePositive), "ours stays");
    let past = store.similar_cases(&query(&claimed.alert)).await.unwrap();
    assert_eq!(past[0].person_verdict, Some(benign));
    let unknown = store.add_verdict("nobody", says(None, 4)).await;
    assert!(matches!(unknown, Err(StoreError::NoSuchCase(_))));
}

async fn decisions_carry_what_they_are_compared_by_and_no_words(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.accept(THEFT).await).0;
    let claimed = fixture.claim().await;
    conclude_as(store, &claimed, Verdict::Inconclusive).await;
    let alert = &claimed.alert;
    let machines = store.last_person_decision(&query(alert)).await.unwrap();
    assert_eq!(machines, None, "a machine's");
    for (verdict, second) in [(Verdict::TruePositive, 5), (Verdict::FalsePositive, 6)] {
        let said = says(Some(verdict), second);
        store.add_verdict(&id, said).await.unwrap();
    }
    let decision = store
        .last_person_decision(&query(alert))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(decision.verdict, Verdict::FalsePositive);
    assert_eq!((decision.at, decision.by.as_str()), (at(6), "ana"));
    assert_eq!(
        (&decision.kind, &decision.account),
        (&alert.kind, &alert.account)
    );
    let with_role = |role| alert.with_role(role).cloned().collect::<Vec<_>>();
    assert_eq!(decision.actors, with_role(IndicatorRole::Actor));
    assert_eq!(decision.targets, with_role(IndicatorRole::Target));
    assert_eq!(decision.remotes, with_role(IndicatorRole::Remote));
    assert_eq!(decision.resources, alert.resources);
    assert_eq!(decision.severity, alert.severity);
    assert!(!decision.actors.is_empty() && !decision.targets.is_empty());
    assert!(!format!("{decision:?}").contains("yearly"));
}

async fn what_people_decided_about_anything_else_is_not_found(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.accept(THEFT).await).0;
    let claimed = fixture.claim().await;
    conclude(store, &claimed).await;
    let said = says(Some(Verdict::FalsePositive), 5);
    store.add_verdict(&id, said).await.unwrap();
    let asked = || query(&claimed.alert);
    assert!(
        store
            .last_person_decision(&asked())
            .await
            .unwrap()
            .is_some()
    );
    let nobody = Indicator::new(IndicatorKind::Ip, "198.51.100.250", IndicatorRole::Actor);
    for (what, other) in [
        (
            "no account",
            PastQuery {
                account: None,
                ..asked()
            },
        ),
        (
            "another account",
            PastQuery {
                account: Some("999988887777".into()),
                ..asked()
            },
        ),
        (
            "another type",
            PastQuery {
                kind: "Recon:EC2/Portscan".into(),
                ..asked()
            },
        ),
        (
            "nobody acts",
            PastQuery {
                actors: Vec::new(),
                ..asked()
            },
        ),
        (
            "others act",
            PastQuery {
                actors: vec![nobody],
                ..asked()
            },
        ),
    ] {
        assert_eq!(
            store.last_person_decision(&other).await.unwrap(),
            None,
            "{what}"
        );
    }
}

/// Triages an alert like this one, and returns its case.
async fn triaged(fixture: &Fixture, id: &str, change: impl Fn(&mut Alert)) -> String {
    let mut batch = arrivals(THEFT);
    let alert = Arc::make_mut(&mut batch[0].alert);
    alert.key.id = id.into();
    change(alert);
    let id = case_of(&fixture.take(batch.remove(0)).await).0;
    conclude(&fixture.store, &fixture.claim().await).await;
    id
}

/// Changes an alert materially, so that it is triaged again.
fn worse(alert: &mut Alert) {
    alert.severity = Severity::Critical;
    alert.content = ContentHash("worse".into());
}

async fn of_all_decisions_about_an_actor_the_newest_counts(fixture: Fixture) {
    let store = &fixture.store;
    let mut ids = vec![triaged(&fixture, "0", |_| ()).await];
    // The actor remains in the indicators of the case, but the judged alert does not name it any more.
    fixture.put("alerts", "alert", "indicators", "[]").await;
    ids.push(triaged(&fixture, "1", |_| ()).await);
    ids.push(triaged(&fixture, "2", |_| ()).await);
    let another = |alert: &mut Alert| alert.kind = "Recon:EC2/Portscan".into();
    ids.push(triaged(&fixture, "3", another).await);
    let alert = arrivals(THEFT).remove(0).alert;
    let mut asked = query(&alert);
    // One known actor among others is enough.
    asked.actors.truncate(1);
    let nobody = Indicator::new(IndicatorKind::Ip, "198.51.100.250", IndicatorRole::Actor);
    asked.actors.insert(0, nobody);
    for (case, verdict, second, newest) in [
        (1, Verdict::BenignTruePositive, 5, 1),
        (2, Verdict::TruePositive, 7, 2),
        (0, Verdict::FalsePositive, 8, 2),
        (3, Verdict::FalsePositive, 9, 2),
        // This verdict is older and arrives late.
        (1, Verdict::FalsePositive, 6, 2),
        (1, Verdict::FalsePositive, 10, 1),
    ] {
        let said = says(Some(verdict), second);
        store.add_verdict(&ids[case], said).await.unwrap();
        let decision = store.last_person_decision(&asked).await.unwrap().unwrap();
        assert_eq!(decision.case_id, ids[newest], "{second}");
    }
}

async fn a_decision_is_found_by_the_account_of_what_was_judged(fixture: Fixture) {
    let store = &fixture.store;
    let told = |alert: &mut Alert| alert.account = Some("told".into());
    let benign = triaged(&fixture, "0", told).await;
    // The first message of the other case has no account.
    triaged(&fixture, "1", |alert| alert.account = None).await;
    let later = |alert: &mut Alert| {
        told(alert);
        worse(alert);
    };
    let bad = triaged(&fixture, "1", later).await;
    for (case, verdict, second) in [
        (&benign, Verdict::BenignTruePositive, 5),
        (&bad, Verdict::TruePositive, 6),
    ] {
        let said = says(Some(verdict), second);
        store.add_verdict(case, said).await.unwrap();
    }
    let mut alert = Alert::clone(&arrivals(THEFT).remove(0).alert);
    told(&mut alert);
    let decision = store
        .last_person_decision(&query(&alert))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(decision.case_id, bad);
}

/// Changes an alert to another type with only its targets as indicators.
fn of_targets(alert: &mut Alert) {
    alert.kind = "Recon:EC2/Portscan".into();
    alert
        .indicators
        .retain(|one| one.role == IndicatorRole::Target);
}

async fn true_positive_on_any_subject_ends_an_earlier_decision(fixture: Fixture) {
    let store = &fixture.store;
    let benign = triaged(&fixture, "0", |_| ()).await;
    let bad = triaged(&fixture, "1", of_targets).await;
    let elsewhere = |alert: &mut Alert| {
        of_targets(alert);
        alert.account = Some("999988887777".into());
        alert
            .indicators
            .retain(|one| one.kind == IndicatorKind::Instance);
    };
    let far = triaged(&fixture, "2", elsewhere).await;
    let alert = arrivals(THEFT).remove(0).alert;
    for (case, verdict, second, ended) in [
        (&benign, Verdict::BenignTruePositive, 5, None),
        // This verdict is older than the decision.
        (&bad, Verdict::TruePositive, 4, None),
        // An instance with the same id in another account is another instance.
        (&far, Verdict::TruePositive, 6, None),
        (&bad, Verdict::TruePositive, 7, Some(at(7))),
        // People change their verdict.
        (&bad, Verdict::FalsePositive, 8, None),
    ] {
        let said = says(Some(verdict), second);
        store.add_verdict(case, said).await.unwrap();
        let decision = store
            .last_person_decision(&query(&alert))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(decision.case_id, benign, "{second}");
        assert_eq!(decision.ended_at, ended, "{second}");
    }
}

async fn decision_over_what_names_no_actor_is_found_by_its_target(fixture: Fixture) {
    let store = &fixture.store;
    let id = triaged(&fixture, "0", of_targets).await;
    let said = says(Some(Verdict::FalsePositive), 5);
    store.add_verdict(&id, said).await.unwrap();
    let mut alert = Alert::clone(&arrivals(THEFT).remove(0).alert);
    of_targets(&mut alert);
    let mut asked = query(&alert);
    assert_eq!(
        store.last_person_decision(&asked).await.unwrap(),
        None,
        "of nobody"
    );
    asked.actors.clone_from(&alert.indicators);
    let decision = store.last_person_decision(&asked).await.unwrap().unwrap();
    assert_eq!((decision.case_id, decision.actors.len()), (id, 0));
    for one in &mut asked.actors {
        one.role = IndicatorRole::Actor;
    }
    assert_eq!(
        store.last_person_decision(&asked).await.unwrap(),
        None,
        "it acts here"
    );
}

async fn the_trace_of_a_revision_is_that_of_its_own_message(fixture: Fixture) {
    const FIRST: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const SECOND: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let came = |from| TraceContext::parse(from, None);
    let first = |alert: &mut Alert| alert.trace = came(FIRST);
    let id = CaseId(triaged(&fixture, "0", first).await);
    let again = |alert: &mut Alert| {
        worse(alert);
        alert.trace = came(SECOND);
    };
    triaged(&fixture, "0", again).await;
    for (revision, from) in [(1, FIRST), (2, SECOND)] {
        let trace = fixture.store.trace_context(&id, revision).await.unwrap();
        assert_eq!(trace, came(from));
    }
    let gone = fixture.store.trace_context(&id, 3).await;
    assert!(matches!(gone, Err(StoreError::NoSuchCase(_))), "{gone:?}");
}

async fn a_disputed_case_is_triaged_again_when_anything_changes(fixture: Fixture) {
    for (said, account) in [(None, "first"), (Some(Verdict::TruePositive), "second")] {
        let store = &fixture.store;
        let id = case_of(
            &fixture
                .take(first_for_account(account, arrivals(DNS)))
                .await,
        );
        conclude_as(store, &fixture.claim().await, Verdict::TruePositive).await;
        if said.is_some() {
            store.add_verdict(&id.0, says(said, 3)).await.unwrap();
        }
        let accepted = [fixture.take(first_for_account(account, elsewhere())).await];
        assert_eq!(
            accepted[0].admission,
            Admission::Sighting(id.clone(), SightingReason::Unchanged)
        );
        let benign = says(Some(Verdict::BenignTruePositive), 4);
        store.add_verdict(&id.0, benign).await.unwrap();
        assert_eq!(
            fixture
                .take(first_for_account(account, arrivals(DNS)))
                .await
                .admission,
            Admission::Sighting(id.clone(), SightingReason::Same)
        );
        let accepted = [fixture.take(first_for_account(account, elsewhere())).await];
        assert_eq!(
            accepted[0].admission,
            Admission::Revision(id, RevisionReason::Disputed)
        );
        let claimed = fixture.claim().await;
        conclude(store, &claimed).await;
    }
}
