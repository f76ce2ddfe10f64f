//! Tests the commands about declared tools.

use nightshift_tests::Sandbox;

#[test]
fn tool_that_is_not_configured_shows_the_lines_that_configure_it() {
    let place = Sandbox::new().unwrap();
    let ran = place.run(&["tools", "show", "virustotal"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for line in [
        "VirusTotal (virustotal)",
        "Arguments   indicator: ip or domain or url or hash",
        "About       intel.ip, intel.domain, intel.url, intel.hash",
        "Reach       a third party: www.virustotal.com",
        "Key         `api_key` in the header `x-apikey`",
        "Configured  no; write this into nightshift.toml:",
        "kind = \"virustotal\"",
        "api_key = \"env:VIRUSTOTAL_API_KEY\"",
    ] {
        assert!(ran.stdout.contains(line), "{line} is not in {}", ran.stdout);
    }
    let lines = ran.stdout.split_once("[[tool]]").unwrap().1;
    place
        .write_file("nightshift.toml", format!("[[tool]]{lines}"))
        .unwrap();
    let ran = place.run(&["tools", "show", "virustotal"]).unwrap();
    assert!(
        ran.stdout.contains("Configured  as virustotal"),
        "{}",
        ran.stdout
    );
    let ran = place.run(&["tools", "check"]).unwrap();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("VIRUSTOTAL_API_KEY is not set"),
        "{}",
        ran.stderr
    );
}

#[test]
fn tools_that_can_be_configured_are_listed() {
    let place = Sandbox::new().unwrap();
    let ran = place.run(&["tools", "list"]).unwrap();
    assert!(!ran.stdout.contains("abuseipdb"), "{}", ran.stdout);
    let ran = place.run(&["tools", "list", "--all"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for kind in [
        "abuseipdb",
        "malwarebazaar",
        "shodan_internetdb",
        "watchlist",
    ] {
        assert!(ran.stdout.contains(kind), "{kind} is not in {}", ran.stdout);
    }
}

#[test]
fn unknown_kind_is_refused_with_those_there_are() {
    let place = Sandbox::new().unwrap();
    place
        .write_file(
            "nightshift.toml",
            "[[tool]]\nname = \"vt\"\nkind = \"virustotl\"\n",
        )
        .unwrap();
    for command in [&["tools", "list"][..], &["config", "check"]] {
        let ran = place.run(command).unwrap();
        assert_eq!(ran.code, Some(64), "{ran:?}");
        for word in [
            "virustotl",
            "virustotal",
            "asset_lookup",
            "indicator_lookup",
        ] {
            assert!(ran.stderr.contains(word), "{word} is not in {}", ran.stderr);
        }
    }
}

#[test]
fn indicator_lookup_asks_what_is_configured() {
    let place = Sandbox::new().unwrap();
    let shown = place
        .run(&["tools", "show", "indicator_lookup", "--json"])
        .unwrap();
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["configured_as"], serde_json::json!([]));
    let lookup = "[[tool]]\nname = \"reputation\"\nkind = \"indicator_lookup\"\n";
    place.write_file("nightshift.toml", lookup).unwrap();
    let ran = place.run(&["tools", "list"]).unwrap();
    assert_eq!(ran.code, Some(64), "{ran:?}");
    let source = "[[tool]]\nname = \"idb\"\nkind = \"shodan_internetdb\"\n\
                  base_url = \"http://127.0.0.1:9\"\nallow_private = true\n";
    place
        .write_file("nightshift.toml", format!("{lookup}{source}"))
        .unwrap();
    let ran = place.run(&["tools", "list"]).unwrap();
    assert!(
        ran.stdout.contains("indicators: 1 to 20 of ip"),
        "{}",
        ran.stdout
    );
    let call = [
        "tools",
        "call",
        "reputation",
        "{\"indicators\": [\"8.8.8.8\"]}",
    ];
    let ran = place.run(&call).unwrap();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("none of 1 sources answered"),
        "{}",
        ran.stderr
    );
}
