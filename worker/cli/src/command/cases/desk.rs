//! `nightshift cases ack`, `assign` and `close`: the actions of a person on a case.

use nightshift_alert::text::plain as clean;
use nightshift_pipeline::desk::{ACT_NAME_CHARS, ACT_NOTE_CHARS, Act, ActKind, Desk};

use super::feedback::who;
use crate::args::{CasesAct, CasesAssign};
use crate::exit::Exit;
use crate::output::{plain, print, print_json};
use crate::wiring::App;

pub(super) async fn acknowledge(app: &App, options: &CasesAct) -> Result<(), Exit> {
    act(app, options, ActKind::Acknowledged).await
}

pub(super) async fn close(app: &App, options: &CasesAct) -> Result<(), Exit> {
    act(app, options, ActKind::Closed).await
}

pub(super) async fn assign(app: &App, options: &CasesAssign) -> Result<(), Exit> {
    let to = clean(&options.to, ACT_NAME_CHARS);
    if to.trim().is_empty() {
        return Err(Exit::usage(
            "say who gets the case with --to NAME".to_owned(),
        ));
    }
    let kind = ActKind::Assigned { to };
    act(app, &options.act, kind).await
}

async fn act(app: &App, options: &CasesAct, kind: ActKind) -> Result<(), Exit> {
    let act = Act {
        at: app.clock.now(),
        by: clean(&who(options.by.as_deref())?, ACT_NAME_CHARS),
        kind,
        note: clean(&options.note, ACT_NOTE_CHARS),
    };
    let (id, desk) = app.store.act(&options.id, act).await?;
    if options.json.json {
        return print_json(&desk);
    }
    print(&format!("case {id}: {}", standing(&desk)))
}

/// Returns the state of the case workflow: `acknowledged, ana has it`.
pub(super) fn standing(desk: &Desk) -> String {
    let status = desk.status.as_str();
    match &desk.owner {
        Some(owner) => format!("{status}, {} has it", plain(owner, ACT_NAME_CHARS)),
        None => status.to_owned(),
    }
}

/// Returns an action as a line: `2026-03-02 08:00:00 ana closed it: why`.
pub(super) fn line(act: &Act) -> String {
    let what = match &act.kind {
        ActKind::Acknowledged => "has it".to_owned(),
        ActKind::Assigned { to } => format!("gave it to {}", plain(to, 80)),
        ActKind::Agreed => "agrees".to_owned(),
        ActKind::Disagreed { verdict } => format!("disagrees: {}", verdict.title()),
        ActKind::AskedAgain => "had it triaged again".to_owned(),
        ActKind::Muted { name, until } => {
            format!(
                "muted its like until {} ({})",
                until.format("%Y-%m-%d"),
                plain(name, 40)
            )
        }
        ActKind::Closed => "closed it".to_owned(),
        ActKind::Reopened => "sent something new: open again".to_owned(),
    };
    let note = if act.note.is_empty() {
        String::new()
    } else {
        format!(": {}", plain(&act.note, 300))
    };
    format!(
        "{} {} {what}{note}",
        act.at.format("%Y-%m-%d %H:%M:%S UTC"),
        plain(&act.by, 80)
    )
}
