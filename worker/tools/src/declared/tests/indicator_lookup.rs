//! Tests the tool that asks all sources at once.

use nightshift_engine::tool::{ArgumentKind, Reach};

use super::*;
use crate::declared::indicator_lookup::IndicatorLookup;

const IP: &str = "185.220.101.42";

/// Fakes of vendors, each with the tool that asks it.
struct Sources {
    fakes: Vec<FakeVendor>,
    tools: Vec<Arc<DeclaredTool>>,
}

impl Sources {
    /// Starts a vendor for each name, which answers with the named case of its data file, or with a fault.
    async fn start(named: &[(&str, Result<&str, FakeReply>)], settings: &ToolSettings) -> Self {
        let mut sources = Self {
            fakes: Vec::new(),
            tools: Vec::new(),
        };
        for (kind, reply) in named {
            let (_, fixture) = fixtures().find(|(known, _)| known == kind).unwrap();
            let reply = match reply {
                Ok(name) => {
                    let case = fixture.cases.iter().find(|case| case.name == *name);
                    let case = case.unwrap();
                    FakeReply::json(case.status, &case.body)
                }
                Err(fault) => fault.clone(),
            };
            let fake = start(&fixture, vec![reply]).await;
            let mut tool = tool_with(&config(kind, &fake.url, &fixture.key), settings);
            tool.timeout = Duration::from_millis(500);
            sources.tools.push(Arc::new(tool));
            sources.fakes.push(fake);
        }
        sources
    }

    fn lookup(&self) -> IndicatorLookup {
        let config = json!({"name": "all", "kind": "indicator_lookup"});
        IndicatorLookup::new(&serde_json::from_value(config).unwrap(), &self.tools).unwrap()
    }
}

async fn ask(lookup: &IndicatorLookup, indicators: Value) -> Result<Value, ToolError> {
    let output = crate::testing::call(lookup, json!({ "indicators": indicators })).await?;
    Ok(json!({"body": output.body, "rows": output.rows, "truncated": output.truncated}))
}

fn hanging() -> FakeReply {
    FakeReply {
        hangs: true,
        ..FakeReply::default()
    }
}

#[tokio::test]
async fn each_source_is_told_apart() {
    let sources = Sources::start(
        &[
            ("abuseipdb", Ok("hit")),
            ("greynoise", Ok("miss with 200")),
            ("otx", Ok("partial: not all pulses")),
            ("shodan_internetdb", Err(FakeReply::html(500))),
            ("threatfox", Err(hanging())),
            ("virustotal", Err(FakeReply::json(401, &json!({})))),
            ("malwarebazaar", Ok("hit")),
        ],
        &ToolSettings::default(),
    )
    .await;
    let answer = ask(&sources.lookup(), json!([IP])).await.unwrap();
    assert_eq!(
        (&answer["rows"], &answer["truncated"]),
        (&json!(1), &json!(true))
    );
    let body = &answer["body"];
    assert_eq!(
        body["failed_sources"],
        json!(["Shodan InternetDB", "ThreatFox", "VirusTotal"])
    );
    let one = &body["indicators"][0];
    assert_eq!(one["indicator"], IP);
    assert_eq!((&one["found"], &one["score"]), (&json!(true), &json!(100)));
    assert_eq!(one["verdict_hint"], "malicious");
    let sources_of = |list: &str| -> Vec<String> {
        let all = one[list].as_array().unwrap().iter();
        all.map(|it| it["source"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(sources_of("known"), ["AbuseIPDB", "LevelBlue OTX"]);
    assert_eq!(one["unknown_to"], json!(["GreyNoise"]));
    assert_eq!(sources_of("partial"), ["LevelBlue OTX"]);
    assert_eq!(
        sources_of("failed"),
        ["Shodan InternetDB", "ThreatFox", "VirusTotal"]
    );
    // MalwareBazaar knows no addresses.
    assert_eq!(sources_of("not_asked"), Vec::<String>::new());
    assert_eq!(sources.fakes[6].requests(), 0);
}

#[tokio::test]
async fn answer_without_gaps_is_whole() {
    let named = [("abuseipdb", Ok("hit")), ("greynoise", Ok("miss with 200"))];
    let sources = Sources::start(&named, &ToolSettings::default()).await;
    let answer = ask(&sources.lookup(), json!([IP, IP])).await.unwrap();
    assert_eq!(answer["truncated"], false);
    assert_eq!(answer["body"]["asked"], 1, "the same value is asked once");
}

#[tokio::test]
async fn what_no_source_knows_is_not_clean() {
    let named = [
        ("greynoise", Ok("miss with 200")),
        ("shodan_internetdb", Ok("miss")),
    ];
    let sources = Sources::start(&named, &ToolSettings::default()).await;
    let answer = ask(&sources.lookup(), json!([IP])).await.unwrap();
    let one = &answer["body"]["indicators"][0];
    assert_eq!(answer["rows"], 0);
    assert_eq!(one["verdict_hint"], Value::Null);
    assert_eq!(one["score"], Value::Null);
    assert_eq!(one["unknown_to"], json!(["GreyNoise", "Shodan InternetDB"]));
}

#[tokio::test]
async fn f24_sources_that_all_fail_are_an_error() {
    let named = [
        ("abuseipdb", Err(FakeReply::html(500))),
        ("greynoise", Err(hanging())),
    ];
    let sources = Sources::start(&named, &ToolSettings::default()).await;
    let error = ask(&sources.lookup(), json!([IP])).await.unwrap_err();
    assert!(
        error.to_string().starts_with("none of 2 sources answered"),
        "{error}"
    );
}

#[tokio::test]
async fn late_source_takes_nothing_from_the_others() {
    let named = [("abuseipdb", Ok("hit")), ("greynoise", Err(hanging()))];
    let mut sources = Sources::start(&named, &ToolSettings::default()).await;
    for tool in &mut sources.tools {
        Arc::get_mut(tool).unwrap().timeout = Duration::from_secs(60);
    }
    let mut lookup = sources.lookup();
    lookup.deadline = Duration::from_secs(1);
    let answer = ask(&lookup, json!([IP])).await.unwrap();
    let one = &answer["body"]["indicators"][0];
    assert_eq!(one["known"][0]["source"], "AbuseIPDB");
    assert_eq!(one["failed"][0]["error"], "no answer within 1 s");
}

#[tokio::test]
async fn own_values_are_not_sent_and_the_others_are() {
    let settings = ToolSettings {
        never_send: vec!["8.8.8.0/24".to_owned()],
        ..ToolSettings::default()
    };
    let sources = Sources::start(&[("abuseipdb", Ok("hit"))], &settings).await;
    let answer = ask(&sources.lookup(), json!(["8.8.8.8", IP]))
        .await
        .unwrap();
    let all = &answer["body"]["indicators"];
    assert!(
        all[0]["not_asked"][0]["why"]
            .as_str()
            .unwrap()
            .contains("never_send")
    );
    assert_eq!(all[0]["found"], false);
    assert_eq!(all[1]["found"], true);
    assert_eq!(sources.fakes[0].requests(), 1);
}

#[tokio::test]
async fn list_is_bounded_and_typed() {
    let sources = Sources::start(&[("abuseipdb", Ok("hit"))], &ToolSettings::default()).await;
    let lookup = sources.lookup();
    let many: Vec<String> = (0..21).map(|number| format!("8.8.8.{number}")).collect();
    for wrong in [
        json!([]),
        json!(many),
        json!([7]),
        json!("8.8.8.8"),
        json!(["evil.test"]),
    ] {
        let error = ask(&lookup, wrong.clone()).await.unwrap_err();
        assert_eq!(word(&error), "argument", "{wrong}");
    }
    assert_eq!(sources.fakes[0].requests(), 0);
}

#[tokio::test]
async fn tool_names_its_sources_and_needs_one() {
    use crate::tool::Tool as _;
    let named = [("abuseipdb", Ok("hit")), ("virustotal", Ok("miss"))];
    let sources = Sources::start(&named, &ToolSettings::default()).await;
    let lookup = sources.lookup();
    let spec = lookup.spec();
    assert!(
        spec.description.contains("AbuseIPDB, VirusTotal"),
        "{}",
        spec.description
    );
    assert_eq!(
        (spec.reach, spec.kind.as_str()),
        (Reach::ThirdParty, "indicator_lookup")
    );
    assert!(spec.matches_request("intel.hash"));
    assert!(matches!(
        spec.arguments[0].kind,
        ArgumentKind::Indicators { max: 20, .. }
    ));
    let refused = |table: Value, tools: &[Arc<DeclaredTool>]| {
        let config = serde_json::from_value(table).unwrap();
        IndicatorLookup::new(&config, tools)
            .err()
            .unwrap()
            .to_string()
    };
    let table = json!({"name": "all", "kind": "indicator_lookup"});
    assert!(refused(table, &[]).contains("there is no intelligence to ask"));
    let table = json!({"name": "all", "kind": "indicator_lookup", "tools": ["vt"]});
    assert!(refused(table, &sources.tools).contains("no configured intelligence tool"));
    let table = json!({"name": "all", "kind": "indicator_lookup", "api_key": "k"});
    assert!(refused(table, &sources.tools).contains("has only `tools`"));
}
