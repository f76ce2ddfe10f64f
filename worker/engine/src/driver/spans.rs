//! Trace spans of questions and calls. When no traces are recorded they cost one check of a flag.

use nightshift_alert::CaseTrace;
use tracing::field::Empty;
use tracing::{Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use super::Came;
use crate::command::{Command, Question};
use crate::event::Outcome;
use crate::fold::step_of;
use crate::state::State;
use crate::tool::{ToolCall, ToolError};

/// Target of trace spans, and the target that is enabled when spans hold questions and answers.
const TRACE: &str = "nightshift::trace";
const CONTENT: &str = "nightshift::content";

/// Creates the span of a command, within that of its step if it has one. A step may continue in another process, so
/// its span is known by its id and recorded when the case ends.
fn of(command: &Command, state: &State) -> Span {
    let step = command.id().and_then(step_of);
    let step = step.as_ref().map(|step| step.0.as_str());
    let span = new_span(command, step, state);
    if let (Some(step), false) = (step, span.is_disabled())
        && let Some(trace) = trace_of(state)
    {
        // Without a layer of OpenTelemetry there is nothing to set.
        span.set_parent(trace.within(trace.step(step))).ok();
    }
    span
}

fn new_span(command: &Command, step: Option<&str>, state: &State) -> Span {
    // `tracing-opentelemetry` exports unsigned numbers as text.
    let epoch = i64::try_from(state.epoch).unwrap_or(i64::MAX);
    match command {
        Command::Ask { id, question } => info_span!(
            target: TRACE,
            "question",
            otel.name = name(question),
            otel.kind = "internal",
            command = %id,
            step.id = step,
            case.epoch = epoch,
            "error.type" = Empty
        ),
        Command::Call { id, call } => {
            let span = info_span!(
                target: TRACE,
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
            arguments(&span, call);
            span
        }
        Command::Exonerate { .. } | Command::Conclude(_) => Span::none(),
    }
}

/// Span of a running command. When dropped before the end of the command, the span says so.
pub(super) struct UnderWay(Span);

impl UnderWay {
    pub(super) fn new(command: &Command, state: &State) -> Self {
        Self(of(command, state))
    }

    pub(super) fn span(&self) -> Span {
        self.0.clone()
    }

    pub(super) fn ended(mut self, came: &Came) {
        ended(&std::mem::replace(&mut self.0, Span::none()), came);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.record("error.type", "cancelled");
    }
}

/// Records how the command ended.
fn ended(span: &Span, came: &Came) {
    if span.is_disabled() {
        return;
    }
    let outcome = match came {
        Came::Withdrawn { .. } => {
            span.record("error.type", "withdrawn");
            return;
        }
        Came::Finished { outcome, .. } => outcome.as_ref(),
    };
    match outcome {
        Outcome::AskFailed(_) => {
            span.record("error.type", "no_answer");
        }
        Outcome::CallFailed(error) => {
            span.record("error.type", kind(error));
        }
        Outcome::Called(output) if has_content() => {
            span.record("gen_ai.tool.call.result", output.body.to_string());
        }
        _ => {}
    }
}

fn trace_of(state: &State) -> Option<CaseTrace> {
    let opened = state.opened.as_ref()?;
    let from = opened.alert.trace.as_ref();
    Some(CaseTrace::of(&opened.case_id, opened.revision, from))
}

fn arguments(span: &Span, call: &ToolCall) {
    if !span.is_disabled() && has_content() {
        let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
        span.record("gen_ai.tool.call.arguments", arguments);
    }
}

fn has_content() -> bool {
    tracing::enabled!(target: CONTENT, tracing::Level::INFO)
}

const fn name(question: &Question) -> &'static str {
    match question {
        Question::Plan => "plan",
        Question::Turn { .. } => "turn",
        Question::Decide => "decide",
        Question::Reflect => "reflect",
        Question::Conclude => "conclude",
        Question::Mend => "mend",
        Question::Blanked => "blanked",
    }
}

const fn kind(error: &ToolError) -> &'static str {
    match error {
        ToolError::Timeout { .. } => "timeout",
        ToolError::Unknown { .. } | ToolError::Argument { .. } | ToolError::NotAllowed { .. } => {
            "refused"
        }
        ToolError::Denied { .. } => "denied",
        ToolError::Unavailable { .. } => "unavailable",
    }
}
