//! Probes Slack: the user and scopes of the token, and whether the channel can be read.
//! <https://docs.slack.dev/reference/methods/auth.test>; the header `x-oauth-scopes` lists the scopes.

use nightshift_engine::doctor::HealthReport;
use nightshift_pipeline::port::DeliveryError;

use super::super::checkup::{WHY, reach, refused};
use super::bot::Bot;
use super::hook::Hook;

/// Scopes that every channel needs, each with its purpose. Reading the channel itself checks the history scopes.
const SCOPES: [(&str, &str); 2] = [
    ("chat:write", "nothing can be posted"),
    (
        "metadata.message:read",
        "messages whose answer was lost cannot be found and are posted twice",
    ),
];

impl Bot {
    pub(super) async fn examine(&self) -> HealthReport {
        let mut checkup = HealthReport::default();
        let scopes = match self.api.identity(&mut checkup).await {
            Ok(scopes) => scopes,
            Err(error) => {
                refused(&error, &mut checkup);
                return checkup;
            }
        };
        let granted: Vec<&str> = scopes.split(',').map(str::trim).collect();
        for (scope, why) in SCOPES {
            // Another server with the Web API may not report scopes.
            if !scopes.is_empty() && !granted.contains(&scope) {
                checkup.add_error(
                    "destination.scope",
                    format!("the app lacks the scope {scope}"),
                    why,
                    format!("give the app {scope} (OAuth & Permissions), and install it again"),
                );
            }
        }
        let query = [
            ("channel", self.channel.clone()),
            ("limit", "1".to_owned()),
            ("include_all_metadata", "true".to_owned()),
        ];
        match self.api.read("conversations.history", &query).await {
            Ok(_) => checkup.add_observation(format!("in the channel {}", self.channel)),
            Err(error) => refused(&DeliveryError::from(error), &mut checkup),
        }
        checkup
    }
}

impl Hook {
    /// Probes an incoming webhook. Only its machine can be checked, because whatever is sent to it is posted.
    pub(super) async fn examine(&self) -> HealthReport {
        let mut checkup = HealthReport::default();
        match self.caller() {
            Ok((caller, url)) => {
                let request = caller.client().get(url);
                if reach(&caller, request, &mut checkup).await.is_some() {
                    checkup.add_observation(format!("{} answers", caller.host()));
                }
            }
            Err(error) => checkup.add_error(
                "destination.secret",
                error.to_string(),
                WHY,
                "put the address of the incoming webhook where webhook_url says",
            ),
        }
        checkup
    }
}
