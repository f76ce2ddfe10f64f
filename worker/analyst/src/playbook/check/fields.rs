//! Checks the fields of the alert that expressions name. A field that no alert has fails in every evaluation.
//!
//! The fields of the finding as it was sent, and of the entries of a list, are not known here.

use serde_json::Value as Json;

use super::report::unknown_name_message;
use super::scan::Token;

/// A field that no alert has.
pub(super) struct UnknownField {
    /// The offset of its name in the text.
    pub(super) offset: usize,
    /// True if the expression handles a missing value.
    pub(super) has_default: bool,
    pub(super) message: String,
}

/// Returns the fields that these tokens name and that `alert`, which has every known field, does not have.
pub(super) fn unknown_fields(tokens: &[(usize, Token<'_>)], alert: &Json) -> Vec<UnknownField> {
    let begins = |index: usize| {
        let before = index.checked_sub(1).and_then(|before| tokens.get(before));
        matches!(tokens.get(index), Some((_, Token::Word("alert"))))
            && before.is_none_or(|(_, before)| *before != Token::Sign('.'))
    };
    (0..tokens.len())
        .filter(|index| begins(*index))
        .filter_map(|index| first_unknown_field(tokens.get(index + 1..)?, alert))
        .collect()
}

/// Follows a path of fields and returns the first unknown one.
fn first_unknown_field(mut rest: &[(usize, Token<'_>)], alert: &Json) -> Option<UnknownField> {
    let mut path = "alert".to_owned();
    let mut here = alert;
    loop {
        let (offset, name, after) = match rest {
            [(_, Token::Sign('.')), (at, Token::Word(name)), after @ ..]
            | [
                (_, Token::Sign('[')),
                (at, Token::Text(name)),
                (_, Token::Sign(']')),
                after @ ..,
            ] => (*at, *name, after),
            _ => return None,
        };
        let fields = here.as_object().filter(|fields| !fields.is_empty())?;
        let Some(inner) = fields.get(name) else {
            let known = fields.keys().map(String::as_str);
            return Some(UnknownField {
                offset,
                has_default: has_default(after),
                message: unknown_name_message(&format!("field of {path}"), name, known),
            });
        };
        path = format!("{path}.{name}");
        here = inner;
        rest = after;
    }
}

/// Returns whether the expression tests for a missing value (`is defined`) or gives a default.
fn has_default(after: &[(usize, Token<'_>)]) -> bool {
    matches!(
        after,
        [(_, Token::Word("is")), ..]
            | [(_, Token::Sign('|')), (_, Token::Word("default" | "d")), ..]
    )
}
