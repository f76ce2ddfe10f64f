//! A look at a subscription before anything is pulled: whether its configuration and its key can be used. What the
//! subscription itself is set to is not looked at: who may pull may not read that.

use nightshift_engine::Checkup;

use super::{Config, Pubsub};
use crate::Secrets;

/// Looks at a subscription.
pub(crate) fn examine(config: &Config, secrets: Secrets) -> Checkup {
    let mut checkup = Checkup::default();
    match Pubsub::new(config.clone(), secrets) {
        Ok(_) => checkup.saw("can be pulled from, as far as its key says"),
        Err(what) => checkup.error(
            "source.configuration",
            what,
            "the worker does not start",
            "docs/sources.md has all keys",
        ),
    }
    checkup
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_key_that_is_no_key_is_found() {
        let config = serde_json::from_value(serde_json::json!({
            "name": "scc", "subscription": "projects/p/subscriptions/s", "credentials": "env:KEY",
        }));
        let secrets: Secrets = Arc::new(|_| Ok("not a key".into()));
        let found = examine(&config.unwrap(), secrets).found;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].check, "source.configuration");
    }
}
