//! `nightshift cases verify`: checks an exported journal. It needs only the file.

use nightshift_engine::verify::{VerifiedCounts, Violation};
use nightshift_pipeline::export::{ExportError, VerifiedExport, VerifiedRevision, verify_export};
use serde::Serialize;

use crate::args::CasesVerifyArgs;
use crate::command::input::read_up_to;
use crate::exit::Exit;
use crate::output::{print, print_json, sanitize_line};

/// Maximum size of a file, in bytes. A case of 20 steps takes far less than a MiB.
const MAX_BYTES: usize = 1024 * 1024 * 1024;

/// The result as `--json` prints it.
#[derive(Debug, Default, Serialize)]
struct VerifyReport {
    schema: &'static str,
    sound: bool,
    case_id: Option<String>,
    program: Option<String>,
    head: Option<String>,
    broken_line: Option<usize>,
    problems: Vec<String>,
    revisions: Vec<VerifiedRevisionJson>,
}

#[derive(Debug, Serialize)]
struct VerifiedRevisionJson {
    revision: u32,
    verdict: Option<&'static str>,
    checked: VerifiedCounts,
    violations: Vec<ViolationEntry>,
}

#[derive(Debug, Serialize)]
struct ViolationEntry {
    #[serde(flatten)]
    violation: Violation,
    text: String,
}

pub(in crate::command) fn run(options: &CasesVerifyArgs) -> Result<(), Exit> {
    let file = read_up_to(&options.file, MAX_BYTES)?;
    match verify_export(&file) {
        Ok(export) => sound_or_not(options, &export),
        Err(error) => refused(options, error),
    }
}

/// Reports a journal that is not accepted. A broken chain is a violation; a file that is no journal, or a journal of a
/// newer version, cannot be checked.
fn refused(options: &CasesVerifyArgs, error: ExportError) -> Result<(), Exit> {
    let broken = match &error {
        ExportError::Broken { line, .. } => Some(*line),
        ExportError::NoJournal(_) | ExportError::Unreadable { .. } => None,
    };
    let error = anyhow::Error::new(error).context(sanitize_line(&options.file, 200));
    if options.json.json {
        print_json(&VerifyReport {
            schema: SCHEMA,
            broken_line: broken,
            problems: vec![format!("{error:#}")],
            ..VerifyReport::default()
        })?;
    }
    Err(if broken.is_some() {
        Exit::Failed(error)
    } else {
        Exit::Usage(error)
    })
}

const SCHEMA: &str = "nightshift.verify/1";

fn sound_or_not(options: &CasesVerifyArgs, export: &VerifiedExport) -> Result<(), Exit> {
    if options.json.json {
        print_json(&VerifyReport {
            schema: SCHEMA,
            sound: export.is_sound(),
            case_id: Some(export.header.case_id.0.clone()),
            program: Some(export.header.program.clone()),
            head: Some(export.head.clone()),
            broken_line: None,
            problems: export.mismatches.clone(),
            revisions: export.revisions.iter().map(revision).collect(),
        })?;
    } else {
        print(&text(export))?;
    }
    if export.is_sound() {
        Ok(())
    } else {
        Err(Exit::Reported(1))
    }
}

fn revision(one: &VerifiedRevision) -> VerifiedRevisionJson {
    let verdict = one.state.conclusion.as_ref().map(|end| end.verdict);
    let told = one.violations.iter().map(|violation| ViolationEntry {
        text: violation.to_string(),
        violation: violation.clone(),
    });
    VerifiedRevisionJson {
        revision: one.revision,
        verdict: verdict.map(|verdict| verdict.as_str()),
        checked: one.checked,
        violations: told.collect(),
    }
}

fn text(export: &VerifiedExport) -> String {
    let events: usize = export.revisions.iter().map(|one| one.checked.events).sum();
    let mut lines = vec![
        format!(
            "case {}, written by {}",
            sanitize_line(&export.header.case_id.0, 40),
            sanitize_line(&export.header.program, 60)
        ),
        format!("chain      {events} events, head {}", export.head),
    ];
    for one in &export.revisions {
        let checked = &one.checked;
        let end = one.state.conclusion.as_ref().map_or_else(
            || "not concluded".to_owned(),
            |end| format!("{}, recomputed", end.verdict.title()),
        );
        lines.push(format!(
            "revision {} {end}: {} events, {} steps, {} pieces of evidence, {} quotes of {} findings, {} exonerations, the verdict floor",
            one.revision,
            checked.events,
            checked.steps,
            checked.evidence,
            checked.quotes,
            checked.findings,
            checked.exonerations
        ));
        for violation in &one.violations {
            lines.push(format!(
                "  violation: {}",
                sanitize_line(&violation.to_string(), 400)
            ));
        }
    }
    for problem in &export.mismatches {
        lines.push(format!("violation: {}", sanitize_line(problem, 400)));
    }
    let violations: usize = export.mismatches.len()
        + export
            .revisions
            .iter()
            .map(|one| one.violations.len())
            .sum::<usize>();
    lines.push(match violations {
        0 => "sound: nothing is wrong with it".to_owned(),
        1 => "not sound: 1 violation".to_owned(),
        more => format!("not sound: {more} violations"),
    });
    lines.join("\n")
}
