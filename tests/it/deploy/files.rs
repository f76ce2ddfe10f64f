//! Checks the image, compose, the systemd unit and the workflows with tools that need no daemon.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use nightshift_tests::{Sandbox, repository_root};
use regex::Regex;

use super::{named, succeeds, text};

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

/// Returns the mounts of compose from the repository: path here and path in the container.
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
fn compose_mounts_exist_and_rules_and_dashboards_match_chart() {
    for (here, _) in mounts() {
        assert!(repository_root().join(&here).exists(), "{here}");
    }
    for shared in ["alerts.yaml", "dashboards"] {
        let path = format!("deploy/../helm/nightshift/files/{shared}");
        assert!(mounts().iter().any(|(here, _)| *here == path), "{path}");
    }
}

/// Copies what compose mounts below a path of its containers into a folder.
fn lay_out(place: &Sandbox, below: &str) {
    for (here, there) in mounts() {
        let Some(name) = there.strip_prefix(below) else {
            continue;
        };
        let here = repository_root().join(here);
        if here.is_file() {
            place
                .write_file(name, std::fs::read(here).unwrap())
                .unwrap();
        } else {
            copy(&here, &here, name, place);
        }
    }
}

fn copy(folder: &Path, from: &Path, to: &str, place: &Sandbox) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            copy(&path, from, to, place);
        } else {
            let name = path.strip_prefix(from).unwrap().display();
            let bytes = std::fs::read(&path).unwrap();
            place.write_file(&format!("{to}/{name}"), bytes).unwrap();
        }
    }
}

/// Returns the variables that hold the secrets of the worker in compose.
fn secrets_of_compose() -> BTreeSet<String> {
    let names = Regex::new(r#""env:(\w+)""#).unwrap();
    let config = text("deploy/compose/nightshift.toml");
    names
        .captures_iter(&config)
        .map(|found| found[1].to_owned())
        .collect()
}

#[test]
fn compose_worker_gets_its_secrets_and_serves_prometheus() {
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
    // A request for any other host name gets 403.
    let hosts = web["hosts"].as_array().unwrap();
    assert!(
        hosts.iter().any(|host| host.as_str() == Some(&target[1])),
        "{hosts:?}"
    );
}

#[test]
fn the_program_takes_the_configuration_of_compose() {
    let mut place = Sandbox::new().unwrap();
    lay_out(&place, "/etc/nightshift/");
    let names = secrets_of_compose();
    for name in &names {
        place.set_env(name, "only-a-trial-only-a-trial");
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
    let place = Sandbox::new().unwrap();
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
    let stages: BTreeSet<_> = Regex::new(r"(?m)^FROM .*\S AS (\w+)$")
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
    // The cache keeps compiled dependencies between builds. It is not part of a layer, so the build copies the
    // program out.
    assert!(file.contains("--mount=type=cache,target=/source/target "));
    assert!(file.contains("cp target/dist/nightshift /nightshift\n"));
    // The build context must contain all that the build reads.
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
fn release_image_build_runs_no_foreign_architecture() {
    let file = text("deploy/Dockerfile");
    let stages: Vec<_> = file.split("\nFROM ").skip(1).collect();
    let named = |name: &str| {
        let head = format!(" AS {name}");
        let mut all = stages.iter();
        *all.find(|stage| stage.lines().next().unwrap().ends_with(&head))
            .unwrap()
    };
    let from = Regex::new(r"--from=(\w+)").unwrap();
    let mut names: Vec<_> = from
        .captures_iter(stages.last().unwrap())
        .map(|found| found[1].to_owned())
        .collect();
    // The stage `built` has the programs already.
    names.retain(|name| name != "built");
    assert_eq!(names, ["data"]);
    for name in names {
        let stage = named(&name);
        assert!(stage.contains("\nRUN "), "{stage}");
        assert!(stage.starts_with("--platform=$BUILDPLATFORM "), "{stage}");
    }
}

#[test]
fn systemd_takes_the_unit_where_it_is_installed() {
    let unit = text("deploy/systemd/nightshift.service");
    let place = Sandbox::new().unwrap();
    // `systemd-analyze` looks for the program, which is not installed here.
    let unit = unit.replace("/usr/local/bin/nightshift", "/bin/true");
    let file = place.write_file("nightshift.service", unit).unwrap();
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
    // The longest `[web] linger_secs` passes before the worker drains.
    let source = text("worker/web/src/config.rs");
    let most = Regex::new(r"MAX_LINGER_SECS: u64 = (\d+);").unwrap();
    let lingers: u64 = most.captures(&source).unwrap()[1].parse().unwrap();
    assert!(secs >= 10 + lingers + 5, "{secs}");
    let compose = text("deploy/compose.yaml");
    assert!(compose.contains("stop_grace_period: 20s"));
}

#[test]
fn chaos_replaces_workers_with_the_times_of_the_chart() {
    let (values, fleet) = (
        text("helm/nightshift/values.yaml"),
        text("tests/chaos/src/fleet.rs"),
    );
    for (set, copied) in [
        (
            r"(?m)^terminationGracePeriodSeconds: (\d+)$",
            r"GRACE: Duration = Duration::from_secs\((\d+)\);",
        ),
        (r"(?m)^  lingerSecs: (\d+)$", r"LINGER_SECS: u64 = (\d+);"),
    ] {
        let in_text = |pattern: &str, text: &str| {
            let found = Regex::new(pattern).unwrap().captures(text);
            found.unwrap_or_else(|| panic!("no {pattern}"))[1].to_owned()
        };
        assert_eq!(in_text(copied, &fleet), in_text(set, &values), "{set}");
    }
    let lingers = r#".env("NIGHTSHIFT__WEB__LINGER_SECS", LINGER_SECS.to_string())"#;
    assert!(fleet.contains(lingers), "its workers end at once");
}

/// Checks that the installation steps create the credentials folder. systemd starts nothing without the folder, even
/// when no secret is needed.
#[test]
fn who_installs_the_unit_makes_the_folder_of_its_secrets() {
    let unit = text("deploy/systemd/nightshift.service");
    let folder = Regex::new(r"(?m)^LoadCredential=secrets:(\S+)$").unwrap();
    let folder = &folder.captures(&unit).unwrap()[1];
    let made = format!("install -d -m 0700 {folder}");
    assert!(unit.contains(&format!("\n#   {made}\n")), "{unit}");
    assert!(text("deploy/README.md").contains(&made), "{made}");
}

#[test]
fn the_unit_is_started_again_however_long_its_database_is_away() {
    let unit = text("deploy/systemd/nightshift.service");
    let has = |line: &str| unit.lines().any(|one| one == line);
    assert!(has("StartLimitIntervalSec=0"));
    assert!(!unit.contains("StartLimitBurst="));
    assert!(has("Restart=on-failure"));
    // The unit does not restart after a wrong command line or configuration.
    assert!(has("RestartPreventExitStatus=2 64"));
    assert!(has("RestartForceExitStatus=SIGHUP"));
}

/// Checks that the unit leaves the parts of `/proc` readable that `worker/store/src/sqlite/host.rs` reads: those of
/// the process itself and of a lease holder outside the unit.
#[test]
fn the_unit_hides_nothing_that_leases_on_sqlite_go_by() {
    let unit = text("deploy/systemd/nightshift.service");
    for hides in ["ProcSubset=", "PrivatePIDs="] {
        assert!(!unit.lines().any(|one| one.starts_with(hides)), "{hides}");
    }
}
