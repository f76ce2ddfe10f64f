//! What every tool of this crate is to the toolbox, and how its spec is written.

use async_trait::async_trait;
use nightshift_engine::{
    Argument, CallContext, Reach, ToolError, ToolOutput, ToolSpec, Trust, TrustedPath,
};

use crate::arguments::Arguments;
use crate::register::RegisterReport;

/// One tool.
#[async_trait]
pub(crate) trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    async fn call(
        &self,
        arguments: Arguments<'_>,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError>;

    /// The state of what it reads. Blocks.
    fn reports(&self) -> Vec<RegisterReport>;
}

/// A spec; all tools here reach no further than the organisation's own files.
pub(crate) fn spec(
    name: &str,
    kind: &str,
    description: &str,
    arguments: Vec<Argument>,
    trust: &[(&str, Trust)],
) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        kind: kind.to_owned(),
        description: description.to_owned(),
        arguments,
        reach: Reach::Internal,
        trust: trust
            .iter()
            .map(|(path, trust)| TrustedPath {
                path: (*path).to_owned(),
                trust: *trust,
            })
            .collect(),
        needs: None,
    }
}

/// Runs blocking work off the runtime.
///
/// # Errors
///
/// What the work says, or that it ended early.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| {
            Err(ToolError::Unavailable {
                what: format!("the look-up ended early: {error}"),
            })
        })
}

/// The error of a register or log that cannot be read.
pub(crate) fn unavailable(what: impl Into<String>) -> ToolError {
    ToolError::Unavailable { what: what.into() }
}
