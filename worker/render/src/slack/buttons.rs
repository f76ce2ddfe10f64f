//! Builds the buttons of a message. Addresses come only from [`Links`] and [`console`]. The other buttons request
//! actions, and the receiver of the press decides whether the person may do them.

use nightshift_alert::Severity;
use nightshift_pipeline::case_workflow::WorkflowStatus;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::report::Report;
use serde_json::{Value, json};

use super::rich::{Sheet, plain_text, units};
use crate::{Language, Links, console};

/// Returns the buttons with their labels, at most 8.
pub(super) fn buttons(
    showing: &DeliveryPayload,
    links: &Links,
    is_interactive: bool,
    language: Language,
) -> Vec<(&'static str, Value)> {
    let report = &showing.report;
    let mut buttons = Vec::new();
    let leads = [
        (
            "open",
            language.pick("Open report", "レポート"),
            links.case_url(&report.case_id),
        ),
        (
            "console",
            language.pick("Finding console", "検知元コンソール"),
            console(report),
        ),
    ];
    for (name, label, link) in leads {
        buttons.extend(link.map(|link| (label, button(name, label, "url", &link))));
    }
    if is_interactive {
        let value = format!("{}.r{}", report.case_id, report.revision);
        let acts = acts(showing, language).into_iter();
        buttons.extend(acts.map(|(name, label)| (label, button(name, label, "value", &value))));
    }
    buttons
}

/// Adds the buttons. A block takes 25, <https://docs.slack.dev/reference/block-kit/blocks/actions-block>.
pub(super) fn put(sheet: &mut Sheet, buttons: Vec<(&'static str, Value)>) {
    if !buttons.is_empty() {
        let chars = buttons.iter().map(|(label, _)| units(label)).sum();
        let elements: Vec<Value> = buttons.into_iter().map(|(_, button)| button).collect();
        let block =
            json!({ "type": "actions", "block_id": "nightshift:acts", "elements": elements });
        sheet.block(block, chars);
    }
}

/// Returns the actions that the state of the case allows.
fn acts(showing: &DeliveryPayload, language: Language) -> Vec<(&'static str, &'static str)> {
    let status = showing.workflow.status;
    let (ended, closed) = (!showing.is_early(), status == WorkflowStatus::Closed);
    let all = [
        (
            "ack",
            language.pick("I have it", "担当する"),
            status == WorkflowStatus::Open,
        ),
        ("agree", language.pick("Agree", "同意"), ended && !closed),
        (
            "disagree",
            language.pick("Disagree", "異議"),
            ended && !closed,
        ),
        ("rerun", language.pick("Run again", "再実行"), ended),
        (
            "mute",
            language.pick("Mute", "ミュート"),
            ended && !closed && may_be_muted(&showing.report),
        ),
        (
            "close",
            language.pick("Close", "クローズ"),
            ended && !closed,
        ),
    ];
    all.into_iter()
        .filter_map(|(name, label, shown)| shown.then_some((name, label)))
        .collect()
}

/// Returns whether the alert may be muted. Critical alerts never are.
fn may_be_muted(report: &Report) -> bool {
    report.severity.max(report.assessed_severity) < Severity::Critical
}

/// Builds a button that opens an address or requests an action.
fn button(name: &str, label: &str, key: &str, value: &str) -> Value {
    json!({
        "type": "button", "action_id": format!("nightshift:{name}"), "text": plain_text(label), (key): value,
    })
}
