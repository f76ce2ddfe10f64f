//! How a command ends: exit codes, and errors as people read them.

use std::process::ExitCode;

use nightshift_pipeline::StoreError;

/// Why a command did not end well.
#[derive(Debug)]
pub(crate) enum Exit {
    /// The run failed: 1.
    Failed(anyhow::Error),
    /// Bad usage or input: 2.
    Usage(anyhow::Error),
    /// Bad configuration: 64.
    Config(anyhow::Error),
    /// Whoever read our output went away: 0, like every filter.
    Closed,
    /// It was said already: this code.
    Said(u8),
}

impl Exit {
    /// Bad usage or input, in words.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::Usage(anyhow::Error::msg(text.into()))
    }

    /// Says it on standard error, and gives the code.
    pub(crate) fn report(self) -> ExitCode {
        if !matches!(self, Self::Closed | Self::Said(_)) {
            crate::output::say(&format!("error: {}", self.words()));
        }
        ExitCode::from(self.code())
    }

    /// The same as a line of the log; what is left of it is the code.
    pub(crate) fn logged(self) -> Self {
        if !matches!(self, Self::Closed | Self::Said(_)) {
            crate::logs::error(&self.words());
        }
        Self::Said(self.code())
    }

    fn code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Config(_) => 64,
            Self::Closed => 0,
            Self::Said(code) => *code,
        }
    }

    /// What is wrong, with its causes.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Failed(error) | Self::Usage(error) | Self::Config(error) => format!("{error:#}"),
            Self::Closed | Self::Said(_) => String::new(),
        }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(error) | Self::Usage(error) | Self::Config(error) => {
                write!(out, "{error:#}")
            }
            Self::Closed => out.write_str("whoever read the output went away"),
            Self::Said(_) => out.write_str("it was said already"),
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
