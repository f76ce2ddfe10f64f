//! What people decided over cases.

use async_trait::async_trait;
use nightshift_alert::{Alert, Role};
use nightshift_engine::PersonDecision;
use nightshift_pipeline::{
    Act, ActKind, CaseId, CaseStatus, Decided, Desk, Feedback, NewPersonVerdict, PersonVerdict,
    StoreError,
};

use super::database::Session;
use super::failure::Failure;
use super::read;
use super::row::{get_revision, get_verdict, parse, text};
use super::{PostgresStore, desk};

/// Most decisions that are looked at, the newest ones.
const MOST_DECISIONS: i64 = 500;

/// Said again because the answer was lost, it is there already.
const ADD: &str = "INSERT INTO person_verdicts (case_id, revision, decided_at, decided_by, verdict, agreed, note) \
     SELECT $1::text, $2::integer, $3::timestamptz, $4::text, $5::text, $6::boolean, $7::text WHERE NOT EXISTS (SELECT FROM person_verdicts \
         WHERE case_id = $1 AND decided_at = $3 AND decided_by = $4 AND verdict = $5)";
const OF_CASE: &str = "SELECT decided_at, decided_by, revision, verdict, agreed, note FROM person_verdicts \
     WHERE case_id = $1 ORDER BY id DESC";
/// The revision that is over: one that waits or runs has no verdict yet.
const CONCLUDED: &str = "SELECT max(revision) FROM conclusions WHERE case_id = $1";
const DECISIONS: &str = "SELECT v.case_id, v.verdict, v.decided_by, v.decided_at, a.alert::text FROM person_verdicts v \
     JOIN cases c ON c.id = v.case_id JOIN alerts a ON a.case_id = v.case_id AND a.revision = v.revision \
     WHERE c.account = $1 AND v.id = (SELECT max(id) FROM person_verdicts WHERE case_id = v.case_id) \
     ORDER BY v.id DESC LIMIT $2";

#[async_trait]
impl Feedback for PostgresStore {
    async fn add_verdict(
        &self,
        id: &str,
        new: NewPersonVerdict,
    ) -> Result<PersonVerdict, StoreError> {
        let new = &new;
        self.look("note a person's verdict", |session| async move {
            add(&session, id, new).await
        })
        .await
    }

    async fn act(&self, id: &str, act: Act) -> Result<(CaseId, Desk), StoreError> {
        let act = &act;
        self.look("note what a person did", |session| async move {
            desk::add(&session, id, act).await
        })
        .await
    }

    async fn verdicts_after(&self, after: i64, most: usize) -> Result<Vec<Decided>, StoreError> {
        self.look("read what people decided", |session| async move {
            desk::decided(&session, after, most).await
        })
        .await
    }
}

async fn add(
    session: &Session,
    id: &str,
    new: &NewPersonVerdict,
) -> Result<PersonVerdict, Failure> {
    let case = read::find(session, id).await?;
    let none = || Failure::NoVerdict(case.id.0.clone());
    let row = session.row(CONCLUDED, [&case.id.0]).await?;
    let concluded: Option<i32> = row.map_or(Ok(None), |row| row.try_get(0))?;
    let concluded = concluded.ok_or_else(none)?;
    // A run that failed decided nothing that one could agree with.
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
    desk::note(session, &case.id.0, &act).await?;
    Ok(PersonVerdict {
        at: new.at,
        by: by.into_owned(),
        revision: u32::try_from(concluded).unwrap_or_default(),
        verdict,
        agreed,
        note: note.into_owned(),
    })
}

/// What people said of a case, the newest first.
pub(super) async fn of_case(session: &Session, id: &str) -> Result<Vec<PersonVerdict>, Failure> {
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

/// What people decided over cases of this account, the newest first: each with the actors that its alert named.
pub(super) async fn decisions(
    session: &Session,
    account: &str,
) -> Result<Vec<PersonDecision>, Failure> {
    let rows = session
        .rows(DECISIONS, [&text(account), &MOST_DECISIONS])
        .await?;
    rows.iter()
        .map(|row| {
            let case_id: String = row.try_get(0)?;
            let alert: Alert = parse(&case_id, row.try_get(4)?)?;
            Ok(PersonDecision {
                actors: alert.with_role(Role::Actor).cloned().collect(),
                first_seen: alert.times.window().map(|(first, _)| first),
                kind: alert.kind,
                account: alert.account,
                case_id,
                verdict: get_verdict(row, 1)?,
                by: row.try_get(2)?,
                at: row.try_get(3)?,
            })
        })
        .collect()
}
