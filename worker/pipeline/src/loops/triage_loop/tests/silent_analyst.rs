//! Provides an analyst, toolbox, clock and rules that do nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_engine::conclusion::ConclusionDraft;
use nightshift_engine::plan::PlanMode;
use nightshift_engine::port::{
    Analyst, Answer, Clock, ExonerationResult, Exonerator, NoAnswer, Toolbox,
};
use nightshift_engine::question::{
    AskError, ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion,
    ReflectQuestion, Reflection, TurnAnswer, TurnQuestion,
};
use nightshift_engine::tool::{CallContext, ToolCall, ToolError, ToolOutput, ToolSpec};

/// Parts of a profile that these cases never reach.
pub(super) struct SilentAnalyst {
    /// Counter of running questions. If set, questions are never answered.
    pub(super) never: Option<Arc<AtomicU64>>,
    /// Error of the analyst.
    pub(super) says: fn(String) -> AskError,
    /// True if the first question is answered anyway, as rules would.
    pub(super) plans: bool,
}

pub(super) const NOBODY: SilentAnalyst = SilentAnalyst {
    never: None,
    says: |what| AskError::Unavailable { what },
    plans: false,
};

impl SilentAnalyst {
    fn none(&self) -> NoAnswer {
        NoAnswer::from((self.says)("nobody is there".to_owned()))
    }
}

/// A running question.
struct PendingQuestion(Arc<AtomicU64>);

impl Drop for PendingQuestion {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl Analyst for SilentAnalyst {
    async fn plan(&self, _: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        if let Some(asking) = &self.never {
            asking.fetch_add(1, Ordering::Relaxed);
            let _runs = PendingQuestion(Arc::clone(asking));
            std::future::pending::<()>().await;
        }
        if self.plans {
            return Ok(Answer::free(PlanAnswer {
                mode: PlanMode::Direct,
                objective: "what it is".to_owned(),
                steps: Vec::new(),
                source: String::new(),
                not_covered: Vec::new(),
                conditional: false,
            }));
        }
        Err(self.none())
    }

    async fn turn(&self, _: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        Err(self.none())
    }

    async fn decide(&self, _: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        Err(self.none())
    }

    async fn reflect(&self, _: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        Err(self.none())
    }

    async fn conclude(&self, _: &ConcludeQuestion) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        Err(self.none())
    }
}

#[async_trait]
impl Toolbox for SilentAnalyst {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    async fn call(&self, _: &ToolCall, _: &CallContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::from_body(serde_json::json!({})))
    }
}

impl Exonerator for SilentAnalyst {
    fn exonerate(&self, _: &ConcludeQuestion) -> ExonerationResult {
        ExonerationResult::default()
    }
}

impl Clock for SilentAnalyst {
    fn now(&self) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }
}
