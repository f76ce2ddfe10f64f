//! Tests the command that gives up the reports of a renamed destination.

use nightshift_tests::{ProgramOutput, Sandbox};
use serde_json::Value;

use super::workflow::triaged_in;

/// Returns the configuration of a destination and of a route to it.
pub(crate) fn config(name: &str, path: &str, more: &str) -> String {
    format!(
        "[[destination]]\nname = \"{name}\"\nkind = \"file\"\npath = \"{path}\"\n\
         [[route]]\ndestinations = [\"{name}\"]\n{more}"
    )
}

/// Returns the id of a case whose delivery to `soc` is pending because `soc` cannot write.
pub(crate) fn owing(place: &Sandbox, store: &str) -> String {
    place.write_file("a-file", "").unwrap();
    let config = format!("{store}{}", config("soc", "a-file/below", ""));
    place.write_file("nightshift.toml", config).unwrap();
    triaged_in(place)
}

fn drop(place: &Sandbox, more: &[&str]) -> ProgramOutput {
    let arguments = [&["destinations", "drop"], more].concat();
    place.run(&arguments).unwrap()
}

#[test]
fn what_is_owed_to_a_name_that_is_gone_is_given_up() {
    let place = Sandbox::new().unwrap();
    let id = owing(&place, "");
    let configured = drop(&place, &["soc"]);
    assert_eq!(configured.code, Some(2), "{configured:?}");
    let told = "\"soc\" is a [[destination]] of the configuration, and its reports are delivered; remove it there first";
    assert!(configured.stderr.contains(told), "{configured:?}");

    let renamed = config("archive", "reports", "");
    place.write_file("nightshift.toml", renamed).unwrap();
    let misspelt = drop(&place, &["sock"]);
    assert_eq!(misspelt.code, Some(0), "{misspelt:?}");
    assert_eq!(
        misspelt.stdout,
        "0 reports given up: none is pending for sock\n"
    );
    let note = "note: reports are also pending for other removed destinations: soc (1)\n";
    assert_eq!(misspelt.stderr, note);

    let ran = drop(&place, &["soc"]);
    insta::assert_snapshot!(ran.stdout, @"
    reports to soc given up: 1
    handed to nobody, as no destination of an `otherwise` takes them: 1; their cases stay in `nightshift cases list` and on the pages
    ");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let shown = place.run(&["cases", "show", &id]).unwrap().stdout;
    let line = "destination soc: not shown after 1 tries: given up by hand";
    assert!(shown.contains(line), "{shown}");
    let listed = place.run(&["cases", "list"]).unwrap().stdout;
    assert!(listed.contains(&id), "{listed}");

    let again = drop(&place, &["soc", "--json"]);
    let said: Value = serde_json::from_str(&again.stdout).unwrap();
    let nothing = serde_json::json!({"destination": "soc", "given_up": 0, "handed_on": {}});
    assert_eq!((again.code, said), (Some(0), nothing));
}

#[test]
fn a_route_s_otherwise_takes_it_over() {
    let place = Sandbox::new().unwrap();
    let id = owing(&place, "");
    let renamed = config("archive", "reports", "otherwise = [\"archive\"]\n");
    place.write_file("nightshift.toml", renamed).unwrap();
    let ran = drop(&place, &["soc", "--json"]);
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    let handed =
        serde_json::json!({"destination": "soc", "given_up": 1, "handed_on": {"archive": 1}});
    assert_eq!((ran.code, said), (Some(0), handed), "{ran:?}");
    let shown = place.run(&["cases", "show", &id]).unwrap().stdout;
    assert!(
        shown.contains("destination archive: not shown yet"),
        "{shown}"
    );
}
