//! Logs findings about the stored data: that the schema was migrated, and that this version cannot read something. A
//! message that would repeat for every batch is logged once.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// The names that were logged.
#[derive(Debug, Clone, Default)]
pub(crate) struct LoggedOnce(Arc<Mutex<BTreeSet<String>>>);

impl LoggedOnce {
    /// Returns whether this name was not logged before.
    pub(crate) fn is_first(&self, name: &str) -> bool {
        let mut told = self.0.lock();
        !told.contains(name) && told.insert(name.to_owned())
    }

    /// Logs that a mute is broken or from another version, and therefore mutes nothing in this process.
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

/// Logs that a report is broken or from another version, and that this process does not send it. Returns the error that
/// is recorded at its delivery.
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

/// Logs the new version of the schema if there were migrations.
pub(crate) fn log_migrations(report: &refinery::Report) {
    let applied = report.applied_migrations();
    if let Some(last) = applied.iter().map(refinery::Migration::version).max() {
        let migrations = applied.len();
        tracing::info!(schema = last, migrations, "the store's schema was migrated");
    }
}
