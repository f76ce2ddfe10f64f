//! Help as people read it, and the list of metrics.

use nightshift_tests::Place;

fn help(arguments: &[&str]) -> String {
    let place = Place::new().unwrap();
    let ran = place.run(arguments).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

#[test]
fn the_help_of_the_program() {
    insta::assert_snapshot!(help(&["--help"]), @"");
}

#[test]
fn the_help_of_run() {
    insta::assert_snapshot!(help(&["run", "--help"]), @"");
}

#[test]
fn the_list_of_metrics() {
    let place = Place::new().unwrap();
    place
        .file(
            "nightshift.toml",
            "[metrics]\ntextfile = \"metrics.prom\"\n",
        )
        .unwrap();
    place
        .feed(
            &["run", "-", "--quiet"],
            include_bytes!("../../fixtures/alerts/guardduty-finding.json"),
        )
        .unwrap();
    let text = std::fs::read_to_string(place.path().join("metrics.prom")).unwrap();
    let types: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .collect();
    insta::assert_snapshot!(types.join("\n"), @"");
}
