//! Stores the verdicts of people.

use std::sync::LazyLock;

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

use super::{Row, SqlStore, Statement, Tx, Value, case_workflow, cases, statement, values};
use crate::failure::Failure;

/// The maximum number of verdicts that are examined, the newest first.
const MOST_DECISIONS: usize = 500;

static ADD: Statement = statement!("feedback/add.sql");
static OF_CASE: Statement = statement!("feedback/of_case.sql");
static CONCLUDED_REVISION: Statement = statement!("feedback/concluded_revision.sql");
static VERDICTS_AFTER: LazyLock<Statement> = LazyLock::new(|| {
    statement!("feedback/verdicts_after.sql").with("conclusion_status", &cases::CONCLUSION_STATUS)
});
pub(crate) static DECISION: Statement = statement!(
    "feedback/decision.postgres.sql",
    "feedback/decision.sqlite.sql"
);
static ENDED_AT: Statement = statement!(
    "feedback/ended_at.postgres.sql",
    "feedback/ended_at.sqlite.sql"
);

#[async_trait]
impl Feedback for SqlStore {
    async fn add_verdict(
        &self,
        id: &str,
        new: NewPersonVerdict,
    ) -> Result<PersonVerdict, StoreError> {
        let id = id.to_owned();
        let add = async move |tx: Tx<'_>| add(tx, &id, &new).await;
        let doing = "note a person's verdict";
        let added = self.backend.write(doing, add).await?;
        self.notifier.notify();
        Ok(added)
    }

    async fn record_action(
        &self,
        id: &str,
        act: CaseAction,
    ) -> Result<(CaseId, CaseWorkflow), StoreError> {
        let id = id.to_owned();
        let add = async move |tx: Tx<'_>| case_workflow::add(tx, &id, &act).await;
        let noted = self.backend.write("note what a person did", add).await?;
        self.notifier.notify();
        Ok(noted)
    }

    async fn trace_context(
        &self,
        id: &CaseId,
        revision: u32,
    ) -> Result<Option<TraceContext>, StoreError> {
        let id = id.0.clone();
        let read = async move |tx: Tx<'_>| Ok(cases::alert(tx, &id, revision).await?.trace);
        self.backend.read("read the alert of a case", read).await
    }

    async fn verdicts_after(
        &self,
        after: i64,
        most: usize,
    ) -> Result<Vec<FeedbackRecord>, StoreError> {
        let read = async move |tx: Tx<'_>| {
            let rows = tx.all(&VERDICTS_AFTER, values![after, most]).await?;
            rows.iter().map(to_record).collect()
        };
        self.backend.read("read what people decided", read).await
    }
}

impl SqlStore {
    /// Implements [`nightshift_engine::port::PastCases::last_person_decision`].
    pub(super) async fn last_decision(
        &self,
        query: &PastQuery,
    ) -> Result<Option<PersonDecision>, StoreError> {
        let query = query.clone();
        let read = async move |tx: Tx<'_>| match &query.account {
            Some(account) => last_decision(tx, account, &query).await,
            None => Ok(None),
        };
        let doing = "look for what people decided";
        self.backend.read(doing, read).await
    }
}

async fn add(tx: Tx<'_>, id: &str, new: &NewPersonVerdict) -> Result<PersonVerdict, Failure> {
    let case = cases::find(tx, id).await?;
    let none = || Failure::NoVerdict(case.id.0.clone());
    let row = tx.one(&CONCLUDED_REVISION, values![&case.id.0]).await?;
    let revision: Option<u32> = row.get("revision")?;
    let revision = revision.ok_or_else(none)?;
    // A failed run has no verdict to agree with.
    let ours = case.verdict.filter(|_| case.status != CaseStatus::Failed);
    let verdict = new.verdict.or(ours).ok_or_else(none)?;
    let agreed = ours == Some(verdict);
    let values = values![
        &case.id.0,
        revision,
        new.at,
        &new.by,
        verdict.as_str(),
        agreed,
        &new.note,
    ];
    tx.execute(&ADD, values).await?;
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
    case_workflow::note(tx, &case.id.0, &act).await?;
    Ok(PersonVerdict {
        at: new.at,
        by: new.by.clone(),
        revision,
        verdict,
        agreed,
        note: new.note.clone(),
    })
}

/// Returns the verdicts of people about a case, the newest first.
pub(crate) async fn of_case(tx: Tx<'_>, id: &str) -> Result<Vec<PersonVerdict>, Failure> {
    let rows = tx.all(&OF_CASE, values![id]).await?;
    rows.iter().map(to_person_verdict).collect()
}

fn to_person_verdict(row: &Row) -> Result<PersonVerdict, Failure> {
    Ok(PersonVerdict {
        at: row.get("decided_at")?,
        by: row.get("decided_by")?,
        revision: row.get("revision")?,
        verdict: row.get("verdict")?,
        agreed: row.get("agreed")?,
        note: row.get("note")?,
    })
}

fn to_record(row: &Row) -> Result<FeedbackRecord, Failure> {
    let status: Option<String> = row.get("case_status")?;
    let case_verdict = row.known("case_verdict")?;
    Ok(FeedbackRecord {
        id: row.get("id")?,
        case_id: row.get("case_id")?,
        key: row.get("key")?,
        feed: row.get("feed")?,
        kind: row.get("type")?,
        account: row.get("account")?,
        severity: row.get("severity")?,
        case_verdict: case_verdict.filter(|_| status.as_deref() != Some("failed")),
        person: to_person_verdict(row)?,
    })
}

/// Returns the last verdict of a person about a case of the same account and type in which one of the actors has the
/// same role.
async fn last_decision(
    tx: Tx<'_>,
    account: &str,
    query: &PastQuery,
) -> Result<Option<PersonDecision>, Failure> {
    let actors = Value::json("of the actors", &query.actors)?;
    let values = values![account, &query.kind, MOST_DECISIONS, actors];
    let Some(row) = tx.optional(&DECISION, values).await? else {
        return Ok(None);
    };
    let case_id: String = row.get("case_id")?;
    let alert: Alert = row.json("alert", &case_id)?;
    let (verdict, by, at) = (
        row.get("verdict")?,
        row.get("decided_by")?,
        row.get("decided_at")?,
    );
    let mut decision = person_decision(case_id, &alert, verdict, by, at);
    if decision.verdict.is_benign() {
        decision.ended_at = ended_at(tx, account, &decision).await?;
    }
    Ok(Some(decision))
}

/// Returns when a person called a case of one of its subjects a true positive after this verdict.
async fn ended_at(
    tx: Tx<'_>,
    account: &str,
    decision: &PersonDecision,
) -> Result<Option<DateTime<Utc>>, Failure> {
    let subjects = Value::json("of the subjects", &decision_subjects(decision))?;
    let values = values![decision.at, account, subjects];
    tx.one(&ENDED_AT, values).await?.get("ended_at")
}
