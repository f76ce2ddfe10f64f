//! Tests files of declared tools: mistakes with their places, and a user's own tool.

use super::*;
use crate::declared::Manifest;

/// A user's own tool in ten lines.
const OWN: &str = r#"name = "blocklist"
title = "Block list"
description = "Whether an address stands in the block list of the network team."
host = "blocklist.example.com"
reach = "internal"
[[request]]
types = ["ip"]
path = "/v1/ip/{{ indicator }}"
[answer]
found = "body.listed"
"#;

fn problems(text: &str) -> String {
    Manifest::parse("own.toml", text).unwrap_err().to_string()
}

/// Returns the file with one text replaced.
fn changed(from: &str, to: &str) -> String {
    assert!(OWN.contains(from), "{from}");
    OWN.replace(from, to)
}

#[test]
fn mistakes_are_named_with_line_and_column() {
    let wrong = [
        changed("title =", "titel ="),
        changed("reach = \"internal\"", "reach = \"everywhere\""),
        changed("\"ip\"", "\"address\""),
        changed("name = \"blocklist\"", "name = \"Block List\""),
        changed("blocklist.example.com", "10.0.0.1"),
        changed("blocklist.example.com", "https://blocklist.example.com/"),
        changed("{{ indicator }}", "{{ indication }}"),
        changed("{{ indicator }}", "{{ indicator "),
        changed("/v1/ip/", "v1/ip/"),
        changed("/v1/ip/", "/v1/../"),
        changed("/v1/ip/{{ indicator }}", "/v1?ip={{ indicator }}"),
        changed("body.listed", "body.listed and"),
        changed("body.listed", "bodi.listed"),
        changed("body.listed", "body.listed | bool | nosuch"),
        format!("{OWN}\n[limits]\nper_second = 0\ntimeout_secs = 900\n"),
        format!("{OWN}\n[[outcome]]\nis = \"unknown\"\n"),
        format!("{OWN}\n[auth]\nkind = \"header\"\n"),
    ];
    let told: Vec<String> = wrong.iter().map(|text| problems(text)).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once() {
    let text = changed("body.listed", "bodi.listed").replace("/v1/ip/", "v1/ip/");
    assert_eq!(problems(&text).lines().count(), 2, "{}", problems(&text));
}

#[test]
fn third_party_takes_no_free_text_and_no_trust() {
    let text = changed("reach = \"internal\"\n", "");
    assert!(Manifest::parse("own.toml", &text).is_ok());
    let argument =
        "[[argument]]\nname = \"question\"\ndescription = \"x\"\nkind = \"text\"\nmax_chars = 9\n";
    let with_text = format!("{text}{argument}");
    assert!(problems(&with_text).contains("no free text goes to a third party"));
    let internal = format!("{OWN}{argument}").replace("{{ indicator }}", "{{ question }}");
    assert!(Manifest::parse("own.toml", &internal).is_ok());
    let trusted = text.replace(
        "[[request]]",
        "trust = { \"/found\" = \"register\" }\n[[request]]",
    );
    assert!(problems(&trusted).contains("is external"));
}

/// Writes the file into a folder and returns the settings that name it.
fn settings(folder: &tempfile::TempDir, text: &str) -> ToolSettings {
    std::fs::write(folder.path().join("own.toml"), text).unwrap();
    ToolSettings {
        dir: folder.path().to_owned(),
        ..ToolSettings::default()
    }
}

fn own_request() -> ExpectedRequest {
    serde_json::from_value(json!({"method": "GET", "path": "/base/v1/ip/8.8.8.8"})).unwrap()
}

#[tokio::test]
async fn tool_of_the_users_folder_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(&folder, OWN);
    let reply = FakeReply::json(200, &json!({"listed": true}));
    let fake = FakeVendor::start(KeyPlace::Nowhere, vec![own_request()], [reply]).await;
    let base = format!("{}/base/", fake.url);
    let tool = Arc::new(tool_with(
        &config("blocklist", &base, &KeyPlace::Nowhere),
        &settings,
    ));
    let output = crate::testing::call(&tool, json!({"indicator": "8.8.8.8"}));
    let output = output.await.unwrap();
    assert_eq!(output.body["found"], true);
    assert_eq!(output.body["source"], "Block list");
    assert_eq!(output.rows, Some(1));
    assert_eq!(fake.requests(), 1);
    // The tool is internal, so it may be asked about addresses of the organisation.
    let fake = FakeVendor::start(
        KeyPlace::Nowhere,
        vec![serde_json::from_value(json!({"method": "GET", "path": "/v1/ip/10.1.2.3"})).unwrap()],
        [FakeReply::json(200, &json!({"listed": false}))],
    )
    .await;
    let config = config("blocklist", &fake.url, &KeyPlace::Nowhere);
    let tool = Arc::new(tool_with(&config, &settings));
    let output = crate::testing::call(&tool, json!({"indicator": "10.1.2.3"}));
    assert_eq!(output.await.unwrap().rows, Some(0));
}

#[tokio::test]
async fn key_goes_where_the_file_says() {
    let folder = tempfile::tempdir().unwrap();
    for (auth, place) in [
        (
            "kind = \"header\"\nname = \"X-Key\"",
            KeyPlace::Header("X-Key".to_owned()),
        ),
        (
            "kind = \"query\"\nname = \"key\"",
            KeyPlace::Query("key".to_owned()),
        ),
        ("kind = \"bearer\"", KeyPlace::Bearer),
        (
            "kind = \"basic\"\nuser = \"user\"",
            // The user and the password are the same key in this test.
            KeyPlace::Basic("dGVzdC1rZXktMDEyMzQ1Njc4OTp0ZXN0LWtleS0wMTIzNDU2Nzg5".to_owned()),
        ),
    ] {
        let settings = settings(&folder, &format!("{OWN}\n[auth]\n{auth}\n"));
        let reply = FakeReply::json(200, &json!({"listed": true}));
        let fake = FakeVendor::start(place.clone(), vec![own_request()], [reply]).await;
        let base = format!("{}/base", fake.url);
        let mut config = config("blocklist", &base, &place);
        if auth.contains("basic") {
            config.secrets.insert("user".to_owned(), "env:USER".into());
        }
        let tool = Arc::new(tool_with(&config, &settings));
        let output = crate::testing::call(&tool, json!({"indicator": "8.8.8.8"}));
        assert_eq!(output.await.unwrap().body["found"], true, "{auth}");
        assert_eq!(fake.requests(), 1);
    }
}

#[test]
fn configuration_without_its_key_says_the_line_to_write() {
    let catalogue = Catalogue::load(None).unwrap();
    let refused = |table: Value| {
        let config = serde_json::from_value(table).unwrap();
        let settings = ToolSettings::default();
        let built = build_tool(
            &config,
            &catalogue,
            &settings,
            &Vec::new().into(),
            &key_source,
        );
        built.err().unwrap().to_string()
    };
    let told = [
        refused(json!({"name": "vt", "kind": "virustotal"})),
        refused(json!({"name": "vt", "kind": "virustotl", "api_key": "k"})),
        refused(json!({"name": "idb", "kind": "shodan_internetdb", "api_key": "k"})),
        refused(json!({"name": "vt", "kind": "virustotal", "api_key": "k", "secrets": {"x": "k"}})),
        refused(
            json!({"name": "vt", "kind": "virustotal", "api_key": "k", "base_url": "http://10.0.0.1/"}),
        ),
        refused(
            json!({"name": "vt", "kind": "virustotal", "api_key": "k", "base_url": "https://10.0.0.1/"}),
        ),
        refused(json!({"name": "vt", "kind": "virustotal", "api_key": "k", "allow_private": true})),
    ];
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn user_file_replaces_a_shipped_one_and_no_compiled_in_tool() {
    let folder = tempfile::tempdir().unwrap();
    let own = OWN.replace("name = \"blocklist\"", "name = \"otx\"");
    let catalogue = Catalogue::load(settings(&folder, &own).folder()).unwrap();
    assert_eq!(catalogue.get("otx").unwrap().title, "Block list");
    assert!(catalogue.file_of("otx").is_some() && catalogue.file_of("urlhaus").is_none());
    for name in ["watchlist", "indicator_lookup"] {
        let own = OWN.replace("name = \"blocklist\"", &format!("name = \"{name}\""));
        let error = Catalogue::load(settings(&folder, &own).folder()).unwrap_err();
        assert!(error.to_string().contains("is taken"), "{error}");
    }
}
