//! Tests the deployment files: the Helm chart with every set of values in `helm/nightshift/ci`, the alert rules, the
//! dashboards, and the files of `deploy/`.
//!
//! `tests/services` installs Helm, the schemas of Kubernetes, Prometheus and the other checking programs; tests whose
//! program is missing are ignored. No cluster is used: objects are validated against the published schemas of
//! Kubernetes.

mod away;
mod aws;
mod chart;
mod dashboards;
mod declared;
mod files;
mod google;
mod live;
mod network;
mod notes;
mod operators;
mod pods;
mod promql;
mod refused;
mod rows;
mod rules;
mod samples;
mod scaling;
mod secrets;
mod several;
mod storage_location;
mod trial;
mod values;
mod workflows;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Returns the path of a program that `tests/services` names.
#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by the environment which services there are"
)]
fn named(variable: &str) -> PathBuf {
    let path = std::env::var_os(variable).filter(|path| !path.is_empty());
    path.unwrap_or_else(|| panic!("{variable} is not set; tests/services sets it"))
        .into()
}

fn text(path: &str) -> String {
    std::fs::read_to_string(nightshift_tests::repository_root().join(path)).unwrap()
}

fn succeeds(command: &mut Command) {
    let ran = command
        .current_dir(nightshift_tests::repository_root())
        .output()
        .unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(ran.status.success(), "{command:?}: {said}");
}

fn folder() -> PathBuf {
    nightshift_tests::repository_root().join("helm/nightshift")
}

/// Returns the sets of values, by name.
fn sets() -> Vec<(String, PathBuf)> {
    let mut sets: Vec<(String, PathBuf)> = std::fs::read_dir(folder().join("ci"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix("-values.yaml")?;
            Some((name.to_owned(), path.clone()))
        })
        .collect();
    sets.sort();
    assert!(sets.len() >= 6, "{sets:?}");
    sets
}

/// Runs Helm on the chart with a cleared environment.
fn helm(command: &[&str], options: &[&str]) -> Output {
    helm_on(&folder(), command, options)
}

fn helm_on(chart: &Path, command: &[&str], options: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    Command::new(named("NIGHTSHIFT_TEST_HELM"))
        .args(command)
        .arg(chart)
        .args(options)
        .env_clear()
        .env("HOME", home.path())
        .output()
        .unwrap()
}

/// Renders a release of this name with these options over the minimal values. These add a source, which has no
/// default.
fn template(release: &str, options: &[&str]) -> Output {
    let least = least();
    let options = [&["--values", least.as_str()][..], options].concat();
    helm(&["template", release], &options)
}

/// Returns the path of the set of values that has only a source.
fn least() -> String {
    let path = folder().join("ci/defaults-values.yaml");
    path.to_str().unwrap().to_owned()
}

/// Returns the objects that Helm renders with these options over the minimal values.
fn rendered(options: &[&str]) -> Vec<Value> {
    let least = least();
    let options = [&["--values", least.as_str()][..], options].concat();
    read(&options, &[])
}

/// Renders with these options alone and validates the objects against the schemas of these versions of Kubernetes.
fn read(options: &[&str], versions: &[&str]) -> Vec<Value> {
    let made = helm(&["template", "night", "--namespace", "security"], options);
    assert!(made.status.success(), "{options:?}: {made:?}");
    let script = nightshift_tests::repository_root().join("tests/support/kubernetes/objects.py");
    let mut check = Command::new(named("NIGHTSHIFT_TEST_HELM_PYTHON"))
        .arg(script)
        .args(versions)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    check.stdin.take().unwrap().write_all(&made.stdout).unwrap();
    let checked = check.wait_with_output().unwrap();
    assert!(checked.status.success(), "{options:?}: see above");
    serde_json::from_slice(&checked.stdout).unwrap()
}

fn all() -> Vec<(String, Vec<Value>)> {
    let made = |(name, path): (String, PathBuf)| {
        let objects = read(&["--values", path.to_str().unwrap()], &[]);
        (name, objects)
    };
    sets().into_iter().map(made).collect()
}

fn of_set(name: &str) -> Vec<Value> {
    let path = folder().join(format!("ci/{name}-values.yaml"));
    read(&["--values", path.to_str().unwrap()], &[])
}

fn kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|one| one["kind"] == kind).collect()
}

/// Returns the configuration that the chart renders, if it renders one.
fn configuration(objects: &[Value]) -> Option<&str> {
    let maps = kind(objects, "ConfigMap");
    let mut texts = maps.iter().map(|map| &map["data"]["nightshift.toml"]);
    texts.find_map(Value::as_str)
}

/// Returns all workloads: the pods of the workers and of the migration.
fn pods(objects: &[Value]) -> Vec<&Value> {
    let makers = objects
        .iter()
        .filter(|one| one["kind"] == "Deployment" || one["kind"] == "Job");
    makers.map(|one| &one["spec"]["template"]["spec"]).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
