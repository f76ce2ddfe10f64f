//! Actions that a playbook brings: one whose text cannot be filled in, or that stands behind another, is never advised.

use nightshift_alert::IndicatorKind;
use nightshift_engine::{ActionTemplate, PLACEHOLDERS};

use super::place::{Report, unknown};
use crate::playbook::form::Playbook;

pub(super) fn actions(playbook: &Playbook, report: &mut Report<'_>) {
    for (index, action) in playbook.actions.iter().enumerate() {
        let (at, action) = (action.span().start, action.get_ref());
        let mut earlier = playbook.actions.iter().take(index);
        if earlier.any(|other| stands_before(other.get_ref(), action)) {
            let message = format!(
                "never advised: another action `{}` for this cloud stands further up",
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
            placeholders(text, at, report);
        }
    }
}

/// Whether every alert that `other` is for gets `action` instead: the same id may stand once per cloud.
fn stands_before(action: &ActionTemplate, other: &ActionTemplate) -> bool {
    action.id == other.id && (action.provider.is_none() || action.provider == other.provider)
}

/// Names in braces, read as they are when an action is filled in; `at` is where the action begins.
fn placeholders(text: &str, at: usize, report: &mut Report<'_>) {
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
            let at = report.after(at, from);
            report.error(at, "a brace without the other; one as such is doubled");
            return;
        };
        // Behind a bar stands what the reader fills in where the value is not known.
        let name = name.split_once('|').map_or(name, |(name, _)| name);
        if !known.contains(&name) {
            let at = report.after(at, &format!("{{{name}}}"));
            report.error(at, unknown("placeholder", name, known.iter().copied()));
        }
        rest = tail;
    }
}
