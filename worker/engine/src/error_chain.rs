//! Formats error messages with their causes, in one line.

use std::error::Error;

/// Formats an error and its causes, the innermost last. A cause that the message already holds is not repeated.
#[must_use]
pub fn format_error_chain(error: &dyn Error) -> String {
    append_error_chain(error.to_string(), error)
}

/// Formats `words` in place of the error's own message, followed by its causes: for messages with an address that may
/// be a secret.
#[must_use]
pub fn append_error_chain(words: impl Into<String>, error: &dyn Error) -> String {
    let mut words = words.into();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.ends_with(&more) {
            words.push_str(": ");
            words.push_str(&more);
        }
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{words}")]
    struct ChainedError {
        words: &'static str,
        #[source]
        cause: Option<Box<ChainedError>>,
    }

    fn failed(all: &[&'static str]) -> Option<Box<ChainedError>> {
        let (words, causes) = all.split_first()?;
        let cause = failed(causes);
        Some(Box::new(ChainedError { words, cause }))
    }

    #[test]
    fn causes_are_said_once_and_the_innermost_last() {
        let error = failed(&["no answer", "cannot connect", "refused"]).unwrap();
        assert_eq!(
            format_error_chain(&error),
            "no answer: cannot connect: refused"
        );
        assert_eq!(
            append_error_chain("lost", &error),
            "lost: cannot connect: refused"
        );

        let told = failed(&["no answer: refused", "refused", "refused"]).unwrap();
        assert_eq!(format_error_chain(&told), "no answer: refused");
    }
}
