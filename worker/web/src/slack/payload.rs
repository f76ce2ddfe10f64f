//! Parses the payloads of Slack: <https://docs.slack.dev/reference/interaction-payloads>. Only used fields are parsed,
//! and a signature makes none of them trusted: each value must be one that Nightshift itself wrote.

use std::collections::BTreeMap;
use std::fmt;

use nightshift_pipeline::case::CaseId;
use serde::{Deserialize, Serialize};
use tracing::field::Empty;
use tracing::{Span, error_span};
use url::form_urlencoded;

/// An interaction.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum SlackPayload {
    BlockActions(ButtonClick),
    ViewSubmission(ModalSubmission),
    #[serde(other)]
    Other,
}

/// A click on a button of a message.
#[derive(Debug, Deserialize)]
pub(super) struct ButtonClick {
    pub(super) user: SlackUser,
    #[serde(default)]
    pub(super) trigger_id: String,
    channel: Option<SlackChannel>,
    #[serde(default)]
    actions: Vec<SlackAction>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SlackUser {
    pub(super) id: String,
    name: Option<String>,
    username: Option<String>,
}

#[derive(Debug, Deserialize)]
struct SlackChannel {
    id: String,
}

#[derive(Debug, Deserialize)]
struct SlackAction {
    #[serde(default)]
    action_id: String,
    value: Option<String>,
}

/// A submitted modal.
#[derive(Debug, Deserialize)]
pub(super) struct ModalSubmission {
    pub(super) user: SlackUser,
    pub(super) view: ModalView,
}

#[derive(Debug, Deserialize)]
pub(super) struct ModalView {
    #[serde(default)]
    pub(super) callback_id: String,
    #[serde(default)]
    private_metadata: String,
    #[serde(default)]
    state: ViewState,
}

#[derive(Debug, Default, Deserialize)]
struct ViewState {
    #[serde(default)]
    values: BTreeMap<String, BTreeMap<String, FieldValue>>,
}

/// The contents of a field, by its kind.
#[derive(Debug, Deserialize)]
struct FieldValue {
    value: Option<String>,
    selected_date: Option<String>,
    selected_option: Option<SelectedOption>,
}

#[derive(Debug, Deserialize)]
struct SelectedOption {
    value: String,
}

/// Parses a body: a form with exactly one `payload`. Returns `None` for anything else.
pub(super) fn parse_payload(body: &[u8]) -> Option<SlackPayload> {
    let mut payloads = form_urlencoded::parse(body).filter(|(key, _)| key == "payload");
    match (payloads.next(), payloads.next()) {
        (Some((_, json)), None) => serde_json::from_str(&json).ok(),
        _ => None,
    }
}

impl ButtonClick {
    /// Returns the button of a report that was clicked, and its value. Links also cause clicks and are ignored.
    pub(super) fn button(&self) -> Option<(Button, &str)> {
        self.actions.iter().find_map(|action| {
            let button = Button::parse(&action.action_id)?;
            Some((button, action.value.as_deref().unwrap_or_default()))
        })
    }

    /// Returns the channel of the message, or an empty text.
    pub(super) fn channel(&self) -> &str {
        self.channel.as_ref().map_or("", |channel| &channel.id)
    }
}

impl SlackUser {
    /// Returns the name that Slack shows.
    pub(super) fn name(&self) -> &str {
        let names = [self.name.as_deref(), self.username.as_deref()];
        names
            .into_iter()
            .flatten()
            .find(|name| !name.trim().is_empty())
            .unwrap_or_default()
    }
}

impl ModalView {
    /// Returns the context that was stored in the modal when it was opened.
    pub(super) fn about(&self) -> Option<ModalContext> {
        serde_json::from_str(&self.private_metadata).ok()
    }

    /// Returns the value of a field whose block and action have this name.
    pub(super) fn field_value(&self, name: &str) -> &str {
        let field = self
            .state
            .values
            .get(name)
            .and_then(|block| block.get(name));
        let entered = field.and_then(|field| {
            let option = field.selected_option.as_ref().map(|option| &option.value);
            field
                .value
                .as_ref()
                .or(field.selected_date.as_ref())
                .or(option)
        });
        entered.map_or("", String::as_str)
    }
}

/// The buttons, by their action ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Button {
    Ack,
    Agree,
    Disagree,
    Rerun,
    Mute,
    Close,
}

impl Button {
    fn parse(action_id: &str) -> Option<Self> {
        Some(match action_id {
            "nightshift:ack" => Self::Ack,
            "nightshift:agree" => Self::Agree,
            "nightshift:disagree" => Self::Disagree,
            "nightshift:rerun" => Self::Rerun,
            "nightshift:mute" => Self::Mute,
            "nightshift:close" => Self::Close,
            _ => return None,
        })
    }
}

/// The case of a message and the revision that the message shows: `k3f9-x2mq-7d1w.r2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ButtonTarget {
    pub(super) case: CaseId,
    pub(super) revision: u32,
}

impl ButtonTarget {
    /// Parses the value of a button of a report.
    pub(super) fn parse(value: &str) -> Option<Self> {
        let (case, revision) = value.split_once(".r")?;
        let fits = |(place, byte): (usize, u8)| match place {
            4 | 9 => byte == b'-',
            _ => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
        };
        let is_id = case.len() == 14 && case.bytes().enumerate().all(fits);
        let is_number =
            revision.bytes().all(|byte| byte.is_ascii_digit()) && !revision.starts_with('0');
        (is_id && is_number).then_some(())?;
        Some(Self {
            case: CaseId(case.to_owned()),
            revision: revision.parse().ok()?,
        })
    }

    /// Returns the span for log lines about this case. Its trace is recorded once known.
    pub(super) fn span(&self) -> Span {
        let revision = self.revision;
        error_span!("click", case.id = %self.case, case.revision = revision, trace.id = Empty)
    }
}

impl fmt::Display for ButtonTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.r{}", self.case, self.revision)
    }
}

/// The context of a modal, stored in `private_metadata`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModalContext {
    pub(super) target: String,
    /// The channel of the click.
    pub(super) channel: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_of_ours_or_nothing() {
        let target = ButtonTarget::parse("k3f9-x2mq-7d1w.r12").unwrap();
        assert_eq!(
            (target.case.0.as_str(), target.revision),
            ("k3f9-x2mq-7d1w", 12)
        );
        assert_eq!(target.to_string(), "k3f9-x2mq-7d1w.r12");
        for wrong in [
            "",
            "k3f9",
            "k3f9-x2mq-7d1w",
            "k3f9-x2mq-7d1w.r",
            "k3f9-x2mq-7d1w.r0",
            "k3f9-x2mq-7d1w.r01",
            "k3f9-x2mq-7d1w.r-1",
            "k3f9-x2mq-7d1w.r+1",
            "k3f9-x2mq-7d1w.r4294967296",
            "k3f9-x2mq-7d1w.r1 ",
            "K3F9-x2mq-7d1w.r1",
            "k3f9x-2mq-7d1w.r1",
            "k3f9-x2mq-7d1%.r1",
            "k3f.r-x2mq-7d1w.r1",
            "日本語-x2mq-.r1",
        ] {
            assert_eq!(ButtonTarget::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn links_are_no_buttons_and_two_payloads_are_none() {
        let clicked = r#"payload={"type":"block_actions","user":{"id":"U1"},"actions":[{"action_id":"open","url":"x"}]}"#;
        let Some(SlackPayload::BlockActions(clicked)) = parse_payload(clicked.as_bytes()) else {
            panic!("no click");
        };
        assert!(clicked.button().is_none() && clicked.channel().is_empty());
        for odd in [
            "",
            "payload=",
            "payload={}",
            "payload=[]",
            "x=1",
            r#"payload={"type":"block_actions"}"#,
        ] {
            assert!(parse_payload(odd.as_bytes()).is_none(), "{odd}");
        }
        let other = r#"payload={"type":"view_closed"}"#;
        assert!(matches!(
            parse_payload(other.as_bytes()),
            Some(SlackPayload::Other)
        ));
        assert!(parse_payload(format!("{other}&{other}").as_bytes()).is_none());
    }
}
