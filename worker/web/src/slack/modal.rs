//! The two modals. Texts in them are plain: Slack makes no link and no mention of them.
//! Limits: <https://docs.slack.dev/reference/views/modal-views>, <https://docs.slack.dev/reference/block-kit>.

use chrono::NaiveDate;
use nightshift_engine::Verdict;
use nightshift_pipeline::ACT_NOTE_CHARS;
use serde_json::{Value, json};

use super::payload::About;

/// `callback_id` of the modal that asks for another verdict.
pub(super) const DISAGREE: &str = "nightshift:disagree";
/// `callback_id` of the modal that asks for a mute.
pub(super) const MUTE: &str = "nightshift:mute";
/// Names of the fields; block and action have the same.
pub(super) const VERDICT: &str = "verdict";
pub(super) const NOTE: &str = "note";
pub(super) const UNTIL: &str = "until";
pub(super) const WHY: &str = "why";
/// Most characters of the reason of a mute.
pub(super) const WHY_CHARS: usize = 300;

/// Asks for another verdict than the case has.
pub(super) fn disagree(about: &About, ours: Option<Verdict>) -> Value {
    let others = Verdict::ALL
        .into_iter()
        .filter(|verdict| Some(*verdict) != ours);
    let options: Vec<Value> = others
        .map(|verdict| json!({ "text": text(verdict.title()), "value": verdict.as_str() }))
        .collect();
    let ours = ours.map_or_else(
        || "This case has no verdict.".to_owned(),
        |verdict| format!("The verdict of this case is: {}.", verdict.title()),
    );
    let choice = json!({ "type": "static_select", "action_id": VERDICT, "options": options });
    let note = json!({
        "type": "plain_text_input", "action_id": NOTE, "multiline": true, "max_length": ACT_NOTE_CHARS,
    });
    let blocks = json!([
        section(&ours),
        input(VERDICT, "Your verdict", &choice, false),
        input(NOTE, "Why, for those who come after you", &note, true),
        section(
            "A benign verdict clears the same type by the same actors in the same account for 90 days. Your name stands \
             beside it."
        ),
    ]);
    modal(about, DISAGREE, "Another verdict", "Disagree", &blocks)
}

/// Asks until when and why, below what the mute would have hidden.
pub(super) fn mute(about: &About, hides: &str, preview: &str, usual: NaiveDate) -> Value {
    let until =
        json!({ "type": "datepicker", "action_id": UNTIL, "initial_date": usual.to_string() });
    let why = json!({ "type": "plain_text_input", "action_id": WHY, "max_length": WHY_CHARS });
    let blocks = json!([
        section(hides),
        section(preview),
        input(
            UNTIL,
            "Last day (UTC), at most 30 days ahead",
            &until,
            false
        ),
        input(WHY, "Why", &why, false),
    ]);
    modal(about, MUTE, "Mute", "Mute", &blocks)
}

fn modal(about: &About, callback_id: &str, title: &str, submit: &str, blocks: &Value) -> Value {
    json!({
        "type": "modal",
        "callback_id": callback_id,
        "title": text(title),
        "submit": text(submit),
        "close": text("Cancel"),
        "private_metadata": json!(about).to_string(),
        "blocks": blocks,
    })
}

fn section(words: &str) -> Value {
    json!({ "type": "section", "text": text(words) })
}

fn input(name: &str, label: &str, element: &Value, optional: bool) -> Value {
    json!({ "type": "input", "block_id": name, "label": text(label), "element": element, "optional": optional })
}

fn text(words: &str) -> Value {
    json!({ "type": "plain_text", "text": words, "emoji": false })
}
