//! `nightshift dead-letters`: lists and shows messages that could not be read, with their bytes.

mod retry;

use std::io::Write;

use super::table::table;
use crate::args::DeadLettersCommand;
use crate::exit::Exit;
use crate::output::{print, print_json, print_stderr, sanitize_line};
use crate::wiring::App;

/// Maximum number of bytes that are printed escaped.
const MAX_SHOWN: usize = 4096;

pub(super) async fn run(app: &App, command: &DeadLettersCommand) -> Result<(), Exit> {
    match command {
        DeadLettersCommand::List { limit, json } => list(app, *limit, json.json).await,
        DeadLettersCommand::Show { id, raw, json } => show(app, *id, *raw, json.json).await,
        DeadLettersCommand::Retry {
            id,
            per_second,
            feeds,
            ..
        } => retry::run(app, *id, *per_second, feeds).await,
    }
}

async fn list(app: &App, limit: usize, json: bool) -> Result<(), Exit> {
    let letters = app.store.dead_letters(limit).await?;
    if json {
        return letters.iter().try_for_each(print_json);
    }
    if letters.is_empty() {
        print_stderr("no dead letters: every message could be read");
        return Ok(());
    }
    let mut table = table(
        &[
            "No.",
            "Came (UTC)",
            "Source",
            "Bytes",
            "Why it could not be read",
            "Case",
        ],
        &[4],
    );
    for letter in &letters {
        table.add_row([
            letter.id.to_string(),
            letter.at.format("%Y-%m-%d %H:%M:%S").to_string(),
            sanitize_line(&letter.source, 40),
            letter.size_bytes.to_string(),
            sanitize_line(&letter.error, 300),
            letter
                .case_id
                .as_ref()
                .map_or_else(String::new, ToString::to_string),
        ]);
    }
    print(&table.to_string())
}

async fn show(app: &App, id: i64, raw: bool, json: bool) -> Result<(), Exit> {
    let Some((letter, bytes)) = app.store.dead_letter(id).await? else {
        return Err(Exit::usage(format!(
            "there is no dead letter {id}; `nightshift dead-letters list` shows those there are"
        )));
    };
    if json {
        return print_json(&letter);
    }
    if raw {
        let mut out = std::io::stdout().lock();
        out.write_all(&bytes)?;
        return Ok(out.flush()?);
    }
    let shown = bytes.get(..MAX_SHOWN).unwrap_or(&bytes);
    let cut = if shown.len() < bytes.len() {
        format!(
            "\n({} more bytes; --raw writes all of them)",
            bytes.len() - shown.len()
        )
    } else {
        String::new()
    };
    print(&format!(
        "dead letter {} from {} at {}\n{} bytes, sha256 {}\ncould not be read: {}\n\n{}{cut}",
        letter.id,
        sanitize_line(&letter.source, 60),
        letter.at.format("%Y-%m-%d %H:%M:%S UTC"),
        letter.size_bytes,
        letter.sha256,
        sanitize_line(&letter.error, 600),
        shown.escape_ascii()
    ))
}
