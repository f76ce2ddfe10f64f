//! Generates the part of `docs/intelligence.md` that lists the shipped tools.

use super::*;
use crate::declared::{LimitsTable, Manifest};

fn limits(limits: &LimitsTable) -> String {
    let rates = [
        (limits.per_second, "second"),
        (limits.per_minute, "minute"),
        (limits.per_day, "day"),
    ];
    let rates = rates
        .into_iter()
        .filter_map(|(rate, period)| Some(format!("{} a {period}", rate?)));
    let mut words: Vec<String> = rates.collect();
    words.push(format!("{} s", limits.timeout_secs));
    words.push(format!("kept {} h", limits.cache_secs / 3600));
    words.join(", ")
}

fn section(manifest: &Manifest) -> String {
    let requests = manifest.requests.iter().map(|request| {
        let request = request.get_ref();
        let types: Vec<&str> = request.types.iter().map(|kind| kind.as_str()).collect();
        let method = match request.method {
            crate::declared::manifest::RequestMethod::Get => "GET",
            crate::declared::manifest::RequestMethod::Post => "POST",
        };
        format!(
            "{}: `{method} {}`",
            types.join(", "),
            request.path.get_ref()
        )
    });
    let requests: Vec<String> = requests.collect();
    let detail = manifest.answer.detail.keys();
    let detail: Vec<String> = detail.map(|name| format!("`{name}`")).collect();
    let rows = manifest.answer.row.keys();
    let rows: Vec<String> = rows.map(|name| format!("`{name}`")).collect();
    let lists = [("`detail`", detail), ("`rows`", rows)];
    let lists = lists
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(list, names)| format!("| {list} | {} |\n", names.join(", ")));
    format!(
        "\n### {}\n\n{}\n\n| | |\n|---|---|\n| kind | `{}` |\n| families | {} |\n| host | `{}` |\n| key | {} |\n| limits | {} |\n| terms | {} |\n| requests | {} |\n{}| page | <{}>, compared {} |\n",
        manifest.title,
        manifest.description,
        manifest.name(),
        manifest
            .families()
            .iter()
            .map(|family| format!("`{family}`"))
            .collect::<Vec<_>>()
            .join(", "),
        manifest.host(),
        manifest.auth_text(),
        limits(&manifest.limits()),
        manifest.terms.as_deref().unwrap_or("none"),
        requests.join("<br>"),
        lists.collect::<String>(),
        manifest.page().unwrap_or_default(),
        manifest.checked().unwrap_or_default(),
    )
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the variable by which snapshots are written"
)]
fn intelligence_page_lists_the_shipped_tools() {
    let page = include_str!("../../../../../docs/intelligence.md");
    let (head, _) = page.split_once("\n### ").unwrap();
    let catalogue = Catalogue::load(None).unwrap();
    let sections: String = catalogue.iter().map(section).collect();
    let expected = format!("{head}{sections}");
    // As for snapshots, `INSTA_UPDATE=always cargo test` writes the page.
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/intelligence.md");
        std::fs::write(path, &expected).unwrap();
    }
    assert!(
        page == expected,
        "docs/intelligence.md is not the catalogue; INSTA_UPDATE=always writes it"
    );
}
