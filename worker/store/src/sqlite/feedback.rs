//! Stores the verdicts of people.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, TraceContext};
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::port::{PastQuery, PersonDecision};
use nightshift_pipeline::case::{CaseId, CaseStatus};
use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind, CaseWorkflow};
use nightshift_pipeline::feedback::{
    FeedbackRecord, NewPersonVerdict, PersonVerdict, decision_subjects, person_decision,
};
use nightshift_pipeline::port::{Feedback, StoreError};
use rusqlite::{Connection, Error, Row, params};
use serde_json::Value;

use super::SqliteStore;
use super::row::{get_time, get_time_or_none, get_verdict, time, to_verdict};
use super::thread::SqliteFailure;
use super::{case_workflow, read};

/// The maximum number of verdicts that are examined, the newest first.
const MOST_DECISIONS: i64 = 500;

/// A verdict that is sent again because its answer was lost exists already.
const ADD: &str = "INSERT INTO person_verdicts (case_id, revision, decided_at, decided_by, verdict, agreed, note) \
     SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS (SELECT 1 FROM person_verdicts \
         WHERE case_id = ?1 AND decided_at = ?3 AND decided_by = ?4 AND verdict = ?5)";
const OF_CASE: &str = "SELECT decided_at, decided_by, revision, verdict, agreed, note FROM person_verdicts \
     WHERE case_id = ?1 ORDER BY id DESC";
const NEWEST: &str =
    "SELECT verdict FROM person_verdicts WHERE case_id = ?1 ORDER BY id DESC LIMIT 1";
/// The concluded revision. A waiting or running one has no verdict yet.
const CONCLUDED: &str = "SELECT max(revision) FROM conclusions WHERE case_id = ?1";
/// Alerts are large. They are read one by one until one has one of these actors, and only for cases that have such an
/// actor at all.
pub(super) const DECIDED: &str = "SELECT v.case_id, v.revision, v.verdict, v.decided_by, v.decided_at FROM ( \
         SELECT * FROM person_verdicts AS one WHERE account = ?1 AND type = ?2 \
             AND id = (SELECT max(id) FROM person_verdicts WHERE case_id = one.case_id) \
         ORDER BY decided_at DESC, id DESC LIMIT ?3) AS v \
     JOIN alerts a ON a.case_id = v.case_id AND a.revision = v.revision \
     WHERE EXISTS (SELECT 1 FROM indicators i JOIN json_each(?4) AS actor \
             ON i.type = actor.value ->> 0 AND i.value = actor.value ->> 1 AND i.role = actor.value ->> 2 \
         WHERE i.case_id = v.case_id) \
     AND EXISTS (SELECT 1 FROM json_each(a.alert, '$.indicators') AS i JOIN json_each(?4) AS actor \
             ON i.value ->> 'type' = actor.value ->> 0 AND i.value ->> 'value' = actor.value ->> 1 \
                 AND i.value ->> 'role' = actor.value ->> 2) \
     ORDER BY v.decided_at DESC, v.id DESC LIMIT 1";

/// A true positive revokes earlier verdicts about any of its subjects: within its account, and everywhere for values
/// that mean the same in all accounts.
const ENDED: &str = "SELECT min(v.decided_at) FROM person_verdicts v WHERE v.verdict = 'true_positive' AND v.decided_at > ?1 \
     AND v.id = (SELECT max(id) FROM person_verdicts WHERE case_id = v.case_id) \
     AND EXISTS (SELECT 1 FROM indicators i JOIN json_each(?3) AS subject \
             ON i.type = subject.value ->> 0 AND i.value = subject.value ->> 1 \
         WHERE i.case_id = v.case_id AND i.role <> 'related' \
             AND (v.account = ?2 OR i.type IN ('ip', 'domain', 'url', 'email', 'hash', 'access_key', 'arn')))";

#[async_trait]
impl Feedback for SqliteStore {
    async fn add_verdict(
        &self,
        id: &str,
        new: NewPersonVerdict,
    ) -> Result<PersonVerdict, StoreError> {
        let id = id.to_owned();
        self.thread
            .run("note a person's verdict", move |connection| {
                add(connection, &id, new)
            })
            .await
    }

    async fn record_action(
        &self,
        id: &str,
        act: CaseAction,
    ) -> Result<(CaseId, CaseWorkflow), StoreError> {
        let id = id.to_owned();
        let noted = self
            .thread
            .run("note what a person did", move |connection| {
                case_workflow::add(connection, &id, &act)
            })
            .await?;
        self.bell.notify();
        Ok(noted)
    }

    async fn trace_context(
        &self,
        id: &CaseId,
        revision: u32,
    ) -> Result<Option<TraceContext>, StoreError> {
        let id = id.0.clone();
        self.thread
            .run("read the alert of a case", move |connection| {
                Ok(read::alert(connection, &id, revision)?.trace)
            })
            .await
    }

    async fn verdicts_after(
        &self,
        after: i64,
        most: usize,
    ) -> Result<Vec<FeedbackRecord>, StoreError> {
        self.thread
            .run("read what people decided", move |connection| {
                case_workflow::decided(connection, after, most)
            })
            .await
    }
}

fn add(
    connection: &Connection,
    id: &str,
    new: NewPersonVerdict,
) -> Result<PersonVerdict, SqliteFailure> {
    let case = read::find(connection, id)?;
    let concluded: Option<u32> = connection
        .prepare_cached(CONCLUDED)?
        .query_row([&case.id.0], |row| row.get(0))?;
    let Some(revision) = concluded else {
        return Err(SqliteFailure::NoVerdict(case.id.0));
    };
    // A failed run has no verdict to agree with.
    let ours = case.verdict.filter(|_| case.status != CaseStatus::Failed);
    let Some(verdict) = new.verdict.or(ours) else {
        return Err(SqliteFailure::NoVerdict(case.id.0));
    };
    let agreed = ours == Some(verdict);
    connection.prepare_cached(ADD)?.execute(params![
        case.id.0,
        revision,
        time(new.at),
        new.by,
        verdict.as_str(),
        agreed,
        new.note
    ])?;
    let kind = if agreed {
        CaseActionKind::Agreed
    } else {
        CaseActionKind::Disagreed { verdict }
    };
    let act = CaseAction {
        at: new.at,
        by: new.by.clone(),
        kind,
        note: new.note.clone(),
    };
    case_workflow::note(connection, &case.id.0, &act)?;
    Ok(PersonVerdict {
        at: new.at,
        by: new.by,
        revision,
        verdict,
        agreed,
        note: new.note,
    })
}

/// Returns the verdicts of people about a case, the newest first.
pub(super) fn of_case(
    connection: &Connection,
    id: &str,
) -> Result<Vec<PersonVerdict>, SqliteFailure> {
    let mut statement = connection.prepare_cached(OF_CASE)?;
    let rows = statement.query_map([id], |row: &Row<'_>| {
        Ok::<_, Error>(PersonVerdict {
            at: get_time(row, 0)?,
            by: row.get(1)?,
            revision: row.get(2)?,
            verdict: get_verdict(row, 3)?,
            agreed: row.get(4)?,
            note: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the last verdict of a person about a case.
pub(super) fn newest(connection: &Connection, id: &str) -> Result<Option<Verdict>, SqliteFailure> {
    let mut statement = connection.prepare_cached(NEWEST)?;
    let mut rows = statement.query([id])?;
    let word: Option<String> = rows.next()?.map(|row| row.get(0)).transpose()?;
    Ok(to_verdict(word.as_deref()))
}

/// Returns the last verdict of a person about a case of the same account and type in which one of the actors has the
/// same role.
pub(super) fn decided(
    connection: &Connection,
    account: &str,
    query: &PastQuery,
) -> Result<Option<PersonDecision>, SqliteFailure> {
    let actors = query.actors.iter();
    let actors: Value = actors
        .map(|one| [one.kind.as_str(), &one.value, one.role.as_str()])
        .collect();
    let mut statement = connection.prepare_cached(DECIDED)?;
    let params = params![account, query.kind, MOST_DECISIONS, actors.to_string()];
    let mut rows = statement.query(params)?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let (case_id, revision): (String, u32) = (row.get(0)?, row.get(1)?);
    let alert: Alert = read::alert(connection, &case_id, revision)?;
    let (verdict, by, at) = (get_verdict(row, 2)?, row.get(3)?, get_time(row, 4)?);
    let mut decision = person_decision(case_id, &alert, verdict, by, at);
    if verdict.is_benign() {
        decision.ended_at = ended_at(connection, account, &decision)?;
    }
    Ok(Some(decision))
}

/// Returns when a person called a case of one of its subjects a true positive after this verdict.
fn ended_at(
    connection: &Connection,
    account: &str,
    decision: &PersonDecision,
) -> Result<Option<DateTime<Utc>>, SqliteFailure> {
    let subjects = decision_subjects(decision).into_iter();
    let subjects: Value = subjects
        .map(|one| [one.kind.as_str(), &one.value])
        .collect();
    let params = params![time(decision.at), account, subjects.to_string()];
    let mut statement = connection.prepare_cached(ENDED)?;
    Ok(statement.query_row(params, |row| get_time_or_none(row, 0))?)
}
