//! What people decided over cases.

use async_trait::async_trait;
use nightshift_alert::{Alert, Role, TraceContext};
use nightshift_engine::{PastQuery, PersonDecision, Verdict};
use nightshift_pipeline::{
    Act, ActKind, CaseId, CaseStatus, Decided, Desk, Feedback, NewPersonVerdict, PersonVerdict,
    StoreError,
};
use rusqlite::{Connection, Error, Row, params};
use serde_json::Value;

use super::SqliteStore;
use super::row::{get_time, get_verdict, time, to_verdict};
use super::thread::Failure;
use super::{desk, read};

/// Most decisions that are looked at, the newest ones.
const MOST_DECISIONS: i64 = 500;

/// Said again because the answer was lost, it is there already.
const ADD: &str = "INSERT INTO person_verdicts (case_id, revision, decided_at, decided_by, verdict, agreed, note) \
     SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS (SELECT 1 FROM person_verdicts \
         WHERE case_id = ?1 AND decided_at = ?3 AND decided_by = ?4 AND verdict = ?5)";
const OF_CASE: &str = "SELECT decided_at, decided_by, revision, verdict, agreed, note FROM person_verdicts \
     WHERE case_id = ?1 ORDER BY id DESC";
const NEWEST: &str =
    "SELECT verdict FROM person_verdicts WHERE case_id = ?1 ORDER BY id DESC LIMIT 1";
/// The revision that is over: one that waits or runs has no verdict yet.
const CONCLUDED: &str = "SELECT max(revision) FROM conclusions WHERE case_id = ?1";
/// Alerts are large. They are read one after the other, down to the first in which one of these acts, and only of cases in
/// which one of them acts at all.
pub(super) const DECIDED: &str = "SELECT v.case_id, v.revision, v.verdict, v.decided_by, v.decided_at FROM ( \
         SELECT * FROM person_verdicts AS one WHERE account = ?1 AND type = ?2 \
             AND id = (SELECT max(id) FROM person_verdicts WHERE case_id = one.case_id) \
         ORDER BY decided_at DESC, id DESC LIMIT ?3) AS v \
     JOIN alerts a ON a.case_id = v.case_id AND a.revision = v.revision \
     WHERE EXISTS (SELECT 1 FROM indicators i JOIN json_each(?4) AS actor \
             ON i.type = actor.value ->> 0 AND i.value = actor.value ->> 1 \
         WHERE i.case_id = v.case_id AND i.role = 'actor') \
     AND EXISTS (SELECT 1 FROM json_each(a.alert, '$.indicators') AS i JOIN json_each(?4) AS actor \
             ON i.value ->> 'type' = actor.value ->> 0 AND i.value ->> 'value' = actor.value ->> 1 \
         WHERE i.value ->> 'role' = 'actor') \
     ORDER BY v.decided_at DESC, v.id DESC LIMIT 1";

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

    async fn act(&self, id: &str, act: Act) -> Result<(CaseId, Desk), StoreError> {
        let id = id.to_owned();
        let noted = self
            .thread
            .run("note what a person did", move |connection| {
                desk::add(connection, &id, &act)
            })
            .await?;
        self.bell.ring();
        Ok(noted)
    }

    async fn came_with(
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

    async fn verdicts_after(&self, after: i64, most: usize) -> Result<Vec<Decided>, StoreError> {
        self.thread
            .run("read what people decided", move |connection| {
                desk::decided(connection, after, most)
            })
            .await
    }
}

fn add(connection: &Connection, id: &str, new: NewPersonVerdict) -> Result<PersonVerdict, Failure> {
    let case = read::find(connection, id)?;
    let concluded: Option<u32> = connection
        .prepare_cached(CONCLUDED)?
        .query_row([&case.id.0], |row| row.get(0))?;
    let Some(revision) = concluded else {
        return Err(Failure::NoVerdict(case.id.0));
    };
    // A run that failed decided nothing that one could agree with.
    let ours = case.verdict.filter(|_| case.status != CaseStatus::Failed);
    let Some(verdict) = new.verdict.or(ours) else {
        return Err(Failure::NoVerdict(case.id.0));
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
        ActKind::Agreed
    } else {
        ActKind::Disagreed { verdict }
    };
    let act = Act {
        at: new.at,
        by: new.by.clone(),
        kind,
        note: new.note.clone(),
    };
    desk::note(connection, &case.id.0, &act)?;
    Ok(PersonVerdict {
        at: new.at,
        by: new.by,
        revision,
        verdict,
        agreed,
        note: new.note,
    })
}

/// What people said of a case, the newest first.
pub(super) fn of_case(connection: &Connection, id: &str) -> Result<Vec<PersonVerdict>, Failure> {
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

/// What a person said last of a case.
pub(super) fn newest(connection: &Connection, id: &str) -> Result<Option<Verdict>, Failure> {
    let mut statement = connection.prepare_cached(NEWEST)?;
    let mut rows = statement.query([id])?;
    let word: Option<String> = rows.next()?.map(|row| row.get(0)).transpose()?;
    Ok(to_verdict(word.as_deref()))
}

/// What a person decided last over a case of this account and of the type that asks, in which one of the actors acts.
pub(super) fn decided(
    connection: &Connection,
    account: &str,
    query: &PastQuery,
) -> Result<Option<PersonDecision>, Failure> {
    let actors = query.actors.iter();
    let actors: Value = actors.map(|one| [one.kind.as_str(), &one.value]).collect();
    let mut statement = connection.prepare_cached(DECIDED)?;
    let params = params![account, query.kind, MOST_DECISIONS, actors.to_string()];
    let mut rows = statement.query(params)?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let (case_id, revision): (String, u32) = (row.get(0)?, row.get(1)?);
    let alert: Alert = read::alert(connection, &case_id, revision)?;
    Ok(Some(PersonDecision {
        actors: alert.with_role(Role::Actor).cloned().collect(),
        first_seen: alert.times.window().map(|(first, _)| first),
        kind: alert.kind,
        account: alert.account,
        case_id,
        verdict: get_verdict(row, 2)?,
        by: row.get(3)?,
        at: get_time(row, 4)?,
    }))
}
