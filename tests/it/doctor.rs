//! `nightshift doctor`: each misconfiguration is found by name, and an installation in good order has no finding.

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

/// What the doctor said of a configuration.
struct Said {
    code: Option<i32>,
    object: Value,
}

impl Said {
    /// The checks that failed, in order.
    fn checks(&self) -> Vec<&str> {
        let found = self.object["findings"].as_array().unwrap().iter();
        found.map(|one| one["check"].as_str().unwrap()).collect()
    }

    /// The only finding.
    fn only(&self) -> &Value {
        let found = self.object["findings"].as_array().unwrap();
        assert_eq!(found.len(), 1, "{:#}", self.object);
        &found[0]
    }
}

/// Looks at these areas with this configuration.
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

/// Looks, and gives the checks that failed.
fn found(place: &Place, config: &str, areas: &str) -> Vec<String> {
    let said = doctor(place, config, areas);
    said.checks().into_iter().map(str::to_owned).collect()
}

/// A service that `tests/services` starts.
#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by the environment which services there are"
)]
pub(crate) fn service(name: &str) -> String {
    std::env::var(format!("NIGHTSHIFT_TEST_{name}")).unwrap()
}

/// What clients of AWS read.
pub(crate) fn settings_of_aws() -> [(&'static str, &'static str); 4] {
    sqs::SETTINGS
}
