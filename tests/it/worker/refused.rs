//! Tests that a refused configuration leaves nothing behind.

use super::fixture::place;
use super::reload::{RENEWED, change};

const NEW: &str = "[[source]]\nname = \"new\"\nkind = \"spool\"\ndir = \"new\"\n\
    [[destination]]\nname = \"keyless\"\nkind = \"webhook\"\nurl = \"http://127.0.0.1:9/\"\n\
    secret = \"file:no-such-file\"\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_configuration_changes_no_metrics() {
    let place = place("[limits]\nday_usd = 5.0\n");
    change(&place, "warn,nightshift_pipeline=info", "info");
    let mut worker = place.start(&["worker"]).unwrap();
    let told = worker.wait_for_line("the cases are on http://127.0.0.1:");
    let (_, address) = told.split_once("http://").unwrap();
    let url = format!("http://{address}metrics");
    let metrics = async || reqwest::get(&url).await.unwrap().text().await.unwrap();
    let cap = |usd: u32| format!("nightshift_budget_day_usd{{state=\"cap\"}} {usd}\n");
    worker.wait_for_line("started:");
    assert!(metrics().await.contains(&cap(5)));
    change(&place, "day_usd = 5.0\n", &format!("day_usd = 9.0\n{NEW}"));
    let told = worker.wait_for_line("invalid configuration");
    assert!(told.contains("no-such-file"), "{told}");
    let text = metrics().await;
    assert!(text.contains(&cap(5)), "{text}");
    assert!(!text.contains("source=\"new\""), "{text}");
    change(&place, NEW, "");
    worker.wait_for_line(RENEWED);
    assert!(metrics().await.contains("nightshift_source_up"));
}
