//! Prints reports to standard output, or any other writer of text. `run` and `demo` use it.

use std::io::Write;
use std::sync::Arc;

use async_trait::async_trait;
use nightshift_engine::port::Clock;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::port::{DeliveryError, DeliveryReceipt, Destination};
use nightshift_render::{TextOptions, render_short_text, render_text};
use parking_lot::Mutex;

/// Prints reports as text, with an empty line after each.
pub struct StdoutDestination {
    name: String,
    to: Arc<Mutex<dyn Write + Send>>,
    clock: Arc<dyn Clock>,
    options: TextOptions,
    show: Option<&'static str>,
}

impl StdoutDestination {
    /// Creates a destination with this name and writer. The clock replaces the time of `options` at each delivery.
    /// With `show`, reports are printed in short, and end with this command and the id of the case.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        to: Arc<Mutex<dyn Write + Send>>,
        clock: Arc<dyn Clock>,
        options: TextOptions,
        show: Option<&'static str>,
    ) -> Self {
        Self {
            name: name.into(),
            to,
            clock,
            options,
            show,
        }
    }
}

#[async_trait]
impl Destination for StdoutDestination {
    fn name(&self) -> &str {
        &self.name
    }

    async fn deliver(&self, showing: &DeliveryPayload) -> Result<DeliveryReceipt, DeliveryError> {
        let options = TextOptions {
            now: self.clock.now(),
            ..self.options
        };
        let report = &showing.report;
        let shown = match self.show {
            Some(show) => render_short_text(report, &options, show),
            None => render_text(report, &options),
        };
        let shown = shown + "\n";
        let mut to = self.to.lock();
        to.write_all(shown.as_bytes())
            .and_then(|()| to.flush())
            .map_err(|error| DeliveryError::Transient {
                what: format!("cannot write the report to the standard output: {error}"),
                after_secs: None,
            })?;
        Ok(DeliveryReceipt::default())
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;
    use crate::fixture;

    struct FixedClock(DateTime<Utc>);

    impl Clock for FixedClock {
        fn now(&self) -> DateTime<Utc> {
            self.0
        }
    }

    struct BrokenPipeWriter;

    impl Write for BrokenPipeWriter {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn destination(to: Arc<Mutex<dyn Write + Send>>) -> StdoutDestination {
        let clock = Arc::new(FixedClock(fixture::now() + chrono::TimeDelta::hours(5)));
        StdoutDestination::new("stdout", to, clock, fixture::options(80), None)
    }

    #[tokio::test]
    async fn prints_with_the_time_of_the_delivery() {
        let shown: Arc<Mutex<Vec<u8>>> = Arc::default();
        let to: Arc<Mutex<dyn Write + Send>> = shown.clone();
        let report = fixture::true_positive();
        destination(to)
            .deliver(&DeliveryPayload::new(report.clone()))
            .await
            .unwrap();
        let shown = String::from_utf8(shown.lock().clone()).unwrap();
        assert!(shown.starts_with("▲ Act now"));
        assert!(shown.contains("last seen 5 h ago"), "{shown}");
    }

    #[tokio::test]
    async fn a_closed_output_is_an_error_and_tried_again() {
        let report = fixture::true_positive();
        let error = destination(Arc::new(Mutex::new(BrokenPipeWriter)))
            .deliver(&DeliveryPayload::new(report.clone()))
            .await
            .unwrap_err();
        assert!(matches!(error, DeliveryError::Transient { .. }));
    }
}
