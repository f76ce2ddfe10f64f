//! Implements `nightshift cases agree` and `disagree`: the opinion of a person about a verdict.

use nightshift_engine::conclusion::Verdict;
use nightshift_engine::measurement::Measurement;
use nightshift_engine::port::Meter as _;
use nightshift_pipeline::feedback::{NewPersonVerdict, PersonVerdict};
use nightshift_pipeline::language::Language;

use crate::args::{CaseActionArgs, CasesDisagreeArgs};
use crate::config::user;
use crate::exit::Exit;
use crate::output::{print, print_json, sanitize_line};
use crate::wiring::App;

pub(super) async fn agree(app: &App, options: &CaseActionArgs) -> Result<(), Exit> {
    let by = author(options.by.as_deref())?;
    let said = add(app, &options.id, None, by, &options.note).await?;
    show(app, &options.id, &said, options.json.json).await
}

pub(super) async fn disagree(app: &App, options: &CasesDisagreeArgs) -> Result<(), Exit> {
    let by = author(options.by.as_deref())?;
    let case = app.store.view(&options.id).await?.row;
    if case.verdict == Some(options.verdict) {
        return Err(Exit::usage(format!(
            "{} is the verdict of case {}; to say that it is right: nightshift cases agree {}",
            options.verdict.as_str(),
            case.id,
            case.id
        )));
    }
    let said = add(app, &options.id, Some(options.verdict), by, &options.note).await?;
    show(app, &options.id, &said, options.json.json).await
}

pub(super) fn author(by: Option<&str>) -> Result<String, Exit> {
    let by = by.map(ToOwned::to_owned).or_else(user).unwrap_or_default();
    if by.trim().is_empty() {
        return Err(Exit::usage("say who you are with --by NAME".to_owned()));
    }
    Ok(by)
}

async fn add(
    app: &App,
    id: &str,
    verdict: Option<Verdict>,
    by: String,
    note: &str,
) -> Result<PersonVerdict, Exit> {
    let new = NewPersonVerdict {
        verdict,
        by,
        at: app.clock.now(),
        note: note.to_owned(),
    };
    let said = app.store.add_verdict(id, new).await?;
    let agreed = said.agreed;
    app.metrics.count(&Measurement::Feedback { agreed });
    app.write_metrics()?;
    Ok(said)
}

async fn show(app: &App, id: &str, said: &PersonVerdict, json: bool) -> Result<(), Exit> {
    if json {
        return print_json(said);
    }
    let mut text = format!("case {}: {}", sanitize_line(id, 20), verdict_line(said));
    if said.verdict.is_benign() {
        // The opinion is stored by now, so a failure to read the case is not an error.
        if let Ok(view) = app.store.view(id).await {
            text.push('\n');
            text.push_str(&view.clearance_note(Language::En));
        }
    }
    print(&text)
}

/// Returns an opinion as a line: `2026-03-02 08:00:00 UTC ana disagrees: False positive (revision 1): why`.
pub(super) fn verdict_line(said: &PersonVerdict) -> String {
    let note = if said.note.is_empty() {
        String::new()
    } else {
        format!(": {}", sanitize_line(&said.note, 300))
    };
    format!(
        "{} {} {}: {} (revision {}){note}",
        said.at.format("%Y-%m-%d %H:%M:%S UTC"),
        sanitize_line(&said.by, 80),
        if said.agreed { "agrees" } else { "disagrees" },
        said.verdict.title(),
        said.revision
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_says_whose_it_is() {
        let said = PersonVerdict {
            at: chrono::DateTime::UNIX_EPOCH,
            by: "ana".into(),
            revision: 1,
            verdict: Verdict::FalsePositive,
            agreed: false,
            note: "why".into(),
        };
        insta::assert_snapshot!(verdict_line(&said), @"1970-01-01 00:00:00 UTC ana disagrees: False positive (revision 1): why");
    }
}
