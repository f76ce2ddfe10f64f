//! Finds the fields of each feed that are read, by leaving out one at a time; `docs/fields.md` lists them.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Findings with all fields that are read, one per feed.
const FINDINGS: [(&str, &str, &str); 4] = [
    (
        "GuardDuty",
        "",
        include_str!("../../../../../tests/fixtures/fields/guardduty.json"),
    ),
    (
        "Security Command Center",
        "finding.",
        include_str!("../../../../../tests/fixtures/fields/scc.json"),
    ),
    (
        "Security Hub (ASFF)",
        "",
        include_str!("../../../../../tests/fixtures/fields/security-hub.json"),
    ),
    (
        "OCSF",
        "",
        include_str!("../../../../../tests/fixtures/fields/ocsf.json"),
    ),
];

/// Maximum number of findings in which one field is left out.
const MOST_PROBES: usize = 3;

/// Paths with the parts of an alert that they change.
type Fields = BTreeMap<String, BTreeSet<String>>;

fn fields_read(findings: &[Value]) -> Fields {
    let (mut fields, mut probes) = (Fields::new(), BTreeMap::<String, usize>::new());
    for finding in findings {
        let whole = parts(finding);
        for place in leaves(finding) {
            let path = place.replace('/', ".");
            let path = path
                .split('.')
                .map(|step| {
                    if step.parse::<usize>().is_ok() {
                        "*"
                    } else {
                        step
                    }
                })
                .collect::<Vec<_>>()
                .join(".");
            let probe = probes.entry(path.clone()).or_default();
            *probe += 1;
            if *probe > MOST_PROBES {
                continue;
            }
            let mut without = finding.clone();
            remove(&mut without, &place);
            let changed: BTreeSet<String> = whole
                .symmetric_difference(&parts(&without))
                .map(|(part, _)| part.clone())
                .collect();
            if !changed.is_empty() {
                fields.entry(path).or_default().extend(changed);
            }
        }
    }
    fields
}

/// Returns the paths of all scalars, such as `resources/0/uid`.
fn leaves(value: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, one)| (key.clone(), one))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(at, one)| (at.to_string(), one))
            .collect(),
        _ => return vec![String::new()],
    };
    let below = children.into_iter().flat_map(|(key, child)| {
        leaves(child)
            .into_iter()
            .map(move |rest| match rest.as_str() {
                "" => key.clone(),
                rest => format!("{key}/{rest}"),
            })
    });
    below.collect()
}

/// Removes the scalar at a path.
fn remove(value: &mut Value, place: &str) {
    let (first, rest) = place.split_once('/').unwrap_or((place, ""));
    match value {
        Value::Object(members) if rest.is_empty() => drop(members.remove(first)),
        Value::Object(members) => remove(&mut members[first], rest),
        Value::Array(items) if rest.is_empty() => drop(items.remove(first.parse().unwrap())),
        Value::Array(items) => remove(&mut items[first.parse::<usize>().unwrap()], rest),
        _ => {}
    }
}

/// Returns the named parts of an alert, or nothing for an unreadable finding.
fn parts(finding: &Value) -> BTreeSet<(String, String)> {
    let text = finding.to_string();
    let batch = read_message(text.as_bytes(), &ReadOptions::default()).unwrap_or_default();
    let Some(alert) = batch.alerts.first() else {
        return BTreeSet::new();
    };
    let mut parts = BTreeSet::new();
    let mut part = |name: &str, value: String| parts.insert((name.to_owned(), value));
    part("needed", String::new());
    for (name, value) in [
        ("key", Some(format!("{:?}", alert.key))),
        ("type", Some(alert.kind.clone())),
        ("title", Some(alert.title.clone())),
        ("description", Some(alert.description.clone())),
        (
            "severity",
            Some(format!("{} {}", alert.severity, alert.severity_sent)),
        ),
        ("provider", Some(alert.provider.as_str().to_owned())),
        ("account", alert.account.clone()),
        ("account name", alert.account_name.clone()),
        ("region", alert.region.clone()),
        (
            "class",
            Some(format!("{} {:?}", alert.class, alert.class_sent)),
        ),
        ("action", alert.action.clone()),
        (
            "outcome",
            alert.outcome.map(|outcome| outcome.as_str().to_owned()),
        ),
        ("remediation", alert.remediation.clone()),
        (
            "direction",
            alert.direction.map(|direction| format!("{direction:?}")),
        ),
        ("finding id", alert.finding_id.clone()),
        ("times", Some(format!("{:?}", alert.times))),
        ("count", Some(alert.count.to_string())),
        ("state", Some(format!("{:?}", alert.state))),
    ] {
        part(name, value.unwrap_or_default());
    }
    parts.extend(lists(alert));
    parts
}

/// Returns the parts of an alert that are lists.
fn lists(alert: &Alert) -> BTreeSet<(String, String)> {
    let mut parts = BTreeSet::new();
    let mut part = |name: &str, value: String| parts.insert((name.to_owned(), value));
    for one in &alert.resources {
        part(
            "resource",
            format!("{} {} {:?}", one.kind, one.id, one.name),
        );
        for tag in &one.tags {
            part("tags", format!("{} {tag:?}", one.id));
        }
    }
    for one in &alert.indicators {
        part(
            &format!("{} as {}", one.kind, one.role.as_str()),
            one.value.clone(),
        );
    }
    for one in &alert.details {
        part(&format!("detail {}", one.kind), one.value.clone());
    }
    for one in &alert.techniques {
        part("technique", format!("{one:?}"));
    }
    part("own address", alert.addresses.join(" "));
    parts
}

/// Describes the effect of a path. If the finding is unreadable without it or its key changes, nothing else is
/// listed.
fn words(parts: &BTreeSet<String>) -> String {
    let whole = ["needed", "key"]
        .into_iter()
        .find(|word| parts.contains(*word));
    match whole {
        Some("needed") => "needed".to_owned(),
        _ => parts
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", "),
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the variable by which snapshots are written"
)]
fn fields_page_lists_what_is_read() {
    let page = include_str!("../../../../../docs/fields.md");
    let (head, _) = page.split_once("\n## ").unwrap();
    let mut expected = head.to_owned();
    for (feed, prefix, findings) in FINDINGS {
        let findings: Vec<Value> = serde_json::from_str(findings).unwrap();
        expected.push_str(&format!("\n## {feed}\n\n| field | becomes |\n|---|---|\n"));
        for (path, parts) in fields_read(&findings) {
            let path = path.strip_prefix(prefix).unwrap_or(&path);
            expected.push_str(&format!("| `{path}` | {} |\n", words(&parts)));
        }
    }
    // As for snapshots, `INSTA_UPDATE=always cargo test` writes the page.
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fields.md"),
            &expected,
        )
        .unwrap();
    }
    assert!(
        page == expected,
        "docs/fields.md is not what is read; INSTA_UPDATE=always writes it"
    );
}
