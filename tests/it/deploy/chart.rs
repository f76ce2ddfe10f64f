//! Tests the chart as a whole: Helm's own lint, versions, the migration before the workers, and a configuration that
//! the program accepts.

use nightshift_tests::Sandbox;
use regex::Regex;
use serde_json::{Value, json};

use super::{all, configuration, folder, helm, kind, list, of_set, read, rendered, sets, text};

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn helm_finds_nothing_to_complain_of() {
    for (name, path) in sets() {
        let values = path.to_str().unwrap();
        let linted = helm(&["lint", "--strict"], &["--values", values]);
        let said = String::from_utf8_lossy(&linted.stdout);
        assert!(linted.status.success(), "{name}: {said}");
        assert!(!said.contains("[WARNING]"), "{name}: {said}");
    }
}

/// The oldest supported version of Kubernetes, one in between, and the newest that has a published schema.
const KUBERNETES: [&str; 3] = ["1.25", "1.31", "1.37"];

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn kubernetes_takes_what_is_made() {
    let chart = std::fs::read_to_string(folder().join("Chart.yaml")).unwrap();
    let oldest = format!("kubeVersion: \">={}.0-0\"", KUBERNETES[0]);
    assert!(chart.contains(&oldest), "{chart}");
    for (name, path) in sets() {
        for version in KUBERNETES {
            let values = ["--values", path.to_str().unwrap()];
            let options = [&values[..], &["--kube-version", version]].concat();
            let objects = read(&options, &[version]);
            assert!(objects.len() >= 4, "{name}, {version}");
        }
    }
}

#[test]
fn the_chart_is_of_the_version_of_the_program() {
    let chart = std::fs::read_to_string(folder().join("Chart.yaml")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    for line in [
        format!("version: {version}"),
        format!("appVersion: \"{version}\""),
    ] {
        assert!(chart.lines().any(|one| one == line), "no {line:?}: {chart}");
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn the_schema_is_brought_up_to_date_before_workers_start() {
    for (name, objects) in all() {
        let deployment = kind(&objects, "Deployment")[0];
        let env = list(&deployment["spec"]["template"]["spec"]["containers"][0]["env"]);
        let on_postgres = env.iter().any(|one| {
            one["value"]
                .as_str()
                .unwrap_or_default()
                .starts_with("postgres://")
        });
        let jobs = kind(&objects, "Job");
        // In the other sets the store is SQLite, or another release migrates the shared database.
        let is_ours = on_postgres && name != "own-configuration";
        assert_eq!(jobs.len(), usize::from(is_ours), "{name}");
        for job in jobs {
            let hooks = &job["metadata"]["annotations"]["helm.sh/hook"];
            assert_eq!(hooks, "pre-install,pre-upgrade", "{name}");
            let pod = &job["spec"]["template"]["spec"];
            let arguments = list(&pod["containers"][0]["args"]);
            assert_eq!(arguments.last().unwrap(), "migrate", "{name}");
            // During an install only the hooks of the release exist.
            assert!(pod["serviceAccountName"].is_null(), "{name}");
            for kind_of in ["ConfigMap", "Secret"] {
                for hook in kind(&objects, kind_of) {
                    let metadata = &hook["metadata"];
                    if metadata["name"] == job["metadata"]["name"] {
                        assert_eq!(metadata["annotations"]["helm.sh/hook"], *hooks, "{name}");
                        assert_eq!(
                            metadata["annotations"]["helm.sh/hook-weight"], "-5",
                            "{name}"
                        );
                    }
                }
            }
        }
    }
}

/// Checks the service account and pod metadata of the migration. Before an install, an account that the release
/// creates does not exist yet; one that people created does.
#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn migration_has_its_account_and_configured_pod_settings() {
    let store = "store.url=postgres://u@h/d,podLabels.team=soc,podAnnotations.a=b";
    for (values, wanted) in [
        (
            "serviceAccount.create=false,serviceAccount.name=ours",
            Some("ours"),
        ),
        ("serviceAccount.create=false", None),
        ("serviceAccount.name=made", None),
    ] {
        let objects = rendered(&["--set", &format!("{store},{values}")]);
        let pod = &kind(&objects, "Job")[0]["spec"]["template"];
        assert_eq!(
            pod["spec"]["serviceAccountName"].as_str(),
            wanted,
            "{values}"
        );
        let metadata = &pod["metadata"];
        assert_eq!(metadata["labels"]["team"], "soc");
        assert_eq!(metadata["labels"]["app.kubernetes.io/component"], "migrate");
        assert_eq!(metadata["annotations"], json!({"a": "b"}));
    }
}

#[test]
fn helm_is_told_to_wait_for_longer_than_the_migration_may_take() {
    let values = text("helm/nightshift/values.yaml");
    let deadline = Regex::new(r"\n  activeDeadlineSeconds: (\d+)\n").unwrap();
    let secs: u64 = deadline.captures(&values).unwrap()[1].parse().unwrap();
    let command = Regex::new(r"helm (?:install|upgrade) [^\n`]*").unwrap();
    let timeout = Regex::new(r" --timeout (\d+)m\b").unwrap();
    let docs = text("docs/kubernetes.md");
    let told: Vec<_> = command
        .find_iter(&docs)
        .map(|one| {
            timeout.captures(one.as_str()).unwrap()[1]
                .parse::<u64>()
                .unwrap()
        })
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|minutes| minutes * 60 > secs), "{told:?}");
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn the_identity_at_a_cloud_is_the_service_accounts() {
    for (set, key, identity) in [
        (
            "postgres-sqs",
            "eks.amazonaws.com/role-arn",
            "arn:aws:iam::111122223333:role/nightshift",
        ),
        (
            "own-configuration",
            "iam.gke.io/gcp-service-account",
            "nightshift@example-project.iam.gserviceaccount.com",
        ),
    ] {
        let objects = of_set(set);
        let account = kind(&objects, "ServiceAccount")[0];
        assert_eq!(account["metadata"]["annotations"][key], identity);
        for deployment in kind(&objects, "Deployment") {
            let pod = &deployment["spec"]["template"]["spec"];
            assert_eq!(pod["serviceAccountName"], account["metadata"]["name"]);
        }
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn parts_are_together_or_apart_and_nothing_is_left_out() {
    for (set, wanted) in [
        ("defaults", &["night-nightshift: "][..]),
        ("own-configuration", &["night-nightshift: intake,web"]),
        (
            "postgres-sqs",
            &[
                "night-nightshift-delivery: delivery,web",
                "night-nightshift-intake: intake,web",
                "night-nightshift-triage: triage,web",
                "night-nightshift-web: web",
            ],
        ),
        (
            "apart-hpa",
            &[
                "night-nightshift-intake: intake,web",
                "night-nightshift-triage: triage,web",
                "night-nightshift-web: web",
            ],
        ),
    ] {
        let objects = of_set(set);
        let mut made: Vec<String> = kind(&objects, "Deployment")
            .into_iter()
            .map(|one| {
                let arguments = list(&one["spec"]["template"]["spec"]["containers"][0]["args"]);
                let only = arguments.iter().position(|one| *one == "--only");
                let only = only.map_or("", |at| arguments[at + 1].as_str().unwrap());
                format!("{}: {only}", one["metadata"]["name"].as_str().unwrap())
            })
            .collect();
        made.sort();
        assert_eq!(made, wanted, "{set}");
    }
}

/// Returns whether the arguments of a Deployment's container make it take messages.
fn takes(deployment: &Value) -> bool {
    let arguments = list(&deployment["spec"]["template"]["spec"]["containers"][0]["args"]);
    let only = arguments.iter().position(|one| *one == "--only");
    only.is_none_or(|at| {
        let parts = arguments[at + 1].as_str().unwrap();
        parts.split(',').any(|part| part == "intake")
    })
}

/// Checks that each set with intake has a source. A worker without one exits at once, so the rest of its set would go
/// untested.
#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn what_takes_messages_has_a_source() {
    let mut asked = 0;
    for (set, objects) in all() {
        let Some(text) = configuration(&objects) else {
            assert_eq!(set, "own-configuration");
            continue;
        };
        if kind(&objects, "Deployment").into_iter().any(takes) {
            let config: toml::Table = text.parse().unwrap();
            let sources = config.get("source").and_then(toml::Value::as_array);
            assert!(sources.is_some_and(|all| !all.is_empty()), "{set}: {text}");
            asked += 1;
        }
    }
    assert_eq!(asked, sets().len() - 1);
}

const SECRETS: &str = "/run/secrets/nightshift/";

/// Writes all secrets that the text names as files, and returns the text with their folder.
fn with_secrets(place: &Sandbox, text: &str) -> String {
    let name = Regex::new(r"file:/run/secrets/nightshift/([-._a-zA-Z0-9]+)").unwrap();
    for found in name.captures_iter(text) {
        let secret = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cyBhbG9uZQ==";
        place
            .write_file(&format!("secrets/{}", &found[1]), secret)
            .unwrap();
    }
    text.replace(SECRETS, &format!("{}/secrets/", place.path().display()))
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn program_accepts_configuration_and_variables_of_every_set() {
    for (set, objects) in all() {
        // Without a rendered configuration another one is mounted, and the chart's variables must still be valid.
        let text = configuration(&objects).unwrap_or_default();
        assert_eq!(text.is_empty(), set == "own-configuration", "{set}");
        for deployment in kind(&objects, "Deployment") {
            let mut place = Sandbox::new().unwrap();
            let text = with_secrets(&place, text);
            let file = place.write_file("etc/nightshift.toml", text).unwrap();
            let pod = &deployment["spec"]["template"]["spec"];
            for variable in list(&pod["containers"][0]["env"]) {
                let value = with_secrets(&place, variable["value"].as_str().unwrap());
                place.set_env(variable["name"].as_str().unwrap(), &value);
            }
            place.set_env("ANTHROPIC_API_KEY", "only-a-test");
            let file = file.to_str().unwrap();
            let ran = place.run(&["--config", file, "config", "check"]).unwrap();
            assert_eq!(ran.code, Some(0), "{set}: {ran:?}");
        }
    }
}
