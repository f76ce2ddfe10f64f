//! Builds the two modals. Their texts are plain: Slack makes no links or mentions of them. Limits:
//! <https://docs.slack.dev/reference/views/modal-views>, <https://docs.slack.dev/reference/block-kit>.

use chrono::NaiveDate;
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case_workflow::ACTION_NOTE_CHARS;
use nightshift_pipeline::language::Language;
use serde_json::{Value, json};

use super::payload::ModalContext;

/// `callback_id` of the modal for another verdict.
pub(super) const DISAGREE: &str = "nightshift:disagree";
/// `callback_id` of the modal for a mute.
pub(super) const MUTE: &str = "nightshift:mute";
/// Names of the fields, used for both block and action.
pub(super) const VERDICT: &str = "verdict";
pub(super) const NOTE: &str = "note";
pub(super) const UNTIL: &str = "until";
pub(super) const WHY: &str = "why";
/// Maximum number of characters of the reason of a mute.
pub(super) const WHY_CHARS: usize = 300;

/// Returns the modal that asks for another verdict.
pub(super) fn disagree(language: Language, about: &ModalContext, ours: Option<Verdict>) -> Value {
    let others = Verdict::ALL
        .into_iter()
        .filter(|verdict| Some(*verdict) != ours);
    let options: Vec<Value> = others
        .map(
            |verdict| json!({ "text": text(language.verdict(verdict)), "value": verdict.as_str() }),
        )
        .collect();
    let none = language.pick(
        "This case has no verdict.",
        "このケースには判定がありません。",
    );
    let ours = ours.map_or_else(
        || none.to_owned(),
        |verdict| match language {
            Language::En => format!("The verdict of this case is: {}.", verdict.title()),
            Language::Ja => format!("このケースの判定: {}。", language.verdict(verdict)),
        },
    );
    let choice = json!({ "type": "static_select", "action_id": VERDICT, "options": options });
    let note = json!({
        "type": "plain_text_input", "action_id": NOTE, "multiline": true, "max_length": ACTION_NOTE_CHARS,
    });
    let blocks = json!([
        section(&ours),
        input(VERDICT, language.pick("Your verdict", "あなたの判定"), &choice, false),
        input(
            NOTE,
            language.pick("Why, for those who come after you", "理由（後から見る人のために）"),
            &note,
            true
        ),
        section(language.pick(
            "A benign verdict clears the same type by the same actors in the same account for 90 days. Your name stands \
             beside it.",
            "無害な判定をすると、同じアカウントで同じ主体による同じ種類のアラートが 90 日間、無害とされます。あなたの名前が併記されます。",
        )),
    ]);
    let title = language.pick("Another verdict", "別の判定");
    let submit = language.pick("Disagree", "異議");
    modal(language, about, DISAGREE, [title, submit], &blocks)
}

/// Returns the modal that asks for the end and the reason of a mute, below the preview.
pub(super) fn mute(
    language: Language,
    about: &ModalContext,
    [hides, preview]: [&str; 2],
    usual: NaiveDate,
) -> Value {
    let until =
        json!({ "type": "datepicker", "action_id": UNTIL, "initial_date": usual.to_string() });
    let why = json!({ "type": "plain_text_input", "action_id": WHY, "max_length": WHY_CHARS });
    let blocks = json!([
        section(hides),
        section(preview),
        input(
            UNTIL,
            language.pick(
                "Last day (UTC), at most 30 days ahead",
                "最終日（UTC、30 日先まで）",
            ),
            &until,
            false
        ),
        input(WHY, language.pick("Why", "理由"), &why, false),
    ]);
    let mute = language.pick("Mute", "ミュート");
    modal(language, about, MUTE, [mute, mute], &blocks)
}

fn modal(
    language: Language,
    about: &ModalContext,
    callback_id: &str,
    [title, submit]: [&str; 2],
    blocks: &Value,
) -> Value {
    json!({
        "type": "modal",
        "callback_id": callback_id,
        "title": text(title),
        "submit": text(submit),
        "close": text(language.pick("Cancel", "キャンセル")),
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
