//! Tests where a worker keeps its cases. With every way to run the worker, the configuration decides; the default is
//! the one folder that it may write to.

use std::process::Command;

use nightshift_tests::{Sandbox, repository_root};
use serde_json::Value;

use super::{all, kind, list, pods, rendered, template};

/// Returns the store address in the container's variables, if there is one.
fn store_of(container: &Value) -> Option<&str> {
    let mut env = list(&container["env"]).iter();
    let found = env.find(|one| one["name"] == "NIGHTSHIFT__STORE__URL")?;
    found["value"].as_str()
}

#[test]
fn unit_overrides_no_store_and_default_path_is_writable() {
    let unit = std::fs::read_to_string(repository_root().join("deploy/systemd/nightshift.service"))
        .unwrap();
    assert!(!unit.contains("Environment="), "{unit}");
    for line in [
        "WorkingDirectory=/var/lib/nightshift",
        "StateDirectory=nightshift",
    ] {
        assert!(unit.lines().any(|one| one == line), "{line}");
    }
    // The unit and the chart keep the configuration elsewhere, and only the working directory is writable.
    let place = Sandbox::new().unwrap();
    place.write_file("etc/nightshift.toml", "[log]\n").unwrap();
    let ran = place.run(&["--config", "etc/nightshift.toml", "migrate"]);
    assert_eq!(ran.unwrap().code, Some(0));
    assert!(place.path().join("nightshift-data/nightshift.db").is_file());
    let beside = std::fs::read_dir(place.path().join("etc")).unwrap();
    assert_eq!(beside.count(), 1);
}

#[test]
fn runbook_runs_commands_as_the_unit_runs_the_worker() {
    let read = |path: &str| std::fs::read_to_string(repository_root().join(path)).unwrap();
    let unit = read("deploy/systemd/nightshift.service");
    let told = read("docs/commands.md");
    let (_, told) = told.split_once("```sh\nfunction nightshift {\n").unwrap();
    let (told, _) = told.split_once("\n}\n").unwrap();
    // A fake `sudo` prints its arguments, one per line.
    let script = format!(
        "sudo() {{ printf '%s\\n' \"$@\"; }}\nfunction nightshift {{\n{told}\n}}\n\
         nightshift tools call lookup '{{\"name\": \"$HOME & co\"}}' '' '*'"
    );
    let ran = Command::new("bash")
        .args(["-euc", &script])
        .env("USER", "alice")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let said = String::from_utf8(ran.stdout).unwrap();
    let words: Vec<_> = said.lines().collect();
    let mut lines = unit.lines();
    let run = lines.find_map(|line| line.strip_prefix("ExecStart="));
    let run = run.unwrap().strip_suffix(" worker").unwrap();
    let run: Vec<_> = run.split(' ').collect();
    let at = words.windows(run.len()).position(|some| some == run);
    let (options, command) = words.split_at(at.unwrap_or_else(|| panic!("{run:?}: {words:?}")));
    // systemd turns `$$` into `$`, and would expand a single `$` to its own variables.
    let asked = [
        "tools",
        "call",
        "lookup",
        "{\"name\": \"$$HOME & co\"}",
        "",
        "*",
    ];
    assert_eq!(command[run.len()..], asked);
    // systemd reads these as for the unit. A shell would end the command at an `&` in an address.
    for key in ["WorkingDirectory=", "EnvironmentFile="] {
        let line = unit.lines().find(|line| line.starts_with(key)).unwrap();
        let is_told = options.windows(2).any(|two| two == ["-p", line]);
        assert!(is_told, "{line}: {options:?}");
    }
    // The author of a verdict is taken from `USER`.
    assert!(options.contains(&"USER=alice"), "{options:?}");
    assert_eq!(options[0], "systemd-run");
    for needed in ["--wait", "--pty", "--pipe", "--collect"] {
        assert!(options.contains(&needed), "{needed}: {options:?}");
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn chart_sets_worker_store_from_its_value_or_not_at_all() {
    for (name, objects) in all() {
        for pod in pods(&objects) {
            let container = &pod["containers"][0];
            let store = store_of(container);
            assert_eq!(store.is_none(), name == "defaults", "{name}: {store:?}");
            assert_eq!(container["workingDir"], "/var/lib/nightshift", "{name}");
        }
    }
    // The chart cannot know the values in an external Secret, and these take precedence.
    let others = rendered(&[
        "--set",
        "existingConfigSecret=mine,existingSecret=keys,store.passwordKey=pw",
    ]);
    let container = &kind(&others, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(store_of(container), None);
    let password = list(&container["env"]).iter();
    let mut password = password.filter(|one| one["name"] == "NIGHTSHIFT__STORE__PASSWORD");
    assert!(password.any(|one| one["value"] == "file:/run/secrets/nightshift/pw"));
}

/// Renders the chart with a configuration in `config` and these values; returns Helm's error.
fn with_config(config: &str, values: &str) -> Result<(), String> {
    let place = Sandbox::new().unwrap();
    let file = place.write_file("c.toml", config).unwrap();
    let config = format!("config={}", file.display());
    // The test needs no source, so the intake is left out.
    let others = format!("only={{triage,delivery}},{values}");
    let made = template("night", &["--set-file", &config, "--set", &others]);
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    made.status.success().then_some(()).ok_or(said)
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn database_named_only_in_configuration_is_refused() {
    let on_postgres = "[log]\nlevel = \"info\"\n\n[store]\nurl = \"postgres://u@h/d\"\n";
    for config in [
        on_postgres,
        "store.url = 'postgres://u@h/d'\n",
        "store = { password = \"env:PW\", url = \"postgres://u@h/d\" }\n",
        "[ \"store\" ] # ours\n# url = \"sqlite:x.db\"\n\turl=\"postgresql://u@h/d\"\r\n",
    ] {
        let said = with_config(config, "replicas=1").unwrap_err();
        let wanted = "put that address into the value store.url";
        assert!(said.contains(wanted), "{config}: {said}");
    }
    for (config, values) in [
        (on_postgres, "store.url=postgres://u@h/d"),
        (on_postgres, "existingConfigSecret=mine"),
        ("[store]\nurl = \"sqlite:cases.db\"\n", "replicas=1"),
        (
            "[store]\n[[source]]\nname = \"store\"\nurl = \"amqps://h\"\n",
            "replicas=1",
        ),
        ("# [store]\n# url = \"postgres://u@h/d\"\n", "replicas=1"),
    ] {
        assert_eq!(with_config(config, values), Ok(()), "{config}");
    }
}
