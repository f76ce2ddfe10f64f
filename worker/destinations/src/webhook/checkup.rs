//! Probes a webhook: whether the receiver answers. Nothing is posted, so only a real report shows whether the receiver
//! accepts one.

use nightshift_engine::doctor::HealthReport;

use super::super::checkup::{WHY, reach};
use super::WebhookDestination;

impl WebhookDestination {
    pub(super) async fn look_round(&self) -> HealthReport {
        let mut checkup = HealthReport::default();
        if let Err(error) = self.check_secret() {
            checkup.add_error(
                "destination.secret",
                error.to_string(),
                WHY,
                "make one with `echo \"whsec_$(openssl rand -base64 32)\"`, here and at the receiver",
            );
        }
        let request = self.caller.client().head(self.url.clone());
        if let Some(answer) = reach(&self.caller, request, &mut checkup).await {
            checkup.add_observation(format!("{} answers", self.caller.host()));
            if answer.status().is_redirection() {
                checkup.add_warning(
                    "destination.redirect",
                    format!("{} leads elsewhere", self.caller.host()),
                    "redirects are not followed: a report that is answered so is refused for good",
                    "set url to where it leads",
                );
            }
        }
        checkup
    }
}
