//! What is shown as it is now, and what nobody knows any more.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use nightshift_pipeline::Backlog;

use super::{Metrics, NONE};

impl Metrics {
    /// Shows whether a configuration that has changed was refused: a worker that starts would not, or otherwise.
    pub(crate) fn refused(&self, is_refused: bool) {
        self.refused.set(i64::from(is_refused));
    }

    /// Shows what waits.
    pub(crate) fn backlog(&self, backlog: &Backlog) {
        self.waits.show(backlog);
    }

    /// Takes back what was said of what waits: nobody knows it any more, and what was last known would look as if all were
    /// well. Rules tell by the series that are gone.
    pub(crate) fn forget_backlog(&self) {
        self.waits.forget();
    }

    /// Shows when a canary came through last. Where none are sent there is no such series: nobody waits for one.
    pub(crate) fn canary(&self, last: Option<DateTime<Utc>>) {
        let at = last.map_or(0, |at| at.timestamp());
        self.waits.canary.with_label_values(NONE).set(at);
    }

    /// Shows of the models that new cases ask, by `provider/model`, whether they are down. Nobody else says that: what cases
    /// find who go on with the models of an earlier configuration says nothing of these.
    pub(crate) fn circuits(&self, open: &BTreeMap<&str, bool>) {
        for (name, open) in open {
            let (provider, model) = name.split_once('/').unwrap_or((name, ""));
            let circuit = self.models.circuit.with_label_values(&[provider, model]);
            circuit.set(i64::from(*open));
        }
    }

    /// Shows nothing of sources: who takes nothing does not know whether they could be read.
    pub(crate) fn forget_sources(&self) {
        self.flow.source_up.reset();
    }

    /// Whether a source could be read when it was asked last.
    pub(crate) fn source(&self, name: &str, is_up: bool) {
        self.flow
            .source_up
            .with_label_values(&[name])
            .set(i64::from(is_up));
    }
}
