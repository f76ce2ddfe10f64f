//! Sets the gauges of current states and removes those that are unknown.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use nightshift_pipeline::case::Backlog;

use super::{Metrics, NO_LABELS};

impl Metrics {
    /// Sets whether a changed configuration was refused.
    pub(crate) fn set_reload_refused(&self, is_refused: bool) {
        self.reload_refused.set(i64::from(is_refused));
    }

    /// Sets the gauges of the backlog.
    pub(crate) fn set_backlog(&self, backlog: &Backlog) {
        self.backlog.set(backlog);
    }

    /// Removes the gauges of the backlog, because stale values would look healthy. Alert rules detect the missing
    /// series.
    pub(crate) fn clear_backlog(&self) {
        self.backlog.clear();
    }

    /// Sets whether writes fail because the disk of the database is full.
    pub(crate) fn set_store_full(&self, is_full: bool) {
        self.backlog.store_full.set(i64::from(is_full));
    }

    /// Sets the time when the last canary came through. Without canaries there is no such series.
    pub(crate) fn set_last_canary(&self, last: Option<DateTime<Utc>>) {
        let at = last.map_or(0, |at| at.timestamp());
        self.backlog.canary.with_label_values(NO_LABELS).set(at);
    }

    /// Sets whether the models of new cases, by `provider/model`, are down. Cases of an earlier configuration do not
    /// change these gauges.
    pub(crate) fn set_circuits(&self, open: &BTreeMap<&str, bool>) {
        for (name, open) in open {
            let (provider, model) = name.split_once('/').unwrap_or((name, ""));
            let circuit = self.models.circuit.with_label_values(&[provider, model]);
            circuit.set(i64::from(*open));
        }
    }

    /// Removes the gauges of sources, because a worker that takes nothing does not know their state.
    pub(crate) fn clear_sources(&self) {
        self.flow.source_up.reset();
    }

    /// Sets whether a source could be read at the last attempt.
    pub(crate) fn set_source_up(&self, name: &str, is_up: bool) {
        self.flow
            .source_up
            .with_label_values(&[name])
            .set(i64::from(is_up));
    }
}
