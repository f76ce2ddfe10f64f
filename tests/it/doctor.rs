//! Tests `nightshift doctor`: each misconfiguration is found by name, and a sound installation has no finding.

mod broker;
mod configuration;
mod files;
mod good;
mod models;
mod owed;
pub(crate) mod sqs;
pub(crate) mod store;
mod table;
mod traces;
mod vendors;
mod world;

use nightshift_tests::Place;
use serde_json::Value;

/// The doctor's output for a configuration.
struct Said {
    code: Option<i32>,
    object: Value,
}

impl Said {
    fn checks(&self) -> Vec<&str> {
        let found = self.object["findings"].as_array().unwrap().iter();
        found.map(|one| one["check"].as_str().unwrap()).collect()
    }

    /// Returns the only finding; panics when there is not exactly one.
    fn only(&self) -> &Value {
        let found = self.object["findings"].as_array().unwrap();
        assert_eq!(found.len(), 1, "{:#}", self.object);
        &found[0]
    }
}

/// Runs the doctor on these areas of this configuration.
fn doctor(place: &Place, config: &str, areas: &str) -> Said {
    place.file("nightshift.toml", config).unwrap();
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
    Said {
        code: ran.code,
        object,
    }
}

/// Runs the doctor and returns the checks that failed.
fn found(place: &Place, config: &str, areas: &str) -> Vec<String> {
    let said = doctor(place, config, areas);
    said.checks().into_iter().map(str::to_owned).collect()
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
