//! Decides when the daily digest is due and builds it. The delivery loop of its destination posts it, so that only
//! one process does.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeZone as _, Utc};
use chrono_tz::Tz;
use nightshift_engine::measurement::Measurement;
use nightshift_engine::port::{Clock, Meter};

use crate::digest::Digest;
use crate::port::{DeliveryError, Destination, Digests, Mutes, Outbox, StoreError};

/// Time between attempts of a digest that could not be posted. A digest in doubt is not looked up before this time.
const POST_RETRY_PAUSE: Duration = Duration::from_secs(120);

/// Time between attempts of a digest that was refused, because a person has to fix the cause first.
const REFUSED_POST_RETRY_PAUSE: Duration = Duration::from_secs(1_800);

/// The time when a digest is posted, and the sources of its content.
pub struct DigestPlan {
    /// Local time of the post.
    pub at: NaiveTime,
    /// Time zone of the post.
    pub zone: Tz,
    /// Store of the day's numbers.
    pub digests: Arc<dyn Digests>,
    pub mutes: Arc<dyn Mutes>,
    pub clock: Arc<dyn Clock>,
    /// Time of the next check, in seconds since 1970. The store is not queried before.
    pub next: AtomicI64,
}

/// The day between two digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DigestDay {
    date: NaiveDate,
    since: DateTime<Utc>,
    until: DateTime<Utc>,
    next: DateTime<Utc>,
}

impl DigestPlan {
    /// Posts the digest of the last day, unless that was done. The caller holds the lease for the destination.
    pub(super) async fn post_if_due(
        &self,
        outbox: &dyn Outbox,
        destination: &dyn Destination,
        meter: &dyn Meter,
    ) -> Result<(), StoreError> {
        let now = self.clock.now();
        let next = self.next.load(Ordering::Relaxed);
        if now.timestamp() < next {
            return Ok(());
        }
        let is_first_look = next == 0;
        // A failure from here on is retried, but not in each round.
        self.next
            .store((now + POST_RETRY_PAUSE).timestamp(), Ordering::Relaxed);
        let (name, day) = (
            destination.name(),
            last_finished_day(now, self.at, self.zone),
        );
        let Some(in_doubt) = outbox.begin_digest(name, day.date).await? else {
            self.next.store(day.next.timestamp(), Ordering::Relaxed);
            return Ok(());
        };
        if in_doubt && is_first_look {
            // The process that began the post may have died just now, and its post may still be in progress.
            return Ok(());
        }
        let count = |outcome| {
            meter.count(&Measurement::Delivery {
                destination: name.to_owned(),
                outcome,
            });
        };
        let digest = self
            .build_digest(day)
            .await
            .inspect_err(|_| count("failed"))?;
        let result = destination.post_digest(&digest, in_doubt).await;
        count(if result.is_ok() { "sent" } else { "failed" });
        match result {
            Ok(()) => {
                tracing::info!(destination.name = name, day = %day.date, "the digest is posted")
            }
            Err(error @ DeliveryError::Permanent { .. }) => {
                tracing::error!(destination.name = name, day = %day.date, %error, "the digest was refused");
                self.next.store(
                    (now + REFUSED_POST_RETRY_PAUSE).timestamp(),
                    Ordering::Relaxed,
                );
                return Ok(());
            }
            Err(error) => {
                tracing::warn!(destination.name = name, day = %day.date, %error, "cannot post digest; retrying");
                return Ok(());
            }
        }
        outbox.record_digest_posted(name, day.date).await?;
        self.next.store(day.next.timestamp(), Ordering::Relaxed);
        Ok(())
    }

    async fn build_digest(&self, day: DigestDay) -> Result<Digest, StoreError> {
        let mut digest = self.digests.collect_digest(day.since, day.until).await?;
        digest.set_mutes(&self.mutes.mutes().await?);
        digest.day = day.date;
        self.zone.name().clone_into(&mut digest.timezone);
        Ok(digest)
    }
}

/// Returns the last day that is over at this time.
fn last_finished_day(now: DateTime<Utc>, at: NaiveTime, zone: Tz) -> DigestDay {
    let today = now.with_timezone(&zone).date_naive();
    let is_over = local_to_utc(today, at, zone) <= now;
    let date = if is_over { today } else { previous_day(today) };
    let next = date.checked_add_days(Days::new(1)).unwrap_or(date);
    DigestDay {
        date,
        since: local_to_utc(previous_day(date), at, zone),
        until: local_to_utc(date, at, zone),
        next: local_to_utc(next, at, zone),
    }
}

fn previous_day(date: NaiveDate) -> NaiveDate {
    date.checked_sub_days(Days::new(1)).unwrap_or(date)
}

/// Returns this local time on this day: the first of two if clocks go back, an hour later if they skip it.
fn local_to_utc(date: NaiveDate, at: NaiveTime, zone: Tz) -> DateTime<Utc> {
    let local = date.and_time(at);
    let later = local + chrono::Duration::hours(1);
    let found = zone.from_local_datetime(&local).earliest();
    found
        .or_else(|| zone.from_local_datetime(&later).earliest())
        .map_or_else(|| local.and_utc(), |moment| moment.to_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn hour(hour: u32) -> NaiveTime {
        NaiveTime::from_hms_opt(hour, 0, 0).unwrap()
    }

    #[test]
    fn a_day_ends_at_its_hour_in_its_zone() {
        let madrid = chrono_tz::Europe::Madrid;
        let day = last_finished_day(utc("2026-11-20T07:59:59Z"), hour(9), madrid);
        assert_eq!(day.date.to_string(), "2026-11-19");
        assert_eq!(day.until, utc("2026-11-19T08:00:00Z"));
        let day = last_finished_day(utc("2026-11-20T08:00:00Z"), hour(9), madrid);
        assert_eq!(day.date.to_string(), "2026-11-20");
        assert_eq!(
            (day.since, day.next),
            (utc("2026-11-19T08:00:00Z"), utc("2026-11-21T08:00:00Z"))
        );
    }

    #[test]
    fn days_on_which_clocks_change_have_23_and_25_hours() {
        let madrid = chrono_tz::Europe::Madrid;
        // 2026-03-29: 02:00 is 03:00. 2026-10-25: 03:00 is 02:00 again.
        let spring = last_finished_day(utc("2026-03-29T12:00:00Z"), hour(2), madrid);
        assert_eq!(
            (spring.since, spring.until),
            (utc("2026-03-28T01:00:00Z"), utc("2026-03-29T01:00:00Z"))
        );
        let autumn = last_finished_day(utc("2026-10-25T12:00:00Z"), hour(9), madrid);
        assert_eq!(autumn.until - autumn.since, chrono::Duration::hours(25));
        let twice = last_finished_day(utc("2026-10-25T12:00:00Z"), hour(2), madrid);
        assert_eq!(
            twice.until,
            utc("2026-10-25T00:00:00Z"),
            "the first of the two"
        );
    }
}
