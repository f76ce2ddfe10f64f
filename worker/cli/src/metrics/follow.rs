//! A configuration that is taken up while the process runs: what it does not name any more is shown no longer. A gauge that
//! stands still would say for ever that a model is down or a source silent which nobody has.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;

use prometheus::IntGaugeVec;
use prometheus::core::Collector as _;

use super::{Metrics, NONE};

/// What a configuration names that gauges tell of.
#[derive(Debug)]
pub(crate) struct Named<'a> {
    /// Names of sources.
    pub(crate) sources: BTreeSet<&'a str>,
    /// Those of them that are read, and not posted to.
    pub(crate) read: BTreeSet<&'a str>,
    /// `provider/model` of models.
    pub(crate) models: BTreeSet<String>,
    /// Whether canaries are sent.
    pub(crate) canary: bool,
    /// Whether a day has a budget.
    pub(crate) day_budget: bool,
}

impl Metrics {
    /// Shows what is named, and nothing else. The crew before must have ended its loops; its last cases may still ask what the
    /// day's budget has left, which is not shown then.
    pub(crate) fn follow(&self, named: &Named<'_>) {
        keep(&self.flow.last_alert, |labels| {
            named.sources.contains(labels["source"])
        });
        keep(&self.flow.source_up, |labels| {
            named.read.contains(labels["source"])
        });
        keep(&self.models.circuit, |labels| {
            let name = format!("{}/{}", labels["provider"], labels["model"]);
            named.models.contains(&name)
        });
        if !named.canary {
            drop(self.waits.canary.remove_label_values(NONE));
        }
        let day = &self.cases.has_day_budget;
        day.store(named.day_budget, Ordering::Relaxed);
        if !named.day_budget {
            for state in ["spent", "cap", "reserved"] {
                self.cases.day.with_label_values(&[state]).set(0.0);
            }
        }
    }
}

/// Removes the series whose labels are not wanted.
fn keep(gauges: &IntGaugeVec, is_wanted: impl Fn(&HashMap<&str, &str>) -> bool) {
    for family in gauges.collect() {
        for metric in family.get_metric() {
            let labels = metric.get_label().iter();
            let labels = labels.map(|pair| (pair.name(), pair.value())).collect();
            if !is_wanted(&labels) {
                drop(gauges.remove(&labels));
            }
        }
    }
}
