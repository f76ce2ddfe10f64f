//! Posts to an incoming webhook of Slack, for organisations that grant no bot token.
//! <https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks>
//!
//! The answer is only "ok", so a post can be neither edited nor found. A report whose answer was lost is posted again
//! with a note that it may be a duplicate.

use std::sync::Arc;

use nightshift_engine::key::KeySource;
use nightshift_engine::port::Clock;
use nightshift_pipeline::port::DeliveryError;
use nightshift_render::Language;
use nightshift_render::slack::blocks::Message;
use nightshift_render::slack::rich::plain_text;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::super::http::{Caller, DestinationError, HttpOptions, Repeat};

/// Posts to an incoming webhook.
pub(super) struct Hook {
    pub(super) name: String,
    pub(super) url: KeySource,
    pub(super) access: HttpOptions,
    pub(super) clock: Arc<dyn Clock>,
}

impl Hook {
    /// Posts a message. `repeated` is set when an earlier answer was lost; the message then says so in this language.
    /// A bad address is retryable, because people can correct the secret while reports wait.
    pub(super) async fn post(
        &self,
        message: &Message,
        repeated: Option<Language>,
    ) -> Result<(), DeliveryError> {
        let (caller, url) = self.caller().map_err(|error| DeliveryError::Transient {
            what: error.to_string(),
            after_secs: None,
        })?;
        let mut blocks = message.blocks.clone();
        if let Some(language) = repeated {
            // The note goes below the header, which is read first.
            blocks.insert(blocks.len().min(1), may_be_here_twice(language));
        }
        let body = json!({
            "text": message.text, "blocks": blocks, "parse": "none",
            "unfurl_links": false, "unfurl_media": false,
        });
        let request = caller.client().post(url).json(&body);
        let answer = caller.send(request, Repeat::Doubles).await?;
        if answer.status().is_success() {
            return Ok(());
        }
        Err(answer.refused(" (incoming webhook)", |_| None).await)
    }

    pub(super) fn caller(&self) -> Result<(Caller, url::Url), DestinationError> {
        let secret = (self.url)().map_err(|problem| DestinationError::Secret {
            name: self.name.clone(),
            key: "webhook_url",
            problem,
        })?;
        let text = secret.expose_secret().trim();
        let url = self.access.check(&self.name, "webhook_url", text)?;
        let caller = Caller::new(&self.name, &url, &self.access, Arc::clone(&self.clock))?;
        Ok((caller, url))
    }
}

fn may_be_here_twice(language: Language) -> Value {
    let words = language.pick(
        "This may be here twice: nobody knows whether it arrived when it was sent before.",
        "重複の可能性があります。前回の送信が届いたか不明です。",
    );
    json!({ "type": "context", "elements": [plain_text(words)] })
}
