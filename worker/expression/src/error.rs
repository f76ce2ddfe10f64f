//! Defines errors of expressions and templates.

use crate::text::collapse_whitespace;

/// An expression or template that could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{expression}`: {problem}")]
pub struct EvaluationError {
    /// The expression or template, on one line.
    pub expression: String,
    pub problem: String,
}

impl EvaluationError {
    pub(crate) fn new(expression: &str, problem: impl Into<String>) -> Self {
        Self {
            expression: collapse_whitespace(expression),
            problem: problem.into(),
        }
    }

    pub(crate) fn from_minijinja(expression: &str, error: &minijinja::Error) -> Self {
        let problem = match error.detail() {
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        };
        Self::new(expression, problem)
    }
}
