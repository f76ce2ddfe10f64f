//! Findings of Security Command Center, by whichever of its detectors.

use super::*;

/// A finding about the project itself, as Event Threat Detection names it, changed.
fn of_project(change: impl FnOnce(&mut Value)) -> Alert {
    let mut value = parsed("scc-crypto-miner");
    let name = "//cloudresourcemanager.googleapis.com/projects/459837319394";
    value["finding"]["resourceName"] = json!(name);
    value["resource"] = json!({"name": name, "type": "google.cloud.resourcemanager.Project"});
    change(&mut value);
    one_of(&value)
}

#[test]
fn a_project_is_told_by_its_id_where_the_resource_has_its_number() {
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
    // An id that the resource's own name has is the id.
    let alert = of_project(|value| {
        let name = "//cloudresourcemanager.googleapis.com/projects/prod-payments-1";
        value["finding"]["resourceName"] = json!(name);
        value["resource"]["projectDisplayName"] = json!("prod-payments");
    });
    assert_eq!(alert.account.as_deref(), Some("prod-payments-1"));
}
