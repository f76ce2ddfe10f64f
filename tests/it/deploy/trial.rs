//! Runs `deploy/trial` as a new user does, with PostgreSQL, RabbitMQ, a worker, a hundred sample alerts, and graphs in
//! a real Prometheus. It also checks that the doctor has no finding.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use nightshift_tests::{program_path, repository_root};
use serde_json::Value;

use super::dashboards::asked_of_database;

/// The number of alerts that are sent to the queue.
const MANY: u64 = 100;

/// The running script in a temporary folder; dropping it ends the script.
struct TrialScript {
    dir: tempfile::TempDir,
    ports: [u16; 3],
}

impl TrialScript {
    fn new() -> Self {
        // When the test runs as root, PostgreSQL runs as another user who must be able to enter the folder.
        let dir = tempfile::Builder::new()
            .prefix("nightshift-trial-")
            .tempdir_in("/tmp")
            .unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(dir.path(), open).unwrap();
        let held = [0; 3].map(|port| TcpListener::bind(("127.0.0.1", port)).unwrap());
        let ports = held.map(|one| one.local_addr().unwrap().port());
        Self { dir, ports }
    }

    fn script(&self, verb: &str) -> Output {
        let [pages, metrics, prometheus] = self.ports.map(|port| port.to_string());
        Command::new(repository_root().join("deploy/trial"))
            .arg(verb)
            .arg(self.dir.path())
            .envs([
                ("PAGES_PORT", pages),
                ("METRICS_PORT", metrics),
                ("PROMETHEUS_PORT", prometheus),
            ])
            .env("MANY", MANY.to_string())
            .env("NIGHTSHIFT", program_path().unwrap())
            .output()
            .unwrap()
    }

    fn read_by_dashboards(&self, query: &str) -> String {
        let kept = |name: &str| {
            let text = std::fs::read_to_string(self.dir.path().join(name)).unwrap();
            text.trim().to_owned()
        };
        let ran = Command::new("psql")
            .args([
                "--no-psqlrc",
                "--tuples-only",
                "--no-align",
                "--command",
                query,
            ])
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", kept("postgres/port"))
            .env("PGDATABASE", "nightshift")
            .env("PGUSER", "grafana")
            .env("PGPASSWORD", kept("secrets/grafana"))
            .output()
            .unwrap();
        assert!(ran.status.success(), "{query}: {ran:?}");
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    }

    /// Returns the panels whose SQL, run by the dashboards' role, yields no row.
    fn panels_without_rows(&self) -> Vec<String> {
        let panels = asked_of_database("now() - interval '1 day' AND now()");
        let empty = panels
            .into_iter()
            .filter(|(_, query)| self.read_by_dashboards(query).is_empty());
        empty.map(|(panel, _)| panel).collect()
    }

    /// Returns the single number of a Prometheus answer.
    async fn number(&self, query: &str) -> f64 {
        let at = format!("http://127.0.0.1:{}/api/v1/query", self.ports[2]);
        let url = reqwest::Url::parse_with_params(&at, [("query", query)]).unwrap();
        let answer: Value = reqwest::get(url).await.unwrap().json().await.unwrap();
        let result = answer["data"]["result"].as_array().unwrap();
        assert_eq!(result.len(), 1, "{query}: {answer}");
        result[0]["value"][1].as_str().unwrap().parse().unwrap()
    }
}

impl Drop for TrialScript {
    fn drop(&mut self) {
        let stopped = self.script("stop");
        if !stopped.status.success() {
            eprintln!(
                "something is left behind in {}: {stopped:?}",
                self.dir.path().display()
            );
        }
    }
}

fn doctor(dir: &Path) -> Value {
    let config = dir.join("nightshift.toml");
    let ran = Command::new(program_path().unwrap())
        .arg("--config")
        .arg(config)
        .args(["doctor", "--json"])
        .output();
    serde_json::from_slice(&ran.unwrap().stdout).unwrap()
}

#[cfg_attr(
    not(all(has_services, has_prometheus)),
    ignore = "needs PostgreSQL, RabbitMQ and Prometheus: run tests/services"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundred_samples_flow_from_rabbitmq_to_graphs() {
    let trial = TrialScript::new();
    let started = trial.script("start");
    assert!(started.status.success(), "{started:?}");
    let said = String::from_utf8(started.stdout).unwrap();
    assert!(said.contains("\n100 messages, "), "{said}");
    let messages = trial
        .number("sum(nightshift_messages_total{source=\"rabbitmq\"})")
        .await;
    assert!((messages - 100.0).abs() < 0.5, "{messages}");
    let new = trial
        .number("sum(nightshift_alerts_total{outcome=\"new\"})")
        .await;
    let concluded = trial
        .number("sum(nightshift_cases_total{status=\"concluded\"})")
        .await;
    assert!(
        new > 50.0 && (new - concluded).abs() < 0.5,
        "{new} new, {concluded} concluded"
    );
    assert!(trial.number("up").await > 0.5);
    // The script prints the addresses of graphs and pages.
    let graphs = said
        .lines()
        .find_map(|line| line.strip_prefix("graphs"))
        .unwrap()
        .trim();
    let page = reqwest::get(graphs).await.unwrap().text().await.unwrap();
    // The page must be the classic or the new interface. Debian 13 shows a notice at the usual address.
    assert!(
        page.contains("graph_container") || page.contains("id=\"root\""),
        "{page}"
    );
    let pages = said
        .lines()
        .find_map(|line| line.strip_prefix("cases "))
        .unwrap()
        .trim();
    assert!(
        reqwest::get(pages)
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
            .contains("Critical")
    );
    let many = trial.read_by_dashboards("SELECT count(*) > 50 FROM cases");
    assert_eq!(many, "t");
    // These panels need a model or a person's feedback; `rows.rs` covers them.
    let empty = trial.panels_without_rows();
    assert_eq!(empty, ["Cost by day", "Dearest types", "Disagreed"]);
    let told = doctor(trial.dir.path());
    assert_eq!(
        told["findings"],
        serde_json::json!([]),
        "beside a worker that runs"
    );
    let stopped = trial.script("stop");
    assert!(stopped.status.success(), "{stopped:?}");
    assert!(reqwest::get(pages).await.is_err(), "nothing is left");
}
