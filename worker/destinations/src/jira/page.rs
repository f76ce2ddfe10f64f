//! Builds the contents of issues and comments from the report.

use nightshift_alert::text::single_line;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::port::DeliveryError;
use nightshift_pipeline::report::Report;
use nightshift_render::adf::{self, AdfDocument};
use nightshift_render::document::{Block, FindingItem, Section, header};
use nightshift_render::line::Line;
use serde_json::{Value, json};

use super::super::{mark, ticket};
use super::config::JiraConfig;

/// The longest summary, in characters ("The summary is invalid because it … 255 characters or less").
pub(super) const SUMMARY: usize = 255;
/// The longest description and comment: Jira's limit on text fields, `jira.text.field.character.limit`, 32,767. Jira
/// does not document whether it counts the text or the JSON, so the longer JSON is counted here.
pub(super) const DOCUMENT: usize = 32_767;
/// The longest label, in characters ("Labels" of the issue field limits).
pub(super) const LABEL: usize = 255;
/// The label of all issues of Nightshift.
pub(super) const OURS: &str = "ai-triage";
/// The issue property that keeps the key of the first report. Nobody edits it by accident.
pub(super) const PROPERTY: &str = "nightshift";

/// Builds the request that makes an issue (`POST /rest/api/3/issue`).
pub(super) fn issue(
    showing: &DeliveryPayload,
    config: &JiraConfig,
) -> Result<Value, DeliveryError> {
    let report = &showing.report;
    let document = ticket::read(report, config.language);
    let title = header(report, config.language, SUMMARY);
    let summary = single_line(title.as_str());
    let mut fields = config.fields.clone();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("project", json!({ "key": config.project }));
    set("issuetype", json!({ "name": config.issue_type }));
    set("summary", json!(ticket::bounded(summary.trim(), SUMMARY)));
    set("labels", json!(labels(report, config)?));
    let mut page = AdfDocument::new(DOCUMENT);
    page.push(addresses(report, config));
    set(
        "description",
        written(page, &document.sections, report, config, None),
    );
    if let Some(priority) = config.priority(report.assessed_severity) {
        set("priority", json!({ "name": priority }));
    }
    let told = json!({ "told": mark::told(report)? });
    Ok(json!({ "fields": fields, "properties": [{ "key": PROPERTY, "value": told }] }))
}

/// Builds the comment for a later report.
pub(super) fn comment(
    showing: &DeliveryPayload,
    config: &JiraConfig,
) -> Result<Value, DeliveryError> {
    let report = &showing.report;
    let document = ticket::read(report, config.language);
    let change = ticket::change(showing, config.language);
    let mut page = AdfDocument::new(DOCUMENT);
    page.push([
        adf::paragraph([adf::strong(document.header.as_str())]),
        adf::paragraph([adf::text(change.as_str())]),
    ]);
    page.push(addresses(report, config));
    let sections = document
        .sections
        .iter()
        .filter(|one| ticket::is_pressing(one));
    let key = mark::told(report)?;
    Ok(written(page, sections, report, config, Some(&key)))
}

/// Builds the comment that says that people closed the case.
pub(super) fn closing(line: &Line, key: &str) -> Value {
    let mut page = AdfDocument::new(DOCUMENT);
    page.push([adf::paragraph([adf::text(line.as_str())])]);
    page.end(vec![adf::paragraph([adf::text(key)])])
}

/// Returns the labels of an issue: the common label, the verdict, the account, and the label of the case. No other
/// label of Nightshift has the prefix of the last one.
fn labels(report: &Report, config: &JiraConfig) -> Result<Vec<String>, DeliveryError> {
    let mut labels = vec![
        mark::label(report)?,
        OURS.to_owned(),
        verdict_label(report.verdict),
    ];
    if let Some(account) = &report.alert.account {
        let harmless: String = account
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
            .take(100)
            .collect();
        labels.push(format!("account-{harmless}"));
    }
    labels.extend(config.labels.iter().cloned());
    Ok(labels)
}

/// Returns the label of a verdict, such as `true-positive`.
pub(super) fn verdict_label(verdict: nightshift_engine::conclusion::Verdict) -> String {
    verdict.as_str().replace('_', "-")
}

fn addresses(report: &Report, config: &JiraConfig) -> Option<Value> {
    let addresses = ticket::addresses(report, &config.links, config.language);
    let mut inline = Vec::new();
    for (name, address) in &addresses {
        if !inline.is_empty() {
            inline.push(adf::text(" · "));
        }
        inline.push(adf::link(name, address));
    }
    (!inline.is_empty()).then(|| adf::paragraph(inline))
}

/// Writes sections until the page is full. A shortened page says so.
fn written<'a>(
    page: AdfDocument,
    sections: impl IntoIterator<Item = &'a Section>,
    report: &Report,
    config: &JiraConfig,
    key: Option<&str>,
) -> Value {
    let shortened = ticket::shortened(report, config.language);
    let end = adf::paragraph([adf::strong(shortened.as_str())]);
    let key: Vec<Value> = key
        .map(|key| adf::paragraph([adf::text(key)]))
        .into_iter()
        .collect();
    let reserved: usize = key.iter().chain([&end]).map(adf::units).sum();
    let mut page = page.with_room_for(reserved);
    for section in sections {
        page.push([adf::heading(section.heading)]);
        write(&section.blocks, config, &mut page);
    }
    let mut last: Vec<Value> = page.is_full().then_some(end).into_iter().collect();
    last.extend(key);
    page.end(last)
}

fn write(blocks: &[Block], config: &JiraConfig, page: &mut AdfDocument) {
    for (block, below) in Block::with_details(blocks) {
        match block {
            Block::Item(line)
            | Block::Step(_, line)
            | Block::Evidence(_, line)
            | Block::Finding(FindingItem { line, .. }) => {
                let mut content = vec![adf::paragraph([adf::text(line.as_str())])];
                content.extend(details(below));
                page.bullet(content);
            }
            // An action fits whole or is left out. A command without its side effect and undo is misleading.
            Block::Numbered(number, line) => {
                let words = format!("{number}. {}", line.as_str());
                let id = format!("nightshift-action-{number}");
                page.push(std::iter::once(adf::task(&id, &words)).chain(details(below)));
            }
            other => {
                page.push(plain(other, config));
                page.push(details(below));
            }
        }
    }
}

fn plain(block: &Block, config: &JiraConfig) -> Option<Value> {
    match block {
        Block::Text(line) => Some(adf::paragraph([adf::text(line.as_str())])),
        Block::Warning(line) => {
            let warning = config.language.pick("Warning: ", "警告: ");
            Some(adf::warning(&format!("{warning}{}", line.as_str())))
        }
        Block::Labelled(label, line) => {
            let colon = if label.ends_with(['?', '？']) {
                " "
            } else {
                ": "
            };
            Some(adf::paragraph([
                adf::strong(&format!("{label}{colon}")),
                adf::text(line.as_str()),
            ]))
        }
        Block::Facts(facts) if facts.is_empty() => None,
        Block::Facts(facts) => Some(adf::table(
            facts.iter().map(|(name, line)| (*name, line.as_str())),
        )),
        Block::Item(_)
        | Block::Step(..)
        | Block::Evidence(..)
        | Block::Finding(_)
        | Block::Numbered(..)
        | Block::Below(_)
        | Block::Command(..) => None,
    }
}

/// Returns the nodes below a bullet: lines as bullets, commands as code.
fn details(blocks: &[Block]) -> Vec<Value> {
    let mut nodes: Vec<Value> = Vec::new();
    let mut lines = Vec::new();
    for block in blocks {
        match block {
            Block::Below(line) => lines.push(adf::list_item(vec![adf::paragraph([adf::text(
                line.as_str(),
            )])])),
            Block::Command(label, commands) => {
                if !lines.is_empty() {
                    nodes.push(adf::bullets(std::mem::take(&mut lines)));
                }
                nodes.push(adf::paragraph([adf::text(label)]));
                nodes.push(adf::code(commands));
            }
            _ => {}
        }
    }
    if !lines.is_empty() {
        nodes.push(adf::bullets(lines));
    }
    nodes
}
