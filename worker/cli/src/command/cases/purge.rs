//! `nightshift cases purge`: removes all cases of an account, or all that ended before a day.

use std::io::{BufRead as _, IsTerminal as _};

use nightshift_pipeline::maintenance::Purge;

use crate::args::CasesPurgeArgs;
use crate::exit::Exit;
use crate::output::{print, print_stderr};
use crate::wiring::App;

/// Cases that are removed in one transaction.
const BATCH: usize = 200;

pub(super) async fn run(app: &App, options: &CasesPurgeArgs) -> Result<(), Exit> {
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
        print_stderr(&format!("{removed} alerts removed"));
    }
    // Only the store refers to the blobs of these cases. The next sweep of a worker removes what is left.
    while app.store.sweep().await? > 0 {}
    let kept = app.store.count_kept_cases(&what).await?;
    print(&outcome(removed, kept))
}

/// Returns how many cases were removed and kept.
fn outcome(removed: u64, kept: u64) -> String {
    let removed = format!("{removed} alerts removed with everything that was known of them");
    if kept == 0 {
        return removed;
    }
    format!(
        "{removed}\ncases that began before that day and are kept, because they are not over or something came for them \
        since: {kept}"
    )
}

/// Describes what is to be removed, for the question to the user.
fn described(what: &Purge) -> String {
    let before = what.before.map(|before| before.format("%Y-%m-%d"));
    match (before, &what.account) {
        (Some(before), Some(account)) => {
            format!("only what is about the account {account:?} and also came before {before}")
        }
        (Some(before), None) => {
            format!(
                "every case that is over and for which nothing came since {before}, and every alert from before that was \
                 muted or set aside"
            )
        }
        (None, Some(account)) => format!("everything about the account {account:?}"),
        (None, None) => "nothing".to_owned(),
    }
}

fn confirm(what: &Purge) -> Result<(), Exit> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Exit::usage(
            "standard input is not a terminal; use --yes to remove without confirmation".to_owned(),
        ));
    }
    print_stderr(&format!(
        "This removes {} for good. Type yes to go on:",
        described(what)
    ));
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    if read.is_err() || answer.trim() != "yes" {
        return Err(Exit::usage("nothing was removed".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_removes_what_is_old_reads_how_many_cases_go_on() {
        let without = "3 alerts removed with everything that was known of them";
        assert_eq!(outcome(3, 0), without);
        let with = format!(
            "{without}\ncases that began before that day and are kept, because they are not over or something came for them \
            since: 12"
        );
        assert_eq!(outcome(3, 12), with);
    }

    #[test]
    fn both_options_together_read_as_less_than_either() {
        let before: Option<chrono::DateTime<chrono::Utc>> = "2026-01-31T00:00:00Z".parse().ok();
        let account = Some("444455556666".to_owned());
        let said = |before, account| described(&Purge { before, account });
        assert_eq!(
            said(before, None),
            "every case that is over and for which nothing came since 2026-01-31, and every alert from before that was muted \
             or set aside"
        );
        assert_eq!(
            said(None, account.clone()),
            "everything about the account \"444455556666\""
        );
        assert_eq!(
            said(before, account),
            "only what is about the account \"444455556666\" and also came before 2026-01-31"
        );
    }
}
