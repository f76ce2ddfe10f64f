//! Wires the buttons below reports in Slack: the people who may press them, and the answers. The server of the pages
//! receives the presses, and the destination calls Slack with its own token.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use nightshift_destinations::SlackDestination;
use nightshift_web::{SlackIntegration, SlackReplies, SlackWorkspace};
use serde_json::Value;

use super::App;
use super::destinations::DestinationBuilder;
use crate::config::DestinationConfig;
use crate::exit::Exit;

/// Destinations with buttons, by name.
struct SlackDestinations(BTreeMap<String, SlackDestination>);

#[async_trait]
impl SlackReplies for SlackDestinations {
    async fn open_view(&self, desk: &str, trigger_id: &str, view: Value) -> Result<(), String> {
        let destination = self.at(desk)?;
        destination.open_view(trigger_id, &view).await
    }

    async fn post_ephemeral(
        &self,
        desk: &str,
        channel: &str,
        user: &str,
        text: &str,
    ) -> Result<(), String> {
        self.at(desk)?.tell(channel, user, text).await
    }
}

impl SlackDestinations {
    fn at(&self, desk: &str) -> Result<&SlackDestination, String> {
        let found = self.0.get(desk);
        found.ok_or_else(|| format!("there is no destination {desk:?}"))
    }
}

impl App {
    /// Builds the receiver of button presses, if messages have buttons.
    pub(super) fn slack_integration(&self) -> Result<SlackIntegration, Exit> {
        let building = DestinationBuilder {
            trace_sample_ratio: self.config.traces.ratio(),
            base: &self.base,
            clock: &self.clock,
        };
        let (mut desks, mut answers) = (Vec::new(), BTreeMap::new());
        for one in &self.config.destinations {
            let DestinationConfig::Slack(slack) = one else {
                continue;
            };
            let Some(secret) = &slack.signing_secret else {
                continue;
            };
            if !slack.is_interactive() {
                continue;
            }
            let destination = building.slack(slack);
            answers.insert(
                slack.name.clone(),
                destination.map_err(|error| Exit::Config(error.into()))?,
            );
            desks.push(SlackWorkspace {
                name: slack.name.clone(),
                channel: slack.channel.clone(),
                signing_secret: building.secret(secret),
                analysts: slack.analysts.clone(),
                language: slack.language,
            });
        }
        Ok(SlackIntegration {
            workspaces: desks,
            feedback: self.store.clone(),
            mutes: self.store.clone(),
            meter: self.metrics.clone(),
            replies: Arc::new(SlackDestinations(answers)),
        })
    }
}
