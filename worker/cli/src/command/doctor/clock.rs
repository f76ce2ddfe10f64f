//! Compares the host's clock with those that the other probes saw.

use chrono::TimeDelta;
use nightshift_engine::doctor::HealthReport;

use super::probe_runner::TargetReport;
use crate::args::DoctorArea;

/// Differences up to this come from whole seconds and slow answers.
const NEGLIGIBLE_SKEW: TimeDelta = TimeDelta::seconds(10);
/// Differences above this are errors. Receivers refuse signatures that are five minutes off (AWS, Slack, Standard
/// Webhooks).
const MAX_SKEW: TimeDelta = TimeDelta::seconds(120);

/// Returns whether probes of this area see a clock: that of the database, of a broker, or of an HTTP answer.
pub(super) const fn reports_clock_skew(area: DoctorArea) -> bool {
    matches!(
        area,
        DoctorArea::Store | DoctorArea::Sources | DoctorArea::Destinations
    )
}

/// Compares the host's clock with all clocks seen.
pub(super) fn check_clock(looked: &[TargetReport]) -> TargetReport {
    let clocks = looked.iter().flat_map(|one| &one.report.clock_skews);
    let mut checkup = HealthReport::default();
    let worst = clocks.clone().max_by_key(|(_, ahead)| ahead.abs());
    let Some((whose, ahead)) = worst else {
        checkup.add_observation("no clock to compare with");
        return as_looked(checkup);
    };
    if ahead.abs() <= NEGLIGIBLE_SKEW {
        let mut names: Vec<&str> = clocks.map(|(whose, _)| whose.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        checkup.add_observation(format!("as that of {}", names.join(", ")));
        return as_looked(checkup);
    }
    let secs = ahead.abs().num_seconds();
    let side = if *ahead > TimeDelta::zero() {
        "behind"
    } else {
        "ahead of"
    };
    let what = format!("our clock is {secs} seconds {side} that of {whose}");
    let why = "signatures that are five minutes off are refused (AWS, Slack, webhooks), log searches look at the wrong \
               time, and reports say times that never were";
    let mend =
        "see which of the two is wrong (`date -u`), and let chrony or systemd-timesyncd keep it";
    if ahead.abs() > MAX_SKEW {
        checkup.add_error("clock.skew", what, why, mend);
    } else {
        checkup.add_warning("clock.skew", what, why, mend);
    }
    as_looked(checkup)
}

fn as_looked(checkup: HealthReport) -> TargetReport {
    TargetReport {
        area: DoctorArea::Clock,
        name: String::new(),
        report: checkup,
    }
}

#[cfg(test)]
mod tests {
    use nightshift_engine::doctor::CheckSeverity;

    use super::*;

    fn found(secs: &[i64]) -> Vec<(CheckSeverity, String)> {
        let mut checkup = HealthReport::default();
        for secs in secs {
            checkup
                .clock_skews
                .push(("the database".to_owned(), TimeDelta::seconds(*secs)));
        }
        let looked = [TargetReport {
            area: DoctorArea::Store,
            name: String::new(),
            report: checkup,
        }];
        let found = check_clock(&looked).report.failed_checks;
        found
            .into_iter()
            .map(|one| (one.severity, one.what))
            .collect()
    }

    #[test]
    fn the_clock_that_differs_most_is_told() {
        assert_eq!(found(&[]), []);
        assert_eq!(found(&[1, -9]), []);
        let behind = "our clock is 30 seconds behind that of the database".to_owned();
        assert_eq!(found(&[1, 30]), [(CheckSeverity::Warning, behind)]);
        let ahead = "our clock is 400 seconds ahead of that of the database".to_owned();
        assert_eq!(found(&[-400, 30]), [(CheckSeverity::Error, ahead)]);
    }
}
