//! Tests the security context, probes and termination of the pods.

use serde_json::{Value, json};

use super::{all, kind, list, of_set, pods, rendered};

/// The longest drain of a worker, in seconds.
const DRAIN_SECS: u64 = 10;

/// Returns the bind address of the pods in a set of values; one set is for clusters with IPv6 alone.
fn bind(set: &str) -> &'static str {
    if set == "apart-hpa" {
        "[::]"
    } else {
        "0.0.0.0"
    }
}

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
fn workers_are_asked_for_health_where_they_listen() {
    for (name, objects) in all() {
        for deployment in kind(&objects, "Deployment") {
            let pod = &deployment["spec"]["template"]["spec"];
            let container = &pod["containers"][0];
            for (probe, path) in [
                ("startupProbe", "/healthz"),
                ("livenessProbe", "/healthz"),
                ("readinessProbe", "/readyz"),
            ] {
                let asked = json!({"path": path, "port": "metrics"});
                assert_eq!(container[probe]["httpGet"], asked, "{name}");
            }
            // A worker that migrates by itself listens only afterwards, so its start may take as long as the
            // migration.
            let start = &container["startupProbe"];
            let tries = start["failureThreshold"].as_u64().unwrap();
            assert_eq!(
                tries * start["periodSeconds"].as_u64().unwrap(),
                900,
                "{name}"
            );
            let ports = list(&container["ports"]);
            let port = ports.iter().find(|port| port["name"] == "metrics").unwrap();
            let listen = format!("{}:{}", bind(&name), port["containerPort"]);
            let variable = json!({"name": "NIGHTSHIFT__WEB__METRICS_LISTEN", "value": listen});
            assert!(list(&container["env"]).contains(&variable), "{name}");
            // Without the part `web` nothing would answer the probes.
            let arguments: Vec<_> = list(&container["args"]).iter().collect();
            if let Some(only) = arguments.iter().position(|one| *one == "--only") {
                let parts = arguments[only + 1].as_str().unwrap();
                assert!(parts.split(',').any(|part| part == "web"), "{name}");
            }
        }
    }
}

fn linger_secs(pod: &Value) -> u64 {
    let mut env = list(&pod["containers"][0]["env"]).iter();
    let variable = env.find(|one| one["name"] == "NIGHTSHIFT__WEB__LINGER_SECS");
    let variable = variable.unwrap_or_else(|| panic!("it ends at once: {pod}"));
    variable["value"].as_str().unwrap().parse().unwrap()
}

/// Checks that a terminating pod still serves requests for a while. Services send requests until they learn that the
/// pod ends.
#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn terminating_pod_serves_requests_before_it_is_killed() {
    let mut made = all();
    let most = "web.lingerSecs=60,terminationGracePeriodSeconds=75";
    for (values, name) in [("web.lingerSecs=0", "none"), (most, "most")] {
        made.push((name.to_owned(), rendered(&["--set", values])));
    }
    for (name, objects) in made {
        let wanted = match name.as_str() {
            "none" => 0,
            "most" => 60,
            _ => 5,
        };
        for deployment in kind(&objects, "Deployment") {
            let pod = &deployment["spec"]["template"]["spec"];
            let lingers = linger_secs(pod);
            assert_eq!(lingers, wanted, "{name}");
            let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
            assert!(grace > DRAIN_SECS + lingers, "{name}: {grace}");
        }
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn no_rollout_has_failed_while_a_worker_may_still_start() {
    let deadline = |secs: &str| {
        let values = format!("migrate.activeDeadlineSeconds={secs}");
        let objects = rendered(&["--set", &values]);
        let rollout = &kind(&objects, "Deployment")[0]["spec"];
        let start = &rollout["template"]["spec"]["containers"][0]["startupProbe"];
        let secs = |key: &str| start[key].as_u64().unwrap();
        let starts = secs("failureThreshold") * secs("periodSeconds");
        let ends = rollout["progressDeadlineSeconds"].as_u64();
        assert!(ends.is_some_and(|ends| ends > starts), "{ends:?}: {starts}");
        ends.unwrap()
    };
    assert_eq!(["900", "3600"].map(deadline), [960, 3660]);
    // 600 seconds is the default of Kubernetes. A new node and the image pull may take that long, however short the
    // migration is.
    assert_eq!(deadline("30"), 600);
}

/// Returns whether a selector matches the pods of a Deployment or a Job.
fn finds(selector: &Value, maker: &Value) -> bool {
    let labels = &maker["spec"]["template"]["metadata"]["labels"];
    let selector = selector.as_object().unwrap();
    selector.iter().all(|(key, value)| labels[key] == *value)
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn services_find_the_workers_that_listen_and_not_the_migration() {
    for (name, objects) in all() {
        let (mut with_pages, mut with_posts) = (0, 0);
        for service in kind(&objects, "Service") {
            let selector = &service["spec"]["selector"];
            assert!(
                !kind(&objects, "Job")
                    .into_iter()
                    .any(|job| finds(selector, job))
            );
            let port = list(&service["spec"]["ports"])[0].clone();
            let found: Vec<_> = kind(&objects, "Deployment")
                .into_iter()
                .filter(|one| finds(selector, one))
                .collect();
            for one in &found {
                let container = &one["spec"]["template"]["spec"]["containers"][0];
                let mut ports = list(&container["ports"]).iter();
                assert!(ports.any(|own| own["name"] == port["targetPort"]), "{name}");
            }
            if port["name"] == "metrics" {
                assert_eq!(found.len(), kind(&objects, "Deployment").len(), "{name}");
            } else {
                assert_eq!(found.len(), 1, "{name}");
                let is_intake = port["name"] == "intake";
                with_posts += usize::from(is_intake);
                with_pages += usize::from(!is_intake);
            }
        }
        let is_exposed = ["postgres-rabbitmq", "apart-hpa"].contains(&name.as_str());
        assert_eq!(with_pages, usize::from(is_exposed), "{name}");
        assert_eq!(with_posts, usize::from(name == "apart-hpa"), "{name}");
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn pages_are_for_others_only_where_they_are_exposed() {
    for (name, objects) in all() {
        for deployment in kind(&objects, "Deployment") {
            let container = &deployment["spec"]["template"]["spec"]["containers"][0];
            let is_open = list(&container["ports"])
                .iter()
                .any(|one| one["name"] == "web");
            let listen = list(&container["env"])
                .iter()
                .find(|one| one["name"] == "NIGHTSHIFT__WEB__LISTEN")
                .unwrap();
            let address = if is_open { bind(&name) } else { "127.0.0.1" };
            assert_eq!(listen["value"], format!("{address}:8080"), "{name}");
        }
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn alerts_are_posted_only_to_receiving_pods_where_enabled() {
    let mut posted_to = Vec::new();
    for (name, objects) in all() {
        for deployment in kind(&objects, "Deployment") {
            let container = &deployment["spec"]["template"]["spec"]["containers"][0];
            let mut env = list(&container["env"]).iter();
            let listen = env.find(|one| one["name"] == "NIGHTSHIFT__WEB__INTAKE_LISTEN");
            let mut ports = list(&container["ports"]).iter();
            let port = ports.find(|one| one["name"] == "intake");
            assert_eq!(listen.is_some(), port.is_some(), "{name}");
            if let (Some(listen), Some(port)) = (listen, port) {
                assert_eq!(
                    listen["value"],
                    format!("{}:{}", bind(&name), port["containerPort"])
                );
                let labels = &deployment["metadata"]["labels"];
                posted_to.push(format!("{name} {}", labels["app.kubernetes.io/component"]));
            }
        }
    }
    assert_eq!(posted_to, [r#"apart-hpa "intake""#]);
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn selectors_of_deployments_find_their_own_pods_alone() {
    for (name, objects) in all() {
        let deployments = kind(&objects, "Deployment");
        for one in &deployments {
            let selector = &one["spec"]["selector"]["matchLabels"];
            let found = deployments.iter().filter(|other| finds(selector, other));
            assert_eq!(found.count(), 1, "{name}");
            assert!(finds(selector, one), "{name}");
        }
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn what_is_said_of_one_service_holds_for_no_other() {
    let objects = of_set("apart-hpa");
    let made = kind(&objects, "Service").into_iter().map(|one| {
        let keys = one["metadata"]["annotations"].as_object();
        let keys = keys
            .into_iter()
            .flat_map(|all| all.keys().map(String::as_str));
        let name = one["metadata"]["name"].as_str().unwrap();
        let kind = one["spec"]["type"].as_str().unwrap();
        format!("{name}: {kind} {}", keys.collect::<Vec<_>>().join(" "))
    });
    let mut made: Vec<String> = made.collect();
    made.sort();
    assert_eq!(
        made,
        [
            "night-nightshift-intake: NodePort example.com/posted-to",
            "night-nightshift-web: LoadBalancer service.beta.kubernetes.io/aws-load-balancer-scheme",
            "night-nightshift: ClusterIP ",
        ]
    );
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn a_part_has_the_account_that_is_named_for_it() {
    let objects = of_set("apart-hpa");
    let deployments = kind(&objects, "Deployment").into_iter();
    let mut accounts: Vec<&str> = deployments
        .map(|one| {
            one["spec"]["template"]["spec"]["serviceAccountName"]
                .as_str()
                .unwrap()
        })
        .collect();
    accounts.sort_unstable();
    assert_eq!(
        accounts,
        ["night-nightshift", "night-nightshift", "nightshift-intake"]
    );
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn names_of_a_canarys_source_and_destination_stay_words() {
    let objects = rendered(&[
        "--set",
        "existingSecret=s,canary.everyMinutes=5,canary.keyKey=k",
        "--set-string",
        "canary.source=12,canary.destination=yes",
    ]);
    let container = &pods(&objects)[0]["containers"][0];
    for (key, value) in [("SOURCE", "12"), ("DESTINATION", "yes")] {
        let name = format!("NIGHTSHIFT__CANARY__{key}");
        let wanted = json!({"name": name, "value": value});
        assert!(list(&container["env"]).contains(&wanted), "{key}");
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn a_canarys_key_can_be_laid_out_before_any_is_sent() {
    let objects = rendered(&["--set", "existingSecret=s,canary.keyKey=k"]);
    let container = &pods(&objects)[0]["containers"][0];
    let names = list(&container["env"]).iter().map(|one| &one["name"]);
    let of_canaries: Vec<_> = names
        .filter(|name| name.as_str().unwrap().contains("CANARY"))
        .collect();
    assert_eq!(of_canaries, ["NIGHTSHIFT__CANARY__KEY"]);
}
