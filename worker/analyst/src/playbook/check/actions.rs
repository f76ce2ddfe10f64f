//! Checks the actions that a playbook brings. An action whose text cannot be rendered, or that another one hides, is
//! never advised.

use nightshift_alert::IndicatorKind;
use nightshift_engine::catalogue::{ActionTemplate, PLACEHOLDERS};

use super::report::{ProblemReport, unknown_name_message};
use crate::playbook::playbook_file::Playbook;

pub(super) fn check_actions(playbook: &Playbook, report: &mut ProblemReport<'_>) {
    for (index, action) in playbook.actions.iter().enumerate() {
        let (at, action) = (action.span().start, action.get_ref());
        let mut earlier = playbook.actions.iter().take(index);
        if earlier.any(|other| stands_before(other.get_ref(), action)) {
            let message = format!(
                "never advised: an earlier action has the same id `{}` for this cloud",
                action.id
            );
            report.error(at, message);
        }
        let texts = [
            Some(&action.text),
            action.command.as_ref(),
            action.precondition.as_ref(),
            action.side_effect.as_ref(),
            action.undo.as_ref(),
        ];
        for text in texts.into_iter().flatten() {
            check_placeholders(text, at, report);
        }
    }
}

/// Returns whether every alert that `other` is for gets `action` instead. The same id may occur once per cloud.
fn stands_before(action: &ActionTemplate, other: &ActionTemplate) -> bool {
    action.id == other.id && (action.provider.is_none() || action.provider == other.provider)
}

/// Checks the names in braces by the rules that apply when an action is rendered. `at` is the start of the action.
fn check_placeholders(text: &str, at: usize, report: &mut ProblemReport<'_>) {
    let mut rest = text;
    let kinds = IndicatorKind::ALL.iter().map(|kind| kind.as_str());
    let known: Vec<&str> = PLACEHOLDERS.into_iter().chain(kinds).collect();
    while let Some((_, from)) = rest
        .find(['{', '}'])
        .and_then(|brace| rest.split_at_checked(brace))
    {
        let doubled = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}"));
        if let Some(tail) = doubled {
            rest = tail;
            continue;
        }
        let Some((name, tail)) = from.strip_prefix('{').and_then(|open| open.split_once('}'))
        else {
            let at = report.offset_after(at, from);
            report.error(at, "unmatched brace; write a literal brace twice");
            return;
        };
        // After a bar follows the text for readers when the value is not known.
        let name = name.split_once('|').map_or(name, |(name, _)| name);
        if !known.contains(&name) {
            let at = report.offset_after(at, &format!("{{{name}}}"));
            report.error(
                at,
                unknown_name_message("placeholder", name, known.iter().copied()),
            );
        }
        rest = tail;
    }
}
