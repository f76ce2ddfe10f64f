//! Reads the context for admission of all arrivals at once: their cases, their storms, and similar cases.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use nightshift_alert::{Alert, FeedState};
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::admission::{
    AdmissionContext, AdmissionPolicy, KnownCase, Mute, StormWindow, TriageStage,
};
use nightshift_pipeline::case::{CaseId, CaseStatus};
use nightshift_pipeline::intake::Arrival;
use tokio_postgres::Row;

use crate::newer_version;
use crate::postgres::database::Session;
use crate::postgres::failure::PostgresFailure;
use crate::postgres::row::{count, get_status, parse, text, to_verdict};

/// Locks these cases, so that nobody claims, concludes or writes them until the batch is committed.
const HOLD: &str = "SELECT FROM cases WHERE id IN ( \
         SELECT latest.id FROM unnest($1::text[]) AS wanted (key) \
         CROSS JOIN LATERAL (SELECT id FROM cases WHERE cases.key = wanted.key ORDER BY opened_at DESC, number DESC LIMIT 1) \
             AS latest) \
     ORDER BY id FOR NO KEY UPDATE";
/// Selects the latest case of each key. Triages that a person asked for, or that ran again after a model was missing,
/// do not count as revisions of the day; pending ones do. The last column says whether an alert that nobody has
/// examined was cancelled since the last conclusion.
const KNOWN: &str = "SELECT wanted.key, c.id, c.status, coalesce(c.concluded_at, c.revised_at), c.verdict, \
         c.feed_state::text, c.updated_at, c.journal_seq > 0, waiting.alert IS NOT NULL, \
         coalesce(waiting.alert, a.alert)::text, \
         (SELECT count(*) FROM alerts r WHERE r.case_id = c.id AND r.revision > 1 \
             AND r.received_at > wanted.day_ago AND coalesce(r.reason, '') NOT IN ('asked', 'models_back')) \
         + (SELECT count(*) FROM pending_revisions p WHERE p.case_id = c.id), \
         (SELECT v.verdict FROM person_verdicts v WHERE v.case_id = c.id ORDER BY v.id DESC LIMIT 1), \
         (SELECT jsonb_build_object('exonerations', e.report -> 'exonerations', 'ledger', e.report -> 'ledger', \
             'last_seen', e.report #> '{alert,last_seen}')::text FROM conclusions e \
             WHERE e.case_id = c.id AND e.revision = (SELECT max(revision) FROM conclusions WHERE case_id = c.id) \
                 AND c.verdict IN ('benign_true_positive', 'false_positive')), \
         c.last_event, \
         c.status = 'cancelled' AND EXISTS (SELECT FROM alerts r WHERE r.case_id = c.id \
             AND r.revision > coalesce((SELECT max(revision) FROM conclusions WHERE case_id = c.id), 0) \
             AND coalesce(r.reason, '') NOT IN ('asked', 'models_back')) \
     FROM unnest($1::text[], $2::timestamptz[]) AS wanted (key, day_ago) \
     CROSS JOIN LATERAL ( \
         SELECT * FROM cases WHERE cases.key = wanted.key ORDER BY opened_at DESC, number DESC LIMIT 1) AS c \
     JOIN alerts a ON a.case_id = c.id AND a.revision = c.revision \
     LEFT JOIN LATERAL ( \
         SELECT p.alert FROM pending_revisions p WHERE p.case_id = c.id ORDER BY p.seq DESC LIMIT 1) AS waiting ON true";
const MEMBERS: &str = "SELECT a.key, a.case_id, a.alert::text, a.received_at, c.verdict, \
         (SELECT v.verdict FROM person_verdicts v WHERE v.case_id = c.id ORDER BY v.id DESC LIMIT 1), \
         (SELECT jsonb_build_object('exonerations', e.report -> 'exonerations', 'ledger', e.report -> 'ledger', \
             'last_seen', e.report #> '{alert,last_seen}')::text FROM conclusions e \
             WHERE e.case_id = c.id AND e.revision = (SELECT max(revision) FROM conclusions WHERE case_id = c.id) \
                 AND c.verdict IN ('benign_true_positive', 'false_positive')) \
     FROM unnest($1::text[]) AS wanted (key) CROSS JOIN LATERAL ( \
         SELECT * FROM arrivals WHERE arrivals.key = wanted.key AND outcome = 'member' ORDER BY id DESC LIMIT 1) AS a \
     JOIN cases c ON c.id = a.case_id";
/// Counts up to the size of a storm, and selects its first case. Cases that people closed or called a false positive
/// cannot be that case, and a benign case only if there is no other. Samples are not part of a storm.
const WINDOWS: &str = "SELECT (wanted.number - 1)::integer, \
         (SELECT count(*) FROM (SELECT FROM cases c WHERE c.feed = wanted.feed AND c.type = wanted.type \
             AND coalesce(c.account, '') = wanted.account AND c.opened_at > wanted.since AND NOT c.sample LIMIT $5) AS few), \
         (SELECT c.id FROM cases c WHERE c.feed = wanted.feed AND c.type = wanted.type \
             AND coalesce(c.account, '') = wanted.account AND c.opened_at > wanted.since AND NOT c.sample \
             AND c.workflow_status <> 'closed' AND c.status <> 'cancelled' \
             AND NOT coalesce((SELECT action = 'disagreed' AND detail = 'false_positive' FROM case_actions WHERE case_actions.case_id = c.id \
                 AND action IN ('agreed', 'disagreed', 'reopened') ORDER BY case_actions.id DESC LIMIT 1), false) \
             ORDER BY coalesce(c.verdict, '') IN ('benign_true_positive', 'false_positive'), c.opened_at, c.number LIMIT 1) \
     FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) \
         WITH ORDINALITY AS wanted (feed, type, account, since, number)";

/// All statements of this module.
pub(super) const STATEMENTS: [&str; 9] = [
    super::LOCK,
    super::IS_ACCEPTED,
    super::NEW_IDS,
    super::NEW_LETTERS,
    crate::sql::mutes::IN_FORCE.postgres(),
    HOLD,
    KNOWN,
    MEMBERS,
    WINDOWS,
];

/// The key of a storm, with the start of its window.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct StormKey {
    feed: String,
    kind: String,
    account: String,
    since: DateTime<Utc>,
}

impl StormKey {
    /// Returns the key for an alert that may join a storm.
    fn from_arrival(arrival: &Arrival, policy: &AdmissionPolicy) -> Option<Self> {
        let alert = &arrival.alert;
        let counts = !arrival.on_demand && !alert.severity.is_urgent() && !alert.is_sample();
        counts.then(|| Self::like(alert, arrival.at - policy.storm_window))
    }

    fn like(alert: &Alert, since: DateTime<Utc>) -> Self {
        Self {
            feed: text(&alert.feed).into_owned(),
            kind: text(&alert.kind).into_owned(),
            account: text(alert.account.as_deref().unwrap_or_default()).into_owned(),
            since,
        }
    }
}

/// The keys and storms to look up for some arrivals.
pub(super) struct AdmissionLookup {
    /// The keys, each with the time a day before its first arrival, and that alert.
    keys: BTreeMap<String, (DateTime<Utc>, Arc<Alert>)>,
    storms: BTreeSet<StormKey>,
    /// The storms. Every new case counts, even one that cannot become a member.
    groups: BTreeSet<String>,
    storm_cases: i64,
}

impl AdmissionLookup {
    /// Collects all keys and storms that admission may need.
    pub(super) fn from_arrivals(arrivals: &[Arrival], policy: &AdmissionPolicy) -> Self {
        let first = |one: &Arrival| (one.at - Duration::hours(24), Arc::clone(&one.alert));
        let key = |one: &Arrival| (key(one), first(one));
        let group = |one: &Arrival| {
            let storm = StormKey::like(&one.alert, one.at);
            format!("{}\n{}\n{}", storm.feed, storm.kind, storm.account)
        };
        Self {
            keys: arrivals.iter().rev().map(key).collect(),
            storms: arrivals
                .iter()
                .filter_map(|one| StormKey::from_arrival(one, policy))
                .collect(),
            groups: arrivals.iter().map(group).collect(),
            storm_cases: i64::from(policy.storm_cases),
        }
    }

    /// Returns the names that no other batch may use at the same time.
    pub(super) fn locks(&self) -> Vec<&str> {
        let names = self.keys.keys().chain(&self.groups);
        names.map(String::as_str).collect()
    }

    /// Returns the stored alert of a key, as far as this version can read it.
    fn known(&self, key: &str, id: &str, text: &str) -> Result<Alert, PostgresFailure> {
        match self.keys.get(key) {
            Some((_, coming)) => Ok(newer_version::alert(id, text, coming)),
            None => parse(id, text),
        }
    }
}

/// Returns the key of an alert as it is stored.
pub(super) fn key(arrival: &Arrival) -> String {
    text(&arrival.alert.key.to_string()).into_owned()
}

/// The result of the look-up.
pub(super) struct PostgresAdmissionData {
    known: BTreeMap<String, KnownCase>,
    members: BTreeMap<String, KnownCase>,
    windows: BTreeMap<StormKey, Option<StormWindow>>,
}

impl PostgresAdmissionData {
    /// Reads everything in one round trip, pipelined after earlier statements.
    pub(super) async fn read(
        session: &Session,
        wanted: &AdmissionLookup,
    ) -> Result<Self, PostgresFailure> {
        let keys: Vec<&String> = wanted.keys.keys().collect();
        let days: Vec<_> = wanted.keys.values().map(|(day_ago, _)| day_ago).collect();
        let storms: Vec<&StormKey> = wanted.storms.iter().collect();
        let feeds: Vec<&str> = storms.iter().map(|one| one.feed.as_str()).collect();
        let kinds: Vec<&str> = storms.iter().map(|one| one.kind.as_str()).collect();
        let accounts: Vec<&str> = storms.iter().map(|one| one.account.as_str()).collect();
        let since: Vec<_> = storms.iter().map(|one| one.since).collect();
        let (_, known, members, windows) = tokio::try_join!(
            biased;
            session.rows(HOLD, [&keys]),
            session.rows(KNOWN, [&keys, &days]),
            session.rows(MEMBERS, [&keys]),
            session.rows(WINDOWS, [&feeds, &kinds, &accounts, &since, &wanted.storm_cases]),
        )?;
        let window = |(storm, row): (&&StormKey, &Row)| Ok(((*storm).clone(), to_window(row)?));
        Ok(Self {
            known: known
                .iter()
                .map(|row| to_known(row, wanted))
                .collect::<Result<_, _>>()?,
            members: members
                .iter()
                .map(|row| to_member(row, wanted))
                .collect::<Result<_, _>>()?,
            windows: storms
                .iter()
                .zip(&sorted(windows)?)
                .map(window)
                .collect::<Result<_, PostgresFailure>>()?,
        })
    }

    /// Builds the context for admission.
    pub(super) fn admission_context<'a>(
        &'a self,
        arrival: &Arrival,
        key: &str,
        mutes: &'a [Mute],
        policy: &AdmissionPolicy,
    ) -> AdmissionContext<'a> {
        let known = self.known.get(key);
        let is_new = known.is_none() && !arrival.on_demand;
        let storm = StormKey::from_arrival(arrival, policy).filter(|_| is_new);
        let window = storm.and_then(|storm| self.windows.get(&storm));
        AdmissionContext {
            known,
            member: self.members.get(key).filter(|_| is_new),
            window: window.and_then(Option::as_ref),
            mutes,
        }
    }

    /// Records that this arrival became a new case.
    pub(super) fn opened(&mut self, arrival: &Arrival, key: String, id: &CaseId) {
        let alert = &arrival.alert;
        self.known.insert(
            key,
            KnownCase {
                id: id.clone(),
                stage: TriageStage::Waiting,
                verdict: None,
                disputed: false,
                alert: Arc::clone(&arrival.alert),
                state: alert.state,
                updated: alert.times.updated,
                cleared_until: None,
                last_event: None,
                touched_at: arrival.at,
                revisions_today: 0,
            },
        );
        if alert.is_sample() {
            return;
        }
        let since = |time| StormKey::like(alert, time);
        let like = since(DateTime::<Utc>::MIN_UTC)..=since(DateTime::<Utc>::MAX_UTC);
        for (storm, window) in self.windows.range_mut(like) {
            if arrival.at > storm.since {
                let first = id.clone();
                window.get_or_insert(StormWindow { cases: 0, first }).cases += 1;
            }
        }
    }
}

/// Sorts rows, because a statement over ordered values may return them in another order.
fn sorted(mut rows: Vec<Row>) -> Result<Vec<Row>, PostgresFailure> {
    rows.sort_by_key(|row| row.try_get::<_, i32>(0).unwrap_or_default());
    Ok(rows)
}

fn to_known(row: &Row, wanted: &AdmissionLookup) -> Result<(String, KnownCase), PostgresFailure> {
    let (key, id): (String, String) = (row.try_get(0)?, row.try_get(1)?);
    let status = get_status(row, 2)?;
    let (is_begun, is_waiting): (bool, bool) = (row.try_get(7)?, row.try_get(8)?);
    let alert = wanted.known(&key, &id, row.try_get(9)?)?;
    let noted: Option<&str> = row.try_get(5)?;
    let noted = noted.and_then(|text| serde_json::from_str::<FeedState>(text).ok());
    let updated: Option<DateTime<Utc>> = row.try_get(6)?;
    let is_unseen: bool = row.try_get(14)?;
    let is_judged = status != CaseStatus::Failed && !is_unseen;
    let verdict = to_verdict(row.try_get(4)?).filter(|_| is_judged);
    let cleared_until = newer_version::cleared_until(row.try_get(12)?).filter(|_| is_judged);
    let known = KnownCase {
        stage: match status {
            _ if is_waiting => TriageStage::Waiting,
            CaseStatus::Running => TriageStage::Begun,
            CaseStatus::Queued if is_begun => TriageStage::Begun,
            CaseStatus::Queued => TriageStage::Waiting,
            CaseStatus::Concluded | CaseStatus::Failed | CaseStatus::Cancelled => TriageStage::Over,
        },
        disputed: is_disputed(row, 11, verdict)?,
        verdict,
        state: noted.unwrap_or(alert.state),
        updated: updated.or(alert.times.updated),
        cleared_until,
        last_event: row.try_get(13)?,
        alert: Arc::new(alert),
        touched_at: row.try_get(3)?,
        revisions_today: u32::try_from(count(row, 10)?).unwrap_or(u32::MAX),
        id: CaseId(id),
    };
    Ok((key, known))
}

/// Returns whether the newest verdict of a person in this column differs from ours.
fn is_disputed(row: &Row, column: usize, ours: Option<Verdict>) -> Result<bool, PostgresFailure> {
    let theirs = to_verdict(row.try_get(column)?);
    Ok(theirs.is_some() && theirs != ours)
}

fn to_member(row: &Row, wanted: &AdmissionLookup) -> Result<(String, KnownCase), PostgresFailure> {
    let (key, id): (String, String) = (row.try_get(0)?, row.try_get(1)?);
    let alert = wanted.known(&key, &id, row.try_get(2)?)?;
    let verdict = to_verdict(row.try_get(4)?);
    let known = KnownCase {
        id: CaseId(id),
        stage: TriageStage::Over,
        disputed: is_disputed(row, 5, verdict)?,
        verdict,
        state: alert.state,
        updated: alert.times.updated,
        cleared_until: newer_version::cleared_until(row.try_get(6)?),
        last_event: None,
        alert: Arc::new(alert),
        touched_at: row.try_get(3)?,
        revisions_today: 0,
    };
    Ok((key, known))
}

fn to_window(row: &Row) -> Result<Option<StormWindow>, PostgresFailure> {
    let first: Option<String> = row.try_get(2)?;
    let cases = u32::try_from(count(row, 1)?).unwrap_or(u32::MAX);
    Ok(first.map(|first| StormWindow {
        cases,
        first: CaseId(first),
    }))
}
