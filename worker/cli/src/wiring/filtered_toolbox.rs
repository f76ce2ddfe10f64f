//! Provides the configured tools that a profile allows.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_engine::exoneration::type_matches;
use nightshift_engine::port::Toolbox;
use nightshift_engine::tool::{CallContext, ToolCall, ToolError, ToolOutput, ToolSpec};

/// A toolbox that shows and calls only the allowed tools. The look-up of earlier cases is always allowed.
pub(super) struct FilteredToolbox {
    tools: Arc<dyn Toolbox>,
    globs: Vec<String>,
}

impl FilteredToolbox {
    /// Allows the tools whose names match one of these globs.
    pub(super) fn new(tools: Arc<dyn Toolbox>, globs: &[String]) -> Self {
        Self {
            tools,
            globs: globs.to_vec(),
        }
    }

    fn has(&self, name: &str) -> bool {
        name == "past_cases" || self.globs.iter().any(|glob| type_matches(glob, name))
    }
}

#[async_trait]
impl Toolbox for FilteredToolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = self.tools.specs();
        specs.retain(|spec| self.has(&spec.name));
        specs
    }

    async fn call(&self, call: &ToolCall, context: &CallContext) -> Result<ToolOutput, ToolError> {
        if self.has(&call.tool) {
            self.tools.call(call, context).await
        } else {
            Err(ToolError::Unknown {
                name: call.tool.clone(),
            })
        }
    }
}
