//! Reads the context for admission of an arrival: its case, its storm, and similar cases.

use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use nightshift_alert::{Alert, FeedState};
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::admission::{
    AdmissionContext, AdmissionPolicy, KnownCase, Mute, StormWindow, TriageStage,
};
use nightshift_pipeline::case::{CaseId, CaseStatus};
use nightshift_pipeline::intake::Arrival;
use rusqlite::{Connection, OptionalExtension, params};

use crate::newer_version;
use crate::sqlite::read;
use crate::sqlite::row::{get_status, get_time, get_time_or_none, time, to_verdict};
use crate::sqlite::thread::SqliteFailure;

const KNOWN: &str = "SELECT id, status, revision, coalesce(concluded_at, revised_at), verdict, feed_state, updated_at, last_event \
     FROM cases WHERE key = ?1 ORDER BY opened_at DESC, rowid DESC LIMIT 1";
const IS_BEGUN: &str = "SELECT 1 FROM journal WHERE case_id = ?1 AND revision = ?2 LIMIT 1";
const PENDING: &str =
    "SELECT alert FROM pending_revisions WHERE case_id = ?1 ORDER BY seq DESC LIMIT 1";
/// Counts revisions. Triages that a person asked for, or that ran again after a model was missing, do not count;
/// pending ones do.
const REVISIONS: &str = "SELECT \
     (SELECT count(*) FROM alerts WHERE case_id = ?1 AND revision > 1 AND received_at > ?2 AND coalesce(reason, '') NOT IN ('asked', 'models_back')) + \
     (SELECT count(*) FROM pending_revisions WHERE case_id = ?1)";
/// Checks whether an alert that nobody has examined was cancelled since the last conclusion.
const IS_UNSEEN: &str = "SELECT 1 FROM alerts WHERE case_id = ?1 \
     AND revision > coalesce((SELECT max(revision) FROM conclusions WHERE case_id = ?1), 0) \
     AND coalesce(reason, '') NOT IN ('asked', 'models_back') LIMIT 1";
const NEWEST_VERDICT: &str =
    "SELECT verdict FROM person_verdicts WHERE case_id = ?1 ORDER BY id DESC LIMIT 1";
const CLEARING: &str = "SELECT json_object('exonerations', e.report -> '$.exonerations', 'ledger', e.report -> '$.ledger', \
         'last_seen', e.report ->> '$.alert.last_seen') FROM cases c \
     JOIN conclusions e ON e.case_id = c.id AND e.revision = (SELECT max(revision) FROM conclusions WHERE case_id = c.id) \
     WHERE c.id = ?1 AND c.verdict IN ('benign_true_positive', 'false_positive')";
const MEMBER: &str = "SELECT a.case_id, a.alert, a.received_at, c.verdict FROM arrivals a JOIN cases c ON c.id = a.case_id \
     WHERE a.key = ?1 AND a.outcome = 'member' ORDER BY a.id DESC LIMIT 1";
/// Counts the cases of a storm and selects its first. Cases that people closed or called a false positive cannot be
/// that case, and a benign case only if there is no other. Samples are not part of a storm.
const WINDOW: &str = "SELECT count(*), (SELECT id FROM cases \
         WHERE feed = ?1 AND type = ?2 AND account IS ?3 AND opened_at > ?4 AND sample = 0 \
             AND workflow_status <> 'closed' AND status <> 'cancelled' \
             AND NOT coalesce((SELECT action = 'disagreed' AND detail = 'false_positive' FROM case_actions WHERE case_actions.case_id = cases.id \
                 AND action IN ('agreed', 'disagreed', 'reopened') ORDER BY case_actions.id DESC LIMIT 1), 0) \
         ORDER BY coalesce(verdict, '') IN ('benign_true_positive', 'false_positive'), opened_at, rowid LIMIT 1) \
     FROM cases WHERE feed = ?1 AND type = ?2 AND account IS ?3 AND opened_at > ?4 AND sample = 0";

/// The result of the look-up.
pub(super) struct SqliteAdmissionData {
    known: Option<KnownCase>,
    member: Option<KnownCase>,
    window: Option<StormWindow>,
}

impl SqliteAdmissionData {
    /// Reads everything that admission needs for this arrival.
    pub(super) fn read(
        connection: &Connection,
        arrival: &Arrival,
        key: &str,
        policy: &AdmissionPolicy,
    ) -> Result<Self, SqliteFailure> {
        let known = known(connection, key, arrival)?;
        let is_new = known.is_none() && !arrival.on_demand;
        let alert = &arrival.alert;
        Ok(Self {
            member: if is_new {
                member(connection, key, alert)?
            } else {
                None
            },
            window: if is_new && !alert.severity.is_urgent() && !alert.is_sample() {
                window(connection, arrival, policy)?
            } else {
                None
            },
            known,
        })
    }

    /// Builds the context for admission.
    pub(super) fn admission_context<'a>(&'a self, mutes: &'a [Mute]) -> AdmissionContext<'a> {
        AdmissionContext {
            known: self.known.as_ref(),
            member: self.member.as_ref(),
            window: self.window.as_ref(),
            mutes,
        }
    }
}

/// The row of a case before its alert is parsed.
struct KnownCaseRow {
    id: String,
    status: CaseStatus,
    revision: u32,
    touched_at: DateTime<Utc>,
    verdict: Option<String>,
    state: Option<String>,
    updated: Option<DateTime<Utc>>,
    last_event: Option<DateTime<Utc>>,
}

fn known(
    connection: &Connection,
    key: &str,
    arrival: &Arrival,
) -> Result<Option<KnownCase>, SqliteFailure> {
    let row = connection
        .prepare_cached(KNOWN)?
        .query_row([key], |row| {
            Ok(KnownCaseRow {
                id: row.get(0)?,
                status: get_status(row, 1)?,
                revision: row.get(2)?,
                touched_at: get_time(row, 3)?,
                verdict: row.get(4)?,
                state: row.get(5)?,
                // The value comes from a feed. One that cannot be read must not block later alerts.
                updated: get_time_or_none(row, 6).unwrap_or_default(),
                last_event: get_time_or_none(row, 7).unwrap_or_default(),
            })
        })
        .optional()?;
    row.map(|row| to_known(connection, row, arrival))
        .transpose()
}

fn to_known(
    connection: &Connection,
    row: KnownCaseRow,
    arrival: &Arrival,
) -> Result<KnownCase, SqliteFailure> {
    let pending: Option<String> = connection
        .prepare_cached(PENDING)?
        .query_row([&row.id], |row| row.get(0))
        .optional()?;
    let is_begun = || {
        let is_claimed = row.status == CaseStatus::Running;
        let mut journal = connection.prepare_cached(IS_BEGUN)?;
        Ok::<_, SqliteFailure>(is_claimed || journal.exists(params![row.id, row.revision])?)
    };
    let stage = match &pending {
        None if row.status.is_over() => TriageStage::Over,
        None if is_begun()? => TriageStage::Begun,
        _ => TriageStage::Waiting,
    };
    let text = match pending {
        Some(text) => text,
        None => read::alert_text(connection, &row.id, row.revision)?,
    };
    let alert = newer_version::alert(&row.id, &text, &arrival.alert);
    let noted = row.state.as_deref();
    let noted = noted.and_then(|text| serde_json::from_str::<FeedState>(text).ok());
    let day_ago = time(arrival.at - Duration::hours(24));
    let revisions_today = connection
        .prepare_cached(REVISIONS)?
        .query_row(params![row.id, day_ago], |row| row.get(0))?;
    let is_judged = match row.status {
        CaseStatus::Failed => false,
        CaseStatus::Cancelled => !connection.prepare_cached(IS_UNSEEN)?.exists([&row.id])?,
        _ => true,
    };
    let verdict = to_verdict(row.verdict.as_deref()).filter(|_| is_judged);
    Ok(KnownCase {
        stage,
        disputed: is_disputed(connection, &row.id, verdict)?,
        verdict,
        state: noted.unwrap_or(alert.state),
        updated: row.updated.or(alert.times.updated),
        cleared_until: cleared_until(connection, &row.id)?.filter(|_| is_judged),
        last_event: row.last_event,
        alert: Arc::new(alert),
        touched_at: row.touched_at,
        revisions_today,
        id: CaseId(row.id),
    })
}

/// Returns whether the newest verdict of a person about the case differs from ours.
fn is_disputed(
    connection: &Connection,
    id: &str,
    ours: Option<Verdict>,
) -> Result<bool, SqliteFailure> {
    let theirs: Option<String> = connection
        .prepare_cached(NEWEST_VERDICT)?
        .query_row([id], |row| row.get(0))
        .optional()?;
    let theirs = to_verdict(theirs.as_deref());
    Ok(theirs.is_some() && theirs != ours)
}

/// Returns the time until which all records that cleared the case are valid.
fn cleared_until(
    connection: &Connection,
    id: &str,
) -> Result<Option<DateTime<Utc>>, SqliteFailure> {
    let clearing: Option<String> = connection
        .prepare_cached(CLEARING)?
        .query_row([id], |row| row.get(0))
        .optional()?;
    Ok(newer_version::cleared_until(clearing.as_deref()))
}

/// Returns the storm that the key is a member of.
fn member(
    connection: &Connection,
    key: &str,
    coming: &Alert,
) -> Result<Option<KnownCase>, SqliteFailure> {
    let found = connection
        .prepare_cached(MEMBER)?
        .query_row([key], |row| {
            let (id, alert): (String, String) = (row.get(0)?, row.get(1)?);
            let verdict: Option<String> = row.get(3)?;
            Ok((id, alert, get_time(row, 2)?, verdict))
        })
        .optional()?;
    let Some((id, text, touched_at, verdict)) = found else {
        return Ok(None);
    };
    let alert = newer_version::alert(&id, &text, coming);
    let verdict = to_verdict(verdict.as_deref());
    Ok(Some(KnownCase {
        disputed: is_disputed(connection, &id, verdict)?,
        cleared_until: cleared_until(connection, &id)?,
        last_event: None,
        id: CaseId(id),
        stage: TriageStage::Over,
        verdict,
        state: alert.state,
        updated: alert.times.updated,
        alert: Arc::new(alert),
        touched_at,
        revisions_today: 0,
    }))
}

/// Returns the recent cases similar to this one.
fn window(
    connection: &Connection,
    arrival: &Arrival,
    policy: &AdmissionPolicy,
) -> Result<Option<StormWindow>, SqliteFailure> {
    let alert = &arrival.alert;
    let since = time(arrival.at - policy.storm_window);
    let (cases, first): (u32, Option<String>) = connection.prepare_cached(WINDOW)?.query_row(
        params![alert.feed, alert.kind, alert.account, since],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    Ok(first.map(|first| StormWindow {
        cases,
        first: CaseId(first),
    }))
}
