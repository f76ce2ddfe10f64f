//! The payloads of Slack: <https://docs.slack.dev/reference/interaction-payloads>. Only used fields are parsed, and a
//! signature makes none of them trusted: each value must be one of ours.

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
pub(super) enum Payload {
    BlockActions(Clicked),
    ViewSubmission(Submitted),
    #[serde(other)]
    Other,
}

/// A click on a button of a message.
#[derive(Debug, Deserialize)]
pub(super) struct Clicked {
    pub(super) user: User,
    #[serde(default)]
    pub(super) trigger_id: String,
    channel: Option<Channel>,
    #[serde(default)]
    actions: Vec<Action>,
}

#[derive(Debug, Deserialize)]
pub(super) struct User {
    pub(super) id: String,
    name: Option<String>,
    username: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Channel {
    id: String,
}

#[derive(Debug, Deserialize)]
struct Action {
    #[serde(default)]
    action_id: String,
    value: Option<String>,
}

/// A submitted modal.
#[derive(Debug, Deserialize)]
pub(super) struct Submitted {
    pub(super) user: User,
    pub(super) view: View,
}

#[derive(Debug, Deserialize)]
pub(super) struct View {
    #[serde(default)]
    pub(super) callback_id: String,
    #[serde(default)]
    private_metadata: String,
    #[serde(default)]
    state: Values,
}

#[derive(Debug, Default, Deserialize)]
struct Values {
    #[serde(default)]
    values: BTreeMap<String, BTreeMap<String, Field>>,
}

/// The contents of a field, by its kind.
#[derive(Debug, Deserialize)]
struct Field {
    value: Option<String>,
    selected_date: Option<String>,
    selected_option: Option<Choice>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    value: String,
}

/// Parses a body: a form with exactly one `payload`. Returns `None` for anything else.
pub(super) fn read(body: &[u8]) -> Option<Payload> {
    let mut payloads = form_urlencoded::parse(body).filter(|(key, _)| key == "payload");
    match (payloads.next(), payloads.next()) {
        (Some((_, json)), None) => serde_json::from_str(&json).ok(),
        _ => None,
    }
}

impl Clicked {
    /// Returns our button that was clicked, and its value. Links also cause clicks and are ignored.
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

impl User {
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

impl View {
    /// Returns the context that was stored in the modal when it was opened.
    pub(super) fn about(&self) -> Option<About> {
        serde_json::from_str(&self.private_metadata).ok()
    }

    /// Returns the value of a field whose block and action have this name.
    pub(super) fn entered(&self, name: &str) -> &str {
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
pub(super) struct Target {
    pub(super) case: CaseId,
    pub(super) revision: u32,
}

impl Target {
    /// Parses the value of one of our buttons.
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

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.r{}", self.case, self.revision)
    }
}

/// The context of a modal, stored in `private_metadata`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct About {
    pub(super) target: String,
    /// The channel of the click.
    pub(super) channel: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_of_ours_or_nothing() {
        let target = Target::parse("k3f9-x2mq-7d1w.r12").unwrap();
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
            assert_eq!(Target::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn links_are_no_buttons_and_two_payloads_are_none() {
        let clicked = r#"payload={"type":"block_actions","user":{"id":"U1"},"actions":[{"action_id":"open","url":"x"}]}"#;
        let Some(Payload::BlockActions(clicked)) = read(clicked.as_bytes()) else {
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
            assert!(read(odd.as_bytes()).is_none(), "{odd}");
        }
        let other = r#"payload={"type":"view_closed"}"#;
        assert!(matches!(read(other.as_bytes()), Some(Payload::Other)));
        assert!(read(format!("{other}&{other}").as_bytes()).is_none());
    }
}
