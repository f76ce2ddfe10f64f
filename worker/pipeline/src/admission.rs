//! Admission: what becomes of an alert that was read. Pure; a file per rule.
//!
//! The store reads the [`Ground`] in the transaction that will hold the outcome, asks [`admit`], and writes what it
//! says: an alert ends in one place, and two that come together cannot both be the first. Nothing here knows the
//! wall clock: an arrival carries its time.

mod material;
mod mute;
mod outcome;
mod set_aside;
mod storm;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod property;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use nightshift_alert::{Alert, FeedState};
use nightshift_engine::Verdict;

use crate::{Arrival, CaseId, Match};

pub use material::{SightingTimes, compared, triaged};
pub use mute::Mute;
pub use outcome::{Admission, Change, Seen, SetAside};
pub use storm::Window;

/// How many times as often what is new of a cleared case is triaged in a day.
const CLEARED_TIMES: u32 = 8;

/// What admission is set to.
#[derive(Debug, Clone, PartialEq)]
pub struct AdmissionPolicy {
    /// How long after its end a case takes changes that are not material as sightings.
    pub cooldown: Duration,
    /// How often a case may be triaged again within 24 hours; a rise in severity always may.
    pub revisions_per_day: u32,
    /// How many cases of one feed, type and account may be opened within `storm_window`.
    pub storm_cases: u32,
    /// See `storm_cases`.
    pub storm_window: Duration,
    /// Mutes of the configuration; the store adds its own.
    pub mutes: Vec<Mute>,
    /// What is triaged although its class would be set aside: the routes that name a class.
    pub wanted: Vec<Match>,
}

impl Default for AdmissionPolicy {
    fn default() -> Self {
        Self {
            cooldown: Duration::hours(24),
            revisions_per_day: 3,
            storm_cases: 20,
            storm_window: Duration::minutes(10),
            mutes: Vec::new(),
            wanted: Vec::new(),
        }
    }
}

/// How far the last alert of a case is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It waits, and nothing was done for it yet.
    Waiting,
    /// Its triage has begun.
    Begun,
    /// Its triage is over, and no other alert of the case waits.
    Over,
}

/// What is known of a key that came before.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// Its latest case; for a member of a storm, the case that stands for it.
    pub id: CaseId,
    /// How far its last alert is.
    pub stage: Stage,
    /// The verdict of its last triage; none where it has none, also for a failed one, and for one that was called off before
    /// it had looked at an alert that is new.
    pub verdict: Option<Verdict>,
    /// Whether the newest verdict of a person over it is another one.
    pub disputed: bool,
    /// The last alert that it triages, or will.
    pub alert: Arc<Alert>,
    /// Its state at the feed as noted last.
    pub state: FeedState,
    /// The latest `updatedAt` that counted.
    pub updated: Option<DateTime<Utc>>,
    /// Until when all that cleared it in its last triage holds; none where nothing did, or nothing of it ends.
    pub cleared_until: Option<DateTime<Utc>>,
    /// The last event that was noted of sightings, and that its triages have not cleared.
    pub last_event: Option<DateTime<Utc>>,
    /// When it was last opened or concluded.
    pub touched_at: DateTime<Utc>,
    /// How often it was triaged again in the last 24 hours, or will be.
    pub revisions_today: u32,
}

/// What the store knows where an alert arrives.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ground<'a> {
    /// The case of the same key.
    pub known: Option<&'a Known>,
    /// Where there is no such case: the storm that the key is a member of.
    pub member: Option<&'a Known>,
    /// Cases like it that were opened within the storm window.
    pub window: Option<&'a Window>,
    /// All mutes.
    pub mutes: &'a [Mute],
}

/// Decides over one arrival.
#[must_use]
pub fn admit(arrival: &Arrival, ground: &Ground<'_>, policy: &AdmissionPolicy) -> Admission {
    let is_canary = arrival.alert.is_canary();
    // Whatever key it says it has, an alert never hides in the case of a canary, nor a canary in that of an alert.
    let known = ground.known;
    let known = known.filter(|known| known.alert.is_canary() == is_canary);
    match known {
        _ if arrival.always => asked(known),
        _ if is_canary => canary(arrival, known),
        Some(known) => again(arrival, known, ground.mutes, policy),
        None => first(arrival, ground, policy),
    }
}

/// A canary is triaged once: no mute hides it and no storm takes it. One that is too old is set aside: it may be replayed.
fn canary(arrival: &Arrival, known: Option<&Known>) -> Admission {
    match known {
        Some(known) => Admission::Sighting(known.id.clone(), Seen::Same),
        None if arrival.alert.state.inactive => Admission::SetAside(SetAside::Inactive),
        None => Admission::New,
    }
}

/// `nightshift run`: a person asks for a triage, and gets one.
fn asked(known: Option<&Known>) -> Admission {
    match known {
        None => Admission::New,
        Some(known) if known.stage == Stage::Over => {
            Admission::Revision(known.id.clone(), Change::Asked)
        }
        Some(known) => Admission::GoOn(known.id.clone()),
    }
}

/// A key that has a case.
fn again(arrival: &Arrival, known: &Known, mutes: &[Mute], policy: &AdmissionPolicy) -> Admission {
    let (alert, id) = (&arrival.alert, known.id.clone());
    let change = match news(arrival, known, policy) {
        Ok(change) => change,
        Err(seen) => return Admission::Sighting(id, seen),
    };
    // What is new of a case that was cleared is hidden by that, where others are but not told again.
    let is_unseen = change.is_somebody_or_something_new() || material::outlasts(alert, known);
    let most = match material::is_cleared(known) && is_unseen {
        true => policy.revisions_per_day.saturating_mul(CLEARED_TIMES),
        false => policy.revisions_per_day,
    };
    let is_too_often = change != Change::Severity && known.revisions_today >= most;
    // What waits takes it in. Milder news, and those of another type, wait behind it while there may be a triage more.
    let waits = &known.alert;
    // The type of an alert that this version cannot read is empty.
    let is_of_its_type = waits.kind.is_empty() || alert.kind == waits.kind;
    let joins = alert.severity >= waits.severity && is_of_its_type;
    if known.stage == Stage::Waiting && (joins || is_too_often) {
        return Admission::Replaced(id, change);
    }
    if known.stage == Stage::Over
        && let Some(mute) = mute::hiding(alert, mutes, arrival.at)
    {
        return Admission::Muted(mute.name.clone());
    }
    if is_too_often {
        return Admission::Sighting(id, Seen::TooOften(change));
    }
    Admission::Revision(id, change)
}

/// A key that has no case.
fn first(arrival: &Arrival, ground: &Ground<'_>, policy: &AdmissionPolicy) -> Admission {
    let alert = &arrival.alert;
    // A dead letter is announced, whatever is muted.
    if arrival.unreadable.is_some() {
        return Admission::New;
    }
    if let Some(member) = ground.member
        && let Err(seen) = news(arrival, member, policy)
    {
        return Admission::Sighting(member.id.clone(), seen);
    }
    if let Some(why) = set_aside::why(alert, policy) {
        return Admission::SetAside(why);
    }
    if let Some(mute) = mute::hiding(alert, ground.mutes, arrival.at) {
        return Admission::Muted(mute.name.clone());
    }
    storm::joins(alert, ground.window, policy)
        .map_or(Admission::New, |first| Admission::Member(first.clone()))
}

/// What is new in an arrival of a known key that ought to be triaged; else why it is but a sighting.
fn news(arrival: &Arrival, known: &Known, policy: &AdmissionPolicy) -> Result<Change, Seen> {
    let alert = &arrival.alert;
    let is_older = material::is_older(alert, known, arrival.at);
    if let Some(why) = set_aside::why(alert, policy) {
        // An earlier state at the feed is not noted over a later one.
        return Err(match is_older {
            true => Seen::Older,
            false => Seen::AtFeed(why),
        });
    }
    if !is_older && material::is_same(alert, known) && !material::outlasts(alert, known) {
        return Err(Seen::Same);
    }
    material::change(alert, known, arrival.at, policy).ok_or_else(|| {
        if is_older {
            return Seen::Older;
        }
        if material::overflows(alert, known) {
            return Seen::Full;
        }
        // An urgent threat that its feed mutes is triaged once; that it is muted is no news afterwards.
        set_aside::by_state(&alert.state)
            .filter(|_| alert.state != known.state)
            .map_or(Seen::Unchanged, Seen::AtFeed)
    })
}
