//! Stores the verdicts of people.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, TraceContext};
use nightshift_engine::port::{PastQuery, PersonDecision};
use nightshift_pipeline::case::{CaseId, CaseStatus};
use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind, CaseWorkflow};
use nightshift_pipeline::feedback::{
    FeedbackRecord, NewPersonVerdict, PersonVerdict, decision_subjects, person_decision,
};
use nightshift_pipeline::port::{Feedback, StoreError};

use super::database::{Session, SqlValue};
use super::failure::PostgresFailure;
use super::read;
use super::row::{get_revision, get_verdict, parse, revision as to_revision, text};
use super::{PostgresStore, case_workflow};

/// The maximum number of verdicts that are examined, the newest first.
const MOST_DECISIONS: i64 = 500;

/// A verdict that is sent again because its answer was lost exists already.
const ADD: &str = "INSERT INTO person_verdicts (case_id, revision, decided_at, decided_by, verdict, agreed, note) \
     SELECT $1::text, $2::integer, $3::timestamptz, $4::text, $5::text, $6::boolean, $7::text WHERE NOT EXISTS (SELECT FROM person_verdicts \
         WHERE case_id = $1 AND decided_at = $3 AND decided_by = $4 AND verdict = $5)";
const OF_CASE: &str = "SELECT decided_at, decided_by, revision, verdict, agreed, note FROM person_verdicts \
     WHERE case_id = $1 ORDER BY id DESC";
/// The concluded revision. A waiting or running one has no verdict yet.
const CONCLUDED: &str = "SELECT max(revision) FROM conclusions WHERE case_id = $1";
/// Alerts are large. They are read one by one until one has one of these actors, and only for cases that have such an
/// actor at all.
pub(super) const DECIDED: &str = "SELECT v.case_id, v.verdict, v.decided_by, v.decided_at, a.alert::text FROM ( \
         SELECT * FROM person_verdicts AS one WHERE account = $1 AND type = $2 \
             AND id = (SELECT max(id) FROM person_verdicts WHERE case_id = one.case_id) \
         ORDER BY decided_at DESC, id DESC LIMIT $3) AS v \
     JOIN alerts a ON a.case_id = v.case_id AND a.revision = v.revision \
     WHERE CASE WHEN EXISTS (SELECT FROM indicators i JOIN unnest($4::text[], $5::text[], $6::text[]) AS actor (type, value, role) \
                 ON i.type = actor.type AND i.value = actor.value AND i.role = actor.role \
             WHERE i.case_id = v.case_id) \
         THEN EXISTS (SELECT FROM jsonb_array_elements(a.alert -> 'indicators') AS i \
                 JOIN unnest($4::text[], $5::text[], $6::text[]) AS actor (type, value, role) \
                 ON i ->> 'type' = actor.type AND i ->> 'value' = actor.value AND i ->> 'role' = actor.role) \
         ELSE false END \
     ORDER BY v.decided_at DESC, v.id DESC LIMIT 1";

/// A true positive revokes earlier verdicts about any of its subjects: within its account, and everywhere for values
/// that mean the same in all accounts.
const ENDED: &str = "SELECT min(v.decided_at) FROM person_verdicts v WHERE v.verdict = 'true_positive' AND v.decided_at > $1 \
     AND v.id = (SELECT max(id) FROM person_verdicts WHERE case_id = v.case_id) \
     AND EXISTS (SELECT FROM indicators i JOIN unnest($3::text[], $4::text[]) AS subject (type, value) \
             ON i.type = subject.type AND i.value = subject.value \
         WHERE i.case_id = v.case_id AND i.role <> 'related' \
             AND (v.account = $2 OR i.type IN ('ip', 'domain', 'url', 'email', 'hash', 'access_key', 'arn')))";

#[async_trait]
impl Feedback for PostgresStore {
    async fn add_verdict(
        &self,
        id: &str,
        new: NewPersonVerdict,
    ) -> Result<PersonVerdict, StoreError> {
        let new = &new;
        self.retry_read("note a person's verdict", |session| async move {
            add(&session, id, new).await
        })
        .await
    }

    async fn record_action(
        &self,
        id: &str,
        act: CaseAction,
    ) -> Result<(CaseId, CaseWorkflow), StoreError> {
        let act = &act;
        self.retry_read("note what a person did", |session| async move {
            case_workflow::add(&session, id, act).await
        })
        .await
    }

    async fn trace_context(
        &self,
        id: &CaseId,
        revision: u32,
    ) -> Result<Option<TraceContext>, StoreError> {
        self.retry_read("read the alert of a case", |session| async move {
            Ok(read::alert(&session, &id.0, to_revision(revision))
                .await?
                .trace)
        })
        .await
    }

    async fn verdicts_after(
        &self,
        after: i64,
        most: usize,
    ) -> Result<Vec<FeedbackRecord>, StoreError> {
        self.retry_read("read what people decided", |session| async move {
            case_workflow::decided(&session, after, most).await
        })
        .await
    }
}

async fn add(
    session: &Session,
    id: &str,
    new: &NewPersonVerdict,
) -> Result<PersonVerdict, PostgresFailure> {
    let case = read::find(session, id).await?;
    let none = || PostgresFailure::NoVerdict(case.id.0.clone());
    let row = session.row(CONCLUDED, [&case.id.0]).await?;
    let concluded: Option<i32> = row.map_or(Ok(None), |row| row.try_get(0))?;
    let concluded = concluded.ok_or_else(none)?;
    // A failed run has no verdict to agree with.
    let ours = case.verdict.filter(|_| case.status != CaseStatus::Failed);
    let verdict = new.verdict.or(ours).ok_or_else(none)?;
    let agreed = ours == Some(verdict);
    let (by, note) = (text(&new.by), text(&new.note));
    session
        .change(
            ADD,
            [
                &case.id.0,
                &concluded,
                &new.at,
                &by,
                &verdict.as_str(),
                &agreed,
                &note,
            ],
        )
        .await?;
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
    case_workflow::note(session, &case.id.0, &act).await?;
    Ok(PersonVerdict {
        at: new.at,
        by: by.into_owned(),
        revision: u32::try_from(concluded).unwrap_or_default(),
        verdict,
        agreed,
        note: note.into_owned(),
    })
}

/// Returns the verdicts of people about a case, the newest first.
pub(super) async fn of_case(
    session: &Session,
    id: &str,
) -> Result<Vec<PersonVerdict>, PostgresFailure> {
    let rows = session.rows(OF_CASE, [&id]).await?;
    rows.iter()
        .map(|row| {
            Ok(PersonVerdict {
                at: row.try_get(0)?,
                by: row.try_get(1)?,
                revision: get_revision(row, 2)?,
                verdict: get_verdict(row, 3)?,
                agreed: row.try_get(4)?,
                note: row.try_get(5)?,
            })
        })
        .collect()
}

/// Returns the last verdict of a person about a case of the same account and type in which one of the actors has the
/// same role.
pub(super) async fn decided(
    session: &Session,
    account: &str,
    query: &PastQuery,
) -> Result<Option<PersonDecision>, PostgresFailure> {
    let (kinds, values): (Vec<_>, Vec<_>) = query
        .actors
        .iter()
        .map(|one| (one.kind.as_str(), text(&one.value)))
        .unzip();
    let roles: Vec<_> = query.actors.iter().map(|one| one.role.as_str()).collect();
    let (account, kind) = (text(account), text(&query.kind));
    let asked: [SqlValue<'_>; 6] = [&account, &kind, &MOST_DECISIONS, &kinds, &values, &roles];
    let row = session.row(DECIDED, asked).await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let case_id: String = row.try_get(0)?;
    let alert: Alert = parse(&case_id, row.try_get(4)?)?;
    let (verdict, by, at) = (get_verdict(&row, 1)?, row.try_get(2)?, row.try_get(3)?);
    let mut decision = person_decision(case_id, &alert, verdict, by, at);
    if verdict.is_benign() {
        decision.ended_at = ended_at(session, &account, &decision).await?;
    }
    Ok(Some(decision))
}

/// Returns when a person called a case of one of its subjects a true positive after this verdict.
async fn ended_at(
    session: &Session,
    account: &str,
    decision: &PersonDecision,
) -> Result<Option<DateTime<Utc>>, PostgresFailure> {
    let (kinds, values): (Vec<_>, Vec<_>) = decision_subjects(decision)
        .into_iter()
        .map(|one| (one.kind.as_str(), text(&one.value)))
        .unzip();
    let row = session
        .row(ENDED, [&decision.at, &account, &kinds, &values])
        .await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?.flatten())
}
