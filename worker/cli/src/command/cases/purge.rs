//! `nightshift cases purge`: everything about an account, or that came before a day, is removed.

use std::io::{BufRead as _, IsTerminal as _};

use nightshift_pipeline::Purge;

use crate::args::CasesPurge;
use crate::exit::Exit;
use crate::output::{print, say};
use crate::wiring::App;

/// What is removed in one transaction.
const BATCH: usize = 200;

pub(super) async fn run(app: &App, options: &CasesPurge) -> Result<(), Exit> {
    let what = Purge {
        before: options
            .before
            .and_then(|day| Some(day.and_hms_opt(0, 0, 0)?.and_utc())),
        account: options.account.clone(),
    };
    if !options.yes {
        confirm(&what)?;
    }
    let mut removed = 0;
    loop {
        let batch = app.store.purge(&what, BATCH).await?;
        if batch == 0 {
            break;
        }
        removed += batch;
        say(&format!("{removed} alerts removed"));
    }
    print(&format!(
        "{removed} alerts removed with everything that was known of them"
    ))
}

fn confirm(what: &Purge) -> Result<(), Exit> {
    let mut words = Vec::new();
    if let Some(before) = what.before {
        words.push(format!("what came before {}", before.format("%Y-%m-%d")));
    }
    if let Some(account) = &what.account {
        words.push(format!("what is about the account {account:?}"));
    }
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Exit::usage(
            "nobody is here to ask; say --yes to remove without".to_owned(),
        ));
    }
    say(&format!(
        "This removes {} for good. Type yes to go on:",
        words.join(" and ")
    ));
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    if read.is_err() || answer.trim() != "yes" {
        return Err(Exit::usage("nothing was removed".to_owned()));
    }
    Ok(())
}
