//! Reading: lists, one case, earlier cases.

use nightshift_engine::PastQuery;

use super::*;

on_both_stores! {
    a20_earlier_cases_come_in_typed_fields_and_without_this_one
    a_case_is_found_by_a_beginning_of_its_id_that_fits_no_other
    a_list_is_filtered
}

async fn a20_earlier_cases_come_in_typed_fields_and_without_this_one(fixture: Fixture) {
    let first = fixture.accept(THEFT).await;
    let claimed = fixture.claim().await;
    conclude(&fixture.store, &claimed).await;
    let query = |case_id: &str, alert: &Alert| PastQuery {
        case_id: case_id.into(),
        key: alert.key.to_string(),
        kind: alert.kind.clone(),
        account: alert.account.clone(),
        indicators: alert.indicators.clone(),
        since: None,
        limit: 10,
    };
    let mut alert = claimed.alert.clone();
    assert_eq!(
        fixture
            .store
            .similar(&query(&case_of(&first).0, &alert))
            .await
            .unwrap(),
        []
    );
    alert.key.id = "another".into();
    let found = fixture.store.similar(&query("none", &alert)).await.unwrap();
    assert_eq!(found.len(), 1);
    assert!(!found[0].same_key && !found[0].shared.is_empty());
    assert_eq!(found[0].verdict, Some(Verdict::Inconclusive));
    let text = serde_json::to_string(&found).unwrap();
    assert!(!text.contains(&claimed.alert.title), "no free text crosses");
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
