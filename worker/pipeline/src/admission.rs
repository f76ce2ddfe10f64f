//! Decides what becomes of an alert that was read. The code is pure, with one file per rule.
//!
//! The store reads the [`Ground`] in the transaction that will hold the outcome, calls [`admit`], and writes the
//! result. Each alert therefore ends in one place, and two concurrent arrivals cannot both be the first. The module
//! does not read the wall clock: an arrival carries its time.

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
use nightshift_engine::conclusion::Verdict;

use crate::case::CaseId;
use crate::intake::Arrival;
use crate::route::Match;

pub use material::{SightingTimes, compared, triaged};
pub use mute::Mute;
pub use outcome::{Admission, Change, Seen, SetAside};
pub use storm::Window;

/// Multiple of the daily revision limit that applies to new subjects of a cleared case.
const CLEARED_TIMES: u32 = 8;

/// Settings of admission.
#[derive(Debug, Clone, PartialEq)]
pub struct AdmissionPolicy {
    /// Time after the end of a case during which immaterial changes count as sightings.
    pub cooldown: Duration,
    /// Revisions that a case may have within 24 hours. A rise in severity is not limited.
    pub revisions_per_day: u32,
    /// Cases of one feed, type and account that may be opened within `storm_window`.
    pub storm_cases: u32,
    /// Period in which `storm_cases` counts.
    pub storm_window: Duration,
    /// Mutes of the configuration. The store adds its own.
    pub mutes: Vec<Mute>,
    /// Matches of routes that name a class. They are triaged although their class would be set aside.
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

/// Progress of the last alert of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The alert waits, and no work was done for it.
    Waiting,
    Begun,
    /// The triage is over, and no other alert of the case waits.
    Over,
}

/// Stored facts about a key that arrived before.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// The latest case of the key. For a member of a storm, this is the case that represents the storm.
    pub id: CaseId,
    pub stage: Stage,
    /// Verdict of the last triage. `None` if the triage failed, or was cancelled before it looked at a new alert.
    pub verdict: Option<Verdict>,
    /// Whether the newest verdict of a person differs from the verdict of the case.
    pub disputed: bool,
    /// The last alert that the case triages or will triage.
    pub alert: Arc<Alert>,
    /// Last noted state of the alert at the feed.
    pub state: FeedState,
    /// The latest `updatedAt` that counted.
    pub updated: Option<DateTime<Utc>>,
    /// Time until which all records that cleared the last triage hold. `None` if nothing cleared the case or no
    /// record ends.
    pub cleared_until: Option<DateTime<Utc>>,
    /// The last event of noted sightings that no triage of the case has cleared.
    pub last_event: Option<DateTime<Utc>>,
    /// Time when the case was last opened or concluded.
    pub touched_at: DateTime<Utc>,
    /// Revisions of the last 24 hours, including the one that waits.
    pub revisions_today: u32,
}

/// Stored context of an arriving alert.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ground<'a> {
    /// The case of the same key.
    pub known: Option<&'a Known>,
    /// The storm that the key is a member of, if the key has no case of its own.
    pub member: Option<&'a Known>,
    /// Similar cases that were opened within the storm window.
    pub window: Option<&'a Window>,
    pub mutes: &'a [Mute],
}

/// Decides what becomes of one arrival.
#[must_use]
pub fn admit(arrival: &Arrival, ground: &Ground<'_>, policy: &AdmissionPolicy) -> Admission {
    let is_canary = arrival.alert.is_canary();
    // An alert never joins the case of a canary, nor a canary the case of an alert, whatever key it claims.
    let known = ground.known;
    let known = known.filter(|known| known.alert.is_canary() == is_canary);
    match known {
        _ if arrival.always => asked(&arrival.alert, known),
        _ if is_canary => canary(arrival, known),
        Some(known) => again(arrival, known, ground.mutes, policy),
        None => first(arrival, ground, policy),
    }
}

/// Admits a canary once: no mute and no storm applies. A late canary is set aside because it may be a replay.
fn canary(arrival: &Arrival, known: Option<&Known>) -> Admission {
    match known {
        Some(known) => Admission::Sighting(known.id.clone(), Seen::Same),
        None if arrival.alert.state.inactive => Admission::SetAside(SetAside::Inactive),
        None => Admission::New,
    }
}

/// `nightshift run`: a person asks for a triage, and gets one. What the triage that waits or has begun does not judge is
/// judged with it or after it.
fn asked(alert: &Alert, known: Option<&Known>) -> Admission {
    let Some(known) = known else {
        return Admission::New;
    };
    let id = known.id.clone();
    if known.stage == Stage::Over {
        return Admission::Revision(id, Change::Asked);
    }
    match material::unjudged(alert, &known.alert) {
        None => Admission::GoOn(id),
        Some(change) if joins(alert, known) => Admission::Replaced(id, change),
        Some(change) => Admission::Revision(id, change),
    }
}

/// Whether the case takes an alert into what it waits to triage. Milder news, and those of another type, wait behind it.
fn joins(alert: &Alert, known: &Known) -> bool {
    let waits = &known.alert;
    // The type of an alert that this version cannot read is empty.
    let is_of_its_type = waits.kind.is_empty() || alert.kind == waits.kind;
    known.stage == Stage::Waiting && alert.severity >= waits.severity && is_of_its_type
}

/// Admits an alert whose key has a case.
fn again(arrival: &Arrival, known: &Known, mutes: &[Mute], policy: &AdmissionPolicy) -> Admission {
    let (alert, id) = (&arrival.alert, known.id.clone());
    let change = match news(arrival, known, policy) {
        Ok(change) => change,
        Err(seen) => return Admission::Sighting(id, seen),
    };
    // A new subject of a cleared case would be hidden by the verdict. In other cases it is visible, though not
    // announced again.
    let is_unseen = change.is_somebody_or_something_new() || material::outlasts(alert, known);
    let most = match material::is_cleared(known) && is_unseen {
        true => policy.revisions_per_day.saturating_mul(CLEARED_TIMES),
        false => policy.revisions_per_day,
    };
    let is_too_often = change != Change::Severity && known.revisions_today >= most;
    // What cannot join what waits is triaged behind it, while there may be a triage more.
    if joins(alert, known) || (known.stage == Stage::Waiting && is_too_often) {
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

/// Admits an alert whose key has no case.
fn first(arrival: &Arrival, ground: &Ground<'_>, policy: &AdmissionPolicy) -> Admission {
    let alert = &arrival.alert;
    // A dead letter is announced even if a mute matches.
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

/// Returns the change of a known key that needs a triage, or the reason why the arrival is only a sighting.
fn news(arrival: &Arrival, known: &Known, policy: &AdmissionPolicy) -> Result<Change, Seen> {
    let alert = &arrival.alert;
    let is_older = material::is_older(alert, known, arrival.at);
    if let Some(why) = set_aside::why(alert, policy) {
        // An earlier state at the feed does not replace a later one.
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
        // An urgent threat that its feed mutes is triaged once. The mute is not a change afterwards.
        set_aside::by_state(&alert.state)
            .filter(|_| alert.state != known.state)
            .map_or(Seen::Unchanged, Seen::AtFeed)
    })
}
