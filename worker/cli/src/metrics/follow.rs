//! A configuration that is taken up while the process runs: what it does not name any more is shown no longer. A gauge that
//! stands still would say for ever that a model is down or a source silent which nobody has, and a counter for hours that a
//! destination fails. Prometheus keeps what was counted, as where a worker starts anew.
//!
//! What the crew before still counts of such names, because its last cases ask their models and tools, counts, and comes back
//! with that; it goes when a part of that crew has ended. Cases by feed stay: some of a feed that is named no more may wait.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use prometheus::core::{Collector as _, MetricVec, MetricVecBuilder};

use super::{DAY_STATES, Metrics, NONE, feeds};

/// What a configuration names that metrics tell of.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// Names of sources.
    pub(crate) sources: BTreeSet<String>,
    /// Those of them that are read, and not posted to.
    pub(crate) read: BTreeSet<String>,
    /// `provider/model` of models.
    pub(crate) models: BTreeSet<String>,
    /// Feeds of its own.
    pub(crate) feeds: BTreeSet<String>,
    /// Names of tools.
    pub(crate) tools: BTreeSet<String>,
    /// Names of destinations.
    pub(crate) destinations: BTreeSet<String>,
    /// Whether canaries are sent.
    pub(crate) canary: bool,
    /// What a day may cost in US dollars, if there is a cap.
    pub(crate) day_cap: Option<f64>,
}

impl Metrics {
    /// Shows what is named, and nothing else. The crew before must have ended its loops; its last cases may still ask what the
    /// day's budget has left, which is not shown then.
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

    /// Shows no more what the configuration that is followed does not name, and what earlier cases have counted since. Before
    /// another one than the first is followed there is nothing of that kind.
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

/// Removes the series whose labels are not wanted.
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
