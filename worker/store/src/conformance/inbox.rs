//! Tests the inbox: whole and split batches, from several workers at once.

use super::*;

on_both_stores! {
    a_known_key_is_a_sighting_and_a_new_one_a_case
    unreadable_message_is_a_dead_letter_with_bytes_and_a_case
    a_batch_is_split_down_to_the_alert_that_cannot_be_stored
    batch_of_everything_equals_the_same_alerts_one_by_one
    workers_that_take_the_same_alert_at_once_open_one_case
    a_bell_rings_for_new_work_and_for_what_is_given_back
}

async fn a_known_key_is_a_sighting_and_a_new_one_a_case(fixture: Fixture) {
    assert_eq!(fixture.accept(DNS).await.admission, Admission::New);
    let again = fixture.accept(DNS).await;
    let id = case_of(&again);
    assert_eq!(
        again.admission,
        Admission::Sighting(id.clone(), SightingReason::Same)
    );
    assert_eq!(fixture.accept(MINER).await.admission, Admission::New);
    let view = fixture.store.view(&id.0).await.unwrap();
    assert_eq!((view.row.sightings, view.sightings.len()), (1, 1));
    assert_eq!(view.alert, *arrivals(DNS)[0].alert);
}

async fn unreadable_message_is_a_dead_letter_with_bytes_and_a_case(fixture: Fixture) {
    let bytes = b"\xff{ not json";
    let accepted = fixture.accept(bytes).await;
    let letters = fixture.store.dead_letters(10).await.unwrap();
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].case_id, accepted.case_id);
    let (letter, kept) = fixture
        .store
        .dead_letter(letters[0].id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((kept.as_slice(), letter.size_bytes), (&bytes[..], 11));
    let again = fixture.accept(b"more nonsense").await;
    assert_eq!(
        again.case_id, accepted.case_id,
        "one case per source and hour"
    );
    assert_eq!(fixture.store.dead_letters(10).await.unwrap().len(), 2);
}

async fn a_batch_is_split_down_to_the_alert_that_cannot_be_stored(fixture: Fixture) {
    let refuse = if fixture.is_sqlite() {
        "CREATE TRIGGER poison BEFORE INSERT ON cases WHEN new.title = 'poison' \
         BEGIN SELECT raise(ABORT, 'this is poison'); END"
    } else {
        "ALTER TABLE cases ADD CHECK (title <> 'poison')"
    };
    fixture.execute(refuse).await;
    let batch: Vec<_> = (0..9)
        .map(|number| {
            let mut arrival = arrivals(MINER).remove(0);
            Arc::make_mut(&mut arrival.alert).key.id = format!("finding {number}");
            if number == 5 {
                Arc::make_mut(&mut arrival.alert).title = "poison".into();
            }
            arrival
        })
        .collect();
    let raw = batch[5].raw.to_vec();
    let accepted = fixture.store.accept(batch.clone().into()).await.unwrap();
    let ids: Vec<_> = accepted.iter().map(|one| one.key.clone()).collect();
    assert_eq!(ids.len(), 9);
    assert!(ids[8].ends_with("finding 8"), "in their order: {ids:?}");
    let letters = fixture.store.dead_letters(10).await.unwrap();
    assert_eq!(letters.len(), 1);
    assert_eq!(accepted[5].dead_letter, Some(letters[0].id));
    assert!(letters[0].error.contains("cannot be stored"), "{letters:?}");
    let (_, kept) = fixture
        .store
        .dead_letter(letters[0].id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(kept, raw);
    assert_eq!(fixture.count("SELECT count(*) FROM cases").await, 9);
    let mut asked = batch[5].clone();
    asked.on_demand = true;
    let error = fixture.store.accept(Arc::new([asked])).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
}

async fn batch_of_everything_equals_the_same_alerts_one_by_one(fixture: Fixture) {
    let nth = |number: u8, severity| {
        let mut arrival = arrivals(DNS).remove(0);
        arrival.at = at(i64::from(number));
        Arc::make_mut(&mut arrival.alert).state.sample = false;
        Arc::make_mut(&mut arrival.alert).times.updated = None;
        Arc::make_mut(&mut arrival.alert).severity = severity;
        Arc::make_mut(&mut arrival.alert).content.0 = format!("content {number}");
        arrival
    };
    use nightshift_alert::Severity::{High, Low, Medium};
    let mut archived = nth(4, Medium);
    Arc::make_mut(&mut archived.alert).state.archived = true;
    let batch = vec![
        nth(0, Low),
        nth(0, Low),
        nth(1, Medium),
        nth(1, Medium),
        nth(2, High),
        archived,
        nth(5, High),
        arrivals(b"nonsense").remove(0),
        arrivals(b"more nonsense").remove(0),
    ];
    let words = |accepted: &[AcceptedAlert]| -> Vec<String> {
        let word = |one: &AcceptedAlert| {
            let why = one.admission.reason().unwrap_or_default();
            format!("{} {why}", one.admission.as_str())
        };
        accepted.iter().map(word).collect()
    };
    let together = words(&fixture.store.accept(batch.clone().into()).await.unwrap());
    assert_eq!(
        together,
        [
            "new ",
            "sighting same",
            "replaced severity",
            "sighting same",
            "replaced severity",
            "sighting at_feed:archived",
            "replaced state",
            "new ",
            "sighting same"
        ]
    );
    let mut one_by_one = Vec::new();
    for mut arrival in batch {
        // Another account and hour share nothing with the previous batch.
        Arc::make_mut(&mut arrival.alert).key.account = "another".into();
        one_by_one.push(fixture.take(arrival).await);
    }
    assert_eq!(words(&one_by_one), together);
}

async fn workers_that_take_the_same_alert_at_once_open_one_case(fixture: Fixture) {
    let other = fixture.another(options()).await;
    let batch = || {
        let mut batch = arrivals(MINER);
        batch.extend(arrivals(DNS));
        batch
    };
    let mut back = batch();
    back.reverse();
    let accepts = (0..8).map(|number| {
        let store = if number % 2 == 0 {
            &fixture.store
        } else {
            &other
        };
        let batch = if number % 3 == 0 {
            back.clone()
        } else {
            batch()
        };
        store.accept(batch.into())
    });
    let accepted = futures_util::future::try_join_all(accepts).await.unwrap();
    let new = accepted.iter().flatten();
    let new = new.filter(|one| one.admission == Admission::New).count();
    assert_eq!(new, 2);
    assert_eq!(fixture.count("SELECT count(*) FROM cases").await, 2);
    assert_eq!(fixture.count("SELECT sum(sightings) FROM cases").await, 14);
}

async fn a_bell_rings_for_new_work_and_for_what_is_given_back(fixture: Fixture) {
    let store = &fixture.store;
    let (heard, accepted) = tokio::join!(store.wait_for_work(0), fixture.accept(MINER));
    assert_eq!(accepted.admission, Admission::New);
    assert!(heard > 0);
    let claimed = fixture.claim().await;
    let heard = store.wait_for_work(0).await;
    store.release(&claimed.lease).await.unwrap();
    assert!(store.wait_for_work(heard).await > heard);
}
