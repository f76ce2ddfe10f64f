use std::time::Duration;

use crate::chat::ChatFailure;
use futures_util::future::join_all;
use tokio::time::Instant;

use super::*;
use crate::testing::{
    NOW, ScriptedModel, answer, breaker, failure, request_with, secs, urgent_request,
};

const CALL: Duration = secs(10);

fn limited(places: u32) -> (Arc<ConcurrencyLimit>, Arc<ScriptedModel>) {
    let model = ScriptedModel::new(|_, _| (CALL, Ok(answer())));
    let limited = ConcurrencyLimit::new(model.clone(), ConcurrencySlots::new(places), breaker());
    (Arc::new(limited), model)
}

#[tokio::test(start_paused = true)]
async fn no_more_are_under_way_than_there_are_places() {
    let (limited, model) = limited(10);
    let start = Instant::now();
    let requests: Vec<_> = (0..20).map(|_| request_with(secs(60))).collect();
    let results = join_all(requests.iter().map(|request| limited.chat(request))).await;
    assert!(results.iter().all(Result::is_ok));
    let at = |second: u64| {
        let asked = model.request_times();
        asked
            .iter()
            .filter(|at| **at == start + secs(second))
            .count()
    };
    // Two of the ten are reserved for urgent requests.
    assert_eq!((at(0), at(10), at(20)), (8, 8, 4));
}

#[tokio::test(start_paused = true)]
async fn a24_urgent_request_gets_a_slot_among_any_number_of_others() {
    for places in [2, 5, 10, 64] {
        let (limited, _) = limited(places);
        let ordinary: Vec<_> = (0..200).map(|_| request_with(secs(30))).collect();
        let one = urgent_request(secs(30));
        let start = Instant::now();
        let crowd = join_all(ordinary.iter().map(|request| limited.chat(request)));
        let urgent = async {
            let result = limited.chat(&one).await;
            (result.is_ok(), start.elapsed())
        };
        let (_, urgent) = tokio::join!(crowd, urgent);
        assert_eq!(urgent, (true, CALL), "{places} places");
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_leaves_at_the_deadline_and_has_made_no_request() {
    let (limited, model) = limited(1);
    let (long, short) = (request_with(secs(60)), request_with(secs(4)));
    let (first, second) = tokio::join!(limited.chat(&long), limited.chat(&short));
    assert!(first.is_ok());
    let error = second.unwrap_err();
    assert_eq!(error.failure, ChatFailure::NoTurn);
    assert_eq!((error.requests, model.request_count()), (0, 1));
    // A place that was waited for in vain is not lost.
    assert!(limited.chat(&request_with(secs(60))).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn places_are_given_back_when_requests_fail() {
    let model = ScriptedModel::new(|_, _| (NOW, Err(failure(ChatFailure::Malformed))));
    let limited = ConcurrencyLimit::new(model.clone(), ConcurrencySlots::new(1), breaker());
    for _ in 0..3 {
        assert!(limited.chat(&request_with(secs(1))).await.is_err());
    }
    assert_eq!(model.request_count(), 3);
}
