//! Probes PagerDuty. The Events API has nothing to read, so the probe checks only the form of the key and that the
//! server answers.

use nightshift_engine::doctor::HealthReport;
use secrecy::ExposeSecret as _;

use super::super::checkup::reach;
use super::PagerDutyDestination;

/// The number of characters of an integration key.
const KEY_CHARS: usize = 32;

impl PagerDutyDestination {
    pub(super) async fn look_round(&self) -> HealthReport {
        let mut checkup = HealthReport::default();
        if let Ok(key) = self.caller.secret("routing_key", &self.routing_key)
            && key.expose_secret().chars().count() != KEY_CHARS
        {
            checkup.add_error(
                "destination.key",
                "routing_key is not an integration key, which has 32 characters",
                "every event is refused, and nobody is paged",
                "copy the integration key of an Events API v2 integration of the service; no API token fits",
            );
        }
        let request = self.caller.client().get(self.at.clone());
        if reach(&self.caller, request, &mut checkup).await.is_some() {
            checkup.add_observation(format!("{} answers", self.caller.host()));
        }
        checkup
    }
}
