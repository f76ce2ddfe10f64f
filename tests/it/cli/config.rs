//! Tests configuration errors: each names file, line and the nearest valid name, and the exit code is 64.

use nightshift_tests::Sandbox;

#[test]
fn an_unknown_key_is_refused_with_its_place() {
    let place = Sandbox::new().unwrap();
    place
        .write_file(
            "nightshift.toml",
            "[store]\n# where\nulr = \"sqlite:x.db\"\n",
        )
        .unwrap();
    let ran = place.run(&["cases", "list"]).unwrap();
    assert_eq!(ran.code, Some(64), "{ran:?}");
    insta::assert_snapshot!(ran.stderr.trim(), @r#"error: nightshift.toml:3:1: unknown field "ulr"; did you mean "url"?"#);
}

#[test]
fn a_missing_file_and_a_bad_variable_are_refused() {
    let mut place = Sandbox::new().unwrap();
    let ran = place
        .run(&["--config", "none.toml", "cases", "list"])
        .unwrap();
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(ran.stderr.contains("none.toml"), "{}", ran.stderr);
    place.set_env("NIGHTSHIFT__LIMITS__MINUTES", "soon");
    let ran = place.run(&["config", "show"]).unwrap();
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(
        ran.stderr.contains("NIGHTSHIFT__LIMITS__MINUTES"),
        "{}",
        ran.stderr
    );
}

#[test]
fn environment_overrides_file_and_file_overrides_defaults() {
    let mut place = Sandbox::new().unwrap();
    place
        .write_file("nightshift.toml", "[limits]\nminutes = 5\nsteps = 7\n")
        .unwrap();
    place.set_env("NIGHTSHIFT__LIMITS__STEPS", "9");
    let ran = place.run(&["config", "show"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for line in ["minutes = 5", "steps = 9", "turns = 8"] {
        assert!(ran.stdout.contains(line), "{line} is not in {}", ran.stdout);
    }
}

#[test]
fn bad_register_row_is_reported_with_line_and_rest_is_used() {
    let place = Sandbox::new().unwrap();
    place
        .write_file("scanners.csv", "id,subject,approved_by,valid_until,expected_findings\nS1,203.0.113.9,sec,2027-01-01,Recon:*\nS2,203.0.113.10,sec,soon,Recon:*\n")
        .unwrap();
    place
        .write_file("nightshift.toml", "[[tool]]\nname = \"scanners\"\nkind = \"authorised_scanners\"\npath = \"scanners.csv\"\n")
        .unwrap();
    let ran = place.run(&["config", "check"]).unwrap();
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(ran.stderr.contains("line 3"), "{}", ran.stderr);
    let ran = place
        .run(&[
            "tools",
            "call",
            "scanners",
            r#"{"indicator": "203.0.113.9"}"#,
        ])
        .unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("\"found\":1"), "{}", ran.stdout);
}

#[test]
fn the_defaults_are_right() {
    let place = Sandbox::new().unwrap();
    let ran = place.run(&["config", "check"]).unwrap();
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(0), ""),
        "{}",
        ran.stdout
    );
}

#[test]
fn the_schema_is_printed_for_editors() {
    let place = Sandbox::new().unwrap();
    let ran = place.run(&["config", "schema"]).unwrap();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let schema: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn plain_http_webhook_is_refused_without_showing_its_secret() {
    let place = Sandbox::new().unwrap();
    let table = |rest: &str| {
        format!(
            "[[destination]]\nname = \"soar\"\nkind = \"webhook\"\nurl = \"http://soar.internal/\"\nsecret = \"whsec_hush\"\n{rest}"
        )
    };
    place.write_file("nightshift.toml", table("")).unwrap();
    let ran = place.run(&["config", "check"]).unwrap();
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(
        ran.stderr.contains("allow_private = true"),
        "{}",
        ran.stderr
    );
    place
        .write_file("nightshift.toml", table("allow_private = true\n"))
        .unwrap();
    let ran = place.run(&["config", "show"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("(not shown)"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("hush"), "{}", ran.stdout);
}

#[test]
fn what_counts_is_shown_without_secrets_wherever_they_stand() {
    let place = Sandbox::new().unwrap();
    let file = r#"
[web]
tokens = ["env:WEB_TOKEN"]
[traces]
endpoint = "http://127.0.0.1:4318/v1/traces"
headers = { authorization = "hush-traces" }
[[model]]
name = "main"
provider = "anthropic"
model = "claude-sonnet-4-5"
api_key = "hush-model"
proxy = "http://user:hush-proxy@127.0.0.1:3128"
[[source]]
name = "mq"
kind = "rabbitmq"
url = "amqp://nightshift:hush-broker@127.0.0.1/%2f"
queue = "alerts"
[[source]]
name = "other"
kind = "rabbitmq"
url = "amqp://nightshift@127.0.0.1/"
password = "hush-password"
queue = "alerts"
"#;
    place.write_file("nightshift.toml", file).unwrap();
    for arguments in [&["config", "show"][..], &["config", "show", "--json"]] {
        let ran = place.run(arguments).unwrap();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!ran.stdout.contains("hush"), "{}", ran.stdout);
        for kept in [
            "env:WEB_TOKEN",
            "amqp://nightshift@127.0.0.1/%2f",
            "http://user@127.0.0.1:3128",
            "claude-sonnet-4-5",
        ] {
            assert!(ran.stdout.contains(kept), "{kept} is not in {}", ran.stdout);
        }
    }
}

#[test]
fn what_no_command_that_triages_would_start_with_is_not_right() {
    let place = Sandbox::new().unwrap();
    place.write_file("broken/plan.md", "{{ unclosed").unwrap();
    let model = "[[model]]\nname = \"main\"\nprovider = \"openai\"\nmodel = \"gpt-4.1\"\napi_key = \"env:ELSEWHERE\"\n";
    let wrong = |file: &str| {
        place.write_file("nightshift.toml", file).unwrap();
        let ran = place.run(&["config", "check"]).unwrap();
        assert_eq!(ran.code, Some(64), "{file}: {ran:?}");
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
        ran.stderr.trim().to_owned()
    };
    insta::assert_snapshot!(wrong("[[profile]]\nname = \"default\"\nanalyst = \"model\"\n"), @r#"error: [[profile]] "default": analyst = "model", and there is no [[model]]"#);
    insta::assert_snapshot!(wrong(&format!("{model}[[profile]]\nname = \"default\"\nprompts = \"none\"\n")), @r#"error: [[profile]] "default": prompts: cannot read prompts from none: No such file or directory (os error 2)"#);
    let broken = wrong(&format!(
        "{model}[[profile]]\nname = \"default\"\nprompts = \"broken\"\n"
    ));
    assert!(broken.contains("plan.md"), "{broken}");
    insta::assert_snapshot!(wrong("[[profile]]\nname = \"default\"\nreplan_when = \"none.json\"\n"), @r#"error: [[profile]] "default": cannot read replan_when none.json: No such file or directory (os error 2)"#);
    // The API key may exist only on the machine that runs the worker.
    place.write_file("nightshift.toml", model).unwrap();
    let ran = place.run(&["config", "check"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    insta::assert_snapshot!(ran.stdout.trim(), @"the configuration is valid: 26 playbooks, 1 register, list or log");
}

#[test]
fn numbers_that_stop_everything_are_refused_by_every_command() {
    let place = Sandbox::new().unwrap();
    for (table, key, value) in [
        ("worker", "inbox_max", "0"),
        ("worker", "max_cases", "1000000"),
        ("worker", "lease_secs", "1000000000"),
        ("limits", "storm_minutes", "4294967295"),
        ("limits", "cooldown_hours", "4294967295"),
        ("limits", "day_usd", "-1.0"),
    ] {
        let file = format!("[{table}]\n{key} = {value}\n");
        place.write_file("nightshift.toml", file).unwrap();
        for arguments in [&["config", "check"][..], &["worker"]] {
            let ran = place.run(arguments).unwrap();
            assert_eq!(ran.code, Some(64), "{ran:?}");
            let told = format!("[{table}] {key} = ");
            assert!(ran.stderr.contains(&told), "{}", ran.stderr);
        }
    }
}

#[test]
fn a_feed_that_there_is_not_is_refused_by_every_command() {
    let place = Sandbox::new().unwrap();
    let file =
        "[[source]]\nname = \"drop\"\nkind = \"spool\"\ndir = \"in\"\nfeeds = [\"gaurdduty\"]\n";
    place.write_file("nightshift.toml", file).unwrap();
    for arguments in [&["config", "check"][..], &["doctor"], &["worker"]] {
        let ran = place.run(arguments).unwrap();
        assert_eq!(ran.code, Some(64), "{ran:?}");
        let told =
            "[[source]] drop: feeds: there is no feed \"gaurdduty\"; did you mean \"guardduty\"?";
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
}
