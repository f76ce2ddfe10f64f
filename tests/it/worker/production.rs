//! Tests several workers on PostgreSQL and RabbitMQ, as in production.

use nightshift_tests::{Publisher, Sandbox, sample_finding};
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

use super::fixture::{cases, reports};

/// Returns the address of a service that `tests/services` starts.
#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by the environment which services there are"
)]
pub(crate) fn service(name: &str) -> String {
    std::env::var(format!("NIGHTSHIFT_TEST_{name}")).unwrap()
}

/// Creates a database for one test.
pub(crate) async fn database() -> String {
    let url = service("POSTGRES");
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let name = format!("it_{}", uuid::Uuid::new_v4().simple());
    client
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .await
        .unwrap();
    url.replacen("/postgres?", &format!("/{name}?"), 1)
}

#[cfg_attr(
    not(has_services),
    ignore = "needs PostgreSQL and RabbitMQ: run tests/services"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f01_killed_worker_loses_nothing_on_postgresql_and_rabbitmq() {
    const ALERTS: usize = 30;
    let queue = format!("it-{}", uuid::Uuid::new_v4().simple());
    let place = Sandbox::new().unwrap();
    let config = format!(
        "log = {{ level = \"warn,nightshift_pipeline=info\", format = \"text\" }}\n\
         store = {{ url = \"{}\" }}\nworker = {{ max_cases = 4, lease_secs = 15 }}\n\
         [limits]\nstorm_cases = 1000\n\
         [[source]]\nname = \"mq\"\nkind = \"rabbitmq\"\nurl = \"{}\"\nqueue = \"{queue}\"\n\
         [[destination]]\nname = \"files\"\nkind = \"file\"\npath = \"reports\"\nformat = \"json\"\n\
         [[route]]\ndestinations = [\"files\"]\n",
        database().await,
        service("RABBITMQ"),
    );
    place.write_file("nightshift.toml", config).unwrap();
    let alert = |n| {
        sample_finding("scc-crypto-miner", &format!("p{n}"))
            .unwrap()
            .to_string()
    };
    let alerts: Vec<String> = (0..ALERTS).map(alert).collect();
    let publisher = Publisher::connect(&service("RABBITMQ"), &queue).await;
    publisher.unwrap().publish(&alerts).await.unwrap();
    let mut dies = place.start(&["worker", "--only", "intake,triage"]).unwrap();
    dies.wait_for_lines("case concluded", 3);
    dies.kill();
    // The killed worker had claimed further cases, which are taken over when their leases end.
    let mut lives = place
        .start(&["worker", "--only", "intake,triage,delivery"])
        .unwrap();
    lives.wait_for_lines("report shown", ALERTS);
    lives.signal("TERM");
    let (status, _, lines) = lives.wait_for_exit();
    assert_eq!(status.code(), Some(0));
    let alarms = lines.iter().filter(|line| line.contains("cannot be read"));
    assert_eq!(alarms.count(), 0, "it was told to end: {lines:#?}");
    let cases = cases(&place);
    assert_eq!(cases.len(), ALERTS);
    assert!(
        cases
            .iter()
            .all(|case| case["status"] == "concluded" && case["revision"] == 1),
        "{cases:#?}"
    );
    assert_eq!(reports(&place).len(), ALERTS);
}
