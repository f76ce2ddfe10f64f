//! A look at a subscription: whether it is there, and we may take from it. No message is taken.
//! <https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.subscriptions/testIamPermissions>

use nightshift_engine::Checkup;

use super::{Config, Pubsub};
use crate::Secrets;
use crate::examine::unusable;

/// What whoever takes messages must be allowed to do.
pub(super) const CONSUME: &str = "pubsub.subscriptions.consume";

/// Looks at a subscription.
pub(crate) async fn examine(config: &Config, secrets: Secrets) -> Checkup {
    let mut checkup = Checkup::default();
    let source = match Pubsub::new(config.clone(), secrets) {
        Ok(source) => source,
        Err(what) => {
            unusable(what, &mut checkup);
            return checkup;
        }
    };
    let mend = "give its account roles/pubsub.subscriber on the subscription: the variable `puller` of deploy/gcp/scc.tf";
    match source.puller.subscription.may(CONSUME).await {
        Ok(true) => {}
        Ok(false) => checkup.error(
            "source.refused",
            format!("{} may not be taken from", config.subscription),
            "no alert of it comes",
            mend,
        ),
        Err(failed) => {
            let (check, mend) = match failed.is_answer {
                Some(404) => (
                    "source.no_queue",
                    "make it, or mend `subscription`: projects/PROJECT/subscriptions/NAME",
                ),
                Some(400..500) => ("source.refused", mend),
                _ => (
                    "source.unreachable",
                    "see that the worker reaches Pub/Sub, and that `credentials` are those of this machine",
                ),
            };
            checkup.error(check, failed.what, "no alert of it comes", mend);
        }
    }
    checkup
}
