//! Implements a small delivery loop for the tests: an unfinished attempt is looked up first, a finished one is
//! recorded, and the process can be killed before the send or before the record.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use nightshift_engine::key::KeySource;
use nightshift_engine::port::Clock;
use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind, CaseWorkflow};
use nightshift_pipeline::delivery_payload::{DeliveredReport, DeliveryPayload};
use nightshift_pipeline::port::{DeliveryError, Destination};
use nightshift_pipeline::report::Report;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::fake::{Fake, Fault, World};
use crate::fixture;

/// The moment at which the process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kill {
    Never,
    /// The process is killed after the attempt is recorded and before anything is sent.
    BeforeSend,
    /// The process is killed after everything is sent and before anything is recorded.
    BeforeMark,
}

/// A delivery as the store keeps it.
#[derive(Debug, Default)]
pub(super) struct Trial {
    pub(super) remote_id: Option<String>,
    pub(super) shown: Option<DeliveredReport>,
    begun: Option<u64>,
}

impl Trial {
    /// Retries until the delivery is shown. Returns false when the process was killed.
    pub(super) async fn show<W: World>(
        &mut self,
        fake: &Fake<W>,
        to: &dyn Destination,
        showing: &DeliveryPayload,
        kill: Kill,
    ) -> Result<bool, DeliveryError> {
        for attempt in 0..64 {
            let mut showing = showing.clone();
            showing.delivered.clone_from(&self.shown);
            showing.is_minor = self.shown == Some(DeliveredReport::from_report(&showing.report));
            if let Err(error) = self.look(fake, to, &showing).await {
                self.wait(fake, attempt, error)?;
                continue;
            }
            showing.remote_id.clone_from(&self.remote_id);
            if !to.wants(&showing) {
                self.shown = Some(DeliveredReport::from_report(&showing.report));
                return Ok(true);
            }
            self.begun = Some(fake.now());
            if kill == Kill::BeforeSend {
                fake.pass(1);
                return Ok(false);
            }
            let result = to.deliver(&showing).await;
            fake.pass(1);
            if kill == Kill::BeforeMark {
                return Ok(false);
            }
            match result {
                Ok(sent) => {
                    self.begun = None;
                    self.remote_id = sent.remote_id.or(self.remote_id.take());
                    self.shown = Some(DeliveredReport::from_report(&showing.report));
                    return Ok(true);
                }
                Err(error) => {
                    if !matches!(error, DeliveryError::Ambiguous { .. }) {
                        self.begun = None;
                    }
                    if let DeliveryError::Partial { remote_id, .. } = &error {
                        self.remote_id = Some(remote_id.clone());
                    }
                    self.wait(fake, attempt, error)?;
                }
            }
        }
        panic!("never shown");
    }

    /// Looks up an attempt without an answer if no remote id is known.
    async fn look<W: World>(
        &mut self,
        fake: &Fake<W>,
        to: &dyn Destination,
        showing: &DeliveryPayload,
    ) -> Result<(), DeliveryError> {
        if let (Some(begun), None) = (self.begun, &self.remote_id) {
            let ago = Duration::from_secs(fake.now() - begun);
            self.remote_id = to.find(showing, ago).await?;
            self.begun = None;
        }
        Ok(())
    }

    fn wait<W: World>(
        &self,
        fake: &Fake<W>,
        attempt: u32,
        error: DeliveryError,
    ) -> Result<(), DeliveryError> {
        let told = match error {
            DeliveryError::Permanent { .. } => return Err(error),
            DeliveryError::Ambiguous { .. } => 0,
            DeliveryError::NotVisibleYet { after_secs, .. } => after_secs,
            DeliveryError::Transient { after_secs, .. }
            | DeliveryError::Partial { after_secs, .. } => after_secs.unwrap_or(0),
        };
        fake.pass(told.max(2_u64.saturating_pow(attempt)).min(600));
        Ok(())
    }
}

/// A clock that never advances.
pub(super) struct FrozenClock;

impl Clock for FrozenClock {
    fn now(&self) -> DateTime<Utc> {
        fixture::now()
    }
}

/// Reads the configuration of a destination from its keys.
pub(super) fn read_config<T: DeserializeOwned>(keys: Value) -> T {
    serde_json::from_value(keys).unwrap()
}

/// Returns a source of this secret.
pub(super) fn secret(text: &'static str) -> KeySource {
    Arc::new(move || Ok(text.into()))
}

/// Returns the miner as a case with this id.
pub(super) fn case(id: &str) -> DeliveryPayload {
    DeliveryPayload::new(Report {
        case_id: id.into(),
        ..short(fixture::true_positive())
    })
}

/// Shortens a report, because hundreds of these are sent.
fn short(report: Report) -> Report {
    Report {
        steps: Vec::new(),
        timeline: Vec::new(),
        evidence: Vec::new(),
        updates: Vec::new(),
        ..report
    }
}

/// Returns the next revision of the case with another verdict.
pub(super) fn again(showing: &DeliveryPayload) -> DeliveryPayload {
    let mut report = short(fixture::benign());
    report.case_id.clone_from(&showing.report.case_id);
    report.revision = showing.report.revision + 1;
    DeliveryPayload {
        version: showing.version + 1,
        report,
        ..showing.clone()
    }
}

/// Returns the next revision of the case with the same verdict.
pub(super) fn triaged_again(showing: &DeliveryPayload) -> DeliveryPayload {
    let mut next = again(showing);
    next.report = Report {
        revision: next.report.revision,
        ..showing.report.clone()
    };
    next
}

/// Returns the case after an action of a person.
pub(super) fn acted(showing: &DeliveryPayload, kind: CaseActionKind) -> DeliveryPayload {
    let mut acts = showing.workflow.acts.clone();
    acts.push(CaseAction {
        at: fixture::now(),
        by: "maria".into(),
        kind,
        note: "known".into(),
    });
    DeliveryPayload {
        version: showing.version + 1,
        workflow: CaseWorkflow::from_actions(acts),
        is_minor: true,
        ..showing.clone()
    }
}

/// A ticket of any vendor.
#[derive(Debug, Clone)]
pub(super) struct Ticket {
    /// Comments added since the ticket was made.
    pub(super) comments: Vec<String>,
    pub(super) is_open: bool,
}

/// A fake vendor that keeps tickets.
pub(super) trait Tickets: World {
    /// Returns the tickets of a case.
    fn tickets_of(&self, case: &str) -> Vec<Ticket>;
}

/// Checks that the case has one ticket with one comment for the second revision and one for the close.
fn check<W: Tickets>(fake: &Fake<W>, case: &str) {
    let tickets = fake.with(|world| world.tickets_of(case));
    let [ticket] = &tickets[..] else {
        panic!("{} tickets of {case}", tickets.len());
    };
    let tells = |what: &str| {
        let all = ticket.comments.iter().filter(|one| one.contains(what));
        all.count()
    };
    let key = format!("nightshift:{case}:2:concluded:benign_true_positive:none:low");
    assert_eq!(tells(&key), 1, "{case}: {ticket:?}");
    assert_eq!(tells(&format!("nightshift:{case}:closed")), 1, "{case}");
    assert_eq!(ticket.comments.len(), 2, "{case}");
    assert!(!ticket.is_open, "{case}");
}

/// Tests F26 and F27: whatever is done without an answer, each case has one ticket that gets each report once.
pub(super) async fn lose_replies<W: Tickets>(fake: &Fake<W>, to: &dyn Destination) {
    use Fault::{Busy, Done, Down, Gateway, None, NotDone};
    let faults = [
        [Done, Done, Done, Done, Done],
        [Done, NotDone, Done, Gateway, Done],
        [NotDone, Done, Gateway, Done, None],
        [Gateway, Gateway, Busy, Done, Done],
        [Busy, Done, Down, Done, NotDone],
        [None, Done, None, Done, Done],
        [None, None, Done, None, Done],
    ];
    for number in 0..500 {
        let id = format!("c{number:03}-f26x-f27x");
        let first = case(&id);
        let second = again(&first);
        let closed = acted(&second, CaseActionKind::Closed);
        let mut trial = Trial::default();
        for (at, showing) in [&first, &second, &closed].into_iter().enumerate() {
            fake.breaks(faults[(number + at) % faults.len()]);
            assert!(trial.show(fake, to, showing, Kill::Never).await.unwrap());
            fake.mends();
        }
        check(fake, &id);
    }
}

/// Kills the process before or after the send of each of three deliveries. The last delivery may run in a process
/// that knows nothing of the earlier ones.
pub(super) async fn kill_everywhere<W: Tickets>(fake: &Fake<W>, to: &dyn Destination) {
    let kills = [Kill::Never, Kill::BeforeSend, Kill::BeforeMark];
    for number in 0..54_usize {
        let id = format!("k{number:03}-kill-kill");
        let first = case(&id);
        let second = again(&first);
        let closed = acted(&second, CaseActionKind::Closed);
        let mut trial = Trial::default();
        let mut at = number;
        for showing in [&first, &second, &closed] {
            let kill = kills[at % 3];
            at /= 3;
            trial.show(fake, to, showing, kill).await.unwrap();
            // A delivery may be overtaken by a later one, or be shown first.
            let is_shown_first = number >= 27;
            if is_shown_first || showing.version == first.version {
                assert!(trial.show(fake, to, showing, Kill::Never).await.unwrap());
            }
        }
        if number < 27 {
            let mut second = second.clone();
            second.workflow = closed.workflow.clone();
            assert!(trial.show(fake, to, &second, Kill::Never).await.unwrap());
        }
        check(fake, &id);
    }
}

/// Closes a case, reopens it by its source, and closes it again, while answers are lost.
pub(super) async fn open_again<W: Tickets>(fake: &Fake<W>, to: &dyn Destination) {
    use Fault::{Busy, Done, Gateway, None, NotDone};
    let faults = [None, Done, NotDone, Gateway, Busy, Done, Done];
    for number in 0..14 {
        let id = format!("r{number:03}-open-agan");
        let first = case(&id);
        let closed = acted(&first, CaseActionKind::Closed);
        let mut reopened = acted(&closed, CaseActionKind::Reopened);
        if number % 2 == 1 {
            reopened = acted(&reopened, CaseActionKind::Acknowledged);
        }
        let second = triaged_again(&reopened);
        let over = acted(&second, CaseActionKind::Closed);
        let mut trial = Trial::default();
        for (at, showing) in [&first, &closed, &reopened, &second]
            .into_iter()
            .enumerate()
        {
            fake.breaks((0..3).map(|turn| faults[(number + at + turn) % faults.len()]));
            assert!(trial.show(fake, to, showing, Kill::Never).await.unwrap());
            fake.mends();
            let is_open = fake.with(|world| world.tickets_of(&id)[0].is_open);
            let has_been_closed =
                showing.version == closed.version || showing.version == reopened.version;
            assert_eq!(is_open, !has_been_closed, "{id}: {}", showing.version);
        }
        assert!(trial.show(fake, to, &over, Kill::Never).await.unwrap());
        let ticket = fake.with(|world| world.tickets_of(&id)[0].clone());
        assert!(!ticket.is_open, "{id}");
        for what in [
            format!("{id}:closed"),
            format!("{id}:again:1:closed"),
            format!("{id}:again:1:open"),
            format!("{id}:2:concluded"),
        ] {
            let tells = ticket.comments.iter().filter(|one| one.contains(&what));
            assert_eq!(tells.count(), 1, "{what}: {ticket:?}");
        }
    }
}

/// Checks that a permanent refusal is believed, and returns its message, which names the remedy.
pub(super) async fn refusal<W: World>(fake: &Fake<W>, to: &dyn Destination) -> String {
    let mut trial = Trial::default();
    let error = trial
        .show(fake, to, &case("n000-none-none"), Kill::Never)
        .await
        .unwrap_err();
    let what = error.to_string();
    assert!(matches!(error, DeliveryError::Permanent { .. }), "{what}");
    assert!(!what.contains("hush"), "{what}");
    what.replace(&fake.url, "URL")
}
