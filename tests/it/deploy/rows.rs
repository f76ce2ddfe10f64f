//! Runs the SQL of the dashboards over real rows, as the role that the documentation sets up. This finds missing
//! grants and failing casts. Times of cases that were triaged more than once must be those of each triage.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nightshift_tests::Sandbox;
use nightshift_tests::model::{Answer, FakeModel, Fault, RecordedRequest, Reply, Script};
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage, SimpleQueryRow};

use super::dashboards::asked_of_database;
use super::text;
use crate::models::example;
use crate::models::providers::ANTHROPIC;
use crate::worker::fixture::{cases, place_with, put};
use crate::worker::production::database;

/// A time range that contains every row, at any time of day.
const EVER: &str = "'2000-01-01T00:00:00Z' AND '2100-01-01T00:00:00Z'";

/// Starts a model that fails until its flag is cleared.
async fn model() -> (FakeModel, Arc<AtomicBool>) {
    let is_down = Arc::new(AtomicBool::new(true));
    let down = Arc::clone(&is_down);
    let script =
        Script::from_fn(
            move |seen: &RecordedRequest| match down.load(Ordering::Relaxed) {
                true => Reply::Fault(Fault::Unavailable),
                false if !seen.text().contains("# Your task now: ") => Answer::text("OK").into(),
                false => Reply::from(example::answer(seen)),
            },
        );
    (FakeModel::start(script).await.unwrap(), is_down)
}

fn case(place: &Sandbox, feed: &str) -> String {
    let all = cases(place);
    let found = all.iter().find(|one| one["feed"] == feed);
    let found = found.unwrap_or_else(|| panic!("{all:#?}"));
    found["id"].as_str().unwrap().to_owned()
}

fn does(place: &Sandbox, arguments: &[&str]) {
    let ran = place.run(arguments).unwrap();
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
}

/// Fills a database with cases triaged by a model, cases reported without one and triaged again with it, cases that
/// people retried or disagreed with, and queued ones. The first triage of each is two days old.
async fn two_days_later(url: &str, owner: &Client) {
    let (fake, is_down) = model().await;
    let mut place = place_with(|place| {
        let tools = example::logs(place);
        let model = ANTHROPIC.table(&fake, "price = { input = 3.0, output = 15.0 }");
        format!(
            "[limits]\nmodels_down_urgent_wait_secs = 1\nmodels_down_wait_secs = 2\n{tools}\n{model}"
        )
    });
    place.set_env("NIGHTSHIFT__STORE__URL", url);
    put(&place, "scc-crypto-miner", "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("case concluded");
    is_down.store(false, Ordering::Relaxed);
    worker.wait_for_line("the models are back");
    worker.wait_for_line("case concluded");
    put(&place, "guardduty-finding", "g1");
    worker.wait_for_line("case concluded");
    let (miner, other) = (case(&place, "scc"), case(&place, "guardduty"));
    does(&place, &["cases", "retry", &other]);
    worker.wait_for_line("case concluded");
    worker.signal("TERM");
    worker.wait_for_exit();
    let verdict = [
        "--verdict",
        "benign_true_positive",
        "--note",
        "a test",
        "--by",
        "ana",
    ];
    does(
        &place,
        &[&["cases", "disagree", &miner], &verdict[..]].concat(),
    );
    does(&place, &["cases", "retry", &miner]);
    owner
        .batch_execute(
            "UPDATE cases SET opened_at = opened_at - interval '2 days';
             UPDATE alerts SET received_at = received_at - interval '2 days';
             UPDATE conclusions SET concluded_at = concluded_at - interval '2 days' WHERE revision = 1",
        )
        .await
        .unwrap();
    assert_eq!(fake.refusals(), []);
}

type PostgresConnections = JoinSet<Result<(), tokio_postgres::Error>>;

async fn connected(url: &str, connections: &mut PostgresConnections) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    connections.spawn(connection);
    client
}

/// Creates a role for the dashboards and one for workers as the documentation does. Returns their names and the
/// address for the former.
async fn roles(owner: &Client, url: &str) -> ([String; 2], String) {
    let name = format!("it_{}", uuid::Uuid::new_v4().simple());
    let worker = format!("{name}_worker");
    let manual = text("docs/database.md");
    let (_, grants) = manual.split_once("```sql\nGRANT ").unwrap();
    let (grants, _) = grants.split_once("```").unwrap();
    let said = ["grafana", " worker;", "ROLE owner "].map(|role| grants.matches(role).count());
    assert_eq!(said, [2, 4, 2], "{grants}");
    let grants = grants
        .replace("grafana", &name)
        .replace(" worker;", &format!(" {worker};"))
        .replace("ROLE owner ", "ROLE CURRENT_USER ");
    let make =
        format!("CREATE ROLE {name} LOGIN PASSWORD '{name}'; CREATE ROLE {worker}; GRANT {grants}");
    owner.batch_execute(&make).await.unwrap();
    let (_, place) = url.split_once('@').unwrap();
    let url = format!("postgres://{name}:{name}@{place}");
    ([name, worker], url)
}

/// Returns whether a role may write a table that a later migration creates.
async fn writes_what_is_made_later(owner: &Client, role: &str) -> bool {
    let made = "CREATE TABLE made_later (n bigint GENERATED ALWAYS AS IDENTITY)";
    owner.batch_execute(made).await.unwrap();
    let may = "SELECT has_table_privilege($1, 'made_later', 'INSERT') \
        AND has_sequence_privilege($1, pg_get_serial_sequence('made_later', 'n'), 'USAGE')";
    owner.query_one(may, &[&role]).await.unwrap().get(0)
}

/// Returns the rows of an answer, each value as text.
async fn rows(client: &Client, query: &str) -> Vec<SimpleQueryRow> {
    let answer = client.simple_query(query).await;
    let answer = answer.unwrap_or_else(|error| panic!("{query}: {error:?}"));
    let rows = answer.into_iter().filter_map(|one| match one {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    rows.collect()
}

fn seconds(rows: &[SimpleQueryRow], columns: &[&str]) -> Vec<f64> {
    let values = rows
        .iter()
        .flat_map(|row| columns.iter().filter_map(|column| row.get(*column)));
    values.map(|value| value.parse().unwrap()).collect()
}

#[cfg_attr(
    not(has_services),
    ignore = "needs PostgreSQL and RabbitMQ: run tests/services"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_role_of_the_dashboards_is_answered_with_what_happened() {
    let (url, mut connections) = (database().await, JoinSet::new());
    let owner = connected(&url, &mut connections).await;
    two_days_later(&url, &owner).await;
    let ([role, worker], url) = roles(&owner, &url).await;
    assert!(writes_what_is_made_later(&owner, &worker).await);
    let client = connected(&url, &mut connections).await;
    for kept in ["raw_messages", "dead_letters"] {
        let read = client
            .simple_query(&format!("SELECT count(*) FROM {kept}"))
            .await;
        assert!(read.is_err(), "{kept}");
    }
    let mut timed = 0;
    for (panel, query) in asked_of_database(EVER) {
        let rows = rows(&client, &query).await;
        assert!(!rows.is_empty(), "{panel}: no row of {query}");
        // No triage took two days, and none ended before the alert arrived.
        let times = match panel.as_str() {
            "From arrival to conclusion" => seconds(&rows, &["median", "95 of 100"]),
            "Verdicts by type" => seconds(&rows, &["took"]),
            _ => continue,
        };
        assert!(!times.is_empty(), "{panel}");
        let is_short = |secs: &f64| (0.0..3_600.0).contains(secs);
        assert!(times.iter().all(is_short), "{panel}: {times:?}");
        timed += 1;
    }
    assert_eq!(timed, 2);
    drop(client);
    let gone = format!("DROP OWNED BY {role}, {worker}; DROP ROLE {role}, {worker}");
    owner.batch_execute(&gone).await.unwrap();
}
