//! Tests values that are abandoned as dead ends, and values that are not.

use async_trait::async_trait;
use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole};
use serde_json::json;

use super::scripted::*;
use super::*;
use crate::conclusion::Verdict;
use crate::driver::{CaseEnd, DriverPorts, drive};
use crate::event::AnalystKind;
use crate::fold::fold;
use crate::plan::{PlanUpdate, StepDraft, StepOutcome};
use crate::port::Toolbox;
use crate::question::Reflection;
use crate::tool::{Argument, ArgumentKind, CallContext, ToolCall, ToolError, ToolOutput, ToolSpec};

struct NoResultToolbox;

#[async_trait]
impl Toolbox for NoResultToolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }
    async fn call(&self, _: &ToolCall, _: &CallContext) -> Result<ToolOutput, ToolError> {
        let mut output = ToolOutput::from_body(json!({"found": 0}));
        output.rows = Some(0);
        Ok(output)
    }
}

/// An address without any look-up.
const OTHER: &str = "203.0.113.9";

/// Returns a call of this tool about this address, with the same start time as all others.
fn since(tool: &str, address: &str) -> ToolCall {
    let call = lookup(json!({"indicator": address, "since": "2026-03-02T00:00:00Z"}));
    ToolCall {
        tool: tool.into(),
        ..call
    }
}

/// Returns why an added call is refused after three sources had nothing on 198.51.100.7.
async fn refusal(call: ToolCall) -> Option<ToolError> {
    let with_calls = |id: &str, calls: Vec<ToolCall>| StepDraft {
        calls,
        ..step(id, &[])
    };
    let three = ["lookup", "second", "third"];
    let three = three.map(|tool| since(tool, "198.51.100.7"));
    let mut run = ScriptedRun::new(ScriptedAnalyst {
        plan: plan(vec![with_calls("a", three.to_vec())]),
        turns: list([result(StepOutcome::Unmet), result(StepOutcome::Unmet)]),
        reflections: list([Reflection {
            plan_updates: vec![PlanUpdate::AddStep {
                step: with_calls("b", vec![call]),
                reason: "one more".into(),
            }],
            ..Reflection::default()
        }]),
        drafts: list([draft(Verdict::Inconclusive), draft(Verdict::Inconclusive)]),
        ..ScriptedAnalyst::default()
    });
    run.opened.analyst = AnalystKind::Model;
    let other = Indicator::new(IndicatorKind::Ip, OTHER, IndicatorRole::Related);
    Arc::make_mut(&mut run.opened.alert).indicators.push(other);
    let mut tools = run.opened.tools.to_vec();
    let since = Argument {
        name: "since".into(),
        kind: ArgumentKind::Time,
        ..tools[1].arguments[0].clone()
    };
    tools[1].arguments.push(since);
    for name in ["second", "third", "fourth"] {
        let mut tool = tools[1].clone();
        tool.name = name.into();
        tools.push(tool);
    }
    run.opened.tools = tools.into();
    let ports = DriverPorts {
        toolbox: Arc::new(NoResultToolbox),
        ..run.ports()
    };
    let end = drive(&ports, fold(&run.opening()), &CancellationToken::new())
        .await
        .unwrap();
    let CaseEnd::Concluded(state) = end else {
        panic!("{end:?}")
    };
    let call = &state.step_views()[1].calls[0];
    assert_eq!(call.refused.is_none(), call.evidence.is_some());
    call.refused.clone()
}

#[tokio::test(start_paused = true)]
async fn three_sources_without_a_hit_end_a_trail_that_was_added_later() {
    let refused = refusal(since("fourth", "198.51.100.7")).await;
    assert!(
        matches!(refused, Some(ToolError::NotAllowed { .. })),
        "{refused:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_time_that_calls_share_is_no_trail() {
    assert_eq!(refusal(since("fourth", OTHER)).await, None);
}
