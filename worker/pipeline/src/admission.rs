//! Decides the admission of an alert that was read. The code is pure, with one file per rule.
//!
//! The store reads the [`AdmissionContext`] in the transaction that will hold the outcome, calls [`admit`], and writes
//! the result. Each alert therefore ends in one place, and two concurrent arrivals cannot both be the first. The module
//! does not read the wall clock: an arrival carries its time.

mod material_change;
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

pub use material_change::{SightingTimes, alert_to_triage, compare_alerts};
pub use mute::Mute;
pub use outcome::{Admission, RevisionReason, SetAsideReason, SightingReason};
pub use storm::StormWindow;

/// Multiple of the daily revision limit that applies to new subjects of a cleared case.
const CLEARED_REVISIONS_FACTOR: u32 = 8;

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
    pub class_exceptions: Vec<Match>,
}

impl Default for AdmissionPolicy {
    fn default() -> Self {
        Self {
            cooldown: Duration::hours(24),
            revisions_per_day: 3,
            storm_cases: 20,
            storm_window: Duration::minutes(10),
            mutes: Vec::new(),
            class_exceptions: Vec::new(),
        }
    }
}

/// Progress of the last alert of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriageStage {
    /// The alert waits, and no work was done for it.
    Waiting,
    Begun,
    /// The triage is over, and no other alert of the case waits.
    Over,
}

/// Stored facts about a key that arrived before.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownCase {
    /// The latest case of the key. For a member of a storm, this is the case that represents the storm.
    pub id: CaseId,
    pub stage: TriageStage,
    /// Verdict of the last triage. `None` if the triage failed, or was cancelled before it looked at a new alert.
    pub verdict: Option<Verdict>,
    /// True if the newest verdict of a person differs from the verdict of the case.
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
pub struct AdmissionContext<'a> {
    /// The case of the same key.
    pub known: Option<&'a KnownCase>,
    /// The storm that the key is a member of, if the key has no case of its own.
    pub member: Option<&'a KnownCase>,
    /// Similar cases that were opened within the storm window.
    pub window: Option<&'a StormWindow>,
    pub mutes: &'a [Mute],
}

/// Decides the admission of one arrival.
#[must_use]
pub fn admit(
    arrival: &Arrival,
    context: &AdmissionContext<'_>,
    policy: &AdmissionPolicy,
) -> Admission {
    let is_canary = arrival.alert.is_canary();
    // An alert never joins the case of a canary, nor a canary the case of an alert, regardless of the key that it
    // claims.
    let known = context.known;
    let known = known.filter(|known| known.alert.is_canary() == is_canary);
    match known {
        _ if arrival.on_demand => admit_on_demand(&arrival.alert, known),
        _ if is_canary => admit_canary(arrival, known),
        Some(known) => admit_known_key(arrival, known, context.mutes, policy),
        None => admit_new_key(arrival, context, policy),
    }
}

/// Admits a canary once: no mute and no storm applies. A late canary is set aside because it may be a replay.
fn admit_canary(arrival: &Arrival, known: Option<&KnownCase>) -> Admission {
    match known {
        Some(known) => Admission::Sighting(known.id.clone(), SightingReason::Same),
        None if arrival.alert.state.inactive => Admission::SetAside(SetAsideReason::Inactive),
        None => Admission::New,
    }
}

/// Admits an alert that a person asked to triage with `nightshift run`. If a triage of the case waits or has begun, the
/// parts of the alert that it does not judge join it or are triaged after it.
fn admit_on_demand(alert: &Alert, known: Option<&KnownCase>) -> Admission {
    let Some(known) = known else {
        return Admission::New;
    };
    let id = known.id.clone();
    if known.stage == TriageStage::Over {
        return Admission::Revision(id, RevisionReason::Asked);
    }
    match material_change::first_untriaged_change(alert, &known.alert) {
        None => Admission::Resumed(id),
        Some(change) if joins(alert, known) => Admission::Replaced(id, change),
        Some(change) => Admission::Revision(id, change),
    }
}

/// Returns whether the alert joins the one that the case waits to triage. A less severe alert, or one of another type,
/// is triaged after it.
fn joins(alert: &Alert, known: &KnownCase) -> bool {
    let waits = &known.alert;
    // The type of an alert that this version cannot read is empty.
    let is_of_its_type = waits.kind.is_empty() || alert.kind == waits.kind;
    known.stage == TriageStage::Waiting && alert.severity >= waits.severity && is_of_its_type
}

/// Admits an alert whose key has a case.
fn admit_known_key(
    arrival: &Arrival,
    known: &KnownCase,
    mutes: &[Mute],
    policy: &AdmissionPolicy,
) -> Admission {
    let (alert, id) = (&arrival.alert, known.id.clone());
    let change = match find_change(arrival, known, policy) {
        Ok(change) => change,
        Err(seen) => return Admission::Sighting(id, seen),
    };
    // A new subject of a cleared case would be hidden by the verdict. In other cases it is visible, though not
    // announced again.
    let is_unseen = change.is_new_subject() || material_change::outlasts_clearance(alert, known);
    let most = match material_change::is_cleared(known) && is_unseen {
        true => policy
            .revisions_per_day
            .saturating_mul(CLEARED_REVISIONS_FACTOR),
        false => policy.revisions_per_day,
    };
    let is_too_often = change != RevisionReason::Severity && known.revisions_today >= most;
    // An alert that cannot join the waiting one is triaged after it, unless the case has reached its limit of
    // revisions.
    if joins(alert, known) || (known.stage == TriageStage::Waiting && is_too_often) {
        return Admission::Replaced(id, change);
    }
    if known.stage == TriageStage::Over
        && let Some(mute) = mute::find_mute(alert, mutes, arrival.at)
    {
        return Admission::Muted(mute.name.clone());
    }
    if is_too_often {
        return Admission::Sighting(id, SightingReason::TooOften(change));
    }
    Admission::Revision(id, change)
}

/// Admits an alert whose key has no case.
fn admit_new_key(
    arrival: &Arrival,
    context: &AdmissionContext<'_>,
    policy: &AdmissionPolicy,
) -> Admission {
    let alert = &arrival.alert;
    // A dead letter is announced even if a mute matches.
    if arrival.unreadable.is_some() {
        return Admission::New;
    }
    if let Some(member) = context.member
        && let Err(seen) = find_change(arrival, member, policy)
    {
        return Admission::Sighting(member.id.clone(), seen);
    }
    if let Some(why) = set_aside::set_aside_reason(alert, policy) {
        return Admission::SetAside(why);
    }
    if let Some(mute) = mute::find_mute(alert, context.mutes, arrival.at) {
        return Admission::Muted(mute.name.clone());
    }
    storm::storm_to_join(alert, context.window, policy)
        .map_or(Admission::New, |first| Admission::Member(first.clone()))
}

/// Returns the change of a known key that needs a triage, or the reason why the arrival is only a sighting.
fn find_change(
    arrival: &Arrival,
    known: &KnownCase,
    policy: &AdmissionPolicy,
) -> Result<RevisionReason, SightingReason> {
    let alert = &arrival.alert;
    let is_older = material_change::is_older(alert, known, arrival.at);
    if let Some(why) = set_aside::set_aside_reason(alert, policy) {
        // An earlier state at the feed does not replace a later one.
        return Err(match is_older {
            true => SightingReason::Older,
            false => SightingReason::AtFeed(why),
        });
    }
    if !is_older
        && material_change::is_same(alert, known)
        && !material_change::outlasts_clearance(alert, known)
    {
        return Err(SightingReason::Same);
    }
    material_change::first_material_change(alert, known, arrival.at, policy).ok_or_else(|| {
        if is_older {
            return SightingReason::Older;
        }
        if material_change::overflows(alert, known) {
            return SightingReason::Full;
        }
        // An urgent threat that its feed mutes is triaged once. The mute is not a change afterwards.
        set_aside::reason_by_state(&alert.state)
            .filter(|_| alert.state != known.state)
            .map_or(SightingReason::Unchanged, SightingReason::AtFeed)
    })
}
