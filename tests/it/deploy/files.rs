//! The files of `deploy/` and the workflows, each judged by what there is that can judge it without a daemon or an account.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use nightshift_tests::{Place, root};
use regex::Regex;

use super::named;

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

fn succeeds(command: &mut Command) {
    let ran = command.current_dir(root()).output().unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(ran.status.success(), "{command:?}: {said}");
}

#[test]
#[cfg_attr(not(has_schemas), ignore = "tests/services installs check-jsonschema")]
fn compose_and_workflows_are_what_their_schemas_want() {
    for (schema, files) in [
        ("vendor.compose-spec", &["deploy/compose.yaml"][..]),
        (
            "vendor.github-workflows",
            &[".github/workflows/ci.yml", ".github/workflows/release.yml"],
        ),
        (
            "custom.github-workflows-require-timeout",
            &[".github/workflows/ci.yml", ".github/workflows/release.yml"],
        ),
    ] {
        let mut check = Command::new(named("NIGHTSHIFT_TEST_CHECK_JSONSCHEMA"));
        succeeds(check.args(["--builtin-schema", schema]).args(files));
    }
}

#[test]
#[cfg_attr(not(has_cfn_lint), ignore = "tests/services installs cfn-lint")]
fn cloudformation_is_what_it_should_be() {
    let mut check = Command::new(named("NIGHTSHIFT_TEST_CFN_LINT"));
    succeeds(check.arg("deploy/aws/guardduty.yaml"));
}

#[test]
fn workers_may_do_at_sqs_what_the_documentation_says_they_need() {
    let stack = text("deploy/aws/guardduty.yaml");
    let action = Regex::new(r#""(sqs:\w+)""#).unwrap();
    let documented: BTreeSet<_> = action
        .captures_iter(&text("docs/sources.md"))
        .map(|found| found[1].to_owned())
        .collect();
    assert!(documented.len() >= 4, "{documented:?}");
    let (_, policy) = stack.split_once("  WorkerPolicy:").unwrap();
    let (policy, _) = policy.split_once("  WorkerRole:").unwrap();
    // Only those who ask for it may send.
    let (policy, canaries) = policy.split_once("            - SendsCanaries\n").unwrap();
    assert!(canaries.contains("Action: sqs:SendMessage"), "{canaries}");
    let given: BTreeSet<_> = Regex::new(r"sqs:\w+")
        .unwrap()
        .find_iter(policy)
        .map(|found| found.as_str().to_owned())
        .collect();
    assert_eq!(given, documented);
}

/// What compose mounts from the repository: where it is here, and where it is in the container.
fn mounts() -> Vec<(String, String)> {
    let compose = text("deploy/compose.yaml");
    let mount = Regex::new(r"(?m)^ +- (\.\.?/[^:]+):([^:]+):ro$").unwrap();
    let found = mount.captures_iter(&compose);
    let found: Vec<_> = found
        .map(|found| (format!("deploy/{}", &found[1]), found[2].to_owned()))
        .collect();
    assert!(found.len() >= 9, "the search is broken: {found:?}");
    found
}

#[test]
fn what_compose_mounts_is_there_and_rules_and_dashboards_are_the_charts() {
    for (here, _) in mounts() {
        assert!(root().join(&here).exists(), "{here}");
    }
    for shared in ["alerts.yaml", "dashboards"] {
        let path = format!("deploy/../helm/nightshift/files/{shared}");
        assert!(mounts().iter().any(|(here, _)| *here == path), "{path}");
    }
}

/// Lays what compose mounts below a path of its containers into a folder.
fn lay_out(place: &Place, below: &str) {
    for (here, there) in mounts() {
        let Some(name) = there.strip_prefix(below) else {
            continue;
        };
        let here = root().join(here);
        if here.is_file() {
            place.file(name, std::fs::read(here).unwrap()).unwrap();
        } else {
            copy(&here, &here, name, place);
        }
    }
}

fn copy(folder: &Path, from: &Path, to: &str, place: &Place) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            copy(&path, from, to, place);
        } else {
            let name = path.strip_prefix(from).unwrap().display();
            let bytes = std::fs::read(&path).unwrap();
            place.file(&format!("{to}/{name}"), bytes).unwrap();
        }
    }
}

/// The variables that the worker of compose has its secrets from.
fn secrets_of_compose() -> BTreeSet<String> {
    let names = Regex::new(r#""env:(\w+)""#).unwrap();
    let config = text("deploy/compose/nightshift.toml");
    names
        .captures_iter(&config)
        .map(|found| found[1].to_owned())
        .collect()
}

#[test]
fn the_worker_of_compose_is_given_its_secrets_and_prometheus_is_served_by_it() {
    let compose = text("deploy/compose.yaml");
    let (_, worker) = compose.split_once("\n  worker:\n").unwrap();
    let (worker, _) = worker.split_once("\n\n").unwrap();
    let names = secrets_of_compose();
    assert!(names.len() >= 3, "{names:?}");
    for name in names {
        assert!(
            worker.contains(&format!("      {name}: ${{{name}:-")),
            "{name}"
        );
    }
    let scraped = text("deploy/compose/prometheus.yml");
    let target = Regex::new(r#"targets: \["(\w+):(\d+)"\]"#).unwrap();
    let target = target.captures(&scraped).unwrap();
    let config: toml::Table = text("deploy/compose/nightshift.toml").parse().unwrap();
    let web = &config["web"];
    assert_eq!(
        web["metrics_listen"].as_str(),
        Some(format!("0.0.0.0:{}", &target[2]).as_str())
    );
    // A request for a name that is not one of these gets 403.
    let hosts = web["hosts"].as_array().unwrap();
    assert!(
        hosts.iter().any(|host| host.as_str() == Some(&target[1])),
        "{hosts:?}"
    );
}

#[test]
fn the_program_takes_the_configuration_of_compose() {
    let mut place = Place::new().unwrap();
    lay_out(&place, "/etc/nightshift/");
    let names = secrets_of_compose();
    for name in &names {
        place.set(name, "only-a-trial-only-a-trial");
    }
    let ran = place.run(&["config", "check"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let tools = |path: &str| {
        let text = text(path).replace("demo/", "");
        let config: toml::Table = text.parse().unwrap();
        config["tool"].clone()
    };
    assert_eq!(
        tools("deploy/compose/nightshift.toml"),
        tools("deploy/demo/nightshift.toml")
    );
}

#[test]
#[cfg_attr(not(has_prometheus), ignore = "tests/services installs prometheus")]
fn promtool_takes_the_configuration_of_compose() {
    let place = Place::new().unwrap();
    lay_out(&place, "/etc/prometheus/");
    let mut check = Command::new(named("NIGHTSHIFT_TEST_PROMTOOL"));
    let file = place.path().join("prometheus.yml");
    succeeds(check.args(["check", "config"]).arg(file));
}

#[test]
fn every_port_of_compose_is_open_to_this_machine_alone() {
    let compose = text("deploy/compose.yaml");
    let ports = Regex::new(r#"ports: \["([^"]*)"\]"#).unwrap();
    let ports: Vec<_> = ports
        .captures_iter(&compose)
        .map(|one| one[1].to_owned())
        .collect();
    assert_eq!(ports.len(), 3);
    assert!(
        ports.iter().all(|one| one.starts_with("127.0.0.1:")),
        "{ports:?}"
    );
}

#[test]
fn the_image_is_built_with_our_rust_and_runs_as_nobody() {
    let file = text("deploy/Dockerfile");
    let workspace: toml::Table = text("Cargo.toml").parse().unwrap();
    let version = workspace["workspace"]["package"]["rust-version"]
        .as_str()
        .unwrap();
    assert!(
        file.contains(&format!("FROM rust:{version}-alpine AS")),
        "{version}"
    );
    assert!(file.contains("\nUSER 10001:10001\n"));
    let stages: BTreeSet<_> = Regex::new(r"(?m)^FROM \S+ AS (\w+)$")
        .unwrap()
        .captures_iter(&file)
        .map(|found| found[1].to_owned())
        .collect();
    for found in Regex::new(r"--from=(\w+)").unwrap().captures_iter(&file) {
        assert!(
            stages.contains(&found[1]),
            "there is no stage {}",
            &found[1]
        );
    }
    // A recipe of some members is refused for its lock file.
    assert!(file.contains("cargo chef prepare --recipe-path recipe.json\n"));
    assert!(file.contains("cargo chef cook --profile dist --locked "));
    // All that the build reads is let in.
    let ignore = text(".dockerignore");
    for member in [
        ".cargo",
        "Cargo.toml",
        "Cargo.lock",
        "worker",
        "migrations",
        "tests",
    ] {
        assert!(
            ignore.lines().any(|line| line == format!("!{member}")),
            "{member}"
        );
    }
}

#[test]
fn systemd_takes_the_unit_where_it_is_installed() {
    let unit = text("deploy/systemd/nightshift.service");
    let place = Place::new().unwrap();
    // It looks for the program, which is not installed here.
    let unit = unit.replace("/usr/local/bin/nightshift", "/bin/true");
    let file = place.file("nightshift.service", unit).unwrap();
    for arguments in [
        &["verify"][..],
        &["security", "--offline=true", "--threshold=20"],
    ] {
        let run = Command::new("systemd-analyze")
            .args(arguments)
            .arg(&file)
            .output();
        let Ok(run) = run else {
            println!("skipped: systemd-analyze is not installed");
            return;
        };
        assert!(run.status.success(), "{arguments:?}: {run:?}");
    }
}

#[test]
fn the_unit_gives_the_worker_time_to_drain() {
    let unit = text("deploy/systemd/nightshift.service");
    let time = Regex::new(r"(?m)^TimeoutStopSec=(\d+)$").unwrap();
    let secs: u64 = time.captures(&unit).unwrap()[1].parse().unwrap();
    assert!(secs > 10, "{secs}");
    let compose = text("deploy/compose.yaml");
    assert!(compose.contains("stop_grace_period: 20s"));
}

#[test]
fn terraform_finds_its_files_formatted_where_it_is_installed() {
    let run = Command::new("terraform")
        .args(["fmt", "-check", "-diff", "deploy/gcp"])
        .current_dir(root())
        .output();
    let Ok(run) = run else {
        println!("skipped: terraform is not installed");
        return;
    };
    assert!(run.status.success(), "{run:?}");
}

/// HashiCorp's own parser says what the file holds: each thing that it refers to is declared in it.
#[test]
#[cfg_attr(not(has_hcl), ignore = "tests/services installs @cdktf/hcl2json")]
fn terraforms_language_is_read_and_refers_to_what_is_declared() {
    let read = |name: &str, text: &str| {
        let file = tempfile::Builder::new().suffix(name).tempfile().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let script = "const {parse} = require('@cdktf/hcl2json');\
             parse('scc.tf', require('fs').readFileSync(process.argv[1], 'utf8'))\
             .then((read) => console.log(JSON.stringify(read)), (error) => { console.error(`${error}`); process.exit(1) })";
        let output = Command::new("node")
            .args(["-e", script])
            .arg(file.path())
            .env(
                "NODE_PATH",
                named("NIGHTSHIFT_TEST_HCL").join("node_modules"),
            )
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            Ok(serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap())
        } else {
            Err(said)
        }
    };
    let read_as_is = read(".tf", &text("deploy/gcp/scc.tf")).unwrap();
    let mut declared = BTreeSet::new();
    for (kind, prefix) in [("resource", ""), ("data", "data.")] {
        for (of, named) in read_as_is[kind].as_object().unwrap() {
            let names = named.as_object().unwrap().keys();
            declared.extend(names.map(|name| format!("{prefix}{of}.{name}")));
        }
    }
    for name in read_as_is["variable"].as_object().unwrap().keys() {
        declared.insert(format!("var.{name}"));
    }
    for block in read_as_is["locals"].as_array().unwrap() {
        let names = block.as_object().unwrap().keys();
        declared.extend(names.map(|name| format!("local.{name}")));
    }
    let reference =
        Regex::new(r"(?:data\.)?google_[a-z_]+\.[a-z_]+|\b(?:var|local)\.[a-z_]+").unwrap();
    let expression = Regex::new(r"\$\{[^}]*\}").unwrap();
    let all = read_as_is.to_string();
    let used: BTreeSet<String> = expression
        .find_iter(&all)
        .flat_map(|one| reference.find_iter(one.as_str()))
        .map(|one| one.as_str().to_owned())
        .collect();
    assert!(used.len() > 8, "{used:?}");
    let strange: Vec<_> = used.difference(&declared).collect();
    assert!(strange.is_empty(), "not declared: {strange:?}");
    let refused = read(".tf", "resource \"a\" \"b\" {\n  x =\n}\n").unwrap_err();
    assert!(refused.contains("Invalid expression"), "{refused}");
}

#[test]
fn the_script_for_google_cloud_makes_what_terraform_makes() {
    let endpoint = "https://nightshift.example.com/v1/alerts/pubsub";
    let ran = Command::new("bash")
        .arg(root().join("deploy/gcp/scc.sh"))
        .args(["123456789012", "security-tools", endpoint])
        .env("DRY_RUN", "1")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let said = String::from_utf8(ran.stdout).unwrap();
    for what in [
        "topics create nightshift-scc ",
        "topics create nightshift-scc-dead-letters ",
        "subscriptions create nightshift-scc ",
        "--max-delivery-attempts 10",
        &format!("--push-auth-token-audience {endpoint}"),
        "scc notifications create nightshift ",
        "--role roles/pubsub.publisher",
        "--role roles/pubsub.subscriber",
    ] {
        assert!(said.contains(what), "{what}: {said}");
    }
    let filter = |text: &str, begin: &str| {
        let (_, rest) = text.split_once(begin).unwrap();
        rest.lines()
            .next()
            .unwrap()
            .replace(['\\', '\'', '"', '='], "")
    };
    let ours = filter(&text("deploy/gcp/scc.sh"), "FILTER=");
    let terraform = filter(&text("deploy/gcp/scc.tf"), "default     = \"state");
    assert_eq!(ours, format!("state{terraform}"));
    let refused = Command::new("bash")
        .arg(root().join("deploy/gcp/scc.sh"))
        .args(["organizations/1", "p"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
}
