//! Defines results of the checks that `doctor` and the readiness page make.
//!
//! Each component checks what it knows (the store its database, a source its queue, a destination its server) and
//! reports in these types. The program collects and prints the reports, so nothing in them may hold a secret. This
//! module checks nothing itself.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

/// Severity of a failed check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckSeverity {
    /// The component works, but may fail later, or a setting may be unintended.
    Warning,
    /// The component does not work, or alerts or reports can be lost.
    Error,
}

/// A failed check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedCheck {
    /// Id of the check, such as `store.fsync`; scripts may rely on it.
    pub check: &'static str,
    /// Severity of the failure.
    pub severity: CheckSeverity,
    /// The problem.
    pub what: String,
    /// Consequence of the problem.
    pub why: String,
    /// The way to fix the problem.
    pub mend: String,
}

/// Results of the checks of one component.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthReport {
    /// Short descriptions of what was found to work.
    pub observations: Vec<String>,
    /// Failed checks.
    pub failed_checks: Vec<FailedCheck>,
    /// Clocks of other machines: the name of each, and the time by which it is ahead of this machine's clock.
    pub clock_skews: Vec<(String, TimeDelta)>,
}

impl HealthReport {
    /// Adds an observation.
    pub fn add_observation(&mut self, what: impl Into<String>) {
        self.observations.push(what.into());
    }

    /// Adds a failure by which something does not work or can be lost.
    pub fn add_error(
        &mut self,
        check: &'static str,
        what: impl Into<String>,
        why: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.add_failed_check(CheckSeverity::Error, check, what, why, mend);
    }

    /// Adds a failure that does no harm yet.
    pub fn add_warning(
        &mut self,
        check: &'static str,
        what: impl Into<String>,
        why: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.add_failed_check(CheckSeverity::Warning, check, what, why, mend);
    }

    fn add_failed_check(
        &mut self,
        severity: CheckSeverity,
        check: &'static str,
        what: impl Into<String>,
        why: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.failed_checks.push(FailedCheck {
            check,
            severity,
            what: what.into(),
            why: why.into(),
            mend: mend.into(),
        });
    }

    /// Records another clock's time, read between two moments of this machine's clock. The skew is the difference from
    /// their midpoint.
    pub fn add_clock_skew(
        &mut self,
        whose: impl Into<String>,
        said: DateTime<Utc>,
        asked: DateTime<Utc>,
        answered: DateTime<Utc>,
    ) {
        let middle = asked + (answered - asked) / 2;
        self.clock_skews.push((whose.into(), said - middle));
    }

    /// Adds the results of another check of the same component.
    pub fn merge(&mut self, other: Self) {
        self.observations.extend(other.observations);
        self.failed_checks.extend(other.failed_checks);
        self.clock_skews.extend(other.clock_skews);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_ahead_of_the_middle_of_question_and_answer() {
        let at = |secs: i64| DateTime::from_timestamp(1_795_000_000 + secs, 0).unwrap();
        let mut checkup = HealthReport::default();
        checkup.add_clock_skew("db", at(32), at(0), at(4));
        checkup.add_clock_skew("hook", at(0), at(0), at(0));
        let ahead = [("db", 30), ("hook", 0)];
        assert_eq!(
            checkup.clock_skews,
            ahead.map(|(whose, secs)| (whose.to_owned(), TimeDelta::seconds(secs)))
        );
    }
}
