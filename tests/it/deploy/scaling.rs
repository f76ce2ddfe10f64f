//! Tests the number of workers, and what happens to them when nodes are drained.

use serde_json::{Value, json};

use super::{all, kind, list, of_set, rendered, template, text};

/// Returns the Deployments that objects of this kind scale.
fn scaled(objects: &[Value], scaler: &str) -> Vec<String> {
    let names = kind(objects, scaler).into_iter();
    let mut names: Vec<_> = names
        .map(|one| {
            one["spec"]["scaleTargetRef"]["name"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn one_thing_alone_says_how_many_pods_there_are() {
    for (set, scaler, wanted) in [
        ("defaults", "ScaledObject", &[][..]),
        ("postgres-rabbitmq", "ScaledObject", &["night-nightshift"]),
        (
            "postgres-sqs",
            "ScaledObject",
            &["night-nightshift-intake", "night-nightshift-triage"],
        ),
        (
            "apart-hpa",
            "HorizontalPodAutoscaler",
            &["night-nightshift-triage"],
        ),
    ] {
        let objects = of_set(set);
        assert_eq!(scaled(&objects, scaler), wanted, "{set}");
        for deployment in kind(&objects, "Deployment") {
            let name = deployment["metadata"]["name"].as_str().unwrap();
            let is_scaled = wanted.contains(&name);
            assert_eq!(
                deployment["spec"]["replicas"].is_null(),
                is_scaled,
                "{set}: {name}"
            );
        }
    }
}

/// Returns the trigger types of each ScaledObject, with the authentication that each uses.
fn triggers(objects: &[Value]) -> Vec<(String, String)> {
    let scaled = kind(objects, "ScaledObject").into_iter();
    scaled
        .flat_map(|one| list(&one["spec"]["triggers"]))
        .map(|trigger| {
            let word = |value: &Value| value.as_str().unwrap().to_owned();
            (
                word(&trigger["type"]),
                word(&trigger["authenticationRef"]["name"]),
            )
        })
        .collect()
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn keda_queries_database_and_brokers_with_existing_secrets() {
    for (set, wanted) in [
        (
            "postgres-rabbitmq",
            &[
                ("postgresql", "night-nightshift-database"),
                ("rabbitmq", "night-nightshift-rabbitmq-rabbitmq-management"),
                ("rabbitmq", "night-nightshift-rabbitmq-rabbitmq-management"),
            ][..],
        ),
        (
            "postgres-sqs",
            &[
                ("aws-sqs-queue", "night-nightshift-aws"),
                ("postgresql", "night-nightshift-database"),
            ],
        ),
    ] {
        let objects = of_set(set);
        let made = triggers(&objects);
        let made: Vec<_> = made
            .iter()
            .map(|(kind, auth)| (kind.as_str(), auth.as_str()))
            .collect();
        assert_eq!(made, wanted, "{set}");
        let known = kind(&objects, "TriggerAuthentication");
        let mut known: Vec<_> = known
            .iter()
            .map(|one| one["metadata"]["name"].as_str().unwrap())
            .collect();
        known.sort_unstable();
        let mut used: Vec<_> = made.iter().map(|(_, auth)| *auth).collect();
        used.sort_unstable();
        used.dedup();
        assert_eq!(known, used, "{set}");
    }
}

const STORE: &str = "existingSecret=s,store.passwordKey=pw,store.url=postgres://u@h.data/d";
const QUEUES: &str = "autoscaling.keda.rabbitmq[0].queue=q,autoscaling.keda.rabbitmq[0].messagesPerReplica=1,\
     autoscaling.keda.rabbitmq[0].hostKey=k,autoscaling.keda.sqs[0].queueURL=https://q,\
     autoscaling.keda.sqs[0].region=r,autoscaling.keda.sqs[0].messagesPerReplica=1";

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn workers_are_scaled_by_what_they_do_and_by_nothing_else() {
    let (database, queues) = (&["postgresql"][..], &["aws-sqs-queue", "rabbitmq"][..]);
    let both = [database, queues].concat();
    for (values, wanted) in [
        ("mode=together", both.as_slice()),
        ("only={intake,triage}", &both),
        ("only={intake}", queues),
        ("only={intake,delivery}", queues),
        ("only={triage,delivery}", database),
        ("mode=apart,components.triage.enabled=false", queues),
        ("mode=apart,components.intake.enabled=false", database),
    ] {
        let values = format!("{STORE},{QUEUES},autoscaling.kind=keda,{values}");
        let objects = rendered(&["--set", &values]);
        let made = triggers(&objects);
        let made_of: Vec<_> = made.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(made_of, wanted, "{values}");
        // Unused authentications are not rendered.
        let known = kind(&objects, "TriggerAuthentication");
        assert_eq!(known.len(), made.len(), "{values}");
    }
    // Without a database trigger, KEDA need not be able to use the address of the store.
    let values = format!("existingSecret=s,store.url=postgres://h/d,{QUEUES},only={{intake}}");
    let objects = rendered(&["--set", &values, "--set", "autoscaling.kind=keda"]);
    assert_eq!(triggers(&objects).len(), 2);
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn what_would_scale_nothing_is_refused() {
    for (values, is_refused) in [
        ("autoscaling.kind=hpa,only={delivery}", true),
        ("autoscaling.kind=hpa,only={intake}", true),
        ("autoscaling.kind=hpa,only={triage}", false),
        (
            "autoscaling.kind=hpa,mode=apart,components.triage.enabled=false",
            true,
        ),
        ("autoscaling.kind=keda,only={intake}", true),
        ("autoscaling.kind=keda,only={triage}", false),
        ("autoscaling.kind=none,only={delivery}", false),
    ] {
        let values = format!("{STORE},{values}");
        let made = template("night", &["--set", &values]);
        let said = String::from_utf8_lossy(&made.stderr);
        let says = "would scale nothing that this release runs: hpa and keda scale what triages";
        assert_eq!(said.contains(says), is_refused, "{values}: {said}");
        assert_eq!(made.status.success(), !is_refused, "{values}: {said}");
    }
    let values = format!("{STORE},{QUEUES},autoscaling.kind=keda,only={{delivery}}");
    let made = template("night", &["--set", &values]);
    assert!(!made.status.success(), "{made:?}");
}

/// Checks that KEDA leaves out the slots reserved for high and critical cases. If these counted, KEDA would consider
/// one worker enough while other cases wait.
#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn keda_counts_the_slots_that_any_case_may_have() {
    let defaults: toml::Table = text("worker/cli/config.default.toml").parse().unwrap();
    let slots = defaults["worker"]["max_cases"].as_integer().unwrap();
    let values = format!("{STORE},autoscaling.kind=keda");
    let objects = rendered(&["--set", &values]);
    let asked = &kind(&objects, "ScaledObject")[0]["spec"]["triggers"][0]["metadata"];
    let for_any = (slots - slots / 5).to_string();
    assert_eq!(asked["targetQueryValue"], for_any);
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn keda_gets_the_names_of_user_and_database_as_they_are() {
    let values = "existingSecret=s,store.passwordKey=pw,autoscaling.kind=keda,\
                  store.url=postgres://night%40soc@db.example.com/cases%20of%20ours";
    let objects = rendered(&["--set", values]);
    let asked = &kind(&objects, "ScaledObject")[0]["spec"]["triggers"][0]["metadata"];
    assert_eq!(asked["host"], "db.example.com");
    assert_eq!(asked["port"], "5432");
    assert_eq!(asked["userName"], "night@soc");
    assert_eq!(asked["dbName"], "cases of ours");
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn keda_asks_with_tls_where_workers_do() {
    for (query, wanted) in [
        ("", "prefer"),
        ("?sslmode=disable", "disable"),
        ("?sslmode=allow", "prefer"),
        ("?sslmode=prefer", "prefer"),
        ("?sslmode=require", "require"),
        ("?sslmode=verify-ca", "require"),
        ("?application_name=a&sslmode=verify-full", "require"),
        ("?application_name=disable", "prefer"),
        // The worker uses the last value.
        ("?sslmode=disable&sslmode=require", "require"),
    ] {
        let values = format!("autoscaling.kind=keda,{STORE}{query}");
        let objects = rendered(&["--set", &values]);
        let asked = &kind(&objects, "ScaledObject")[0]["spec"]["triggers"][0]["metadata"];
        assert_eq!(asked["sslmode"], wanted, "{query}");
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn cpu_scaling_needs_requests_and_may_exceed_all_of_it() {
    let (requests, limits) = ("resources.requests.cpu=null", "resources.limits.cpu=1");
    let hpa = format!("{STORE},autoscaling.kind=hpa,autoscaling.cpu=250");
    for (values, is_refused) in [
        (requests.to_owned(), true),
        ("resources.requests=null".to_owned(), true),
        // Kubernetes uses the limit as the request.
        (format!("{requests},{limits}"), false),
        ("resources.limits=null".to_owned(), false),
        (
            format!("{requests},mode=apart,components.triage.{limits}"),
            false,
        ),
        (
            "mode=apart,components.triage.resources.limits.memory=1Gi".to_owned(),
            true,
        ),
    ] {
        let values = format!("{hpa},{values}");
        let made = template("night", &["--set", &values]);
        let said = String::from_utf8_lossy(&made.stderr);
        let says = "request none; set resources.requests.cpu";
        assert_eq!(said.contains(says), is_refused, "{values}: {said}");
        assert_eq!(made.status.success(), !is_refused, "{values}: {said}");
    }
    let objects = rendered(&["--set", &hpa]);
    let metric = &kind(&objects, "HorizontalPodAutoscaler")[0]["spec"]["metrics"][0];
    assert_eq!(metric["resource"]["target"]["averageUtilization"], 250);
}

/// Returns the query that KEDA sends to the database, for each set.
pub(super) fn queries() -> Vec<String> {
    let sets = all();
    let scaled = sets
        .iter()
        .flat_map(|(_, objects)| kind(objects, "ScaledObject"));
    let triggers = scaled.flat_map(|one| list(&one["spec"]["triggers"]));
    triggers
        .filter_map(|trigger| trigger["metadata"]["query"].as_str().map(str::to_owned))
        .collect()
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn node_drain_evicts_one_worker_at_a_time_and_spreads_them() {
    for (name, objects) in all() {
        let deployments = kind(&objects, "Deployment");
        let budgets = kind(&objects, "PodDisruptionBudget");
        assert_eq!(budgets.len(), deployments.len(), "{name}");
        for deployment in deployments {
            let selector = &deployment["spec"]["selector"];
            let has_budget = |budget: &&&Value| budget["spec"]["selector"] == *selector;
            let budget = budgets.iter().find(has_budget).unwrap();
            assert_eq!(budget["spec"]["maxUnavailable"], 1, "{name}");
            let spread = list(&deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]);
            assert_eq!(spread.len(), 2, "{name}");
            assert!(
                spread.iter().all(|one| one["labelSelector"] == *selector),
                "{name}"
            );
        }
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn unready_workers_do_not_block_drain_where_supported() {
    for (version, wanted) in [
        ("1.25", None),
        ("1.26", None),
        ("1.27", Some("AlwaysAllow")),
    ] {
        // Cloud providers add such a suffix.
        let version = format!("v{version}.3-gke.100");
        let objects = rendered(&["--kube-version", &version]);
        let budget = &kind(&objects, "PodDisruptionBudget")[0]["spec"];
        let policy = budget["unhealthyPodEvictionPolicy"].as_str();
        assert_eq!(policy, wanted, "{version}");
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn nobody_is_taken_away_while_keda_cannot_ask() {
    for (set, wanted) in [("postgres-rabbitmq", &[3][..]), ("postgres-sqs", &[2, 4])] {
        let objects = of_set(set);
        let scaled = kind(&objects, "ScaledObject").into_iter();
        let fallbacks: Vec<_> = scaled.map(|one| one["spec"]["fallback"].clone()).collect();
        let wanted: Vec<_> = wanted
            .iter()
            .map(|replicas| {
                json!({
                    "behavior": "currentReplicasIfHigher", "failureThreshold": 3, "replicas": replicas,
                })
            })
            .collect();
        assert_eq!(fallbacks, wanted, "{set}");
    }
}

/// Returns, for each Deployment, whether the old pod ends before the new one starts.
fn ends_first(objects: &[Value]) -> Vec<bool> {
    let deployments = kind(objects, "Deployment").into_iter();
    deployments
        .map(|deployment| {
            let strategy = &deployment["spec"]["strategy"];
            let is_recreate = strategy["type"] == "Recreate";
            let rolling = json!({"maxSurge": "25%", "maxUnavailable": 0});
            let rolling = if is_recreate { Value::Null } else { rolling };
            assert_eq!(strategy["rollingUpdate"], rolling, "{strategy}");
            is_recreate
        })
        .collect()
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn new_worker_is_ready_before_old_one_drains_where_two_fit() {
    for (name, objects) in all() {
        let wanted = ["defaults", "trial"].contains(&name.as_str());
        for ends_first in ends_first(&objects) {
            assert_eq!(ends_first, wanted, "{name}");
        }
    }
    // A claim that only one pod mounts may belong to one node, where the new pod would wait for the old one
    // indefinitely.
    let store = "existingSecret=s,store.passwordKey=pw,store.url=postgres://u@h.data/d";
    for (values, wanted) in [
        ("data.existingClaim=c", true),
        ("data.existingClaim=c,only={intake}", true),
        ("data.existingClaim=", false),
        ("data.existingClaim=c,replicas=2", false),
        ("data.existingClaim=c,autoscaling.kind=hpa", false),
        ("data.existingClaim=c,autoscaling.kind=keda", false),
        ("data.existingClaim=c,mode=apart", false),
    ] {
        let objects = rendered(&["--set", &format!("{store},{values}")]);
        for ends_first in ends_first(&objects) {
            assert_eq!(ends_first, wanted, "{values}");
        }
    }
}
