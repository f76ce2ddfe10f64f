use nightshift_engine::port::{PastCase, PastQuery};
use nightshift_engine::tool::Reach;
use serde_json::{Value, json};

use super::*;
use crate::testing;

struct NoPastCases;

#[async_trait]
impl PastCases for NoPastCases {
    async fn similar_cases(&self, _query: &PastQuery) -> Result<Vec<PastCase>, String> {
        Ok(Vec::new())
    }
}

#[derive(Debug, serde::Deserialize)]
struct ToolsFile {
    tool: Vec<ToolConfig>,
}

fn parse_configs(text: &str) -> Result<Vec<ToolConfig>, String> {
    toml::from_str::<ToolsFile>(text)
        .map(|file| file.tool)
        .map_err(|error| error.to_string())
}

fn build(text: &str, base: &Path) -> Result<ConfiguredToolbox, ToolConfigError> {
    ConfiguredToolbox::build(&parse_configs(text).unwrap(), Arc::new(NoPastCases), base)
}

const ALL: &str = r#"
[[tool]]
name = "facts"
kind = "indicator_facts"
cloud_ranges = ["ranges/ip-ranges.json"]
[[tool]]
name = "lists"
kind = "watchlist"
lists = [{ name = "sinkholes", path = "sinkholes.txt", meaning = "sinkhole" }]
[[tool]]
name = "assets"
kind = "asset_lookup"
path = "assets.csv"
[[tool]]
name = "people"
kind = "identity_lookup"
path = "people.json"
[[tool]]
name = "changes"
kind = "change_lookup"
path = "changes.csv"
[[tool]]
name = "scanners"
kind = "authorised_scanners"
path = "scanners.csv"
[[tool]]
name = "trail"
kind = "log_search"
format = "cloudtrail"
path = "trail/**/*.json"
[[tool]]
name = "past_cases"
kind = "past_cases"
days = 30
"#;

#[test]
fn every_kind_is_configured_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("assets.csv"), "id,name\ni-1,web\n,\n").unwrap();
    let tools = build(ALL, folder.path()).unwrap();
    let kinds: Vec<String> = tools.specs().into_iter().map(|spec| spec.kind).collect();
    assert_eq!(
        kinds,
        [
            "indicator_facts",
            "watchlist",
            "asset_lookup",
            "identity_lookup",
            "change_lookup",
            "authorised_scanners",
            "log_search.cloudtrail",
            "past_cases"
        ]
    );
    let reports = tools.check_registers();
    let assets = reports
        .iter()
        .find(|report| report.name == "assets")
        .unwrap();
    assert_eq!(assets.records, 1);
    assert_eq!(assets.problems[0].line, Some(3));
    let trail = reports
        .iter()
        .find(|report| report.name == "trail")
        .unwrap();
    assert!(trail.path.starts_with(folder.path().to_str().unwrap()));
    assert!(
        trail.problems[0].what.contains("has no log files"),
        "{trail:?}"
    );
    assert!(
        reports
            .iter()
            .any(|report| report.name == "lists/sinkholes" && report.problems.len() == 1)
    );
}

#[test]
fn a_third_party_or_a_shell_is_not_among_them() {
    let tools = build(ALL, Path::new("/nonexistent")).unwrap();
    for spec in tools.specs() {
        assert_eq!(spec.reach, Reach::Internal, "{}", spec.name);
        assert!(spec.description.len() > 40, "{}", spec.name);
        assert!(!spec.trust.is_empty());
    }
}

#[test]
fn unknown_keys_kinds_and_bad_values_are_refused_by_name() {
    for (text, message) in [
        (
            "[[tool]]\nname='a'\nkind='asset_lookup'\npath='x'\npth='y'",
            "unknown field `pth`",
        ),
        (
            "[[tool]]\nname='a'\nkind='asset_lookup'",
            "missing field `path`",
        ),
        (
            "[[tool]]\nname='a'\nkind='asset_look'\npath='x'",
            "unknown variant `asset_look`",
        ),
        (
            "[[tool]]\nname='a'\nkind='log_search'\npath='x'\nformat='syslog'",
            "unknown variant `syslog`",
        ),
    ] {
        let error = parse_configs(text).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
    for (text, message) in [
        (
            "[[tool]]\nname='a b'\nkind='past_cases'",
            "use 1 to 64 of the characters",
        ),
        (
            "[[tool]]\nname='a'\nkind='indicator_facts'\n[[tool]]\nname='a'\nkind='watchlist'",
            "two [[tool]] tables are named \"a\"",
        ),
        (
            "[[tool]]\nname='past'\nkind='past_cases'",
            "[[tool]] \"past\": `name`: use \"past_cases\"",
        ),
        (
            "[[tool]]\nname='a'\nkind='watchlist'\nmining_pools=false",
            "`lists`: there is no list to search",
        ),
        (
            "[[tool]]\nname='a'\nkind='log_search'\nformat='vpc_flow'\npath='x'\nfields={at='/t'}",
            "allowed only with format = \"json_lines\"",
        ),
        (
            "[[tool]]\nname='a'\nkind='log_search'\nformat='json_lines'\npath='x'\nfields={when='/t'}",
            "unknown field \"when\"",
        ),
        (
            "[[tool]]\nname='a'\nkind='log_search'\nformat='json_lines'\npath='x'\nfields={at='t'}",
            "is no JSON pointer: write \"/t\"",
        ),
    ] {
        let error = build(text, Path::new(".")).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

async fn call(
    tools: &ConfiguredToolbox,
    tool: &str,
    arguments: Value,
) -> Result<ToolOutput, ToolError> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    tools
        .call(&ToolCall::new(tool, arguments), &testing::context())
        .await
}

#[tokio::test]
async fn the_defaults_work_without_configuration() {
    let tools = ConfiguredToolbox::defaults(Arc::new(NoPastCases));
    let output = call(
        &tools,
        "watchlist",
        json!({"indicator": "pool.minexmr.com"}),
    )
    .await
    .unwrap();
    assert_eq!(output.body["matches"][0]["meaning"], "mining_pool");
    assert_eq!(
        call(&tools, "past_cases", json!({})).await.unwrap().rows,
        Some(0)
    );
    let facts = call(
        &tools,
        "indicator_facts",
        json!({"indicator": "203.0.113.42"}),
    )
    .await;
    assert_eq!(facts.unwrap().body["class"], "documentation");
    let error = call(&tools, "shell", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no tool \"shell\" here");
    assert!(
        tools
            .check_registers()
            .iter()
            .all(|report| report.problems.is_empty())
    );
}

#[tokio::test]
async fn a21_register_rows_expose_no_secrets_or_hidden_characters() {
    let row = "id,name,purpose,notes\npayments-ledger,x,\"keep\u{200b}s ledgers, AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEZ\",xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx\n";
    let configs = [ToolConfig::AssetLookup(crate::AssetLookup {
        name: "assets".to_owned(),
        path: crate::ContentSource::embedded("assets.csv", row),
    })];
    let tools = ConfiguredToolbox::build(&configs, Arc::new(NoPastCases), Path::new(".")).unwrap();
    let output = call(&tools, "assets", json!({"indicator": "payments-ledger"}))
        .await
        .unwrap();
    let text = output.body.to_string();
    assert!(!text.contains("wJalrXUtnFEMI"), "{text}");
    assert!(!text.contains("xoxb-1234"), "{text}");
    assert!(!text.contains('\u{200b}'));
    assert!(
        text.contains("payments-ledger") && text.contains("ledgers"),
        "{text}"
    );
    assert!(output.flags.iter().any(
        |flag| matches!(flag, nightshift_alert::ContentFlag::Redacted { count } if *count >= 2)
    ));
    assert!(
        output
            .flags
            .contains(&nightshift_alert::ContentFlag::HiddenText { count: 1 })
    );
}

/// Returns the fenced blocks of a language in a page.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    page.split("```")
        .filter_map(|block| block.strip_prefix(language))
        .map(str::trim_start)
        .collect()
}

#[test]
fn the_samples_of_the_documentation_are_read() {
    let [toml] = blocks(include_str!("../../../../docs/tools.md"), "toml")[..] else {
        panic!("one block of toml")
    };
    assert_eq!(parse_configs(toml).unwrap().len(), 6);
    build(toml, Path::new(".")).unwrap();
    let kinds = [
        "asset_lookup",
        "identity_lookup",
        "change_lookup",
        "authorised_scanners",
    ];
    let samples = blocks(include_str!("../../../../docs/registers.md"), "csv");
    assert_eq!(samples.len(), kinds.len());
    let folder = tempfile::tempdir().unwrap();
    for (kind, sample) in kinds.iter().zip(samples) {
        std::fs::write(folder.path().join("sample.csv"), sample).unwrap();
        let config = format!("[[tool]]\nname='t'\nkind='{kind}'\npath='sample.csv'");
        let report = &build(&config, folder.path()).unwrap().check_registers()[0];
        assert_eq!(report.problems, [], "{kind}");
        assert_eq!(report.records, sample.lines().count() - 1, "{kind}");
    }
}
