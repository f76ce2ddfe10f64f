//! Checks that secrets are in Secrets and nowhere else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{all, kind, list, of_set, pods};

const SECRET_KEYS: [&str; 5] = ["password", "secret", "api_key", "tokens", "token"];

/// Checks that every secret of a configuration is a reference, and that files are where the chart mounts them.
fn check(key: &str, value: &toml::Value) {
    match value {
        toml::Value::Table(table) => table.iter().for_each(|(key, value)| check(key, value)),
        toml::Value::Array(items) => items.iter().for_each(|value| check(key, value)),
        toml::Value::String(text) if SECRET_KEYS.contains(&key) => {
            let is_told =
                text.starts_with("env:") || text.starts_with("file:/run/secrets/nightshift/");
            assert!(is_told, "{key} = {text:?}");
        }
        _ => {}
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn no_config_map_holds_a_secret() {
    for (_, objects) in all() {
        for map in kind(&objects, "ConfigMap") {
            if let Some(text) = map["data"]["nightshift.toml"].as_str() {
                check("", &text.parse::<toml::Table>().unwrap().into());
            }
        }
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn secrets_of_values_stand_in_secrets_only() {
    let objects = of_set("trial");
    let (secrets, others): (Vec<&Value>, _) =
        objects.iter().partition(|one| one["kind"] == "Secret");
    let names: Vec<_> = secrets.iter().map(|one| &one["metadata"]["name"]).collect();
    // The name differs from the release's, which people often use for their own Secret: Helm deletes this one when
    // the values hold no secrets.
    assert_eq!(
        names,
        ["night-nightshift-values", "night-nightshift-migrate"]
    );
    let password = STANDARD.encode("only-a-trial");
    for secret in secrets {
        assert_eq!(secret["data"]["postgres-password"], password);
        // A key removed from `stringData` would stay in the Secret with an empty value.
        assert!(secret["stringData"].is_null(), "{secret}");
    }
    for other in others {
        for text in ["only-a-trial", &password] {
            assert!(!other.to_string().contains(text), "{other}");
        }
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn every_secret_that_a_pod_uses_is_made_or_named() {
    for (name, objects) in all() {
        let made: Vec<&Value> = kind(&objects, "Secret")
            .into_iter()
            .map(|one| &one["metadata"]["name"])
            .collect();
        for pod in pods(&objects) {
            let volumes = list(&pod["volumes"]).iter();
            let mounted = volumes.map(|volume| &volume["secret"]["secretName"]);
            let variables = list(&pod["containers"][0]["envFrom"]).iter();
            let read = variables.map(|from| &from["secretRef"]["name"]);
            for used in mounted.chain(read).filter(|used| !used.is_null()) {
                let is_named = *used == "nightshift" || *used == "nightshift-config";
                assert!(made.contains(&used) || is_named, "{name}: {used}");
            }
        }
        if name != "trial" {
            assert!(made.is_empty(), "{name}");
        }
    }
}
