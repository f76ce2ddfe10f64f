//! Creates the series of the configured names at 0, because `increase` and `rate` miss the first count of a series
//! that begins with it. All label sets are closed: fixed words and names of the configuration.

use nightshift_alert::{CANARY_FEED, Severity};
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::event::AnalystKind;
use nightshift_pipeline::admission::Admission;
use nightshift_pipeline::case::CaseStatus;

use super::Metrics;

/// The results of a tool call.
const TOOL_OUTCOMES: [&str; 5] = ["ok", "empty", "error", "refused", "timeout"];

impl Metrics {
    /// Creates the series of a source, so that a silent one is visible. A source that is posted to has the outcomes
    /// of refusals too.
    pub(crate) fn init_source(&self, name: &str, is_posted_to: bool) {
        let always = ["accepted", "dead_letter", "canary", "unsettled"];
        let posted = ["refused", "busy"].into_iter().filter(|_| is_posted_to);
        for outcome in always.into_iter().chain(posted) {
            self.flow.messages.with_label_values(&[name, outcome]);
        }
        self.flow.last_alert.with_label_values(&[name]);
    }

    /// Creates the series of a feed's alerts.
    pub(crate) fn init_feed(&self, feed: &str) {
        for outcome in Admission::WORDS {
            self.flow.alerts.with_label_values(&[feed, outcome]);
        }
    }

    /// Creates the series of a destination.
    pub(crate) fn init_destination(&self, name: &str) {
        for outcome in ["sent", "failed"] {
            self.flow.deliveries.with_label_values(&[name, outcome]);
        }
    }

    /// Creates the series of a tool.
    pub(crate) fn init_tool(&self, name: &str) {
        for outcome in TOOL_OUTCOMES {
            self.steps.tool_calls.with_label_values(&[name, outcome]);
        }
        self.steps.tool_duration.with_label_values(&[name]);
    }

    /// Creates the series of a model, `provider/model`.
    pub(crate) fn init_model(&self, name: &str) {
        let (provider, model) = name.split_once('/').unwrap_or((name, ""));
        self.models.init_series(provider, model);
    }

    /// Creates the series of ended cases for the built-in feeds, these feeds and the analysts in use. There are
    /// thirty per feed and analyst.
    pub(crate) fn init_cases<'a>(
        &self,
        feeds: impl IntoIterator<Item = &'a str>,
        analysts: &[AnalystKind],
    ) {
        // Canaries are not counted as cases.
        let known = super::feeds().filter(|feed| *feed != CANARY_FEED);
        for feed in known.chain(feeds) {
            for analyst in analysts {
                for severity in Severity::ALL {
                    self.begin_ends(feed, severity, *analyst);
                }
            }
        }
    }

    /// Creates the possible ends of a case: a concluded one has any verdict, a failed one is inconclusive, a
    /// cancelled one has none.
    fn begin_ends(&self, feed: &str, severity: Severity, analyst: AnalystKind) {
        let concluded = Verdict::ALL.map(|verdict| (CaseStatus::Concluded, verdict.as_str()));
        let others = [
            (CaseStatus::Failed, Verdict::Inconclusive.as_str()),
            (CaseStatus::Cancelled, ""),
        ];
        for (status, verdict) in concluded.into_iter().chain(others) {
            let (severity, analyst) = (severity.as_str(), analyst.as_str());
            let labels = [feed, status.as_str(), verdict, severity, analyst];
            self.cases.ended.with_label_values(&labels);
        }
    }
}
