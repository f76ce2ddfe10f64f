//! Tests declared tools against strict fakes of their vendors. The answers are data files in `fixtures/`.

mod faults;
mod files;
mod indicator_lookup;
mod lookups;
mod page;

use std::sync::Arc;
use std::time::Duration;

use nightshift_engine::key::{KeyRef, KeySource};
use nightshift_engine::tool::ToolError;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::catalogue::Catalogue;
use super::fake_vendor::{ExpectedRequest, FakeReply, FakeVendor, KEY, KeyPlace};
use super::lookup::DeclaredTool;
use super::toolset::build_tool;
use crate::declared_config::{DeclaredToolConfig, ToolSettings};

/// The data file of each shipped tool.
const FIXTURES: [(&str, &str); 8] = [
    ("abuseipdb", include_str!("fixtures/abuseipdb.json")),
    ("greynoise", include_str!("fixtures/greynoise.json")),
    ("malwarebazaar", include_str!("fixtures/malwarebazaar.json")),
    ("otx", include_str!("fixtures/otx.json")),
    (
        "shodan_internetdb",
        include_str!("fixtures/shodan_internetdb.json"),
    ),
    ("threatfox", include_str!("fixtures/threatfox.json")),
    ("urlhaus", include_str!("fixtures/urlhaus.json")),
    ("virustotal", include_str!("fixtures/virustotal.json")),
];

/// The key and the answers of a vendor.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct VendorFixture {
    key: KeyPlace,
    cases: Vec<VendorCase>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct VendorCase {
    name: String,
    indicator: String,
    request: ExpectedRequest,
    status: u16,
    body: Value,
    /// Values of the answer by JSON pointers.
    #[serde(default)]
    expected: Option<Map<String, Value>>,
    /// `argument`, `denied`, `unavailable`, or a part of the error's text.
    #[serde(default)]
    error: Option<String>,
}

fn fixtures() -> impl Iterator<Item = (&'static str, VendorFixture)> {
    FIXTURES
        .iter()
        .map(|(kind, text)| (*kind, serde_json::from_str(text).unwrap()))
}

/// Returns the key of a reference as the tests need it.
fn key_source(_: &KeyRef) -> KeySource {
    Arc::new(|| Ok(SecretString::from(KEY)))
}

/// Returns the table of a tool at this address.
fn config(kind: &str, url: &str, place: &KeyPlace) -> DeclaredToolConfig {
    let mut table = json!({
        "name": kind, "kind": kind, "base_url": url, "allow_private": true, "per_minute": 0, "per_day": 0,
    });
    if *place != KeyPlace::Nowhere {
        table["api_key"] = json!("env:KEY");
    }
    serde_json::from_value(table).unwrap()
}

/// Builds a tool that does not wait before its second try.
fn tool_with(config: &DeclaredToolConfig, settings: &ToolSettings) -> DeclaredTool {
    let catalogue = Catalogue::load(settings.folder()).unwrap();
    let never_send = settings.never_send.clone().into();
    let mut tool = build_tool(config, &catalogue, settings, &never_send, &key_source).unwrap();
    tool.transport.retry_delay = Duration::ZERO;
    tool
}

async fn start(fixture: &VendorFixture, replies: Vec<FakeReply>) -> FakeVendor {
    let requests = fixture.cases.iter().map(|case| case.request.clone());
    FakeVendor::start(fixture.key.clone(), requests.collect(), replies).await
}

/// Makes one call of a shipped tool, and returns the outcome with the number of requests.
async fn call(
    kind: &str,
    fixture: &VendorFixture,
    indicator: &str,
    replies: Vec<FakeReply>,
) -> (Result<Value, ToolError>, usize) {
    let fake = start(fixture, replies).await;
    let tool = Arc::new(tool_with(
        &config(kind, &fake.url, &fixture.key),
        &ToolSettings::default(),
    ));
    let output = crate::testing::call(&tool, json!({ "indicator": indicator })).await;
    (output.map(|output| output.body), fake.requests())
}

/// Returns the word of an error's kind.
const fn word(error: &ToolError) -> &'static str {
    match error {
        ToolError::Unknown { .. } => "unknown",
        ToolError::Argument { .. } => "argument",
        ToolError::NotAllowed { .. } => "not_allowed",
        ToolError::Timeout { .. } => "timeout",
        ToolError::Denied { .. } => "denied",
        ToolError::Unavailable { .. } => "unavailable",
    }
}
