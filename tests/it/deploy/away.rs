//! A worker whose database is away tells by what it does not say: of figures that stand still nobody sees that they do.

use std::time::Duration;

use nightshift_tests::Place;

use crate::doctor::store::Server;

/// How long a worker may take to notice, and to notice that it is over.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until the metrics are so.
async fn until(address: &str, is_so: impl Fn(&str) -> bool) -> String {
    let asking = async {
        let mut looks = tokio::time::interval(Duration::from_millis(200));
        loop {
            looks.tick().await;
            let got = reqwest::get(format!("http://{address}/metrics")).await;
            let text = got.unwrap().text().await.unwrap();
            if is_so(&text) {
                return text;
            }
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap()
}

#[cfg_attr(not(has_services), ignore = "needs PostgreSQL: run tests/services")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_cannot_count_what_waits_says_nothing_of_it() {
    let server = Server::start().await;
    let place = Place::new().unwrap();
    place.file("pw", "hush\n").unwrap();
    let config = format!("{}[web]\nlisten = \"127.0.0.1:0\"\n", server.config());
    place.file("nightshift.toml", config).unwrap();
    let parts = ["worker", "--only", "triage,delivery,web"];
    let mut worker = place.start(&parts).unwrap();
    let line = worker.until("the cases are on http://");
    let (_, address) = line.split_once("http://").unwrap();
    let address = address.trim_end_matches('/');

    let waits = |text: &str| text.contains("\nnightshift_inbox_depth{");
    let said = until(address, waits).await;
    assert!(said.contains("\nnightshift_outbox_depth 0"), "{said}");
    server.stop();
    let said = until(address, |text| !waits(text)).await;
    for gone in ["inbox_", "outbox_", "dead_letters"] {
        assert!(!said.contains(&format!("\nnightshift_{gone}")), "{said}");
    }
    assert!(said.contains("\nnightshift_cases_running 0"), "{said}");
    server.go_on();
    until(address, waits).await;
    worker.signal("TERM");
    assert_eq!(worker.ended().0.code(), Some(0));
}
