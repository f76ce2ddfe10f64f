//! Reads the recorded triage of a case, for commands that work on it.

use nightshift_pipeline::case::CaseRow;
use nightshift_pipeline::export::JournalLine;

use crate::exit::Exit;
use crate::output::print_stderr;
use crate::wiring::App;

/// Returns the journal of this revision, or of the newest revision that has one. A revision that waits has no journal
/// yet.
pub(super) async fn revision_journal(
    app: &App,
    row: &CaseRow,
    wanted: Option<u32>,
) -> Result<Vec<JournalLine>, Exit> {
    let mut lines = app.store.journal(&row.id, None).await?;
    let revisions = revisions(&lines);
    let revision = wanted.or(revisions.last().copied());
    match revision.filter(|one| revisions.contains(one)) {
        Some(revision) => {
            lines.retain(|line| line.revision == revision);
            if wanted.is_none() && revision != row.revision {
                print_stderr(&format!(
                    "revision {} of case {} is not triaged yet: this is revision {revision}",
                    row.revision, row.id
                ));
            }
            Ok(lines)
        }
        None => Err(none_of(row, wanted, &revisions)),
    }
}

/// Returns the revisions of these lines, in order.
pub(super) fn revisions(lines: &[JournalLine]) -> Vec<u32> {
    let mut revisions: Vec<u32> = lines.iter().map(|line| line.revision).collect();
    revisions.sort_unstable();
    revisions.dedup();
    revisions
}

/// Returns the error that there is no such journal, with the existing revisions.
pub(super) fn none_of(row: &CaseRow, wanted: Option<u32>, revisions: &[u32]) -> Exit {
    let which = wanted.map_or_else(String::new, |one| format!(" of revision {one}"));
    let words: Vec<String> = revisions.iter().map(ToString::to_string).collect();
    let there_is = match words.as_slice() {
        [] => "nobody has begun to triage it".to_owned(),
        [only] => format!("there is that of revision {only}"),
        several => format!("there are those of revisions {}", several.join(", ")),
    };
    Exit::usage(format!("case {} has no journal{which}; {there_is}", row.id))
}
