//! Stores actions of people on cases.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::case_workflow::{CaseAction, CaseWorkflow};

use super::{NOW, Statement, Tx, cases, statement, values};
use crate::case_actions::{CaseActionRow, parse_action_kind};
use crate::failure::Failure;

static ADD_ACTION: Statement = statement!("case_workflow/add_action.sql");
static SET_STATUS: Statement = statement!("case_workflow/set_status.sql");
static EDIT_POSTS: LazyLock<Statement> =
    LazyLock::new(|| statement!("case_workflow/edit_posts.sql").with("now", &NOW));
static REOPEN: Statement = statement!("case_workflow/reopen.sql");
static ADD_REOPENED: LazyLock<Statement> =
    LazyLock::new(|| statement!("case_workflow/add_reopened.sql").with("now", &NOW));
static UNSEEN_RESULT: Statement = statement!("case_workflow/unseen_result.sql");
static ACTIONS: Statement = statement!(
    "case_workflow/actions.postgres.sql",
    "case_workflow/actions.sqlite.sql"
);

/// Adds an action and returns the case with its workflow.
pub(crate) async fn add(
    tx: Tx<'_>,
    id: &str,
    act: &CaseAction,
) -> Result<(CaseId, CaseWorkflow), Failure> {
    let case = cases::find(tx, id).await?;
    note(tx, &case.id.0, act).await?;
    let workflow = case_workflow(tx, &case.id.0).await?;
    Ok((case.id, workflow))
}

/// Adds the row of an action and updates the posts of its case. A duplicate reverts nothing that happened since.
pub(crate) async fn note(tx: Tx<'_>, id: &str, act: &CaseAction) -> Result<(), Failure> {
    let row = CaseActionRow::from_action(act);
    let values = values![
        id,
        act.at,
        &act.by,
        row.act,
        row.about.as_deref(),
        row.until,
        &act.note,
    ];
    if tx.execute(&ADD_ACTION, values).await? == 0 {
        return Ok(());
    }
    let status = row.workflow_status.map(|status| status.as_str());
    let values = values![id, status, row.owner.as_deref()];
    tx.execute(&SET_STATUS, values).await?;
    tx.execute(&EDIT_POSTS, values![id]).await?;
    tx.notify().await
}

/// Reopens a case if people had finished with it, because it triages what they have not seen: a new alert of a source,
/// or the same alert for a new reason.
pub(super) async fn reopen(tx: Tx<'_>, id: &str) -> Result<(), Failure> {
    if tx.execute(&REOPEN, values![id]).await? > 0 {
        tx.execute(&ADD_REOPENED, values![id]).await?;
        tx.execute(&EDIT_POSTS, values![id]).await?;
    }
    Ok(())
}

/// Reopens a case after the triage of an alert from a source ended and is not benign. People who had finished with the
/// case before did not know that result.
pub(super) async fn reopen_unseen(tx: Tx<'_>, id: &str) -> Result<(), Failure> {
    match tx.optional(&UNSEEN_RESULT, values![id]).await? {
        Some(_) => reopen(tx, id).await,
        None => Ok(()),
    }
}

/// Returns the workflow of a case.
pub(crate) async fn case_workflow(tx: Tx<'_>, id: &str) -> Result<CaseWorkflow, Failure> {
    let mut actions = actions(tx, vec![id]).await?;
    let actions = actions.pop().map(|(_, actions)| actions);
    Ok(CaseWorkflow::from_actions(actions.unwrap_or_default()))
}

/// Returns the actions on each of these cases, the oldest first.
pub(crate) async fn actions(
    tx: Tx<'_>,
    ids: Vec<&str>,
) -> Result<Vec<(String, Vec<CaseAction>)>, Failure> {
    let mut found: Vec<(String, Vec<CaseAction>)> = Vec::new();
    for row in tx.all(&ACTIONS, values![ids]).await? {
        let (id, action): (String, String) = (row.get("case_id")?, row.get("action")?);
        let until: Option<DateTime<Utc>> = row.get("muted_until")?;
        let Some(kind) = parse_action_kind(&action, row.get("detail")?, until) else {
            continue;
        };
        let action = CaseAction {
            at: row.get("at")?,
            by: row.get("actor")?,
            kind,
            note: row.get("note")?,
        };
        match found.iter_mut().find(|(one, _)| *one == id) {
            Some((_, actions)) => actions.push(action),
            None => found.push((id, vec![action])),
        }
    }
    Ok(found)
}
