//! What a pod may do and how it is looked after.

use serde_json::json;

use super::{all, kind, list, of_set, pods};

/// Seconds that the worker takes to drain.
const DRAIN_SECS: u64 = 10;

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn pods_run_as_nobody_and_write_only_to_their_volumes() {
    for (name, objects) in all() {
        for pod in pods(&objects) {
            assert_eq!(
                pod["securityContext"],
                json!({
                    "runAsNonRoot": true, "runAsUser": 10001, "runAsGroup": 10001, "fsGroup": 10001,
                    "seccompProfile": {"type": "RuntimeDefault"},
                }),
                "{name}"
            );
            assert_eq!(pod["automountServiceAccountToken"], false, "{name}");
            for container in list(&pod["containers"]) {
                assert_eq!(
                    container["securityContext"],
                    json!({
                        "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                        "capabilities": {"drop": ["ALL"]},
                    }),
                    "{name}"
                );
                assert!(container["resources"]["limits"]["memory"].is_string());
                let writable: Vec<_> = list(&container["volumeMounts"])
                    .iter()
                    .filter(|mount| mount["readOnly"] != true)
                    .map(|mount| mount["mountPath"].as_str().unwrap())
                    .collect();
                assert_eq!(writable, ["/var/lib/nightshift", "/tmp"], "{name}");
            }
        }
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn the_image_is_that_of_this_version() {
    let image = concat!("nightshift:", env!("CARGO_PKG_VERSION"));
    for (name, objects) in all() {
        for pod in pods(&objects) {
            assert_eq!(pod["containers"][0]["image"], image, "{name}");
        }
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn workers_are_asked_for_health_where_they_listen_and_have_time_to_drain() {
    for (name, objects) in all() {
        let pod = &kind(&objects, "Deployment")[0]["spec"]["template"]["spec"];
        let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
        assert!(grace > DRAIN_SECS, "{name}: {grace}");
        let container = &pod["containers"][0];
        for (probe, path) in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")] {
            let asked = json!({"path": path, "port": "metrics"});
            assert_eq!(container[probe]["httpGet"], asked, "{name}");
        }
        let ports = list(&container["ports"]);
        let port = ports.iter().find(|port| port["name"] == "metrics").unwrap();
        let listen = format!("0.0.0.0:{}", port["containerPort"]);
        let variable = json!({"name": "NIGHTSHIFT__WEB__METRICS_LISTEN", "value": listen});
        assert!(list(&container["env"]).contains(&variable), "{name}");
        // Without the part `web` nobody would answer the probes.
        let arguments: Vec<_> = list(&container["args"]).iter().collect();
        if let Some(only) = arguments.iter().position(|one| *one == "--only") {
            assert_eq!(arguments[only + 1], "intake,triage,web", "{name}");
        }
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn the_service_finds_the_workers_and_not_the_migration() {
    for (name, objects) in all() {
        let service = &kind(&objects, "Service")[0]["spec"];
        let selector = service["selector"].as_object().unwrap();
        let is_found = |one: &serde_json::Value| {
            let labels = &one["spec"]["template"]["metadata"]["labels"];
            selector.iter().all(|(key, value)| labels[key] == *value)
        };
        let deployment = kind(&objects, "Deployment")[0];
        assert!(is_found(deployment), "{name}");
        assert!(!kind(&objects, "Job").into_iter().any(is_found), "{name}");
        let own = list(&deployment["spec"]["template"]["spec"]["containers"][0]["ports"]);
        for port in list(&service["ports"]) {
            let target = &port["targetPort"];
            assert!(own.iter().any(|one| one["name"] == *target), "{name}");
        }
    }
    let service = &kind(&of_set("postgres-rabbitmq"), "Service")[0]["spec"].clone();
    assert_eq!(list(&service["ports"])[1]["port"], 8080);
}
