//! What is said of what is stored: that the schema was migrated, and that something cannot be read by this version; once,
//! where it would be said for every batch.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// Names of what was told.
#[derive(Debug, Clone, Default)]
pub(crate) struct LoggedOnce(Arc<Mutex<BTreeSet<String>>>);

impl LoggedOnce {
    /// Whether this was not told before.
    pub(crate) fn is_first(&self, name: &str) -> bool {
        let mut told = self.0.lock();
        !told.contains(name) && told.insert(name.to_owned())
    }

    /// Says that a mute of another version, or a broken one, hides nothing here.
    pub(crate) fn log_unreadable_mute(&self, name: &str, error: &dyn std::error::Error) {
        if self.is_first(name) {
            let cause = error.source().map(ToString::to_string);
            tracing::warn!(
                mute = name,
                %error,
                cause,
                "a mute cannot be read by this version: it hides nothing here"
            );
        }
    }
}

/// Says that a report of another version, or a broken one, is not sent by this process; what is noted at its delivery.
pub(crate) fn log_unreadable_report(
    case_id: &str,
    destination: &str,
    cause: &serde_json::Error,
) -> String {
    tracing::warn!(
        case.id = case_id,
        destination.name = destination,
        error = %cause,
        "a report cannot be read by this version: it is not sent, and tried again in a minute"
    );
    format!("it cannot be read by this version: {cause}")
}

/// Says that the schema is a newer one now, if it is.
pub(crate) fn log_migrations(report: &refinery::Report) {
    let applied = report.applied_migrations();
    if let Some(last) = applied.iter().map(refinery::Migration::version).max() {
        let migrations = applied.len();
        tracing::info!(schema = last, migrations, "the store's schema was migrated");
    }
}
