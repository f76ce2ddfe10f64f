//! Tests Security Command Center findings of all detectors.

mod actors;
mod records;
mod shapes;

use super::*;
use crate::{CloudProvider, DetailKind, FindingClass, Outcome, Severity};

/// Returns a finding of the sample files, with `finding` and `resource` side by side.
fn case(name: &str) -> Value {
    let text = match name {
        "azure" => {
            include_str!("../../../../../tests/fixtures/findings/scc-azure-virtual-machine.json")
        }
        "brute force" => {
            include_str!("../../../../../tests/fixtures/findings/scc-ssh-brute-force.json")
        }
        "memory hash" => {
            include_str!("../../../../../tests/fixtures/findings/scc-memory-hash-signature.json")
        }
        "external member" => {
            include_str!("../../../../../tests/fixtures/findings/scc-external-member.json")
        }
        "security operations" => {
            include_str!("../../../../../tests/fixtures/findings/scc-security-operations.json")
        }
        _ => include_str!("../../../../../tests/fixtures/findings/scc-data-access.json"),
    };
    serde_json::from_str(text).unwrap()
}

/// Returns a Google finding with only these fields.
fn finding(fields: Value) -> Value {
    let mut finding = json!({
        "name": "organizations/1/sources/2/findings/f1",
        "resourceName": "//compute.googleapis.com/projects/shop-prod/zones/europe-west1-b/instances/web",
        "category": "Malware: Bad IP", "findingClass": "THREAT", "severity": "HIGH", "state": "ACTIVE",
        "createTime": "2026-11-26T01:00:10Z", "eventTime": "2026-11-26T01:00:00Z",
    });
    let told = fields.as_object().unwrap().clone();
    finding.as_object_mut().unwrap().extend(told);
    finding
}

fn properties(properties: Value) -> Alert {
    one_of(&finding(
        json!({"sourceProperties": {"properties": properties}}),
    ))
}

/// Returns all indicators of the alert as one text, without the resource of [`finding`].
fn parts(alert: &Alert) -> String {
    let named = alert
        .indicators
        .iter()
        .filter(|one| !one.value.ends_with("web"));
    let named = named.map(|one| format!("{} {} {}", one.role.as_str(), one.kind, one.value));
    named.collect::<Vec<_>>().join("\n")
}

/// Returns all details of the alert as one text.
fn details(alert: &Alert) -> String {
    let details = alert.details.iter().map(|detail| match &detail.about {
        Some(about) => format!("{}: {} [{about}]", detail.kind, detail.value),
        None => format!("{}: {}", detail.kind, detail.value),
    });
    details.collect::<Vec<_>>().join("\n")
}

/// Returns a changed finding about the project itself, as Event Threat Detection names it.
fn of_project(change: impl FnOnce(&mut Value)) -> Alert {
    let mut value = parsed("scc-crypto-miner");
    let name = "//cloudresourcemanager.googleapis.com/projects/459837319394";
    value["finding"]["resourceName"] = json!(name);
    value["resource"] = json!({"name": name, "type": "google.cloud.resourcemanager.Project"});
    change(&mut value);
    one_of(&value)
}

#[test]
fn project_is_named_by_id_where_resource_has_its_number() {
    let number = of_project(|_| ());
    assert_eq!(number.account.as_deref(), Some("459837319394"));
    for (pointer, told) in [
        ("/resource/projectDisplayName", "prod-payments"),
        ("/resource/gcpMetadata/projectDisplayName", "prod-payments"),
        ("/resource/gcpMetadata/project", "projects/prod-payments"),
        (
            "/finding/sourceProperties/properties/project_id",
            "prod-payments",
        ),
        (
            "/finding/sourceProperties/properties/projectId",
            "prod-payments",
        ),
    ] {
        let alert = of_project(|value| {
            value["resource"]["gcpMetadata"] = json!({"project": "projects/459837319394"});
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            value.pointer_mut(parent).unwrap()[key] = json!(told);
        });
        assert_eq!(alert.account.as_deref(), Some("prod-payments"), "{pointer}");
        assert_eq!(alert.key, number.key, "{pointer}");
    }
    for odd in [
        "Production payments",
        "prod-",
        "1prod-payments",
        "p",
        "prod_payments",
    ] {
        let alert = of_project(|value| value["resource"]["projectDisplayName"] = json!(odd));
        assert_eq!(alert.account.as_deref(), Some("459837319394"), "{odd}");
    }
    // An id in the resource's own name counts.
    let alert = of_project(|value| {
        let name = "//cloudresourcemanager.googleapis.com/projects/prod-payments-1";
        value["finding"]["resourceName"] = json!(name);
        value["resource"]["projectDisplayName"] = json!("prod-payments");
    });
    assert_eq!(alert.account.as_deref(), Some("prod-payments-1"));
}
