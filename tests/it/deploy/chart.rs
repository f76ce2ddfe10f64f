//! The chart as a whole: Helm's own check, versions, the migration before the workers, and a configuration that the program takes.

use nightshift_tests::Place;

use super::{all, folder, helm, kind, list, of_set, sets};

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn helm_finds_nothing_to_complain_of() {
    for (name, path) in sets() {
        let values = path.to_str().unwrap();
        let linted = helm(&["lint", "--strict"], &["--values", values]);
        let said = String::from_utf8_lossy(&linted.stdout);
        assert!(linted.status.success(), "{name}: {said}");
        assert!(!said.contains("[WARNING]"), "{name}: {said}");
    }
}

#[test]
fn the_chart_is_of_the_version_of_the_program() {
    let chart = std::fs::read_to_string(folder().join("Chart.yaml")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    for line in [
        format!("version: {version}"),
        format!("appVersion: \"{version}\""),
    ] {
        assert!(chart.lines().any(|one| one == line), "no {line:?}: {chart}");
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn the_schema_is_brought_up_to_date_before_workers_start() {
    for (name, objects) in all() {
        let deployment = kind(&objects, "Deployment")[0];
        let env = list(&deployment["spec"]["template"]["spec"]["containers"][0]["env"]);
        let on_postgres = env.iter().any(|one| {
            one["value"]
                .as_str()
                .unwrap_or_default()
                .starts_with("postgres://")
        });
        let jobs = kind(&objects, "Job");
        assert_eq!(jobs.len(), usize::from(on_postgres), "{name}");
        for job in jobs {
            let hooks = &job["metadata"]["annotations"]["helm.sh/hook"];
            assert_eq!(hooks, "pre-install,pre-upgrade", "{name}");
            let pod = &job["spec"]["template"]["spec"];
            let arguments = list(&pod["containers"][0]["args"]);
            assert_eq!(arguments.last().unwrap(), "migrate", "{name}");
            // On an install nothing of the release is there yet but hooks.
            assert!(pod["serviceAccountName"].is_null(), "{name}");
            for kind_of in ["ConfigMap", "Secret"] {
                for hook in kind(&objects, kind_of) {
                    let metadata = &hook["metadata"];
                    if metadata["name"] == job["metadata"]["name"] {
                        assert_eq!(metadata["annotations"]["helm.sh/hook"], *hooks, "{name}");
                        assert_eq!(
                            metadata["annotations"]["helm.sh/hook-weight"], "-5",
                            "{name}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn the_role_of_aws_is_the_service_accounts() {
    let objects = of_set("postgres-sqs");
    let account = kind(&objects, "ServiceAccount")[0];
    assert_eq!(
        account["metadata"]["annotations"]["eks.amazonaws.com/role-arn"],
        "arn:aws:iam::111122223333:role/nightshift"
    );
    let pod = &kind(&objects, "Deployment")[0]["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], account["metadata"]["name"]);
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn the_program_takes_the_configuration_and_the_variables_of_the_chart() {
    for set in ["defaults", "trial"] {
        let objects = of_set(set);
        let mut place = Place::new().unwrap();
        let text = kind(&objects, "ConfigMap")[0]["data"]["nightshift.toml"].as_str();
        let file = place.file("etc/nightshift.toml", text.unwrap()).unwrap();
        let pod = &kind(&objects, "Deployment")[0]["spec"]["template"]["spec"];
        for variable in list(&pod["containers"][0]["env"]) {
            let value = variable["value"].as_str().unwrap();
            place.set(variable["name"].as_str().unwrap(), value);
        }
        let file = file.to_str().unwrap();
        let ran = place.run(&["--config", file, "config", "check"]).unwrap();
        assert_eq!(ran.code, Some(0), "{set}: {ran:?}");
    }
}
