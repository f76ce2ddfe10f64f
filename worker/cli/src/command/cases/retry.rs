//! Implements `nightshift cases retry` and `cancel`.

use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind};
use serde_json::json;

use super::feedback::author;
use crate::args::{CasesCancelArgs, CasesRetryArgs};
use crate::exit::Exit;
use crate::output::{print, print_json};
use crate::wiring::App;

pub(super) async fn retry(app: &App, options: &CasesRetryArgs) -> Result<(), Exit> {
    let id = app.store.retry(&options.id).await?;
    let act = CaseAction {
        at: app.clock.now(),
        // A job without a user may rerun cases as well.
        by: author(options.by.as_deref()).unwrap_or_else(|_| "the command line".to_owned()),
        kind: CaseActionKind::AskedAgain,
        note: String::new(),
    };
    app.store.record_action(&id.0, act).await?;
    if options.json.json {
        return print_json(&json!({"case_id": id, "status": "queued"}));
    }
    print(&format!(
        "case {id} is triaged again by the next worker; `nightshift cases show {id}` shows it"
    ))
}

pub(super) async fn cancel(app: &App, options: &CasesCancelArgs) -> Result<(), Exit> {
    let by = author(options.by.as_deref())?;
    let off = app.store.cancel(&options.id, &by, app.clock.now()).await?;
    if options.json.json {
        return print_json(&off);
    }
    let id = &off.case_id;
    print(&match off.next {
        Some(next) => {
            format!("triage of case {id} is cancelled; the waiting revision {next} is triaged next")
        }
        None => format!(
            "case {id} is called off; `nightshift cases retry {id}` triages it all the same"
        ),
    })
}
