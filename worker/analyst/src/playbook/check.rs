//! Finds the problems of a playbook file, each with line and column.

mod actions;
mod fields;
mod matches;
mod names;
mod problem;
mod report;
mod rules;
mod scan;

use nightshift_engine::tool::ToolSpec;

pub use problem::{Level, Problem};

use super::playbook_file::Playbook;

/// Returns all problems of a playbook, in the order of the file. `tools` and `feeds` are the configured ones. Built-in
/// ones are accepted even if they are not configured.
#[must_use]
pub fn check_playbook(
    file_name: &str,
    toml: &str,
    tools: &[ToolSpec],
    feeds: &[&str],
) -> Vec<Problem> {
    let (playbook, mut problems) = parse_and_check(file_name, toml);
    if let Some(playbook) = playbook {
        let mut report = report::ProblemReport::new(file_name, toml);
        rules::check_tools(&playbook, tools, &mut report);
        matches::check_feeds(&playbook, feeds, &mut report);
        problems.extend(report.into_problems());
    }
    problems.sort_by_key(|problem| (problem.line, problem.column));
    problems
}

/// Returns the playbook if the file holds one, and the problems that do not depend on the tools.
pub(super) fn parse_and_check(file_name: &str, toml: &str) -> (Option<Playbook>, Vec<Problem>) {
    let mut report = report::ProblemReport::new(file_name, toml);
    let playbook = match toml::from_str::<Playbook>(toml) {
        Ok(playbook) => playbook,
        Err(error) => {
            report.add_toml_error(&error);
            return (None, report.into_problems());
        }
    };
    rules::check_shape(&playbook, &mut report);
    matches::check_classes(&playbook, &mut report);
    actions::check_actions(&playbook, &mut report);
    names::check_expressions(&playbook, &mut report);
    (Some(playbook), report.into_problems())
}
