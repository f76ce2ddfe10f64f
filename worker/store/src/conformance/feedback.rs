//! What people say of cases, and what follows from it in the store.

use nightshift_alert::Content;
use nightshift_engine::PastQuery;
use nightshift_pipeline::{Change, NewPersonVerdict};

use super::reading::query;
use super::*;

on_both_stores! {
    the_newest_verdict_of_a_person_counts
    f16_what_a_person_says_is_noted_once_though_its_answer_was_lost
    decisions_carry_what_they_are_compared_by_and_no_words
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

/// The first of them, as that of this account.
fn of(account: &str, mut batch: Vec<Arrival>) -> Arrival {
    Arc::make_mut(&mut batch[0].alert).key.account = account.into();
    batch.remove(0)
}

/// Other content that does not matter by itself.
fn elsewhere() -> Vec<Arrival> {
    let mut batch = arrivals(DNS);
    Arc::make_mut(&mut batch[0].alert).region = Some("eu-south-2".into());
    Arc::make_mut(&mut batch[0].alert).content = Content("elsewhere".into());
    batch
}

async fn f16_what_a_person_says_is_noted_once_though_its_answer_was_lost(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.accept(DNS).await).0;
    conclude(store, &fixture.claim().await).await;
    let said = store.add_verdict(&id, says(None, 2)).await.unwrap();
    assert_eq!(store.add_verdict(&id, says(None, 2)).await.unwrap(), said);
    let view = store.view(&id).await.unwrap();
    assert_eq!((view.person_verdicts.len(), view.desk.acts.len()), (1, 1));
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
    let past = store.similar(&query(&claimed.alert)).await.unwrap();
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
    assert_eq!(
        store.decided(&query(alert)).await.unwrap(),
        [],
        "a machine's"
    );
    for (verdict, second) in [(Verdict::TruePositive, 5), (Verdict::FalsePositive, 6)] {
        let said = says(Some(verdict), second);
        store.add_verdict(&id, said).await.unwrap();
    }
    let decisions = store.decided(&query(alert)).await.unwrap();
    assert_eq!(decisions.len(), 1, "the newest of the case");
    let decision = &decisions[0];
    assert_eq!(decision.verdict, Verdict::FalsePositive);
    assert_eq!((decision.at, decision.by.as_str()), (at(6), "ana"));
    assert_eq!(
        (&decision.kind, &decision.account),
        (&alert.kind, &alert.account)
    );
    assert!(!decision.actors.is_empty());
    assert!(!format!("{decision:?}").contains("yearly"));
    for account in [None, Some("999988887777".to_owned())] {
        let other = PastQuery {
            account,
            ..query(alert)
        };
        assert_eq!(store.decided(&other).await.unwrap(), []);
    }
}

async fn a_disputed_case_is_triaged_again_when_anything_changes(fixture: Fixture) {
    for (said, account) in [(None, "first"), (Some(Verdict::TruePositive), "second")] {
        let store = &fixture.store;
        let id = case_of(&fixture.take(of(account, arrivals(DNS))).await);
        conclude_as(store, &fixture.claim().await, Verdict::TruePositive).await;
        if said.is_some() {
            store.add_verdict(&id.0, says(said, 3)).await.unwrap();
        }
        let accepted = [fixture.take(of(account, elsewhere())).await];
        assert_eq!(
            accepted[0].admission,
            Admission::Sighting(id.clone(), Seen::Unchanged)
        );
        let benign = says(Some(Verdict::BenignTruePositive), 4);
        store.add_verdict(&id.0, benign).await.unwrap();
        assert_eq!(
            fixture.take(of(account, arrivals(DNS))).await.admission,
            Admission::Sighting(id.clone(), Seen::Same)
        );
        let accepted = [fixture.take(of(account, elsewhere())).await];
        assert_eq!(
            accepted[0].admission,
            Admission::Revision(id, Change::Disputed)
        );
        let claimed = fixture.claim().await;
        conclude(store, &claimed).await;
    }
}
