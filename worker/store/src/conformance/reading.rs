//! Tests lists, views of a case, and searches for earlier cases.

use nightshift_alert::IndicatorRole;
use nightshift_alert::text::distinct_words;
use nightshift_engine::port::PastQuery;

use super::*;

on_both_stores! {
    a20_earlier_cases_come_in_typed_fields_and_without_this_one
    r3_a20_similar_cases_are_found_by_their_words_and_tell_none
    an_earlier_case_whose_triage_failed_has_no_verdict
    of_many_cases_that_share_a_value_the_newest_are_found
    a_case_is_found_by_a_beginning_of_its_id_that_fits_no_other
    a_list_is_filtered
}

pub(super) fn query(alert: &Alert) -> PastQuery {
    PastQuery {
        case_id: "new".into(),
        key: alert.key.to_string(),
        kind: alert.kind.clone(),
        account: alert.account.clone(),
        indicators: alert.indicators.clone(),
        actors: alert.with_role(IndicatorRole::Actor).cloned().collect(),
        words: distinct_words(&[&alert.title, &alert.description]),
        since: None,
        limit: 20,
    }
}

async fn a20_earlier_cases_come_in_typed_fields_and_without_this_one(fixture: Fixture) {
    let first = fixture.accept(THEFT).await;
    let claimed = fixture.claim().await;
    conclude(&fixture.store, &claimed).await;
    let of_case = |id: CaseId, alert: &Alert| PastQuery {
        case_id: id.0,
        ..query(alert)
    };
    let mut alert = Alert::clone(&claimed.alert);
    assert_eq!(
        fixture
            .store
            .similar_cases(&of_case(case_of(&first), &alert))
            .await
            .unwrap(),
        []
    );
    alert.key.id = "another".into();
    let found = fixture.store.similar_cases(&query(&alert)).await.unwrap();
    assert_eq!(found.len(), 1);
    assert!(!found[0].same_key && !found[0].shared.is_empty());
    assert_eq!(found[0].verdict, Some(Verdict::Inconclusive));
    let text = serde_json::to_string(&found).unwrap();
    assert!(!text.contains(&claimed.alert.title), "no free text crosses");
}

async fn r3_a20_similar_cases_are_found_by_their_words_and_tell_none(fixture: Fixture) {
    let store = &fixture.store;
    for bytes in [THEFT, MINER] {
        fixture.accept(bytes).await;
        conclude(store, &fixture.claim().await).await;
    }
    let theft = &arrivals(THEFT)[0].alert;
    let found = async |words: &[&str]| {
        let query = PastQuery {
            words: distinct_words(words),
            ..query(theft)
        };
        store.cases_by_words(&query).await.unwrap()
    };
    let like = found(&[&theft.title]).await;
    assert_eq!(like.len(), 1);
    assert_eq!(
        (like[0].kind.as_str(), like[0].similarity),
        (theft.kind.as_str(), Some(100))
    );
    assert!(like[0].shared.is_empty(), "values are compared elsewhere");
    let text = serde_json::to_string(&like).unwrap();
    assert!(!text.contains(&theft.title), "no free text crosses");
    // Half of the words is enough; less is not.
    let half = found(&["credentials instance lantern harbour"]).await;
    assert_eq!(
        half.iter().map(|one| one.similarity).collect::<Vec<_>>(),
        [Some(50)]
    );
    assert_eq!(found(&["credentials lantern harbour"]).await, []);
    assert_eq!(found(&["203.0.113.42", "i-0a1b2c3d4e5f60718"]).await, []);
    assert_eq!(
        found(&["or and not near \"quoted\" lexeme:* & ("]).await,
        []
    );
    // The words are those of the last report, and go with the case.
    let id = &like[0].case_id;
    store.retry(id).await.unwrap();
    conclude(store, &fixture.claim().await).await;
    assert_eq!(found(&[&theft.title]).await.len(), 1);
    assert_eq!(
        fixture
            .texts("SELECT case_id, words FROM case_words")
            .await
            .len(),
        2
    );
    let me = PastQuery {
        case_id: id.clone(),
        words: distinct_words(&[&theft.title]),
        ..query(theft)
    };
    assert_eq!(store.cases_by_words(&me).await.unwrap(), []);
}

async fn an_earlier_case_whose_triage_failed_has_no_verdict(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.accept(THEFT).await);
    let claimed = fixture.claim().await;
    fail(store, &claimed).await;
    let query = query(&claimed.alert);
    let said = async || {
        let found = store.similar_cases(&query).await.unwrap().remove(0);
        (found.status, found.verdict)
    };
    assert_eq!(said().await, ("failed".to_owned(), None));
    // The case has no verdict either while it is triaged again.
    store.retry(&id.0).await.unwrap();
    assert_eq!(said().await, ("queued".to_owned(), None));
    conclude(store, &fixture.claim().await).await;
    assert_eq!(said().await.1, Some(Verdict::Inconclusive));
}

async fn of_many_cases_that_share_a_value_the_newest_are_found(fixture: Fixture) {
    const MANY: i64 = 60;
    let mut alert = None;
    for second in 0..MANY {
        let one = super::admission::arrival(second, |alert| {
            alert.key.id = second.to_string();
            // In a storm, most of them would become members.
            alert.severity = nightshift_alert::Severity::High;
        });
        alert = Some(Arc::clone(&one.alert));
        fixture.store.accept([one].into()).await.unwrap();
    }
    let alert = alert.unwrap();
    let query = PastQuery {
        key: "another".into(),
        limit: 10,
        ..query(&alert)
    };
    let found = fixture.store.similar_cases(&query).await.unwrap();
    let keys: Vec<_> = found.iter().map(|case| case.key.clone()).collect();
    let newest: Vec<_> = (MANY - 10..MANY)
        .rev()
        .map(|second| alert_key(&alert, second))
        .collect();
    assert_eq!(keys, newest);
    assert!(found.iter().all(|case| !case.shared.is_empty()));
    let more = PastQuery {
        limit: 100,
        ..query
    };
    assert_eq!(fixture.store.similar_cases(&more).await.unwrap().len(), 60);
}

fn alert_key(alert: &Alert, second: i64) -> String {
    let mut key = alert.key.clone();
    key.id = second.to_string();
    key.to_string()
}

async fn a_case_is_found_by_a_beginning_of_its_id_that_fits_no_other(fixture: Fixture) {
    let accepted = fixture.accept(MINER).await;
    let id = case_of(&accepted).0;
    assert_eq!(
        fixture
            .store
            .view(id.get(..6).unwrap())
            .await
            .unwrap()
            .row
            .id
            .0,
        id
    );
    assert_eq!(
        fixture
            .store
            .view(&id.to_uppercase())
            .await
            .unwrap()
            .row
            .id
            .0,
        id
    );
    for wrong in ["", "zz", "%", "nothing"] {
        let error = fixture.store.view(wrong).await.unwrap_err();
        assert!(matches!(error, StoreError::NoSuchCase(_)), "{wrong}");
    }
}

async fn a_list_is_filtered(fixture: Fixture) {
    for bytes in [DNS, MINER] {
        fixture.accept(bytes).await;
    }
    let list = async |filter: CaseFilter| {
        let rows = fixture.store.list(&filter).await.unwrap();
        rows.into_iter().map(|row| row.feed).collect::<Vec<_>>()
    };
    let all = CaseFilter {
        limit: 10,
        ..CaseFilter::default()
    };
    assert_eq!(list(all.clone()).await.len(), 2);
    let scc = CaseFilter {
        feed: Some("scc".into()),
        ..all.clone()
    };
    assert_eq!(list(scc).await, ["scc"]);
    let critical = CaseFilter {
        severity_at_least: Some(nightshift_alert::Severity::Critical),
        ..all.clone()
    };
    assert_eq!(list(critical).await, ["scc"]);
    let concluded = CaseFilter {
        status: Some(CaseStatus::Concluded),
        ..all
    };
    assert!(list(concluded).await.is_empty());
}
