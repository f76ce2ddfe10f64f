//! Tests that values reach the pods as written, even if YAML would read them as another type.

use nightshift_tests::Sandbox;
use serde_json::{Value, json};

use super::{configuration, kind, list, pods, rendered};

/// Returns the containers of the worker and of the migration with these values.
fn containers(options: &[&str]) -> Vec<Value> {
    let objects = rendered(options);
    let pods = pods(&objects).into_iter();
    pods.map(|pod| pod["containers"][0].clone()).collect()
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn an_image_is_named_by_its_tag_or_by_what_it_holds() {
    let digest = format!("sha256:{}", "a".repeat(64));
    let version = env!("CARGO_PKG_VERSION");
    for (values, wanted) in [
        (
            "image.repository=r.example.com:5000/a".to_owned(),
            format!("r.example.com:5000/a:{version}"),
        ),
        ("image.tag=edge".to_owned(), "nightshift:edge".to_owned()),
        (
            format!("image.tag=edge@{digest}"),
            format!("nightshift:edge@{digest}"),
        ),
        (
            format!("image.tag=edge,image.digest={digest}"),
            format!("nightshift@{digest}"),
        ),
    ] {
        for container in containers(&[
            "--set",
            &format!("store.url=postgres://u@h.data/d,{values}"),
        ]) {
            assert_eq!(container["image"], wanted);
        }
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn the_first_line_of_a_configuration_may_be_indented() {
    let place = Sandbox::new().unwrap();
    for config in ["    [log]\nlevel = \"info\"\n", "\n\n  # ours\n[log]\n", ""] {
        let file = place.write_file("c.toml", config).unwrap();
        let file = format!("config={}", file.display());
        let values = "store.url=postgres://u@h.data/d,only={triage}";
        let objects = rendered(&["--set-file", &file, "--set", values]);
        let maps = kind(&objects, "ConfigMap");
        assert_eq!(maps.len(), 2, "the release's, and the migration's");
        for map in maps {
            let text = map["data"]["nightshift.toml"].as_str().unwrap();
            assert_eq!(text.trim_end(), config.trim_end());
        }
        assert!(configuration(&objects).is_some());
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn names_that_look_like_numbers_stay_names() {
    let names = "existingSecret=12,existingConfigSecret=1e3,store.passwordKey=007,data.existingClaim=5,\
                 priorityClassName=0x1,serviceAccount.name=8,image.pullSecrets={9},\
                 extraVolumeMounts[0].name=1,extraVolumeMounts[0].mountPath=/a,extraVolumeMounts[0].subPath=2.0";
    let keda = "store.url=postgres://u@h.data/d,autoscaling.kind=keda";
    let objects = rendered(&["--set-string", names, "--set", keda]);
    let pod = &kind(&objects, "Deployment")[0]["spec"]["template"]["spec"];
    let volume = |name: &str| {
        let mut all = list(&pod["volumes"]).iter();
        all.find(|one| one["name"] == name).unwrap()
    };
    assert_eq!(volume("secrets")["secret"]["secretName"], "12");
    assert_eq!(volume("config")["secret"]["secretName"], "1e3");
    let claim = &volume("data")["persistentVolumeClaim"];
    assert_eq!(claim["claimName"], "5");
    assert_eq!(pod["priorityClassName"], "0x1");
    assert_eq!(pod["serviceAccountName"], "8");
    assert_eq!(pod["imagePullSecrets"], json!([{"name": "9"}]));
    let container = &pod["containers"][0];
    let from = json!([{"secretRef": {"name": "12"}}]);
    assert_eq!(container["envFrom"], from);
    let mount = list(&container["volumeMounts"]).last().unwrap();
    assert_eq!(
        (&mount["name"], &mount["subPath"]),
        (&json!("1"), &json!("2.0"))
    );
    let password = &kind(&objects, "TriggerAuthentication")[0]["spec"]["secretTargetRef"][0];
    let wanted = json!({"parameter": "password", "name": "12", "key": "007"});
    assert_eq!(*password, wanted);
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn large_numbers_are_written_out() {
    let values = "existingSecret=s,store.passwordKey=pw,store.url=postgres://u@h.data/d,autoscaling.kind=keda";
    // Helm parses numbers in a file differently from those on its command line.
    let place = Sandbox::new().unwrap();
    let more = "migrate: {activeDeadlineSeconds: 1000000}\nautoscaling:\n  keda:\n    casesPerReplica: 2000000\n    \
                rabbitmq: [{queue: q, hostKey: k, messagesPerReplica: 3000000}]\n    \
                sqs: [{queueURL: https://q, region: r, messagesPerReplica: 4000000}]\n";
    let file = place.write_file("values.yaml", more).unwrap();
    let objects = rendered(&["--values", file.to_str().unwrap(), "--set", values]);
    let deadline = &kind(&objects, "Job")[0]["spec"]["activeDeadlineSeconds"];
    assert_eq!(*deadline, 1_000_000);
    let triggers = list(&kind(&objects, "ScaledObject")[0]["spec"]["triggers"]);
    let keys = ["targetQueryValue", "queueLength", "value"];
    let made = triggers.iter().zip(keys);
    let made: Vec<_> = made.map(|(one, key)| &one["metadata"][key]).collect();
    assert_eq!(made, ["2000000", "4000000", "3000000"]);
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn a_mount_of_people_is_read_only_unless_they_say_otherwise() {
    for (values, wanted) in [
        ("", true),
        (",extraVolumeMounts[0].readOnly=true", true),
        (",extraVolumeMounts[0].readOnly=false", false),
    ] {
        let mount = "extraVolumeMounts[0].name=spool,extraVolumeMounts[0].mountPath=/spool";
        let containers = containers(&["--set", &format!("{mount}{values}")]);
        let mount = list(&containers[0]["volumeMounts"]).last().unwrap();
        assert_eq!(mount["readOnly"], wanted, "{values}");
    }
}

/// Checks that the source and destination of canaries can be set here even when an external configuration holds the
/// key.
#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn canary_source_and_destination_are_set_even_without_its_key() {
    let values = "canary.source=soc,canary.destination=soar";
    let container = &containers(&["--set", values])[0];
    let env = list(&container["env"]).iter();
    let of_canaries = env.filter(|one| one["name"].as_str().unwrap().contains("__CANARY__"));
    let values: Vec<_> = of_canaries.map(|one| &one["value"]).collect();
    assert_eq!(values, ["soc", "soar"]);
}
