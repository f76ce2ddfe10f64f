//! Tests `nightshift doctor`: each misconfiguration is found by name, and a sound installation has no finding.

mod broker;
mod configuration;
mod fake_vendors;
mod files;
mod good;
mod models;
mod owed;
pub(crate) mod sqs;
pub(crate) mod store;
mod table;
mod traces;
mod vendors;

use nightshift_tests::Sandbox;
use serde_json::Value;

/// The doctor's output for a configuration.
struct DoctorOutput {
    code: Option<i32>,
    object: Value,
}

impl DoctorOutput {
    fn failed_checks(&self) -> Vec<&str> {
        let found = self.object["findings"].as_array().unwrap().iter();
        found.map(|one| one["check"].as_str().unwrap()).collect()
    }

    /// Returns the only finding; panics when there is not exactly one.
    fn only_finding(&self) -> &Value {
        let found = self.object["findings"].as_array().unwrap();
        assert_eq!(found.len(), 1, "{:#}", self.object);
        &found[0]
    }
}

/// Runs the doctor on these areas of this configuration.
fn run_doctor(place: &Sandbox, config: &str, areas: &str) -> DoctorOutput {
    place.write_file("nightshift.toml", config).unwrap();
    let mut arguments = vec!["doctor", "--json"];
    if !areas.is_empty() {
        arguments.extend(["--only", areas]);
    }
    let ran = place.run(&arguments).unwrap();
    let object: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    assert_eq!(object["schema"], "nightshift.doctor/1");
    let errors = object["errors"].as_u64().unwrap();
    assert_eq!(ran.code, Some(i32::from(errors > 0)), "{object:#}");
    assert_eq!(object["ok"], errors == 0);
    DoctorOutput {
        code: ran.code,
        object,
    }
}

/// Runs the doctor and returns the checks that failed.
fn failed_checks(place: &Sandbox, config: &str, areas: &str) -> Vec<String> {
    let said = run_doctor(place, config, areas);
    said.failed_checks()
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// Returns the address of a service that `tests/services` starts.
#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by the environment which services there are"
)]
pub(crate) fn service(name: &str) -> String {
    std::env::var(format!("NIGHTSHIFT_TEST_{name}")).unwrap()
}

/// Returns the variables that AWS clients read.
pub(crate) fn settings_of_aws() -> [(&'static str, &'static str); 4] {
    sqs::SETTINGS
}
