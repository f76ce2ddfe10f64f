//! Removes the series of names that a changed configuration no longer has. A stale gauge would report a model as down
//! or a source as silent, and a counter would report a failing destination for hours. Prometheus keeps the counted
//! values, as after a restart.
//!
//! The last cases of the old generation may count such names again. Their series then return, and are removed when a
//! part of that generation ends. Cases by feed stay, because some of a removed feed may still wait.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use prometheus::core::{Collector as _, MetricVec, MetricVecBuilder};

use super::{DAY_STATES, Metrics, NONE, feeds};

/// The names of a configuration that appear in metrics.
#[derive(Debug, Default)]
pub(crate) struct Named {
    pub(crate) sources: BTreeSet<String>,
    /// The sources that are read, not posted to.
    pub(crate) read: BTreeSet<String>,
    /// Models, as `provider/model`.
    pub(crate) models: BTreeSet<String>,
    /// The configured feeds.
    pub(crate) feeds: BTreeSet<String>,
    pub(crate) tools: BTreeSet<String>,
    pub(crate) destinations: BTreeSet<String>,
    /// Whether canaries are sent.
    pub(crate) canary: bool,
    /// The day budget in US dollars, if there is one.
    pub(crate) day_cap: Option<f64>,
}

impl Metrics {
    /// Keeps only the series of these names. The loops of the old generation must have ended. Its last cases may
    /// still report the day budget, which is then not shown.
    pub(crate) fn follow(&self, named: Named) {
        let cap = named.day_cap.unwrap_or(0.0);
        self.cases.day_cap.store(cap.to_bits(), Ordering::Relaxed);
        if named.day_cap.is_none() {
            for state in DAY_STATES {
                self.cases.day.with_label_values(&[state]).set(0.0);
            }
        }
        *self.named() = Some(named);
        self.tidy();
    }

    /// Removes the series of names that are not configured, which earlier cases may have counted since. Before the
    /// first change of the configuration it does nothing.
    pub(crate) fn tidy(&self) {
        let named = self.named();
        let Some(named) = named.as_ref() else {
            return;
        };
        let is_source = |labels: &Labels| named.sources.contains(labels["source"]);
        keep(&self.flow.messages, is_source);
        keep(&self.flow.last_alert, is_source);
        keep(&self.flow.source_up, |labels| {
            named.read.contains(labels["source"])
        });
        keep(&self.flow.alerts, |labels| {
            named.feeds.contains(labels["feed"]) || feeds().any(|one| one == labels["feed"])
        });
        keep(&self.flow.deliveries, |labels| {
            named.destinations.contains(labels["destination"])
        });
        let is_tool = |labels: &Labels| named.tools.contains(labels["tool"]);
        keep(&self.work.tool_calls, is_tool);
        keep(&self.work.tool_duration, is_tool);
        let is_model = |labels: &Labels| {
            let name = format!("{}/{}", labels["provider"], labels["model"]);
            named.models.contains(&name)
        };
        keep(&self.models.circuit, is_model);
        keep(&self.models.requests, is_model);
        keep(&self.models.duration, is_model);
        keep(&self.models.tokens, is_model);
        keep(&self.models.cost, is_model);
        if !named.canary {
            drop(self.waits.canary.remove_label_values(NONE));
        }
    }

    fn named(&self) -> MutexGuard<'_, Option<Named>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Labels<'a> = HashMap<&'a str, &'a str>;

/// Removes the unwanted series.
fn keep<B: MetricVecBuilder>(series: &MetricVec<B>, is_wanted: impl Fn(&Labels<'_>) -> bool) {
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
