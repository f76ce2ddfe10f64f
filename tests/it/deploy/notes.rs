//! Tests the notes that Helm prints after an install: commands that find all workers, and addresses that answer.

use nightshift_tests::files_below;
use regex::Regex;

use super::{configuration, folder, helm_on, kind, of_set};

/// Returns the notes of a release with this set of values. Helm renders notes only for a cluster, so the test renders
/// them as a text in an object.
fn notes(set: &str) -> String {
    let chart = tempfile::tempdir().unwrap();
    for file in files_below(&folder()).unwrap() {
        let inside = file.strip_prefix(folder()).unwrap();
        let inside = inside
            .strip_prefix("templates/NOTES.txt")
            .map_or(inside, |_| "notes.txt".as_ref());
        let to = chart.path().join(inside);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(&file, to).unwrap();
    }
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: notes\ndata:\n  text: |\n\
        {{ tpl (.Files.Get \"notes.txt\") . | indent 4 }}\n";
    std::fs::write(chart.path().join("templates/notes.yaml"), object).unwrap();
    let values = folder().join(format!("ci/{set}-values.yaml"));
    let only = ["--show-only", "templates/notes.yaml", "--values"];
    let options = [&only[..], &[values.to_str().unwrap()]].concat();
    let made = helm_on(
        chart.path(),
        &["template", "night", "--namespace", "security"],
        &options,
    );
    assert!(made.status.success(), "{set}: {made:?}");
    let made = String::from_utf8(made.stdout).unwrap();
    made.split_once("  text: |\n").unwrap().1.to_owned()
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn commands_of_the_notes_find_all_workers() {
    let logs = Regex::new(r"logs -l (\S+) --prefix --tail=-1 ").unwrap();
    for set in ["postgres-rabbitmq", "postgres-sqs"] {
        let (said, objects) = (notes(set), of_set(set));
        let all = kind(&objects, "Deployment");
        for deployment in &all {
            let name = deployment["metadata"]["name"].as_str().unwrap();
            let command = format!("kubectl -n security rollout status deployment/{name}\n");
            assert!(said.contains(&command), "{set}: {said}");
        }
        let told = logs.captures(&said).unwrap()[1].to_owned();
        // The runbook uses this selector.
        for selector in [told.as_str(), "nightshift/role=worker"] {
            for deployment in &all {
                let labels = &deployment["spec"]["template"]["metadata"]["labels"];
                let has = |pair: &str| {
                    let (key, value) = pair.split_once('=').unwrap();
                    labels[key] == value
                };
                assert!(selector.split(',').all(has), "{selector}: {labels}");
            }
        }
    }
    let runbook = super::text("docs/runbook.md");
    assert!(runbook.contains("logs -l nightshift/role=worker --prefix --tail=-1 "));
}

/// Checks that the doctor runs in the pods. Exposed pages need tokens or a proxy even at the pod's own address, and a
/// forwarded port has neither.
#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn the_doctor_is_asked_where_the_account_may_look() {
    let asks = Regex::new(r"exec deployment/(\S+) -- \S+ --config \S+ doctor ?(.*)\n").unwrap();
    let asked = |set: &str| -> Vec<(String, String)> {
        let said = notes(set);
        let all = asks.captures_iter(&said);
        all.map(|one| (one[1].to_owned(), one[2].to_owned()))
            .collect()
    };
    let pair = |name: &str, only: &str| (name.to_owned(), only.to_owned());
    assert_eq!(asked("postgres-rabbitmq").len(), 1);
    // Each part of this set has its own account; `delivery` is not enabled.
    assert_eq!(
        asked("apart-hpa"),
        [
            pair("night-nightshift-intake", "--only sources"),
            pair("night-nightshift-triage", "--only models,tools"),
            pair("night-nightshift-web", "--only store,web"),
        ]
    );
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn the_notes_lead_to_pages_that_answer() {
    for (set, is_exposed) in [
        ("defaults", false),
        ("postgres-sqs", false),
        ("postgres-rabbitmq", true),
        ("apart-hpa", true),
    ] {
        let said = notes(set);
        assert_eq!(said.contains(" port-forward "), !is_exposed, "{said}");
        let service = "on the service night-nightshift-web,";
        assert_eq!(said.contains(service), is_exposed, "{said}");
        let objects = of_set(set);
        let has_service = kind(&objects, "Service")
            .iter()
            .any(|one| one["metadata"]["name"] == "night-nightshift-web");
        assert_eq!(has_service, is_exposed, "{set}");
        let lets_people_in =
            configuration(&objects).is_some_and(|text| text.contains("trusted_proxies = [{"));
        assert_eq!(lets_people_in, is_exposed, "{set}");
    }
}
