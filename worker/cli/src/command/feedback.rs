//! `nightshift feedback export`: writes people's opinions of verdicts as JSON lines.

use std::io::Write;
use std::path::Path;

use crate::args::FeedbackCommand;
use crate::exit::Exit;
use crate::output::print_stderr;
use crate::wiring::App;

/// Lines per page.
const PAGE: usize = 500;

pub(super) async fn run(app: &App, command: &FeedbackCommand) -> Result<(), Exit> {
    let FeedbackCommand::Export { out } = command;
    // The reader of standard output may close it early.
    let failed = |error| match out {
        None => Exit::from(error),
        Some(path) => cannot_write(path, error),
    };
    let mut to = open(out.as_deref())?;
    let (mut after, mut lines) = (0, 0_u64);
    loop {
        let page = app.store.verdicts_after(after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = last.id;
        for one in &page {
            let line = serde_json::to_string(one).map_err(|error| Exit::Failed(error.into()))?;
            writeln!(to, "{line}").map_err(&failed)?;
            lines += 1;
        }
    }
    to.flush().map_err(&failed)?;
    if let Some(out) = out {
        print_stderr(&format!("{lines} verdicts of people in {}", out.display()));
    }
    Ok(())
}

fn open(out: Option<&Path>) -> Result<Box<dyn Write>, Exit> {
    let Some(path) = out else {
        return Ok(Box::new(std::io::stdout().lock()));
    };
    let file = std::fs::File::create(path).map_err(|error| cannot_write(path, error))?;
    Ok(Box::new(std::io::BufWriter::new(file)))
}

fn cannot_write(path: &Path, error: std::io::Error) -> Exit {
    Exit::Failed(anyhow::Error::new(error).context(format!("cannot write {}", path.display())))
}
