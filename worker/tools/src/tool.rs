//! Provides the trait of all tools of this crate, and helpers to write their specs.

use async_trait::async_trait;
use nightshift_engine::tool::{
    Argument, CallContext, Reach, ToolError, ToolOutput, ToolSpec, Trust, TrustedPath,
};

use crate::arguments::Arguments;
use crate::register::RegisterReport;

#[async_trait]
pub(crate) trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    async fn call(
        &self,
        arguments: Arguments<'_>,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError>;

    /// Returns whether answers hold nothing but typed fields of alerts, which were redacted when they entered.
    fn answers_typed_fields(&self) -> bool {
        false
    }

    /// Reports the state of the files that the tool reads. The call blocks.
    fn reports(&self) -> Vec<RegisterReport>;

    /// Reports why calls would fail although the configuration is valid, such as a key that is not there. The call
    /// blocks.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Creates a spec. No tool here reaches beyond the organisation's own files.
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
        families: Vec::new(),
    }
}

/// Runs blocking work off the runtime.
///
/// # Errors
///
/// Returns the error of the work, or one that says that the work ended early.
pub(crate) async fn run_blocking<T: Send + 'static>(
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

/// Creates the error of a register or log that cannot be read.
pub(crate) fn unavailable(what: impl Into<String>) -> ToolError {
    ToolError::Unavailable { what: what.into() }
}
