//! Checks the rules of a playbook apart from its expressions: names that refer to nothing, rules that can never hold,
//! and missing parts.

use std::collections::BTreeMap;

use nightshift_engine::conclusion::Verdict;
use nightshift_engine::tool::ToolSpec;
use toml::Spanned;

use super::report::{ProblemReport, unknown_name_message};
use crate::playbook::playbook_file::{CallForm, Playbook, SpannedText, VerdictForm, action_parts};
use crate::playbook::{catalogue, tool_kinds};

/// Checks what does not depend on the configured tools.
pub(super) fn check_shape(playbook: &Playbook, report: &mut ProblemReport<'_>) {
    check_name(playbook, report);
    check_globs(playbook, report);
    let steps: Vec<&SpannedText> = playbook.steps.iter().map(|step| &step.id).collect();
    let findings: Vec<&SpannedText> = playbook.findings.iter().map(|one| &one.id).collect();
    check_ids("step", &steps, report);
    check_ids("finding", &findings, report);
    check_dependencies(playbook, report);
    for finding in &playbook.findings {
        if finding.cite.is_empty() {
            report.error(
                finding.id.span().start,
                "a finding without `cite` is never made",
            );
        }
        check_techniques(&finding.techniques, report);
    }
    let matches = &playbook.matches;
    let by_title =
        matches.types.is_empty() && !(matches.titles.is_empty() && matches.shows.is_empty());
    for rule in &playbook.benign {
        if by_title {
            report.error(
                rule.when.span().start,
                "a title or a command cannot clear an alert because an attacker may have written \
                 it; set `types` in [match]",
            );
        }
        for glob in &rule.covers {
            check_glob(glob, report);
        }
        if rule.covers.is_empty() {
            report.error(
                rule.when.span().start,
                "`covers` is empty, so this rule clears nothing",
            );
        }
        if rule.approved_by.is_none() && playbook.owner.trim().is_empty() {
            report.error(
                rule.when.span().start,
                "this rule has no approver; set `approved_by`, or `owner` of the playbook",
            );
        }
    }
    check_verdicts(playbook, report);
}

fn check_name(playbook: &Playbook, report: &mut ProblemReport<'_>) {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if playbook.name.is_empty() || !playbook.name.chars().all(fits) {
        report.error(
            0,
            "`name` may contain only lower-case letters, digits and dashes",
        );
    }
}

fn check_globs(playbook: &Playbook, report: &mut ProblemReport<'_>) {
    for glob in playbook
        .matches
        .types
        .iter()
        .chain(&playbook.matches.titles)
        .chain(&playbook.matches.shows)
        .chain(&playbook.matches.operations)
    {
        check_glob(glob, report);
    }
}

fn check_glob(glob: &SpannedText, report: &mut ProblemReport<'_>) {
    if let Err(error) = globset::Glob::new(glob.get_ref()) {
        report.error(glob.span().start, format!("not a glob: {}", error.kind()));
    }
}

/// Checks that ids are words that expressions can name, and unique.
fn check_ids(what: &str, all: &[&SpannedText], report: &mut ProblemReport<'_>) {
    for (index, id) in all.iter().enumerate() {
        let word = id.get_ref();
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let starts = word.starts_with(|c: char| c.is_ascii_lowercase());
        if !starts || !word.chars().all(fits) {
            report.error(
                id.span().start,
                format!("the id of a {what} may contain only lower-case letters, digits and `_`"),
            );
        }
        if all.iter().take(index).any(|other| other.get_ref() == word) {
            report.error(id.span().start, format!("duplicate {what} `{word}`"));
        }
    }
}

fn check_dependencies(playbook: &Playbook, report: &mut ProblemReport<'_>) {
    let known: Vec<&str> = playbook
        .steps
        .iter()
        .map(|step| step.id.get_ref().as_str())
        .collect();
    for (index, step) in playbook.steps.iter().enumerate() {
        for id in &step.depends_on {
            let at = id.span().start;
            match known.iter().position(|name| name == id.get_ref()) {
                None => report.error(
                    at,
                    unknown_name_message("step", id.get_ref(), known.iter().copied()),
                ),
                Some(other) if other >= index => report.error(
                    at,
                    format!(
                        "step `{}` is defined later; a step can depend only on earlier steps",
                        id.get_ref()
                    ),
                ),
                Some(_) => {}
            }
        }
    }
}

fn check_techniques(all: &[SpannedText], report: &mut ProblemReport<'_>) {
    for text in all {
        // A template is known only when it is rendered.
        if text.get_ref().starts_with("{{") {
            continue;
        }
        let id = text.get_ref().split(' ').next().unwrap_or_default();
        let digits = id.strip_prefix('T').unwrap_or_default();
        let is_id = digits.len() >= 4 && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
        if !is_id {
            report.error(
                text.span().start,
                "a technique is written like `T1496 Resource Hijacking`",
            );
        }
    }
}

fn check_verdicts(playbook: &Playbook, report: &mut ProblemReport<'_>) {
    let mut always: Option<usize> = None;
    for (index, rule) in playbook.verdicts.iter().enumerate() {
        let form = rule.get_ref();
        let at = rule.span().start;
        if let Some(first) = always {
            report.error(
                at,
                format!("never reached: rule {} always holds", first + 1),
            );
        }
        match form.verdict {
            None => report.error(at, "a [[verdict]] needs `verdict`"),
            Some(verdict) if verdict.is_benign() && !names_cleared(form) => report.error(
                form.when.as_ref().map_or(at, |when| when.span().start),
                "a benign verdict requires `cleared` in `when`",
            ),
            Some(_) => {}
        }
        if form.when.as_ref().is_none_or(always_holds) && always.is_none() {
            always = Some(index);
        }
        check_outcome(playbook, form, report);
    }
    match (&playbook.otherwise, always) {
        (Some(rule), Some(first)) => report.error(
            rule.span().start,
            format!("never reached: verdict rule {} always holds", first + 1),
        ),
        (Some(rule), None) => check_otherwise(playbook, rule, report),
        (None, Some(_)) => {}
        (None, None) => report.error(
            0,
            "[otherwise] is missing; add one for alerts that no rule matches",
        ),
    }
}

fn check_otherwise(
    playbook: &Playbook,
    rule: &Spanned<VerdictForm>,
    report: &mut ProblemReport<'_>,
) {
    let form = rule.get_ref();
    if form.when.is_some() {
        report.error(rule.span().start, "[otherwise] cannot have `when`");
    }
    if form
        .verdict
        .is_some_and(|verdict| verdict != Verdict::Inconclusive)
    {
        report.error(
            rule.span().start,
            "[otherwise] cannot have a verdict other than inconclusive",
        );
    }
    if form.would_decide.is_empty() {
        report.warning(
            rule.span().start,
            "`would_decide` of [otherwise] is empty; name the record or log that would decide",
        );
    }
    check_outcome(playbook, form, report);
}

fn always_holds(when: &SpannedText) -> bool {
    matches!(when.get_ref().trim(), "true" | "True")
}

fn names_cleared(form: &VerdictForm) -> bool {
    form.when.as_ref().is_some_and(|when| {
        super::scan::scan_expression(when.get_ref())
            .iter()
            .any(|(_, token)| *token == super::scan::Token::Word("cleared"))
    })
}

/// Checks the actions and techniques of a verdict.
fn check_outcome(playbook: &Playbook, form: &VerdictForm, report: &mut ProblemReport<'_>) {
    let mut known: Vec<&str> = catalogue::action_ids().collect();
    let own = playbook.actions.iter().map(Spanned::get_ref);
    known.extend(own.map(|action| action.id.as_str()));
    for text in &form.actions {
        let (id, _) = action_parts(text.get_ref());
        if !known.contains(&id) {
            let message = unknown_name_message("action", id, known.iter().copied());
            report.error(text.span().start, message);
        }
    }
    check_techniques(&form.techniques, report);
}

/// Checks the calls against the configured tools.
pub(super) fn check_tools(playbook: &Playbook, tools: &[ToolSpec], report: &mut ProblemReport<'_>) {
    for call in playbook.steps.iter().flat_map(|step| &step.calls) {
        let wanted = call.tool.get_ref();
        let answering: Vec<_> = tools
            .iter()
            .filter(|spec| spec.matches_request(wanted))
            .collect();
        if answering.is_empty() && !tool_kinds::is_built_in(wanted) {
            let mut names: Vec<&str> = tool_kinds::built_in().collect();
            names.extend(
                tools
                    .iter()
                    .flat_map(|spec| [spec.name.as_str(), spec.kind.as_str()]),
            );
            report.error(
                call.tool.span().start,
                unknown_name_message("tool", wanted, names),
            );
        }
        for spec in answering {
            check_arguments(call, spec, report);
        }
    }
}

fn check_arguments(call: &CallForm, spec: &ToolSpec, report: &mut ProblemReport<'_>) {
    let given: BTreeMap<&str, usize> = call
        .arguments
        .iter()
        .map(|(name, value)| (name.as_str(), value.span().start))
        .collect();
    for (name, at) in &given {
        if !spec.arguments.iter().any(|argument| argument.name == *name) {
            let known = spec.arguments.iter().map(|argument| argument.name.as_str());
            let what = format!("argument of {}", spec.name);
            report.error(*at, unknown_name_message(&what, name, known));
        }
    }
    for argument in spec.arguments.iter().filter(|argument| argument.required) {
        if !given.contains_key(argument.name.as_str()) {
            report.error(
                call.tool.span().start,
                format!("{} needs the argument `{}`", spec.name, argument.name),
            );
        }
    }
}
