//! Compares the host's clock with those that the other probes saw.

use chrono::TimeDelta;
use nightshift_engine::checkup::Checkup;

use super::look::Looked;
use crate::args::Area;

/// Differences up to this come from whole seconds and slow answers.
const LITTLE: TimeDelta = TimeDelta::seconds(10);
/// Differences above this are errors. Receivers refuse signatures that are five minutes off (AWS, Slack, Standard
/// Webhooks).
const MUCH: TimeDelta = TimeDelta::seconds(120);

/// Returns whether probes of this area see a clock: that of the database, of a broker, or of an HTTP answer.
pub(super) const fn is_told_by(area: Area) -> bool {
    matches!(area, Area::Store | Area::Sources | Area::Destinations)
}

/// Compares the host's clock with all clocks seen.
pub(super) fn compared(looked: &[Looked]) -> Looked {
    let clocks = looked.iter().flat_map(|one| &one.checkup.clocks);
    let mut checkup = Checkup::default();
    let worst = clocks.clone().max_by_key(|(_, ahead)| ahead.abs());
    let Some((whose, ahead)) = worst else {
        checkup.saw("nobody to compare it with");
        return as_looked(checkup);
    };
    if ahead.abs() <= LITTLE {
        let mut names: Vec<&str> = clocks.map(|(whose, _)| whose.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        checkup.saw(format!("as that of {}", names.join(", ")));
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
    if ahead.abs() > MUCH {
        checkup.error("clock.skew", what, why, mend);
    } else {
        checkup.warning("clock.skew", what, why, mend);
    }
    as_looked(checkup)
}

fn as_looked(checkup: Checkup) -> Looked {
    Looked {
        area: Area::Clock,
        name: String::new(),
        checkup,
    }
}

#[cfg(test)]
mod tests {
    use nightshift_engine::checkup::Gravity;

    use super::*;

    fn found(secs: &[i64]) -> Vec<(Gravity, String)> {
        let mut checkup = Checkup::default();
        for secs in secs {
            checkup
                .clocks
                .push(("the database".to_owned(), TimeDelta::seconds(*secs)));
        }
        let looked = [Looked {
            area: Area::Store,
            name: String::new(),
            checkup,
        }];
        let found = compared(&looked).checkup.found;
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
        assert_eq!(found(&[1, 30]), [(Gravity::Warning, behind)]);
        let ahead = "our clock is 400 seconds ahead of that of the database".to_owned();
        assert_eq!(found(&[-400, 30]), [(Gravity::Error, ahead)]);
    }
}
