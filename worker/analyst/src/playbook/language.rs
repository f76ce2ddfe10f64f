//! Builds the language of playbooks with its functions and filters.

use std::sync::LazyLock;

use nightshift_expression::language::Language;

use super::{facts, functions};

pub(super) static LANGUAGE: LazyLock<Language> = LazyLock::new(|| {
    Language::new(|environment| {
        functions::register(environment);
        facts::functions::register(environment);
    })
});

/// Returns the names of all functions.
pub(super) fn functions() -> impl Iterator<Item = &'static str> {
    let of_cases = facts::functions::FUNCTIONS.into_iter();
    of_cases.chain(functions::FUNCTIONS)
}
