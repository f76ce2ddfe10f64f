//! Whether an alert that came again says something that ought to be triaged.
//!
//! An id that is used again hides nothing (A23): what makes the alert another one is compared, not its name. The far
//! end counts as an actor does: a new command-and-control address is news.

use chrono::{DateTime, Duration, Utc};
use nightshift_alert::{Alert, Flag, Indicator, IndicatorKind, Resource, Role};
use nightshift_engine::{Again, Verdict};

use super::{Admission, AdmissionPolicy, Change, Known, Seen, Stage, set_aside};
use crate::Arrival;

/// How far a feed's clock may be ahead of ours.
const AHEAD: Duration = Duration::minutes(15);
/// Most values of an alert with those of others before it: twice what one may have. Actors come first.
const MOST_INDICATORS: usize = 512;
/// Most resources of an alert with those of others before it: twice what one may have.
const MOST_RESOURCES: usize = 128;
/// Most new actors, targets and far ends that are told.
const MOST_NEW: usize = 8;

/// Whether it tells of an earlier state than the one that counts. What has no time is never older, and nothing is older
/// than a time that has not come: whoever writes one shall not silence what really happens until then.
pub(super) fn is_older(alert: &Alert, known: &Known, at: DateTime<Utc>) -> bool {
    let last = known.updated.filter(|last| *last <= at + AHEAD);
    match (alert.times.updated, last) {
        (Some(its), Some(last)) => its < last,
        _ => false,
    }
}

/// Whether nothing but counters and times changed. A state at the feed that was noted meanwhile is a change.
pub(super) fn is_same(alert: &Alert, known: &Known) -> bool {
    alert.content == known.alert.content
        && alert.state == known.state
        && new_resources(alert, &known.alert).next().is_none()
}

/// Whether its events, or those of sightings before it, go on after what cleared it in its last triage has ended. The content
/// does not tell: times are no part of it.
pub(super) fn outlasts(alert: &Alert, known: &Known) -> bool {
    let window = alert.times.window();
    let last = window.map(|(_, last)| last).max(known.last_event);
    let until = known.cleared_until.filter(|_| known.stage == Stage::Over);
    until.is_some_and(|until| last.is_some_and(|last| until < last))
}

/// From when until when what is but a sighting went on, where that is wider than the last alert of its case: whatever the
/// case triages next is to be cleared, or not, with that, and what clears it meanwhile has to hold all that time. None
/// where it was cleared for that time, is of one that has not come, or tells of something else (what its feed has done with,
/// a sample, a member of a storm).
#[must_use]
pub fn noted(
    arrival: &Arrival,
    admission: &Admission,
    known: Option<&Known>,
) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    let (Admission::GoOn(_)
    | Admission::Sighting(_, Seen::Same | Seen::Unchanged | Seen::Older | Seen::TooOften(_))) =
        admission
    else {
        return None;
    };
    let (alert, known) = (&arrival.alert, known?);
    let window = alert.times.window()?;
    let before = known.alert.times.window()?;
    let is_wider = window.0 < before.0 || before.1 < window.1;
    let is_of_it = alert.is_sample() == known.alert.is_sample()
        && alert.is_canary() == known.alert.is_canary();
    let is_cleared = is_cleared(known) && !outlasts(alert, known) && before.0 <= window.0;
    (is_of_it && is_wider && !is_cleared && window.1 <= arrival.at + AHEAD).then_some(window)
}

/// What is to be triaged of an alert that came to a case; none where that is the alert as it came. Where nobody has looked
/// at what the case was to triage, or could not clear it, its events and who and what took part in them are to be cleared,
/// or not, with those of this one.
#[must_use]
pub fn triaged(alert: &Alert, admission: &Admission, known: Option<&Known>) -> Option<Alert> {
    let known = known?;
    match admission {
        Admission::Replaced(..) => {
            let mut both = joined(alert, &known.alert);
            // The case stays in the trace that it was opened in.
            both.trace.clone_from(&known.alert.trace);
            Some(both)
        }
        Admission::Revision(_, change) if *change != Change::Asked && !is_cleared(known) => {
            Some(joined(alert, &known.alert))
        }
        _ => None,
    }
}

/// Whether its last triage called it harmless, and nothing came since.
pub(super) fn is_cleared(known: &Known) -> bool {
    known.stage == Stage::Over && known.verdict.is_some_and(Verdict::is_benign)
}

/// An alert with the events of another one too, and who and what took part in those.
fn joined(alert: &Alert, other: &Alert) -> Alert {
    let mut both = alert.clone();
    if let Some((first, last)) = other.times.window() {
        both.times.cover(first, last);
    }
    let took_part = |one: &&Indicator| one.role < Role::Related;
    let is_missing = |one: &&Indicator| !alert.with_role(one.role).any(|known| known == *one);
    let missing = other.indicators.iter().filter(took_part).filter(is_missing);
    let mut missing: Vec<Indicator> = missing.cloned().collect();
    missing.sort_by_key(|one| one.role);
    let room = MOST_INDICATORS.saturating_sub(both.indicators.len());
    if missing.len() > room {
        missing.truncate(room);
        let path = String::new();
        both.flags.push(Flag::Truncated { path });
        both.flags.sort();
        both.flags.dedup();
    }
    both.indicators.append(&mut missing);
    both.indicators.sort();
    let room = MOST_RESOURCES.saturating_sub(both.resources.len());
    let resources: Vec<Resource> = new_resources(other, alert).take(room).cloned().collect();
    both.resources.extend(resources);
    both
}

/// The first thing that is new and matters. A sample changes nothing in the case of a real alert.
pub(super) fn change(
    alert: &Alert,
    known: &Known,
    at: DateTime<Utc>,
    policy: &AdmissionPolicy,
) -> Option<Change> {
    let last = &known.alert;
    if alert.is_sample() && !last.is_sample() {
        return None;
    }
    let is_over = known.stage == Stage::Over;
    let is_open_question = matches!(known.verdict, None | Some(Verdict::Inconclusive));
    let has_cooled_down = at - known.touched_at >= policy.cooldown;
    [
        (alert.severity > last.severity, Change::Severity),
        (alert.kind != last.kind, Change::Type),
        (is_active_again(alert, known), Change::State),
        (is_new(alert, last, Role::Actor), Change::Actor),
        (
            is_new(alert, last, Role::Target) || new_resources(alert, last).next().is_some(),
            Change::Target,
        ),
        (is_new(alert, last, Role::Remote), Change::Remote),
        (
            alert.action.is_some() && alert.action != last.action,
            Change::Action,
        ),
        (outlasts(alert, known), Change::NoLongerCleared),
        (is_over && is_open_question, Change::Inconclusive),
        (is_over && known.disputed, Change::Disputed),
        (is_over && has_cooled_down, Change::CooledDown),
    ]
    .into_iter()
    .find_map(|(fits, change)| fits.then_some(change))
}

/// Whether its feed had done with it, or called it a sample, and no longer does.
fn is_active_again(alert: &Alert, known: &Known) -> bool {
    let is_active = set_aside::by_state(&alert.state).is_none();
    let was_active = set_aside::by_state(&known.state).is_none();
    (is_active && !was_active) || (!alert.state.sample && known.state.sample)
}

/// The resources that the last alert did not name.
fn new_resources<'a>(alert: &'a Alert, last: &'a Alert) -> impl Iterator<Item = &'a Resource> {
    let is_target = |id: &str| last.indicators.iter().any(|one| one.value == id);
    alert.resources.iter().filter(move |resource| {
        !last.resources.iter().any(|known| known.is_same(resource))
            && !is_target(resource.short_id())
    })
}

/// Whether it names somebody or something in this role that the last one did not.
fn is_new(alert: &Alert, last: &Alert, role: Role) -> bool {
    new(alert, last, role).next().is_some()
}

fn new<'a>(alert: &'a Alert, last: &'a Alert, role: Role) -> impl Iterator<Item = &'a Indicator> {
    alert
        .with_role(role)
        .filter(move |one| !last.with_role(role).any(|known| known == *one))
}

/// The same with what the alert that is triaged now has and the one before had not. An alert that took the place of one
/// that waited may be more severe than that was.
#[must_use]
pub fn compared(mut again: Again, alert: &Alert, last: &Alert) -> Again {
    let indicators = [Role::Actor, Role::Target, Role::Remote]
        .into_iter()
        .flat_map(|role| new(alert, last, role))
        .cloned();
    let resources = new_resources(alert, last)
        .map(|resource| Indicator::new(IndicatorKind::Arn, &resource.id, Role::Target));
    again.new = indicators.chain(resources).take(MOST_NEW).collect();
    let is_asked_for = again.why.as_deref() == Some(Change::Asked.as_str());
    if alert.severity > last.severity && !is_asked_for {
        again.why = Some(Change::Severity.as_str().to_owned());
    }
    again
}
