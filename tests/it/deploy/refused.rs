//! Tests that values which cannot work are refused before an install, with an error that says how to fix them.

use nightshift_tests::Sandbox;

use super::{helm, template};

fn refused(options: &[&str]) -> String {
    refused_as("night", options)
}

fn refused_as(release: &str, options: &[&str]) -> String {
    let made = template(release, options);
    assert!(!made.status.success(), "{options:?}");
    String::from_utf8_lossy(&made.stderr).into_owned()
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn what_cannot_work_is_refused() {
    let store = "store.url=postgres://u@h/d";
    let queue = "autoscaling.keda.rabbitmq[0].queue=q,autoscaling.keda.rabbitmq[0].messagesPerReplica=1,\
                 autoscaling.keda.rabbitmq[0].hostKey=k";
    for (options, says) in [
        (
            &["--set", "replicas=2"][..],
            "set store.url to a PostgreSQL database",
        ),
        (
            &["--set", "store.passwordKey=pw"],
            "there is no Secret; set existingSecret",
        ),
        (&["--set", "existingSecret=a,secrets.b=c"], "not both"),
        (&["--set", "store.url=postgres://u:hush@h/d"], "store.url"),
        (&["--set", "store.url=sqlite:x.db"], "store.url"),
        (&["--set", "stoer.url=x"], "stoer"),
        (&["--set", "only={web}"], "only"),
        (
            &["--set", "terminationGracePeriodSeconds=5"],
            "terminationGracePeriodSeconds",
        ),
        (&["--set", "web.port=80"], "web.port"),
        // Neither probes nor Prometheus could reach the pod.
        (&["--set", "web.bind=127.0.0.1"], "web.bind"),
        (
            &["--set", "mode=apart"],
            "set store.url to a PostgreSQL database",
        ),
        (
            &["--set", "autoscaling.kind=hpa"],
            "set store.url to a PostgreSQL database",
        ),
        (
            &["--set", &format!("{store},mode=apart,only={{intake}}")],
            "which of components are enabled",
        ),
        (
            &["--set", &format!("{store},networkPolicy.enabled=true")],
            "networkPolicy.egress: workers would reach neither",
        ),
        (
            &["--set", &format!("{store},autoscaling.kind=keda,{queue}")],
            "autoscaling.keda: there is no Secret",
        ),
        (
            &["--set", "canary.everyMinutes=15"],
            "canary.keyKey: which key of the Secret",
        ),
        (
            &[
                "--set",
                "prometheusRule.enabled=true,prometheusRule.without={NightshiftAbsnt}",
            ],
            "there is no alert NightshiftAbsnt",
        ),
    ] {
        let said = refused(options);
        assert!(said.contains(says), "{options:?}: {said}");
        assert!(!said.contains("hush"), "{said}");
    }
}

/// Returns Helm's error for a configuration in `config` with these values; empty when Helm accepts it.
fn said_of(config: &str, values: &str) -> String {
    let place = Sandbox::new().unwrap();
    let file = place.write_file("c.toml", config).unwrap();
    let config = format!("config={}", file.display());
    let options = ["--set-file", &config, "--set", values];
    let made = helm(&["template", "night"], &options);
    if made.status.success() {
        return String::new();
    }
    String::from_utf8_lossy(&made.stderr).into_owned()
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn workers_that_would_end_for_want_of_a_source_are_refused() {
    let says = "config: it has no [[source]], and night-nightshift takes messages: its workers would end at once, with \
                exit code 64";
    let bare = helm(&["template", "night"], &[]);
    let said = String::from_utf8_lossy(&bare.stderr);
    assert!(!bare.status.success() && said.contains(says), "{said}");
    for mends in [
        "\n  config: |\n    [[source]]\n",
        "only: [triage, delivery]",
        "components.intake.enabled: false",
    ] {
        assert!(said.contains(mends), "{mends}: {said}");
    }
    for config in [
        "",
        "# [[source]]\n",
        "[[sources]]\n",
        "[source]\n",
        "source = []\n",
        "[canary]\nsource = \"soc\"\n",
    ] {
        let said = said_of(config, "only={intake}");
        assert!(said.contains(says), "{config}: {said}");
    }
    let apart = said_of("", "mode=apart,store.url=postgres://u@h/d");
    assert!(
        apart.contains("night-nightshift-intake takes messages"),
        "{apart}"
    );
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn source_may_be_written_any_way_and_is_optional_where_unneeded() {
    for config in [
        "[[source]]\nname = \"soc\"\n",
        "[log]\r\n  [[ \"source\" ]] # ours\r\n",
        "[['source']]\n",
        "source = [{ name = \"soc\" }]\n",
        "\"source\"=[\n  { name = \"soc\" },\n]\n",
    ] {
        assert_eq!(said_of(config, "only={intake}"), "", "{config}");
    }
    let mount = "extraVolumeMounts[0]";
    let mounted = format!(
        "{mount}.name=ours,{mount}.mountPath=/etc/nightshift/nightshift.toml,{mount}.subPath=nightshift.toml"
    );
    for values in [
        "only={triage,delivery}",
        "existingConfigSecret=ours",
        "mode=apart,components.intake.enabled=false,store.url=postgres://u@h/d",
        &mounted,
    ] {
        assert_eq!(said_of("", values), "", "{values}");
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn what_keda_cannot_ask_and_what_pods_cannot_have_is_refused() {
    let keda = "existingSecret=s,autoscaling.kind=keda";
    let keyed = format!("{keda},store.passwordKey=pw");
    let one = "KEDA asks one server by its name, as one user";
    let twice = "two of them are the same";
    let long = "n".repeat(48);
    for (values, says) in [
        (format!("{keyed},store.url=postgres://u@h1\\,h2/d"), one),
        (format!("{keyed},store.url=postgres://u@[::1]:5432/d"), one),
        (format!("{keyed},store.url=postgres://h/d"), one),
        (
            format!("{keda},store.url=postgres://u@h.data/d"),
            "store.passwordKey: KEDA",
        ),
        (
            format!("{keyed},store.url=postgres://u@postgres/d"),
            "KEDA asks from its own namespace",
        ),
        (
            "canary.everyMinutes=15,canary.keyKey=k".to_owned(),
            "canary.keyKey: there is no Secret",
        ),
        (
            format!("{keyed},store.url=postgres://u@h.data/d?options=-csearch_path%3Dours"),
            "KEDA does not send `options`",
        ),
        (
            format!("{keyed},store.url=postgres://u@h.data/d,mode=apart,fullnameOverride={long}"),
            "set it to at most 47 letters",
        ),
        ("web.port=9090".to_owned(), twice),
        ("web.intakePort=8080".to_owned(), twice),
    ] {
        let said = refused(&["--set", &values]);
        assert!(said.contains(says), "{values}: {said}");
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn unusable_values_and_contradicting_numbers_are_refused() {
    let all_off = ["intake", "triage", "delivery", "web"]
        .map(|one| format!("components.{one}.enabled=false"));
    let apart = "mode=apart,components";
    let queue = |index: u8, key: &str| {
        let queue = format!("autoscaling.keda.rabbitmq[{index}]");
        format!("{queue}.queue=q{index},{queue}.messagesPerReplica=1,{queue}.hostKey={key}")
    };
    for (values, says) in [
        (
            format!("mode=apart,{}", all_off.join(",")),
            "components: none of them is enabled",
        ),
        (
            format!("{apart}.web.enabled=false,web.exposed=true"),
            "nobody would serve the pages",
        ),
        (
            format!("{apart}.intake.enabled=false,web.intakeExposed=true"),
            "nobody would take what is posted",
        ),
        (
            "only={triage,delivery},web.intakeExposed=true".to_owned(),
            "nobody would take what is posted; put intake into only",
        ),
        (
            "autoscaling.kind=hpa,autoscaling.minReplicas=9,autoscaling.maxReplicas=2".to_owned(),
            "more than maxReplicas",
        ),
        (
            format!(
                "autoscaling.kind=keda,existingSecret=s,store.passwordKey=pw,{},{}",
                queue(0, "a_b"),
                queue(1, "a-b")
            ),
            "the keys a_b and a-b would get one name",
        ),
    ] {
        let said = refused(&[
            "--set",
            &format!("store.url=postgres://u@h.data/d,{values}"),
        ]);
        assert!(said.contains(says), "{values}: {said}");
    }
    let said = refused_as("123", &[]);
    assert!(
        said.contains("a Service cannot be called \"123-nightshift\""),
        "{said}"
    );
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn reserved_and_invalid_kubernetes_values_are_refused() {
    let digest = format!("sha256:{}", "a".repeat(64));
    let own = "sets app.kubernetes.io/name itself; leave it out";
    let label = r"app\.kubernetes\.io/name=other";
    let watched = "serviceMonitor.enabled=true,prometheusRule.enabled=true,dashboards.enabled=true";
    for (values, says) in [
        (format!("podLabels.{label}"), own),
        (format!("{watched},serviceMonitor.labels.{label}"), own),
        (format!("{watched},prometheusRule.labels.{label}"), own),
        (format!("{watched},dashboards.labels.{label}"), own),
        ("podAnnotations.checksum/config=none".to_owned(), "itself"),
        (
            "existingSecret=night-nightshift-values".to_owned(),
            "what the chart calls its own Secret",
        ),
        (
            format!("image.repository=r.example.com/a@{digest}"),
            "put them into image.tag and image.digest",
        ),
        (
            "image.repository=r.example.com:5000/a:1".to_owned(),
            "put them into image.tag and image.digest",
        ),
        (format!("image.tag={digest}"), "image.tag"),
        ("image.digest=latest".to_owned(), "image.digest"),
        ("nameOverride=-a".to_owned(), "nameOverride"),
        ("fullnameOverride=a_b".to_owned(), "fullnameOverride"),
        ("resources.request.cpu=1".to_owned(), "request"),
        ("env[0].name=A,env[0].value=1".to_owned(), "env.0.value"),
        (
            "env[0].name=A,env[0].from=b".to_owned(),
            "property from is not allowed",
        ),
    ] {
        let said = refused(&["--set", &values]);
        assert!(said.contains(says), "{values}: {said}");
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn database_url_with_a_password_is_refused_everywhere() {
    for url in [
        "postgres://u:hush@h/d",
        "postgres://:hush@h/d",
        "postgresql://h/d?user=u&password=hush",
        "postgres://u@h/d?password=hush&sslmode=require",
        "postgres://u@h/d?Password=hush",
        "postgres://u@h/d?sslpassword=hush",
    ] {
        let said = refused(&["--set", &format!("store.url={url}")]);
        assert!(said.contains("store.url"), "{url}: {said}");
        assert!(!said.contains("hush"), "{url}: {said}");
        let says = "name the key in store.passwordKey";
        assert!(said.contains(says) || !url.contains('?'), "{url}: {said}");
    }
    let fine = "store.url=postgres://password@h/password?sslmode=require&application_name=password";
    let made = template("night", &["--set", fine]);
    assert!(made.status.success(), "{made:?}");
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn a_pod_that_would_be_killed_while_it_lingers_is_refused() {
    for (values, says) in [
        (
            "web.lingerSecs=16",
            "a worker takes up to 10 seconds to drain and lingers for 16 more (web.lingerSecs)",
        ),
        (
            "web.lingerSecs=60,terminationGracePeriodSeconds=74",
            "set it to at least 75",
        ),
        ("terminationGracePeriodSeconds=19", "set it to at least 20"),
        (
            "web.lingerSecs=61,terminationGracePeriodSeconds=200",
            "lingerSecs",
        ),
        ("web.lingerSecs=-1", "lingerSecs"),
    ] {
        let said = refused(&["--set", values]);
        assert!(said.contains(says), "{values}: {said}");
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn release_name_stays_a_string_and_dots_become_dashes() {
    for release in ["true", "on", "a.b.c"] {
        let made = template(release, &[]);
        let text = String::from_utf8(made.stdout).unwrap();
        let name = format!("\n  name: {}-nightshift\n", release.replace('.', "-"));
        assert!(text.contains(&name), "{text}");
        let label = format!("app.kubernetes.io/instance: \"{release}\"");
        assert!(text.contains(&label), "{text}");
    }
}
