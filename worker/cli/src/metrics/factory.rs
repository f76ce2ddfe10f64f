//! Creates and registers metrics of each type. Their names are in `metrics.rs`.

use prometheus::{
    CounterVec, Error, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec,
    IntGauge, IntGaugeVec, Opts, Registry,
};

pub(super) struct MetricFactory<'a>(pub(super) &'a Registry);

impl MetricFactory<'_> {
    pub(super) fn counters(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<IntCounterVec, Error> {
        self.put(IntCounterVec::new(Opts::new(name, help), labels)?)
    }

    pub(super) fn float_counter_vec(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<CounterVec, Error> {
        self.put(CounterVec::new(Opts::new(name, help), labels)?)
    }

    pub(super) fn counter(&self, name: &str, help: &str) -> Result<IntCounter, Error> {
        self.put(IntCounter::new(name, help)?)
    }

    pub(super) fn gauges(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<IntGaugeVec, Error> {
        self.put(IntGaugeVec::new(Opts::new(name, help), labels)?)
    }

    /// Creates gauges of fractional values.
    pub(super) fn float_gauge_vec(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<GaugeVec, Error> {
        self.put(GaugeVec::new(Opts::new(name, help), labels)?)
    }

    pub(super) fn gauge(&self, name: &str, help: &str) -> Result<IntGauge, Error> {
        self.put(IntGauge::new(name, help)?)
    }

    pub(super) fn histogram(
        &self,
        name: &str,
        help: &str,
        buckets: &[f64],
    ) -> Result<Histogram, Error> {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.put(Histogram::with_opts(options)?)
    }

    pub(super) fn histograms(
        &self,
        name: &str,
        help: &str,
        buckets: &[f64],
        labels: &[&str],
    ) -> Result<HistogramVec, Error> {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.put(HistogramVec::new(options, labels)?)
    }

    fn put<M: prometheus::core::Collector + Clone + 'static>(&self, metric: M) -> Result<M, Error> {
        self.0.register(Box::new(metric.clone()))?;
        Ok(metric)
    }
}
