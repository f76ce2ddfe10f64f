//! Tests the network policies: who may reach the pods, and where the pods may connect to.

use serde_json::{Value, json};

use super::{kind, list, of_set, rendered, text};

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn unlisted_traffic_is_denied_to_workers_and_to_migration() {
    let objects = of_set("postgres-rabbitmq");
    let policy = &policy(&objects, "night-nightshift").unwrap()["spec"];
    assert_eq!(policy["policyTypes"], json!(["Ingress", "Egress"]));
    // A policy that is changed or removed after the migration starts must not affect the migration.
    for (name, of_workers) in [
        ("night-nightshift", true),
        ("night-nightshift-migrate", false),
    ] {
        let selector = &self::policy(&objects, name).unwrap()["spec"]["podSelector"];
        let selector = selector["matchLabels"].as_object().unwrap();
        for (maker, is_chosen) in [("Deployment", of_workers), ("Job", !of_workers)] {
            for one in kind(&objects, maker) {
                let labels = &one["spec"]["template"]["metadata"]["labels"];
                let has_all = selector.iter().all(|(key, value)| labels[key] == *value);
                assert_eq!(has_all, is_chosen, "{name}: {maker}");
            }
        }
    }
    let of = |direction: &str| -> Vec<String> {
        let ports = list(&policy[direction]).iter();
        let ports = ports.flat_map(|rule| list(&rule["ports"]));
        ports.map(|port| port["port"].to_string()).collect()
    };
    assert_eq!(of("ingress"), ["9090", "8080"]);
    assert_eq!(of("egress"), ["53", "53", "5432", "5671", "443"]);
    // A rule without a peer would open the policy to every address.
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in list(&policy[direction]) {
            assert!(!list(&rule[peers]).is_empty(), "{rule}");
        }
    }
}

fn policy<'a>(objects: &'a [Value], name: &str) -> Option<&'a Value> {
    let mut all = kind(objects, "NetworkPolicy").into_iter();
    all.find(|one| one["metadata"]["name"] == name)
}

/// Checks that the migration has a policy of its own. Before an install the workers' policy does not exist, and
/// before an upgrade it is that of the previous version.
#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn migration_policy_uses_new_values_before_workers_change() {
    let objects = of_set("postgres-rabbitmq");
    let workers = &policy(&objects, "night-nightshift").unwrap();
    assert!(workers["metadata"]["annotations"].is_null(), "{workers}");
    let own = policy(&objects, "night-nightshift-migrate").unwrap();
    let job = kind(&objects, "Job")[0];
    let hook = |of: &Value, key: &str| of["metadata"]["annotations"][key].clone();
    for key in ["helm.sh/hook", "helm.sh/hook-delete-policy"] {
        assert_eq!(hook(own, key), hook(job, key));
    }
    let weight = |of: &Value| -> i32 {
        let weight = hook(of, "helm.sh/hook-weight");
        weight.as_str().unwrap().parse().unwrap()
    };
    let others = objects
        .iter()
        .filter(|one| !hook(one, "helm.sh/hook").is_null());
    let later = others.filter(|one| *one != own).map(weight);
    assert!(later.clone().count() >= 2);
    assert!(later.min().unwrap() > weight(own));
    let spec = &own["spec"];
    let selector = spec["podSelector"]["matchLabels"].as_object().unwrap();
    assert_eq!(selector["app.kubernetes.io/component"], "migrate");
    let labels = &job["spec"]["template"]["metadata"]["labels"];
    assert!(selector.iter().all(|(key, value)| labels[key] == *value));
    assert_eq!(spec["policyTypes"], json!(["Ingress", "Egress"]));
    // The migration accepts no connections.
    assert_eq!(spec["ingress"], json!([]));
    assert_eq!(spec["egress"], workers["spec"]["egress"]);
    assert!(!list(&spec["egress"]).is_empty());
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn only_an_enabled_migration_has_its_own_network_policy() {
    let egress = r#"networkPolicy.egress=[{"to":[{"podSelector":{}}]}]"#;
    for (values, wanted) in [
        (
            "networkPolicy.enabled=true,store.url=postgres://u@h/d",
            true,
        ),
        ("networkPolicy.enabled=true", false),
        (
            "networkPolicy.enabled=true,store.url=postgres://u@h/d,migrate.enabled=false",
            false,
        ),
        ("store.url=postgres://u@h/d", false),
    ] {
        let objects = rendered(&["--set", values, "--set-json", egress]);
        let own = policy(&objects, "night-nightshift-migrate");
        assert_eq!(own.is_some(), wanted, "{values}");
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn pages_that_are_not_exposed_are_let_in_for_nobody() {
    let objects = rendered(&[
        "--set",
        "networkPolicy.enabled=true",
        "--set-json",
        r#"networkPolicy.webFrom=[{"namespaceSelector":{}}]"#,
    ]);
    let policy = &kind(&objects, "NetworkPolicy")[0]["spec"];
    let ports: Vec<_> = list(&policy["ingress"]).iter().collect();
    assert_eq!(ports.len(), 1);
    assert_eq!(ports[0]["ports"], json!([{"port": 9090}]));
}

#[test]
fn node_identity_endpoints_are_documented_with_their_port() {
    let page = text("docs/kubernetes.md");
    let (_, page) = page.split_once("- **Network**").unwrap();
    let (page, _) = page.split_once("\n- **").unwrap();
    let values = text("helm/nightshift/values.yaml");
    for told in [page, values.as_str()] {
        for address in [
            "169.254.169.252/32",
            "169.254.169.254/32",
            "169.254.170.23/32",
            "fd00:ec2::23/128",
        ] {
            assert!(told.contains(address), "{address}");
        }
        assert!(told.contains("988") && told.contains("port 80"));
    }
}
