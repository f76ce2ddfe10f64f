//! Lists the tool kinds of Nightshift itself, and the texts of reports for a kind that is not configured.
//!
//! A playbook may ask for a kind that is not configured; the report then names what was not read. Kinds of other
//! vendors (MCP servers) are known only by their specifications.

/// Built-in tool kinds, each with the report's text for when the kind is not configured.
const BUILT_IN: [(&str, &str); 11] = [
    (
        "indicator_facts",
        "Facts about addresses and domains not looked up",
    ),
    ("watchlist", "Watch lists not read"),
    ("asset_lookup", "Asset register not read"),
    ("identity_lookup", "Identity register not read"),
    ("change_lookup", "Change records not read"),
    (
        "authorised_scanners",
        "Register of authorised scanners not read",
    ),
    ("past_cases", "Earlier cases not read"),
    ("log_search.cloudtrail", "CloudTrail not searched"),
    ("log_search.vpc_flow", "VPC flow logs not searched"),
    ("log_search.gcp_audit", "Cloud Audit Logs not searched"),
    ("log_search.json_lines", "JSON log files not searched"),
];

/// Returns all built-in kinds.
pub(super) fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(kind, _)| *kind)
}

/// Returns whether `wanted` names a built-in kind or a family of built-in kinds.
pub(super) fn is_built_in(wanted: &str) -> bool {
    built_in().any(|kind| {
        kind == wanted
            || kind
                .strip_prefix(wanted)
                .is_some_and(|rest| rest.starts_with('.'))
    })
}

/// Adds the report's line for each kind that nobody configured, without duplicates.
pub(super) fn add_not_configured(kinds: &[String], lines: &mut Vec<String>) {
    for line in kinds.iter().map(|kind| not_configured(kind)) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
}

/// Returns the report's line for a kind that nobody configured.
fn not_configured(kind: &str) -> String {
    let done = BUILT_IN
        .iter()
        .find(|(known, _)| *known == kind)
        .map_or_else(
            || format!("{kind} not asked"),
            |(_, text)| (*text).to_owned(),
        );
    format!("{done}: no [[tool]] of kind {kind} is configured")
}
