//! Scrapes a worker that has done some work with a real Prometheus and the shipped rules. Every declared metric
//! exists with its type, and every query of dashboards and rules has an answer.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use nightshift_tests::{RunningProgram, Sandbox, repository_root};
use reqwest::Url;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use super::dashboards::{asked, dashboards};
use super::declared::declared_metrics;
use super::promql::selectors;
use super::{folder, list, named};

/// The longest time in which a metric must be scraped twice.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns a configuration with the demo's registers, a working and a failing destination, and an unused model.
fn configuration(secret: &str) -> String {
    let demo =
        std::fs::read_to_string(repository_root().join("deploy/demo/nightshift.toml")).unwrap();
    let here = format!("path = \"{}/deploy/demo/", repository_root().display());
    format!(
        "log = {{ level = \"warn,nightshift_pipeline=info\", format = \"text\" }}\n\
         web = {{ listen = \"127.0.0.1:0\" }}\n\
         [canary]\nevery_minutes = 60\nkey = \"file:{secret}\"\n\
         [[source]]\nname = \"drop\"\nkind = \"spool\"\ndir = \"spool\"\n\
         [[destination]]\nname = \"files\"\nkind = \"file\"\npath = \"reports\"\nformat = \"json\"\n\
         [[destination]]\nname = \"away\"\nkind = \"webhook\"\nurl = \"http://127.0.0.1:1/\"\nsecret = \"file:{secret}\"\n\
         [[model]]\nname = \"main\"\nprovider = \"openai\"\nmodel = \"gpt-5\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
         api_key = \"none\"\n\
         [[profile]]\nname = \"default\"\nanalyst = \"playbook\"\n\
         [[route]]\ndestinations = [\"files\", \"away\"]\n{}",
        demo.replace("path = \"", &here)
    )
}

/// Starts a worker, lets it triage the demo's alerts, and returns it with its metrics address.
fn worker(place: &mut Sandbox) -> (RunningProgram, String) {
    let secret = place.write_file("secret", "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cyBhbG9uZQ==");
    let config = configuration(secret.unwrap().to_str().unwrap());
    place.write_file("nightshift.toml", config).unwrap();
    let mut messages = 0;
    for alert in std::fs::read_dir(repository_root().join("deploy/demo/alerts")).unwrap() {
        let alert = alert.unwrap();
        let name = format!("spool/new/{}", alert.file_name().to_str().unwrap());
        let bytes = std::fs::read(alert.path()).unwrap();
        place.write_file(&name, bytes).unwrap();
        messages += 1;
    }
    let mut worker = place.start(&["worker"]).unwrap();
    let line = worker.wait_for_line("the cases are on http://");
    let (_, address) = line.split_once("http://").unwrap();
    let address = address.trim_end_matches('/').to_owned();
    worker.wait_for_lines("report shown", messages);
    (worker, address)
}

/// A Prometheus server of one test.
struct Prometheus {
    address: String,
    /// Killed on drop.
    _child: Child,
    /// Kept open, as Prometheus would die of a closed pipe.
    _lines: Lines<BufReader<ChildStderr>>,
    _folder: TempDir,
}

impl Prometheus {
    async fn scraping(target: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let config = place.path().join("prometheus.yml");
        let text = format!(
            "global: {{scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}}\n\
             rule_files: ['{}']\n\
             scrape_configs: [{{job_name: nightshift, static_configs: [{{targets: ['{target}']}}]}}]\n",
            folder().join("files/alerts.yaml").display()
        );
        std::fs::write(&config, text).unwrap();
        // Prometheus cannot pick a free port itself. If another process takes this one meanwhile, the test fails with
        // a clear error.
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap().to_string();
        drop(free);
        let mut child = Command::new(named("NIGHTSHIFT_TEST_PROMETHEUS"))
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", place.path().display()))
            .arg(format!("--web.listen-address={address}"))
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        loop {
            let line = lines.next_line().await.unwrap();
            let line = line.unwrap_or_else(|| panic!("it does not start: {said:#?}"));
            if line.contains("Server is ready to receive web requests") {
                break;
            }
            said.push(line);
        }
        Self {
            address,
            _child: child,
            _lines: lines,
            _folder: place,
        }
    }

    async fn get(&self, path: &str, parameters: &[(&str, &str)]) -> Value {
        let url = format!("http://{}/api/v1/{path}", self.address);
        let url = Url::parse_with_params(&url, parameters).unwrap();
        let answer = reqwest::get(url).await.unwrap().text().await.unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["status"], "success", "{parameters:?}: {answer}");
        answer["data"].clone()
    }

    async fn answers(&self, query: &str) -> bool {
        let asking = async {
            let mut looks = tokio::time::interval(Duration::from_millis(100));
            loop {
                looks.tick().await;
                let found = self.get("query", &[("query", query)]).await;
                if !list(&found["result"]).is_empty() {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, asking).await.is_ok()
    }
}

#[cfg_attr(not(has_prometheus), ignore = "tests/services installs prometheus")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prometheus_has_all_metrics_and_an_answer_to_each_question() {
    let mut place = Sandbox::new().unwrap();
    let (_worker, address) = worker(&mut place);
    let prometheus = Prometheus::scraping(&address).await;
    assert!(prometheus.answers("count_over_time(up[1m]) >= 3").await);

    for (name, metric) in declared_metrics() {
        let known = prometheus.get("metadata", &[("metric", &name)]).await;
        let sort = &known[&name][0]["type"];
        assert_eq!(sort, metric.kind, "{name}: {known}");
        assert_ne!(known[&name][0]["help"], "", "{name}");
        let ending = if metric.kind == "histogram" {
            "_bucket"
        } else {
            ""
        };
        let series = format!("{name}{ending}");
        assert!(prometheus.answers(&series).await, "no {series}");
    }

    for (name, dashboard) in dashboards() {
        for (panel, query, _) in asked(&dashboard, "expr") {
            let query = query
                .replace("$job", ".*")
                .replace("$namespace", ".*")
                .replace("$__rate_interval", "1m")
                .replace("$__range", "1h");
            assert!(!query.contains('$'), "{query}");
            assert!(prometheus.answers(&query).await, "{name}, {panel}: {query}");
        }
    }

    let groups = prometheus.get("rules", &[]).await;
    let rules = list(&groups["groups"])
        .iter()
        .flat_map(|one| list(&one["rules"]));
    let mut checked = 0;
    for rule in rules {
        assert_ne!(rule["health"], "err", "{rule}");
        for (series, matchers) in selectors(rule["query"].as_str().unwrap()) {
            let matchers: Vec<_> = matchers
                .iter()
                .map(|(label, value)| format!("{label}=~\"{value}\""))
                .collect();
            let query = format!("{series}{{{}}}", matchers.join(","));
            assert!(
                prometheus.answers(&query).await,
                "{}: {query}",
                rule["name"]
            );
            checked += 1;
        }
    }
    assert!(checked > 15, "{checked}");
}
