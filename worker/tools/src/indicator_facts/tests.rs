use serde_json::json;

use super::*;
use crate::testing;

const AWS: &str = r#"{"syncToken": "1", "prefixes": [
    {"ip_prefix": "198.51.100.0/24", "region": "eu-west-1", "service": "AMAZON", "network_border_group": "eu-west-1"},
    {"ip_prefix": "198.51.100.0/24", "region": "eu-west-1", "service": "EC2", "network_border_group": "eu-west-1"}],
    "ipv6_prefixes": [{"ipv6_prefix": "2001:db8::/32", "region": "eu-west-1", "service": "S3"}]}"#;
const GOOGLE: &str = r#"{"syncToken": "1", "creationTime": "x", "prefixes": [
    {"ipv4Prefix": "203.0.113.0/24", "service": "Google Cloud", "scope": "europe-west1"},
    {"ipv6Prefix": "2001:db8:1::/48", "service": "Google Cloud", "scope": "us-east1"}]}"#;

async fn ask(tool: &IndicatorFacts, indicator: &str) -> Value {
    testing::call(tool, json!({ "indicator": indicator }))
        .await
        .unwrap()
        .body
}

#[tokio::test]
async fn clouds_are_told_only_from_configured_files() {
    let bare = IndicatorFacts::new(IndicatorFactsConfig::named("facts"));
    let body = ask(&bare, "203.0.113.42").await;
    assert_eq!(body["cloud"], Value::Null);
    assert_eq!(body["cloud_source"], "not configured");
    let tool = IndicatorFacts::new(IndicatorFactsConfig {
        name: "facts".to_owned(),
        cloud_ranges: vec![
            ContentSource::embedded("ip-ranges.json", AWS),
            ContentSource::embedded("cloud.json", GOOGLE),
        ],
    });
    let body = ask(&tool, "203.0.113.42").await;
    assert_eq!(
        body["cloud"],
        json!({"provider": "gcp", "service": "Google Cloud", "region": "europe-west1", "range": "203.0.113.0/24"})
    );
    assert_eq!(body["cloud_source"], "ip-ranges.json, cloud.json");
    assert_eq!(ask(&tool, "198.51.100.9").await["cloud"]["service"], "EC2");
    assert_eq!(
        ask(&tool, "2001:db8:1::9").await["cloud"]["provider"],
        "gcp"
    );
    assert_eq!(ask(&tool, "192.0.2.1").await["cloud"], Value::Null);
    assert_eq!(tool.reports()[0].records, 3);
}

#[tokio::test]
async fn a_missing_cloud_file_is_an_error_and_no_silent_miss() {
    let tool = IndicatorFacts::new(IndicatorFactsConfig {
        name: "facts".to_owned(),
        cloud_ranges: vec![ContentSource::embedded("cloud.json", "{\"prefixes\": []}")],
    });
    let error = testing::call(&tool, json!({"indicator": "203.0.113.42"}))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("has no ranges"), "{error}");
    assert_eq!(tool.reports()[0].problems.len(), 1);
}

#[tokio::test]
async fn each_type_has_its_facts() {
    let tool = IndicatorFacts::new(IndicatorFactsConfig::named("facts"));
    let url = ask(&tool, "http://203.0.113.42:8080/a/b?x=1").await;
    assert_eq!(url["type"], "url");
    assert_eq!(url["port"], 8080);
    assert_eq!(url["path"], "/a/b");
    assert_eq!(url["host_facts"]["class"], "documentation");
    assert_eq!(tool.spec().trust_of("/host_facts/class"), Trust::Platform);
    assert_eq!(tool.spec().trust_of("/path"), Trust::External);
    let domain = ask(&tool, "pool.minexmr.com").await;
    assert_eq!(domain["type"], "domain");
    assert_eq!(domain["registrable_domain"], "minexmr.com");
    let hash = ask(&tool, "d41d8cd98f00b204e9800998ecf8427e").await;
    assert_eq!(hash["algorithm"], "md5");
    let email = ask(&tool, "maria@mail.example.com").await;
    assert_eq!(email["domain"], "mail.example.com");
    let error = testing::call(&tool, json!({"indicator": "no such thing"}))
        .await
        .unwrap_err();
    assert!(matches!(error, ToolError::Argument { .. }), "{error}");
}
