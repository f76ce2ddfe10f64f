//! Exit codes of commands, and their error messages.

use nightshift_pipeline::port::StoreError;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Exit {
    /// The run failed: 1.
    Failed(anyhow::Error),
    /// Bad usage or input: 2.
    Usage(anyhow::Error),
    /// Bad configuration: 64.
    Config(anyhow::Error),
    /// The reader of the output closed it: 0, as for every filter.
    Closed,
    /// The error was printed already: this code.
    Reported(u8),
}

impl Exit {
    /// Makes an error of usage or input.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::Usage(anyhow::Error::msg(text.into()))
    }

    /// Returns whether the user has still to be told of the error.
    pub(crate) const fn is_unreported(&self) -> bool {
        !matches!(self, Self::Closed | Self::Reported(_))
    }

    pub(crate) const fn code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Config(_) => 64,
            Self::Closed => 0,
            Self::Reported(code) => *code,
        }
    }

    /// Returns the error with its causes.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Failed(error) | Self::Usage(error) | Self::Config(error) => format!("{error:#}"),
            Self::Closed | Self::Reported(_) => String::new(),
        }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(error) | Self::Usage(error) | Self::Config(error) => {
                write!(out, "{error:#}")
            }
            Self::Closed => out.write_str("the reader of the output closed it"),
            Self::Reported(_) => out.write_str("it was said already"),
        }
    }
}

impl From<anyhow::Error> for Exit {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for Exit {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSuchCase(_)
            | StoreError::NoVerdict(_)
            | StoreError::NotOver(..)
            | StoreError::AlreadyOver(..) => Self::Usage(error.into()),
            other => Self::Failed(other.into()),
        }
    }
}

impl From<std::io::Error> for Exit {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::Failed(anyhow::Error::new(error).context("cannot write the output"))
        }
    }
}
