//! Checks that the queries of the dashboards name declared metrics and existing columns, and that Grafana's own
//! types read the dashboards as meant.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};

use nightshift_tests::{Sandbox, repository_root};
use regex::Regex;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

use super::declared::declared_metrics;
use super::promql::{selectors, undeclared};
use super::scaling::queries;
use super::{folder, list, named};

pub(super) fn dashboards() -> BTreeMap<String, Value> {
    let files = std::fs::read_dir(folder().join("files/dashboards")).unwrap();
    let read = files.map(|file| {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, serde_json::from_str(&text).unwrap())
    });
    let read: BTreeMap<_, _> = read.collect();
    assert_eq!(read.len(), 2);
    read
}

/// Returns the queries of a dashboard: panel title, the text that shows the result, and the value of `key` in the
/// target.
pub(super) fn asked<'a>(dashboard: &'a Value, key: &str) -> Vec<(&'a str, &'a str, &'a str)> {
    let panels = list(&dashboard["panels"]);
    let targets = panels.iter().flat_map(|panel| {
        let title = panel["title"].as_str().unwrap();
        list(&panel["targets"]).iter().map(move |one| (title, one))
    });
    targets
        .filter_map(|(title, target)| {
            let legend = target["legendFormat"].as_str().unwrap_or_default();
            Some((title, target[key].as_str()?, legend))
        })
        .collect()
}

/// Returns the dashboards' SQL for these times, as Grafana writes it, with the title of the panel.
pub(super) fn asked_of_database(times: &str) -> Vec<(String, String)> {
    let time = Regex::new(r"\$__timeFilter\(([^()]*)\)").unwrap();
    let mut all = Vec::new();
    for dashboard in dashboards().values() {
        for (panel, query, _) in asked(dashboard, "rawSql") {
            let query = time.replace_all(query, format!("$1 BETWEEN {times}"));
            assert!(!query.contains('$'), "{panel}: {query}");
            all.push((panel.to_owned(), query.into_owned()));
        }
    }
    assert!(all.len() >= 10, "{all:?}");
    all
}

#[test]
fn dashboards_ask_only_what_is_declared() {
    let declared = declared_metrics();
    let mut shown = BTreeSet::new();
    let mut wrong = Vec::new();
    for (name, dashboard) in dashboards() {
        let queries = asked(&dashboard, "expr");
        assert!(queries.len() > 15, "{name}");
        for (panel, query, legend) in queries {
            let found = undeclared(query, legend, &declared);
            wrong.extend(
                found
                    .into_iter()
                    .map(|what| format!("{name}, {panel}: {what}")),
            );
            let names = declared.keys().filter(|metric| query.contains(*metric));
            shown.extend(names.cloned());
            let narrowed = query.matches("{job=~\"$job\", namespace=~\"$namespace\"");
            let narrowed = narrowed.count();
            assert!(narrowed > 0, "{name}, {panel}: {query}");
            assert_eq!(narrowed, selectors(query).len(), "{name}, {panel}: {query}");
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    let all: BTreeSet<_> = declared.into_keys().collect();
    assert_eq!(shown, all, "every metric is shown somewhere");
}

#[test]
fn panels_have_ids_of_their_own_and_do_not_lie_on_one_another() {
    for (name, dashboard) in dashboards() {
        assert_eq!(dashboard["uid"], format!("nightshift-{name}"));
        let panels = list(&dashboard["panels"]);
        let ids: BTreeSet<_> = panels.iter().map(|one| one["id"].as_u64()).collect();
        assert_eq!(ids.len(), panels.len(), "{name}");
        let mut taken = BTreeSet::new();
        for panel in panels {
            let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
            assert!(at("x") + at("w") <= 24, "{name}: {}", panel["title"]);
            for x in at("x")..at("x") + at("w") {
                for y in at("y")..at("y") + at("h") {
                    assert!(taken.insert((x, y)), "{name}: {}", panel["title"]);
                }
            }
        }
    }
}

#[test]
fn installations_are_chosen_by_namespace_and_then_by_job() {
    for (name, dashboard) in dashboards() {
        let variables = list(&dashboard["templating"]["list"]);
        let chosen: Vec<_> = variables
            .iter()
            .filter(|one| one["type"] == "query")
            .collect();
        let asked: Vec<_> = chosen
            .iter()
            .map(|one| (&one["name"], &one["query"]))
            .collect();
        assert_eq!(
            json!(asked),
            json!([
                [
                    "namespace",
                    "label_values(nightshift_cases_running, namespace)"
                ],
                [
                    "job",
                    "label_values(nightshift_cases_running{namespace=~\"$namespace\"}, job)"
                ],
            ]),
            "{name}"
        );
        for one in chosen {
            // Series scraped outside of Kubernetes lack this label, and `.*` matches these too.
            assert_eq!(one["allValue"], ".*", "{name}");
            assert_eq!(one["includeAll"], true, "{name}");
        }
    }
}

#[test]
fn datasources_are_chosen_by_variables() {
    let uid = Regex::new(r#""uid":"([^"]*)""#).unwrap();
    for (name, dashboard) in dashboards() {
        let variables: Vec<_> = list(&dashboard["templating"]["list"])
            .iter()
            .map(|one| format!("${{{}}}", one["name"].as_str().unwrap()))
            .collect();
        for found in uid.captures_iter(&dashboard["panels"].to_string()) {
            assert!(
                variables.contains(&found[1].to_owned()),
                "{name}: {found:?}"
            );
        }
    }
}

#[test]
fn alerts_that_panels_name_are_there() {
    let rules = std::fs::read_to_string(folder().join("files/alerts.yaml")).unwrap();
    let named = Regex::new(r"Alert: (\w+)\.").unwrap();
    let mut seen = 0;
    for (_, dashboard) in dashboards() {
        for found in named.captures_iter(&dashboard.to_string()) {
            let rule = format!("- alert: {}\n", &found[1]);
            assert!(rules.contains(&rule), "{}", &found[1]);
            seen += 1;
        }
    }
    assert!(seen > 5, "the search is broken");
}

#[test]
#[cfg_attr(not(has_grafana), ignore = "tests/services installs grafana's types")]
fn grafanas_own_types_read_all_that_stands_there() {
    for (name, dashboard) in dashboards() {
        let mut read = Command::new(named("NIGHTSHIFT_TEST_GRAFANA_PYTHON"))
            .arg(repository_root().join("tests/support/grafana/dashboard.py"))
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = read.stdin.take().unwrap();
        stdin.write_all(dashboard.to_string().as_bytes()).unwrap();
        drop(stdin);
        let read = read.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&read.stderr);
        assert!(read.status.success(), "{name}: {said}");
    }
}

type ConnectionTasks = JoinSet<Result<(), tokio_postgres::Error>>;

/// Creates a database for this test and migrates it with the program.
async fn migrated() -> (tokio_postgres::Client, ConnectionTasks) {
    let server = named("NIGHTSHIFT_TEST_POSTGRES");
    let server = server.to_str().unwrap();
    let (client, connection) = tokio_postgres::connect(server, NoTls).await.unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let name = format!("it_{}", uuid::Uuid::new_v4().simple());
    let make = format!("CREATE DATABASE {name}");
    client.batch_execute(&make).await.unwrap();
    let url = server.replacen("/postgres?", &format!("/{name}?"), 1);
    let mut place = Sandbox::new().unwrap();
    place.set_env("NIGHTSHIFT__STORE__URL", &url);
    let ran = place.run(&["migrate"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tasks.spawn(connection);
    (client, tasks)
}

#[cfg_attr(
    not(has_services),
    ignore = "needs PostgreSQL and RabbitMQ: run tests/services"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_database_takes_every_query() {
    let (client, _connections) = migrated().await;
    let times = "'2026-11-20T00:00:00Z' AND '2026-11-21T00:00:00Z'";
    for (panel, query) in asked_of_database(times) {
        let rows = client.query(&*query, &[]).await;
        assert!(rows.is_ok(), "{panel}: {rows:?}");
    }
}

#[cfg_attr(
    not(all(has_services, has_helm)),
    ignore = "needs PostgreSQL, RabbitMQ and Helm: run tests/services"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_database_takes_what_keda_asks() {
    let (client, _connections) = migrated().await;
    let queries = queries();
    assert!(!queries.is_empty());
    for query in queries {
        let row = client.query_one(&*query, &[]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 0);
    }
}
