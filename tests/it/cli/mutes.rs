//! Tests the commands that add, preview, count and remove mutes, and the mutes that are refused.

use nightshift_tests::{ProgramOutput, Sandbox};
use serde_json::Value;

fn ok(place: &Sandbox, arguments: &[&str]) -> ProgramOutput {
    let ran = place.run(arguments).unwrap();
    assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
    ran
}

fn refused(place: &Sandbox, arguments: &[&str], code: i32) -> String {
    let ran = place.run(arguments).unwrap();
    assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.stderr);
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    ran.stderr
}

fn mutes(place: &Sandbox) -> Vec<Value> {
    let listed = ok(place, &["mutes", "list", "--all", "--json"]).stdout;
    listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns a place with an empty database.
fn empty() -> Sandbox {
    let place = Sandbox::new().unwrap();
    ok(&place, &["migrate"]);
    place
}

const ADD: &[&str] = &[
    "mutes",
    "add",
    "--feed",
    "guardduty",
    "--severity",
    "high",
    "--until",
    "2100-01-01",
    "--why",
    "a test",
    "--by",
    "ana",
];

#[test]
fn a_mute_hides_what_comes_and_counts_it_until_it_is_removed() {
    let place = empty();
    let added = ok(&place, ADD);
    assert!(
        added.stdout.starts_with("m1 holds until 2100-01-01"),
        "{}",
        added.stdout
    );
    assert!(
        added.stderr.contains("would have hidden no case"),
        "{}",
        added.stderr
    );
    let demo = ok(&place, &["demo", "--once", "--quiet"]);
    assert!(demo.stdout.contains("muted by m1"), "{}", demo.stdout);
    let hits = mutes(&place)[0]["hits"].as_u64().unwrap();
    assert!(hits > 0);
    let listed = ok(&place, &["mutes", "list"]).stdout;
    for word in ["m1", "guardduty, up to high", "2100-01-01", "a test", "ana"] {
        assert!(listed.contains(word), "{word} is not in {listed}");
    }
    let cases = ok(&place, &["cases", "list", "--json"]);
    assert!(!cases.stderr.contains("without a case"), "{}", cases.stderr);
    let listed = ok(&place, &["cases", "list"]);
    let told = format!("without a case in the last 24 h: {hits} muted (m1)");
    assert!(listed.stderr.contains(&told), "{}", listed.stderr);
    let of_guardduty = |text: &str| text.matches("\"feed\":\"guardduty\"").count();
    let before = of_guardduty(&cases.stdout);
    ok(&place, &["mutes", "remove", "m1"]);
    assert_eq!(ok(&place, &["mutes", "list"]).stdout, "");
    ok(&place, &["demo", "--once", "--quiet"]);
    let after = of_guardduty(&ok(&place, &["cases", "list", "--json"]).stdout);
    assert!(after > before, "{after} cases after {before}");
    let row = &mutes(&place)[0];
    assert_eq!(
        row["hits"].as_u64(),
        Some(hits),
        "what it hid stays counted"
    );
    assert!(row["removed_at"].is_string());
}

#[test]
fn a_preview_tells_true_positives_and_adds_nothing() {
    let place = Sandbox::new().unwrap();
    ok(&place, &["demo", "--once", "--quiet"]);
    let preview = [
        "mutes",
        "preview",
        "--feed",
        "guardduty",
        "--severity",
        "high",
    ];
    let text = ok(&place, &preview).stdout;
    assert!(text.contains("TRUE POSITIVES among them:"), "{text}");
    let json = ok(&place, &[preview.as_slice(), &["--json"]].concat()).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    let positives = json["true_positives"].as_array().unwrap();
    assert!(!positives.is_empty());
    for case in positives {
        assert_eq!(case["verdict"], "true_positive");
        assert_ne!(case["severity"], "critical", "never hidden");
        assert!(text.contains(case["id"].as_str().unwrap()), "{text}");
    }
    assert!(mutes(&place).is_empty());
}

#[test]
fn a_mute_of_the_configuration_is_listed_and_cannot_be_removed() {
    let place = empty();
    let rule = "[[mute]]\nname = \"noise\"\nwhen = { feed = \"scc\" }\nuntil = 2100-01-01\nwhy = \"a test\"\n";
    place.write_file("nightshift.toml", rule).unwrap();
    let rows = mutes(&place);
    assert_eq!(
        (&rows[0]["name"], &rows[0]["configured"]),
        (&"noise".into(), &true.into())
    );
    let told = refused(&place, &["mutes", "remove", "noise"], 2);
    assert!(told.contains("take it out there"), "{told}");
}

#[test]
fn what_cannot_be_a_mute_is_refused() {
    let place = empty();
    let with = |from: &str, to: &str| -> String {
        let arguments: Vec<&str> = ADD
            .iter()
            .map(|one| if *one == from { to } else { one })
            .collect();
        refused(&place, &arguments, 2)
    };
    assert!(with("high", "critical").contains("never muted"));
    assert!(with("2100-01-01", "2020-01-01").contains("a time to come"));
    assert!(with("2100-01-01", "soon").contains("use a date"));
    assert!(with("a test", " ").contains("say why"));
    let everything = ["mutes", "preview", "--type", "*"];
    assert!(refused(&place, &everything, 2).contains("match everything"));
    assert!(refused(&place, &["mutes", "remove", "m1"], 2).contains("no mute \"m1\""));
    assert!(mutes(&place).is_empty());
}

#[test]
fn mute_of_unknown_feed_is_refused_with_the_known_feeds() {
    let place = empty();
    let with = |feed: &str| -> Vec<String> {
        let arguments = ADD.iter();
        let arguments = arguments.map(|one| if *one == "guardduty" { feed } else { one });
        arguments.map(str::to_owned).collect()
    };
    let add = |feed: &str| {
        let arguments = with(feed);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        refused(&place, &arguments, 2)
    };
    insta::assert_snapshot!(add("gaurdduty"), @r#"error: --feed: there is no feed "gaurdduty"; did you mean "guardduty"?"#);
    insta::assert_snapshot!(add("edr"), @r#"error: --feed: there is no feed "edr"; known are guardduty, scc, security_hub, ocsf, nightshift"#);
    let preview = ["mutes", "preview", "--feed", "edr"];
    insta::assert_snapshot!(refused(&place, &preview, 2), @r#"error: --feed: there is no feed "edr"; known are guardduty, scc, security_hub, ocsf, nightshift"#);
    assert!(mutes(&place).is_empty());
    let edr = "[[feed]]\nname = \"edr\"\nmatch = \"/vendor\"\nfields = { id = \"/id\", type = \"/rule\" }\n";
    place.write_file("nightshift.toml", edr).unwrap();
    ok(&place, &preview);
    insta::assert_snapshot!(add("crowdstrike"), @r#"error: --feed: there is no feed "crowdstrike"; known are guardduty, scc, security_hub, ocsf, edr, nightshift"#);
    // `nightshift` is the feed of the alerts about unreadable messages.
    for feed in ["edr", "nightshift"] {
        let arguments = with(feed);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        ok(&place, &arguments);
    }
    assert_eq!(mutes(&place).len(), 2);
}

#[test]
fn a_bad_mute_of_the_configuration_ends_with_64() {
    let place = Sandbox::new().unwrap();
    let refused_as = |rules: &str| {
        place.write_file("nightshift.toml", rules).unwrap();
        refused(&place, &["mutes", "list"], 64)
    };
    let rule =
        "[[mute]]\nname = \"a\"\nwhen = { feed = \"scc\" }\nuntil = 2100-01-01\nwhy = \"b\"\n";
    assert!(refused_as(&rule.repeat(2)).contains("stands there twice"));
    assert!(refused_as(&rule.replace("feed", "fed")).contains("did you mean \"feed\"?"));
    assert!(refused_as(&rule.replace("until = 2100-01-01\n", "")).contains("until"));
    assert!(refused_as(&rule.replace("\"b\"", "\"\"")).contains("say why"));
    let no_feed = refused_as(&rule.replace("\"scc\"", "\"edr\""));
    insta::assert_snapshot!(no_feed, @r#"error: [[mute]] "a": when: there is no feed "edr"; known are guardduty, scc, security_hub, ocsf, nightshift"#);
}

#[test]
fn run_triages_whatever_is_muted() {
    let place = empty();
    ok(&place, ADD);
    let ran = place
        .run_with_input(
            &["run", "-", "--format", "json", "--quiet"],
            include_bytes!("../../fixtures/alerts/guardduty-finding.json"),
        )
        .unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 1);
}
