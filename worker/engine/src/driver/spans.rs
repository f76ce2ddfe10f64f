//! Creates trace spans of questions and calls. When no traces are recorded they cost one check of a flag.

use nightshift_alert::CaseTrace;
use tracing::field::Empty;
use tracing::{Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use super::CommandResult;
use crate::command::{Command, Question};
use crate::event::CommandOutcome;
use crate::fold::step_of;
use crate::state::CaseState;
use crate::tool::{ToolCall, ToolError};

/// Target of trace spans, and the target that is enabled when spans hold questions and answers.
const TRACE_TARGET: &str = "nightshift::trace";
const CONTENT_TARGET: &str = "nightshift::content";

/// Creates the span of a command, within that of its step if it has one. A step may continue in another process, so
/// its span is known by its id and recorded when the case ends.
fn command_span(command: &Command, state: &CaseState) -> Span {
    let step = command.id().and_then(step_of);
    let step = step.as_ref().map(|step| step.0.as_str());
    let span = new_span(command, step, state);
    if let (Some(step), false) = (step, span.is_disabled())
        && let Some(trace) = trace_of(state)
    {
        // Without a layer of OpenTelemetry there is nothing to set.
        span.set_parent(trace.within(trace.step_span_id(step))).ok();
    }
    span
}

fn new_span(command: &Command, step: Option<&str>, state: &CaseState) -> Span {
    // `tracing-opentelemetry` exports unsigned numbers as text.
    let epoch = i64::try_from(state.epoch).unwrap_or(i64::MAX);
    match command {
        Command::Ask { id, question } => info_span!(
            target: TRACE_TARGET,
            "question",
            otel.name = question_name(question),
            otel.kind = "internal",
            command = %id,
            step.id = step,
            case.epoch = epoch,
            "error.type" = Empty
        ),
        Command::Call { id, call } => {
            let span = info_span!(
                target: TRACE_TARGET,
                "execute_tool",
                otel.name = %format_args!("execute_tool {}", call.tool),
                otel.kind = "internal",
                gen_ai.operation.name = "execute_tool",
                gen_ai.tool.name = call.tool,
                "gen_ai.tool.type" = "function",
                gen_ai.tool.call.id = %id,
                step.id = step,
                case.epoch = epoch,
                gen_ai.tool.call.arguments = Empty,
                gen_ai.tool.call.result = Empty,
                "error.type" = Empty
            );
            record_arguments(&span, call);
            span
        }
        Command::Exonerate { .. } | Command::Conclude(_) => Span::none(),
    }
}

/// Span of a running command. When dropped before the end of the command, the span records that.
pub(super) struct CommandSpan(Span);

impl CommandSpan {
    pub(super) fn new(command: &Command, state: &CaseState) -> Self {
        Self(command_span(command, state))
    }

    pub(super) fn span(&self) -> Span {
        self.0.clone()
    }

    pub(super) fn finish(mut self, came: &CommandResult) {
        record_result(&std::mem::replace(&mut self.0, Span::none()), came);
    }
}

impl Drop for CommandSpan {
    fn drop(&mut self) {
        self.0.record("error.type", "cancelled");
    }
}

/// Records how the command ended.
fn record_result(span: &Span, came: &CommandResult) {
    if span.is_disabled() {
        return;
    }
    let outcome = match came {
        CommandResult::Withdrawn { .. } => {
            span.record("error.type", "withdrawn");
            return;
        }
        CommandResult::Finished { outcome, .. } => outcome.as_ref(),
    };
    match outcome {
        CommandOutcome::AskFailed(_) => {
            span.record("error.type", "no_answer");
        }
        CommandOutcome::CallFailed(error) => {
            span.record("error.type", error_kind(error));
        }
        CommandOutcome::Called(output) if has_content() => {
            span.record("gen_ai.tool.call.result", output.body.to_string());
        }
        _ => {}
    }
}

fn trace_of(state: &CaseState) -> Option<CaseTrace> {
    let opened = state.setup.as_ref()?;
    let from = opened.alert.trace.as_ref();
    Some(CaseTrace::new(&opened.case_id, opened.revision, from))
}

fn record_arguments(span: &Span, call: &ToolCall) {
    if !span.is_disabled() && has_content() {
        let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
        span.record("gen_ai.tool.call.arguments", arguments);
    }
}

fn has_content() -> bool {
    tracing::enabled!(target: CONTENT_TARGET, tracing::Level::INFO)
}

const fn question_name(question: &Question) -> &'static str {
    match question {
        Question::Plan => "plan",
        Question::Turn { .. } => "turn",
        Question::Decide => "decide",
        Question::Reflect => "reflect",
        Question::Conclude => "conclude",
        Question::RepairClaims => "mend",
        Question::Counterfactual => "blanked",
    }
}

const fn error_kind(error: &ToolError) -> &'static str {
    match error {
        ToolError::Timeout { .. } => "timeout",
        ToolError::Unknown { .. } | ToolError::Argument { .. } | ToolError::NotAllowed { .. } => {
            "refused"
        }
        ToolError::Denied { .. } => "denied",
        ToolError::Unavailable { .. } => "unavailable",
    }
}
