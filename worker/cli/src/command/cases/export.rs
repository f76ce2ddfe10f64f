//! `nightshift cases export`: writes the journal of a case to a file that can be checked on any machine.

use crate::args::CasesExportArgs;
use crate::command::journal;
use crate::exit::Exit;
use crate::output::{print, print_stderr};
use crate::wiring::{App, report_producer};

pub(super) async fn run(app: &App, options: &CasesExportArgs) -> Result<(), Exit> {
    let row = app.store.view(&options.id).await?.row;
    let lines = match options.revision {
        None => app.store.journal(&row.id, None).await?,
        revision => journal::revision_journal(app, &row, revision).await?,
    };
    let (file, head) = nightshift_pipeline::export::export(
        &row.id,
        &format!("nightshift {}", report_producer().version),
        &lines,
    )
    .map_err(|error| Exit::Failed(error.into()))?;
    let Some(out) = &options.out else {
        return print(&file);
    };
    std::fs::write(out, file).map_err(|error| {
        Exit::Failed(anyhow::Error::new(error).context(format!("cannot write {}", out.display())))
    })?;
    print_stderr(&format!(
        "{} events of case {} in {}; head of the chain {head}",
        lines.len(),
        row.id,
        out.display()
    ));
    Ok(())
}
