//! Who may reach the pods, and where they may go.

use serde_json::json;

use super::{kind, list, of_set, rendered, text};

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn what_is_not_listed_is_denied_to_all_pods_of_the_release() {
    let objects = of_set("postgres-rabbitmq");
    let policy = &kind(&objects, "NetworkPolicy")[0]["spec"];
    assert_eq!(policy["policyTypes"], json!(["Ingress", "Egress"]));
    let selector = policy["podSelector"]["matchLabels"].as_object().unwrap();
    for maker in [kind(&objects, "Deployment"), kind(&objects, "Job")].concat() {
        let labels = &maker["spec"]["template"]["metadata"]["labels"];
        assert!(selector.iter().all(|(key, value)| labels[key] == *value));
    }
    let of = |direction: &str| -> Vec<String> {
        let ports = list(&policy[direction]).iter();
        let ports = ports.flat_map(|rule| list(&rule["ports"]));
        ports.map(|port| port["port"].to_string()).collect()
    };
    assert_eq!(of("ingress"), ["9090", "8080"]);
    assert_eq!(of("egress"), ["53", "53", "5432", "5671", "443"]);
    // A rule without a peer would let in, or let out to, the whole world.
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in list(&policy[direction]) {
            assert!(!list(&rule[peers]).is_empty(), "{rule}");
        }
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
fn where_pods_get_an_identity_from_their_node_is_said_with_its_port() {
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
