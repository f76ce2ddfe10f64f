//! Removes the series of names that a changed configuration no longer has. A stale gauge would report a model as down
//! or a source as silent, and a counter would report a failing destination for hours. Prometheus keeps the counted
//! values, as after a restart.
//!
//! The last cases of the old generation may count such names again. Their series then return, and are removed when a
//! part of that generation ends. Cases by feed stay, because some of a removed feed may still wait.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;

use parking_lot::MutexGuard;
use prometheus::core::{Collector as _, MetricVec, MetricVecBuilder};

use super::{DAY_STATES, Metrics, NO_LABELS, feeds};

/// The names of a configuration that appear in metrics.
#[derive(Debug, Default)]
pub(crate) struct ConfiguredNames {
    pub(crate) sources: BTreeSet<String>,
    /// The sources that are read, not posted to.
    pub(crate) read: BTreeSet<String>,
    /// Models, as `provider/model`.
    pub(crate) models: BTreeSet<String>,
    /// The configured feeds.
    pub(crate) feeds: BTreeSet<String>,
    pub(crate) tools: BTreeSet<String>,
    pub(crate) destinations: BTreeSet<String>,
    /// True if canaries are sent.
    pub(crate) canary: bool,
    /// The day budget in US dollars, if there is one.
    pub(crate) day_cap: Option<f64>,
}

impl Metrics {
    /// Keeps only the series of these names. The loops of the old generation must have ended. Its last cases may
    /// still report the day budget, which is then not shown.
    pub(crate) fn apply_config(&self, named: ConfiguredNames) {
        let cap = named.day_cap.unwrap_or(0.0);
        self.cases.day_cap.store(cap.to_bits(), Ordering::Relaxed);
        if named.day_cap.is_none() {
            for state in DAY_STATES {
                self.cases.day.with_label_values(&[state]).set(0.0);
            }
        }
        *self.lock_configured() = Some(named);
        self.remove_stale_series();
    }

    /// Removes the series of names that are not configured, which earlier cases may have counted since. Before the
    /// first change of the configuration it does nothing.
    pub(crate) fn remove_stale_series(&self) {
        let named = self.lock_configured();
        let Some(named) = named.as_ref() else {
            return;
        };
        let is_source = |labels: &SeriesLabels| named.sources.contains(labels["source"]);
        retain_series(&self.flow.messages, is_source);
        retain_series(&self.flow.last_alert, is_source);
        retain_series(&self.flow.source_up, |labels| {
            named.read.contains(labels["source"])
        });
        retain_series(&self.flow.alerts, |labels| {
            named.feeds.contains(labels["feed"]) || feeds().any(|one| one == labels["feed"])
        });
        retain_series(&self.flow.deliveries, |labels| {
            named.destinations.contains(labels["destination"])
        });
        let is_tool = |labels: &SeriesLabels| named.tools.contains(labels["tool"]);
        retain_series(&self.steps.tool_calls, is_tool);
        retain_series(&self.steps.tool_duration, is_tool);
        let is_model = |labels: &SeriesLabels| {
            let name = format!("{}/{}", labels["provider"], labels["model"]);
            named.models.contains(&name)
        };
        retain_series(&self.models.circuit, is_model);
        retain_series(&self.models.requests, is_model);
        retain_series(&self.models.duration, is_model);
        retain_series(&self.models.tokens, is_model);
        retain_series(&self.models.cost, is_model);
        if !named.canary {
            drop(self.backlog.canary.remove_label_values(NO_LABELS));
        }
    }

    fn lock_configured(&self) -> MutexGuard<'_, Option<ConfiguredNames>> {
        self.configured.lock()
    }
}

type SeriesLabels<'a> = HashMap<&'a str, &'a str>;

/// Removes the unwanted series.
fn retain_series<B: MetricVecBuilder>(
    series: &MetricVec<B>,
    is_wanted: impl Fn(&SeriesLabels<'_>) -> bool,
) {
    for family in series.collect() {
        for metric in family.get_metric() {
            let labels = metric.get_label().iter();
            let labels = labels.map(|pair| (pair.name(), pair.value())).collect();
            if !is_wanted(&labels) {
                drop(series.remove(&labels));
            }
        }
    }
}
