//! What an error and the errors that caused it say, in one line.

use std::error::Error;

/// An error and its causes, the innermost last. A cause that its error has said already is not said again.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    and_causes(error.to_string(), error)
}

/// These words in the place of the error's own, and its causes: for errors that name an address which may be a secret.
#[must_use]
pub fn and_causes(words: impl Into<String>, error: &dyn Error) -> String {
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
    struct Failed {
        words: &'static str,
        #[source]
        cause: Option<Box<Failed>>,
    }

    fn failed(all: &[&'static str]) -> Option<Box<Failed>> {
        let (words, causes) = all.split_first()?;
        let cause = failed(causes);
        Some(Box::new(Failed { words, cause }))
    }

    #[test]
    fn causes_are_said_once_and_the_innermost_last() {
        let error = failed(&["no answer", "cannot connect", "refused"]).unwrap();
        assert_eq!(with_causes(&error), "no answer: cannot connect: refused");
        assert_eq!(and_causes("lost", &error), "lost: cannot connect: refused");

        let told = failed(&["no answer: refused", "refused", "refused"]).unwrap();
        assert_eq!(with_causes(&told), "no answer: refused");
    }
}
