//! Tests findings about contradictions in a configuration, and the output of all findings.

use nightshift_tests::Sandbox;

use super::{failed_checks, run_doctor};

/// A valid source and a catch-all route, so that only the fault is found.
const GOOD: &str = "[[source]]\nname = \"drop\"\nkind = \"spool\"\ndir = \"spool\"\n\
    [[destination]]\nname = \"files\"\nkind = \"file\"\npath = \"reports\"\n[[route]]\ndestinations = [\"files\"]\n";
const SPOOL: &str = "[[source]]\nname = \"drop\"\nkind = \"spool\"\ndir = \"spool\"\n";

fn with(more: &str) -> Vec<String> {
    failed_checks(
        &Sandbox::new().unwrap(),
        &format!("{GOOD}{more}"),
        "configuration",
    )
}

#[test]
fn consistent_configuration_passes_and_each_fault_has_a_finding() {
    assert_eq!(with(""), Vec::<String>::new());
    let twice = with(SPOOL);
    assert_eq!(twice, ["configuration.double_source"]);
    let unused = with("[[destination]]\nname = \"old\"\nkind = \"file\"\npath = \"old\"\n");
    assert_eq!(unused, ["configuration.unused_destination"]);
    let two = "[[destination]]\nname = \"pager\"\nkind = \"file\"\npath = \"pager\"\n[[route]]\n";
    let hidden = with(&format!(
        "{two}when = {{ severity_at_least = \"high\" }}\ndestinations = [\"pager\"]\n"
    ));
    assert_eq!(hidden, ["configuration.route_hidden"]);
    // A route that only names a profile hides none, and neither does a narrower route before another.
    let named = with("[[route]]\nwhen = { feed = \"guardduty\" }\nprofile = \"default\"\n");
    assert_eq!(named, Vec::<String>::new());
    let before = format!(
        "{SPOOL}{two}when = {{ feed = \"guardduty\" }}\ndestinations = [\"pager\"]\n{}",
        GOOD.replace(SPOOL, "")
    );
    let place = Sandbox::new().unwrap();
    assert_eq!(
        failed_checks(&place, &before, "configuration"),
        Vec::<String>::new()
    );
    let over = with(
        "[[mute]]\nwhen = { feed = \"guardduty\", type = \"Recon:*\" }\nuntil = 2020-01-01\nwhy = \"a test\"\n",
    );
    assert_eq!(over, ["configuration.mute_over"]);
    let unscaled = with(
        "[[feed]]\nname = \"edr\"\nmatch = \"/rule\"\nfields = { id = \"/id\", type = \"/rule\", severity = \"/level\" }\n",
    );
    assert_eq!(unscaled, ["configuration.severity_scale"]);
    let canary = with("[canary]\nevery_minutes = 15\nkey = \"file:no-such\"\n");
    assert_eq!(canary, ["configuration.canary_key"]);
    let canary = with("[canary]\nevery_minutes = 15\nkey = \"0123456789abcdef0123\"\n");
    assert_eq!(canary, ["configuration.secret_in_file"]);
    let secrets = with(
        "[store]\nurl = \"postgres://ana:hush@127.0.0.1/db\"\n[[model]]\nname = \"main\"\nprovider = \"openai\"\n\
         model = \"gpt-5\"\napi_key = \"sk-hush\"\n",
    );
    assert_eq!(secrets, ["configuration.secret_in_file"]);
    // Containers get secrets in variables, and the file contains none.
    let mut place = Sandbox::new().unwrap();
    place.set_env("NIGHTSHIFT__CANARY__KEY", "0123456789abcdef0123");
    place.set_env("NIGHTSHIFT__STORE__PASSWORD", "hush");
    let told = format!(
        "{GOOD}[canary]\nevery_minutes = 15\n[store]\nurl = \"postgres://ana@127.0.0.1/db\"\n"
    );
    assert_eq!(
        failed_checks(&place, &told, "configuration"),
        Vec::<String>::new()
    );
    let nothing = failed_checks(&Sandbox::new().unwrap(), "", "configuration");
    assert_eq!(
        nothing,
        ["configuration.no_source", "configuration.no_route"]
    );
    let some = format!(
        "{SPOOL}[[destination]]\nname = \"files\"\nkind = \"file\"\npath = \"reports\"\n\
        [[route]]\nwhen = {{ feed = \"guardduty\" }}\ndestinations = [\"files\"]\n"
    );
    assert_eq!(
        failed_checks(&Sandbox::new().unwrap(), &some, "configuration"),
        ["configuration.no_route"]
    );
}

#[test]
fn sources_sharing_a_directory_are_found_in_any_spelling() {
    let place = Sandbox::new().unwrap();
    std::fs::create_dir(place.path().join("spool")).unwrap();
    std::os::unix::fs::symlink("spool", place.path().join("link")).unwrap();
    let absolute = place.path().join("spool");
    let other = |dir: &str, feeds: &str| {
        format!("{GOOD}[[source]]\nname = \"other\"\nkind = \"spool\"\ndir = \"{dir}\"\n{feeds}")
    };
    for dir in [
        "spool/",
        "./none/../spool",
        "link",
        absolute.to_str().unwrap(),
    ] {
        let said = run_doctor(&place, &other(dir, ""), "configuration");
        assert_eq!(
            said.only_finding()["check"],
            "configuration.shared_queue",
            "{dir}"
        );
        assert_eq!(said.only_finding()["severity"], "warning", "{dir}");
    }
    for apart in ["link/below", "spool2"] {
        let found = failed_checks(&place, &other(apart, ""), "configuration");
        assert_eq!(found, Vec::<String>::new(), "{apart}");
    }
    let told = |config: &str| {
        let said = run_doctor(&place, config, "configuration");
        let parts = ["severity", "what", "why", "mend"];
        let text = parts.map(|part| said.only_finding()[part].as_str().unwrap().to_owned());
        let own = absolute.canonicalize().unwrap();
        text.join("\n").replace(own.to_str().unwrap(), "/srv/spool")
    };
    insta::assert_snapshot!(told(&other("link", "")), @"
    warning
    drop, other take from one directory, /srv/spool
    a file goes to whichever is first: whose `keep` and metrics hold for it is chance
    give each a directory of its own, or take all but one out
    ");
    insta::assert_snapshot!(told(&other("link", "feeds = [\"scc\"]\n")), @"
    error
    drop, other take from one directory, /srv/spool, and their `feeds` differ
    the first reader gets a message; an alert that only another source may carry becomes a dead letter and is not triaged
    give each a directory of its own, or make them one [[source]] with all `feeds`
    ");
}

#[test]
fn a_source_that_only_this_machine_can_post_to_is_told() {
    let mut place = Sandbox::new().unwrap();
    place.set_env("INTAKE_TOKEN", "0123456789abcdef-intake");
    let posted = |web: &str| {
        format!(
            "[web]\nlisten = \"127.0.0.1:0\"\n{web}[[source]]\nname = \"soar\"\nkind = \"http\"\ntokens = [\"env:INTAKE_TOKEN\"]\n\
             [[source]]\nname = \"scc\"\nkind = \"http\"\n\
             pubsub = {{ audience = \"https://nightshift.example.com\", service_accounts = [\"push@p.iam.gserviceaccount.com\"] }}\n"
        )
    };
    let said = run_doctor(&place, &posted(""), "sources,web");
    assert_eq!(said.only_finding()["check"], "web.intake_on_loopback");
    assert_eq!(said.only_finding()["severity"], "warning");
    place.write_file("nightshift.toml", posted("")).unwrap();
    let ran = place.run(&["doctor", "--only", "web"]).unwrap();
    insta::assert_snapshot!(ran.stdout, @r#"
    web  1 warning   listen 127.0.0.1:0

    WARNING  web: no other machine can post to soar, scc: 127.0.0.1:0 ([web] listen) is a loopback address
             why   remote senders such as Amazon SNS and Google Pub/Sub cannot connect, and keep or drop their alerts
             mend  let a proxy with TLS lead to it, and set public_url to its address; for one on another machine set
                   intake_listen = "0.0.0.0:8081", too; leave it if only programs here post
             check web.intake_on_loopback

    1 warning; no error.
    "#);
    for reached in [
        "public_url = \"https://nightshift.example.com\"\n",
        "trusted_proxies = [{ header = \"x-user\", networks = [\"127.0.0.1/32\"] }]\n",
        "intake_listen = \"0.0.0.0:0\"\nhosts = [\"nightshift\"]\n",
    ] {
        let found = failed_checks(&place, &posted(reached), "sources,web");
        assert_eq!(found, Vec::<String>::new(), "{reached}");
    }
    let nameless = posted("intake_listen = \"0.0.0.0:0\"\n");
    assert_eq!(
        failed_checks(&place, &nameless, "web"),
        ["web.intake_has_no_name"]
    );
}

#[test]
fn tickets_without_a_link_to_their_case_are_told() {
    let slack = "[[source]]\nname = \"drop\"\nkind = \"spool\"\ndir = \"spool\"\n[[route]]\ndestinations = [\"soc\"]\n\
        [[destination]]\nname = \"soc\"\nkind = \"slack\"\nchannel = \"C0123ABCD\"\ntoken = \"env:T\"\n";
    let place = Sandbox::new().unwrap();
    assert_eq!(
        failed_checks(&place, slack, "configuration"),
        ["web.no_public_url"]
    );
    let linked = format!("{slack}[web]\npublic_url = \"https://nightshift.example.com\"\n");
    assert_eq!(
        failed_checks(&place, &linked, "configuration"),
        Vec::<String>::new()
    );
}

#[test]
fn system_without_authorities_is_reported_where_needed() {
    let mut place = Sandbox::new().unwrap();
    let needs =
        format!("{GOOD}[[model]]\nname = \"main\"\nprovider = \"openai\"\nmodel = \"gpt-5\"\n");
    assert_eq!(failed_checks(&place, &needs, "tls"), Vec::<String>::new());
    let none = place.write_file("none.pem", "").unwrap();
    place.set_env("SSL_CERT_FILE", none.to_str().unwrap());
    let source = |rest: &str| format!("{GOOD}[[source]]\nname = \"more\"\n{rest}\n");
    for needs in [
        needs,
        source(
            "kind = \"http\"\nsns = { topics = [\"arn:aws:sns:eu-west-1:111122223333:alerts\"] }",
        ),
        source(
            "kind = \"http\"\npubsub = { audience = \"https://nightshift.example.com\", \
             service_accounts = [\"push@p.iam.gserviceaccount.com\"] }",
        ),
        source("kind = \"pubsub\"\nsubscription = \"projects/p/subscriptions/scc\""),
        source("kind = \"rabbitmq\"\nurl = \"amqps://h\"\nqueue = \"q\""),
    ] {
        let said = run_doctor(&place, &needs, "tls");
        assert_eq!(said.only_finding()["severity"], "error", "{needs}");
        assert_eq!(said.failed_checks(), ["tls.no_roots"]);
    }
    let said = run_doctor(&place, GOOD, "tls");
    assert_eq!(
        said.only_finding()["severity"],
        "warning",
        "nothing needs them"
    );
}

#[test]
fn a_file_that_cannot_be_read_ends_with_64_as_elsewhere() {
    let place = Sandbox::new().unwrap();
    place.write_file("nightshift.toml", "[stor]\n").unwrap();
    let ran = place.run(&["doctor"]).unwrap();
    assert_eq!(ran.code, Some(64));
    assert!(
        ran.stderr.contains("did you mean \"store\"?"),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_no_other_command_starts_with_is_told() {
    let place = Sandbox::new().unwrap();
    let file = format!("{GOOD}[log]\nlevel = \"wran\"\n");
    let said = run_doctor(&place, &file, "configuration");
    assert_eq!(said.only_finding()["check"], "configuration.log_level");
    let what = said.only_finding()["what"].as_str().unwrap();
    assert!(what.contains("did you mean \"warn\"?"), "{what}");
    assert_eq!(place.run(&["config", "check"]).unwrap().code, Some(64));
    let model = "[[model]]\nname = \"main\"\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:1\"\n";
    let said = run_doctor(&place, &format!("{model}{model}"), "models");
    let findings = said.object["findings"].as_array().unwrap();
    let twice = "two [[model]] are called \"main\"";
    assert!(
        findings.iter().any(|one| one["what"] == twice),
        "{:#}",
        said.object
    );
    assert_eq!(place.run(&["config", "check"]).unwrap().code, Some(64));
}

#[test]
fn findings_say_what_why_and_how_to_fix_and_strict_fails() {
    let place = Sandbox::new().unwrap();
    let over = "[[mute]]\nname = \"probes\"\nwhen = { feed = \"guardduty\", type = \"Recon:*\" }\nuntil = 2020-01-01\nwhy = \"a test\"\n";
    place
        .write_file("nightshift.toml", format!("{SPOOL}{GOOD}{over}"))
        .unwrap();
    let ran = place
        .run(&["doctor", "--only", "configuration,store,sources"])
        .unwrap();
    assert_eq!(ran.code, Some(1));
    insta::assert_snapshot!(ran.stdout, @r#"
    configuration  1 error     nightshift.toml
    store          ok          SQLite, nightshift-data/nightshift.db; made at the first start
    source drop    ok          the directory spool; made at the first start
    source drop    ok          the directory spool; made at the first start

    ERROR    configuration: two [[source]] are called "drop"
             why   metrics tell sources apart by their names, so the worker does not start
             mend  give each its own
             check configuration.double_source

    WARNING  configuration: the mute probes has ended
             why   it hides nothing any more, and whoever reads the file may think it does
             mend  take the [[mute]] out, or set another `until`
             check configuration.mute_over

    1 error, 1 warning.
    "#);
    place
        .write_file("nightshift.toml", format!("{GOOD}{over}"))
        .unwrap();
    let only = ["doctor", "--only", "configuration"];
    assert_eq!(place.run(&only).unwrap().code, Some(0));
    let strict = ["doctor", "--strict", "--only", "configuration"];
    assert_eq!(place.run(&strict).unwrap().code, Some(1));
}

#[test]
fn nothing_is_made_or_left_behind() {
    let place = Sandbox::new().unwrap();
    place.write_file("nightshift.toml", GOOD).unwrap();
    assert_eq!(place.run(&["doctor"]).unwrap().code, Some(0));
    let left: Vec<_> = std::fs::read_dir(place.path())
        .unwrap()
        .map(|one| one.unwrap().file_name())
        .collect();
    assert_eq!(left, ["nightshift.toml"]);
}
