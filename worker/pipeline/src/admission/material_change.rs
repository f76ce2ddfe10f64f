//! Decides whether a repeated alert contains a material change.
//!
//! A reused id hides nothing (A23): the content is compared, not the name. The far end counts like an actor, so a new
//! command-and-control address is a change. Content that was not judged is new in any order of arrival. States, and
//! changes that matter only after a time, count only in the newest alert.

use chrono::{DateTime, Duration, Utc};
use nightshift_alert::{
    Alert, ContentFlag, DetailKind, Direction, FeedState, Indicator, IndicatorKind, IndicatorRole,
    Outcome, Resource,
};
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::previous_run::PreviousRun;

use super::{
    Admission, AdmissionPolicy, KnownCase, RevisionReason, SightingReason, TriageStage, set_aside,
};
use crate::intake::Arrival;

/// The time by which a feed's clock may be ahead of this machine's clock.
const MAX_CLOCK_SKEW: Duration = Duration::minutes(15);
/// Maximum number of indicators of a joined alert: twice the limit of one alert. Actors are kept first.
const MOST_INDICATORS: usize = 512;
/// Maximum number of resources of a joined alert: twice the limit of one alert.
const MOST_RESOURCES: usize = 128;
/// Maximum number of details, and most unreadable fields, of a joined alert.
const MOST_DETAILS: usize = 256;
/// Maximum number of new actors, targets and far ends that a report names.
const MOST_NEW: usize = 8;
/// Kinds of values that identify actors, programs and resources. They also count with the role `related`.
const SUBJECTS: [IndicatorKind; 10] = [
    IndicatorKind::Principal,
    IndicatorKind::AccessKey,
    IndicatorKind::Email,
    IndicatorKind::Arn,
    IndicatorKind::Instance,
    IndicatorKind::Bucket,
    IndicatorKind::Cluster,
    IndicatorKind::Container,
    IndicatorKind::Function,
    IndicatorKind::Database,
];
/// Roles whose values count, in the order in which values are kept.
const ROLES: [(IndicatorRole, RevisionReason); 4] = [
    (IndicatorRole::Actor, RevisionReason::Actor),
    (IndicatorRole::Target, RevisionReason::Target),
    (IndicatorRole::Remote, RevisionReason::Remote),
    (IndicatorRole::Related, RevisionReason::Related),
];

/// Returns whether the alert reports an earlier state than the one that counts.
///
/// An alert without a time is never older. A known time in the future makes nothing older: otherwise a sender could
/// write one and suppress real events until then.
pub(super) fn is_older(alert: &Alert, known: &KnownCase, at: DateTime<Utc>) -> bool {
    let last = known.updated.filter(|last| *last <= at + MAX_CLOCK_SKEW);
    match (alert.times.updated, last) {
        (Some(its), Some(last)) => its < last,
        _ => false,
    }
}

/// Returns whether only counters and times changed. A newly noted state at the feed is a change.
pub(super) fn is_same(alert: &Alert, known: &KnownCase) -> bool {
    alert.content == known.alert.content
        && alert.state == known.state
        && (is_full(&known.alert) || first_new_subject(alert, &known.alert).is_none())
}

/// Returns the first part of the alert's content that is not in the last alert of the case. If the last alert reached
/// its limits and is marked as full, no subject counts as new.
pub(super) fn first_untriaged_change(alert: &Alert, last: &Alert) -> Option<RevisionReason> {
    let by_value = || {
        let new = (!is_full(last)).then(|| first_new_subject(alert, last));
        new.flatten()
    };
    if alert.severity > last.severity {
        Some(RevisionReason::Severity)
    } else if alert.kind != last.kind {
        Some(RevisionReason::Type)
    } else {
        by_value().or_else(|| has_new_action(alert, last).then_some(RevisionReason::Action))
    }
}

/// Returns the change for the first actor, target, far end or related subject that the last alert did not have.
fn first_new_subject(alert: &Alert, last: &Alert) -> Option<RevisionReason> {
    let is_unread = |place: &String| !last.unreadable.contains(place);
    let is_new = |role| match role {
        IndicatorRole::Actor => {
            alert.unreadable.iter().any(is_unread) || (alert.unseen && !last.unseen)
        }
        IndicatorRole::Target => new_resources(alert, last).next().is_some(),
        // The far end is judged only for outbound connections.
        IndicatorRole::Remote => is_outbound(alert) && !is_outbound(last),
        IndicatorRole::Related => false,
    };
    ROLES.into_iter().find_map(|(role, change)| {
        let fits = new_indicators(alert, last, role).next().is_some() || is_new(role);
        fits.then_some(change)
    })
}

fn is_outbound(alert: &Alert) -> bool {
    alert.direction == Some(Direction::Outbound)
}

/// Returns whether the action differs from those of the last alert and the alerts joined to it, or now succeeded.
fn has_new_action(alert: &Alert, last: &Alert) -> bool {
    let succeeded = |alert: &Alert| alert.outcome == Some(Outcome::Succeeded);
    let is_known = |operation| {
        let mut known = last.details_of(DetailKind::Operation);
        known.any(|one| one == operation)
    };
    let mut operations = alert.details_of(DetailKind::Operation).peekable();
    let are_known = operations.peek().is_some() && operations.all(is_known);
    (succeeded(alert) && !succeeded(last))
        || (alert.action.is_some() && alert.action != last.action && !are_known)
}

/// Returns whether the joined alert reached its limits and is marked as full. Such an alert is never cleared.
pub(super) fn is_full(alert: &Alert) -> bool {
    let has_no_room =
        alert.indicators.len() >= MOST_INDICATORS || alert.resources.len() >= MOST_RESOURCES;
    alert.unseen && has_no_room
}

/// Returns whether a subject is new and there is no room for it.
pub(super) fn overflows(alert: &Alert, known: &KnownCase) -> bool {
    is_full(&known.alert) && first_new_subject(alert, &known.alert).is_some()
}

/// Returns whether events of the alert or of earlier sightings continue after the end of the records that cleared the
/// last triage. Times are not part of the content hash.
pub(super) fn outlasts_clearance(alert: &Alert, known: &KnownCase) -> bool {
    let window = alert.times.window();
    let last = window.map(|(_, last)| last).max(known.last_event);
    let until = known
        .cleared_until
        .filter(|_| known.stage == TriageStage::Over);
    until.is_some_and(|until| last.is_some_and(|last| until < last))
}

/// Returns the time span of a sighting where it is wider than that of the last alert of its case.
///
/// The next triage of the case is cleared, or not, over this span, and records that clear it must hold for all of it.
/// Returns `None` if the case was cleared for that span, or if the span is in the future. Also returns `None` if the
/// sighting reports something else (a state at the feed, a sample, a member of a storm).
#[must_use]
pub(super) fn uncleared_window(
    arrival: &Arrival,
    admission: &Admission,
    known: Option<&KnownCase>,
) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    let window = sighting_window(arrival, admission, known)?;
    let (alert, known) = (&arrival.alert, known?);
    let before = known.alert.times.window()?;
    let is_wider = window.0 < before.0 || before.1 < window.1;
    let is_cleared = is_cleared(known) && !outlasts_clearance(alert, known) && before.0 <= window.0;
    (is_wider && !is_cleared).then_some(window)
}

/// Returns the time span of a sighting, or `None` if it is unknown or the sighting reports something else.
fn sighting_window(
    arrival: &Arrival,
    admission: &Admission,
    known: Option<&KnownCase>,
) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    let (Admission::Resumed(_)
    | Admission::Sighting(
        _,
        SightingReason::Same
        | SightingReason::Unchanged
        | SightingReason::Older
        | SightingReason::Full
        | SightingReason::TooOften(_),
    )) = admission
    else {
        return None;
    };
    let (alert, known) = (&arrival.alert, known?);
    let window = alert.times.window()?;
    let is_of_it = alert.is_sample() == known.alert.is_sample()
        && alert.is_canary() == known.alert.is_canary();
    (is_of_it && window.1 <= arrival.at + MAX_CLOCK_SKEW).then_some(window)
}

/// Times of a sighting that stores note.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SightingTimes {
    /// Time span that the next triage of the case has to judge.
    pub uncleared: Option<(DateTime<Utc>, DateTime<Utc>)>,
    /// Last event of the sighting, even if the case was cleared until then. Records that are withdrawn later have to
    /// hold until then.
    pub events_until: Option<DateTime<Utc>>,
}

impl SightingTimes {
    /// Returns the times of a sighting; both are `None` for any other arrival.
    #[must_use]
    pub fn new(arrival: &Arrival, admission: &Admission, known: Option<&KnownCase>) -> Self {
        let events_until = sighting_window(arrival, admission, known).map(|(_, last)| last);
        Self {
            uncleared: uncleared_window(arrival, admission, known),
            events_until,
        }
    }
}

/// Returns the alert to triage for an arrival at a case, or `None` if that is the alert as it came.
///
/// If the pending or last alert of the case was not looked at or not cleared, its events and subjects are joined to
/// the new alert and judged together. This also holds if the new alert is older: the state, time and content that
/// count stay those of the newest alert.
#[must_use]
pub fn alert_to_triage(
    arrival: &Arrival,
    admission: &Admission,
    known: Option<&KnownCase>,
) -> Option<Alert> {
    let (alert, known) = (&arrival.alert, known?);
    let is_replaced = matches!(admission, Admission::Replaced(..));
    let is_revised =
        matches!(admission, Admission::Revision(_, change) if *change != RevisionReason::Asked);
    let is_older = is_older(alert, known, arrival.at);
    if !is_replaced && !(is_revised && (is_older || !is_cleared(known))) {
        return None;
    }
    let mut both = merge_alerts(alert, &known.alert);
    if is_replaced {
        // The case stays in the trace in which it was opened.
        both.trace.clone_from(&known.alert.trace);
    }
    if (is_replaced || is_older) && both.severity < known.alert.severity {
        both.severity = known.alert.severity;
        both.severity_sent.clone_from(&known.alert.severity_sent);
    }
    if is_older {
        both.content.clone_from(&known.alert.content);
        both.times.updated = known.updated;
        both.state = FeedState {
            sample: alert.state.sample && known.state.sample,
            ..known.state
        };
    }
    Some(both)
}

/// Returns whether the last triage was benign and nothing arrived since.
pub(super) fn is_cleared(known: &KnownCase) -> bool {
    known.stage == TriageStage::Over && known.verdict.is_some_and(Verdict::is_benign)
}

/// Returns the first alert with the events and subjects of the second added.
fn merge_alerts(alert: &Alert, other: &Alert) -> Alert {
    let mut both = alert.clone();
    if let Some((first, last)) = other.times.window() {
        both.times.widen(first, last);
    }
    let of_role = |(role, _)| new_indicators(other, alert, role);
    let missing: Vec<Indicator> = ROLES.into_iter().flat_map(of_role).cloned().collect();
    let resources: Vec<Resource> = new_resources(other, alert).cloned().collect();
    let has_room = extend_bounded(&mut both.indicators, missing, MOST_INDICATORS)
        & extend_bounded(&mut both.resources, resources, MOST_RESOURCES);
    both.indicators.sort();
    both.unseen |= other.unseen || !has_room;
    if !has_room {
        let path = String::new();
        both.flags.push(ContentFlag::Truncated { path });
        both.flags.sort();
        both.flags.dedup();
    }
    if is_outbound(other) {
        both.direction = other.direction;
    }
    merge_bounded(&mut both.unreadable, &other.unreadable, MOST_DETAILS);
    merge_bounded(&mut both.callers, &other.callers, MOST_INDICATORS);
    merge_bounded(&mut both.principals, &other.principals, MOST_INDICATORS);
    merge_bounded(&mut both.addresses, &other.addresses, MOST_INDICATORS);
    merge_bounded(&mut both.details, &other.details, MOST_DETAILS);
    both
}

/// Adds values while there is room, and returns whether all fitted.
fn extend_bounded<T>(list: &mut Vec<T>, more: Vec<T>, most: usize) -> bool {
    let room = most.saturating_sub(list.len());
    let has_room = more.len() <= room;
    list.extend(more.into_iter().take(room));
    has_room
}

/// Adds the values that the list lacks, while there is room, and sorts the list.
fn merge_bounded<T: Ord + Clone>(list: &mut Vec<T>, other: &[T], most: usize) {
    let missing = other.iter().filter(|one| !list.contains(one));
    let missing = missing.cloned().collect();
    extend_bounded(list, missing, most);
    list.sort();
}

/// Returns the first material change. A sample changes nothing in the case of a real alert.
pub(super) fn first_material_change(
    alert: &Alert,
    known: &KnownCase,
    at: DateTime<Utc>,
    policy: &AdmissionPolicy,
) -> Option<RevisionReason> {
    let last = &known.alert;
    if alert.is_sample() && !last.is_sample() {
        return None;
    }
    let is_newest = !is_older(alert, known, at);
    let is_real_at_last = !alert.is_sample() && last.is_sample();
    let is_over = known.stage == TriageStage::Over;
    let may_differ = is_newest && is_over;
    let is_open_question = matches!(known.verdict, None | Some(Verdict::Inconclusive));
    let has_cooled_down = at - known.touched_at >= policy.cooldown;
    let by_state = [
        (
            is_real_at_last || (is_newest && is_active_again(alert, known)),
            RevisionReason::State,
        ),
        (
            outlasts_clearance(alert, known),
            RevisionReason::NoLongerCleared,
        ),
        (may_differ && is_open_question, RevisionReason::Inconclusive),
        (may_differ && known.disputed, RevisionReason::Disputed),
        (may_differ && has_cooled_down, RevisionReason::CooledDown),
    ];
    first_untriaged_change(alert, last).or_else(|| {
        by_state
            .into_iter()
            .find_map(|(fits, change)| fits.then_some(change))
    })
}

/// Returns whether the feed had finished with the alert or called it a sample, and no longer does.
fn is_active_again(alert: &Alert, known: &KnownCase) -> bool {
    let is_active = set_aside::reason_by_state(&alert.state).is_none();
    let was_active = set_aside::reason_by_state(&known.state).is_none();
    (is_active && !was_active) || (!alert.state.sample && known.state.sample)
}

/// Returns the resources that the last alert did not name.
fn new_resources<'a>(alert: &'a Alert, last: &'a Alert) -> impl Iterator<Item = &'a Resource> {
    let is_target = |id: &str| {
        last.with_role(IndicatorRole::Target)
            .any(|one| one.value == id)
    };
    alert.resources.iter().filter(move |resource| {
        !last.resources.iter().any(|known| known.is_same(resource))
            && !is_target(resource.short_id())
    })
}

/// Returns the values in this role that the last alert did not have in it. Related values count only if they are
/// subjects that the last alert did not have in any role.
fn new_indicators<'a>(
    alert: &'a Alert,
    last: &'a Alert,
    role: IndicatorRole,
) -> impl Iterator<Item = &'a Indicator> {
    let is_known = move |one: &Indicator| match role {
        IndicatorRole::Related => {
            let value = without_session(one);
            let is_it =
                |known: &Indicator| known.kind == one.kind && without_session(known) == value;
            last.indicators.iter().any(is_it)
        }
        _ => last.with_role(role).any(|known| known == one),
    };
    alert
        .with_role(role)
        .filter(move |one| role != IndicatorRole::Related || SUBJECTS.contains(&one.kind))
        .filter(move |one| !is_known(one))
}

/// Returns the value. For the unique id of a role session, returns the role, because the caller chooses the session
/// name.
fn without_session(one: &Indicator) -> &str {
    let id = one.value.split_once(':').map(|(id, _)| id);
    id.filter(|id| one.kind == IndicatorKind::Principal && id.starts_with("AROA"))
        .unwrap_or(&one.value)
}

/// Adds the values that the triaged alert has and the previous one had not. An alert that replaced a waiting one may
/// also be more severe.
#[must_use]
pub fn compare_alerts(mut again: PreviousRun, alert: &Alert, last: &Alert) -> PreviousRun {
    let indicators = [
        IndicatorRole::Actor,
        IndicatorRole::Target,
        IndicatorRole::Remote,
    ]
    .into_iter()
    .flat_map(|role| new_indicators(alert, last, role))
    .cloned();
    let resources = new_resources(alert, last)
        .map(|resource| Indicator::new(IndicatorKind::Arn, &resource.id, IndicatorRole::Target));
    again.new = indicators.chain(resources).take(MOST_NEW).collect();
    let is_asked_for = again.why.as_deref() == Some(RevisionReason::Asked.as_str());
    if alert.severity > last.severity && !is_asked_for {
        again.why = Some(RevisionReason::Severity.as_str().to_owned());
    }
    again
}
