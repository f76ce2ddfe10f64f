//! Our clock beside those that were heard while everything was looked at.

use chrono::TimeDelta;
use nightshift_engine::Checkup;

use super::look::Looked;
use crate::args::Area;

/// A clock told in whole seconds, and an answer that took its time, are within this.
const LITTLE: TimeDelta = TimeDelta::seconds(10);
/// Receivers refuse signatures that are five minutes off (AWS, Slack, Standard Webhooks): beyond this it is near.
const MUCH: TimeDelta = TimeDelta::seconds(120);

/// Whether looks at this area hear a clock: the database's, a broker's, those that answers of others tell.
pub(super) const fn is_told_by(area: Area) -> bool {
    matches!(area, Area::Store | Area::Sources | Area::Destinations)
}

/// What the clocks that were heard say of ours.
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
    use nightshift_engine::Gravity;

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
