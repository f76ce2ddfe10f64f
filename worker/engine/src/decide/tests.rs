//! Tests single cases of faults that the property tests found.

use serde_json::json;

use crate::command::Command;
use crate::decide::decide;
use crate::event::{CaseSetup, CommandId, CommandOutcome, Event, EventBody};
use crate::fixture::{at, opened};
use crate::fold::apply;
use crate::limits::{Cost, TriageLimits};
use crate::plan::{PlanMode, StepDraft};
use crate::question::{PlanAnswer, TurnAnswer};
use crate::state::CaseState;
use crate::tool::{ToolCall, ToolError, ToolOutput};

struct DecideFixture(CaseState);

impl DecideFixture {
    /// Opens a case with these limits; a question reserves one model call.
    fn new(limits: TriageLimits) -> Self {
        let reserve = Cost {
            model_calls: 1,
            ..Cost::default()
        };
        let opened = CaseSetup {
            reserve,
            ..opened(limits)
        };
        let mut case = Self(CaseState::default());
        case.write(EventBody::Opened(Box::new(opened)));
        case.write(EventBody::Claimed { epoch: 1 });
        case.start();
        case.finish(
            "call:past_cases",
            CommandOutcome::Called(ToolOutput::from_body(json!({}))),
        );
        case
    }

    fn write(&mut self, body: EventBody) {
        apply(&mut self.0, &Event::new(at(101), body));
    }

    /// Starts all wanted commands and returns their ids.
    fn start(&mut self) -> Vec<String> {
        let commands = decide(&self.0);
        let ids: Vec<CommandId> = commands.iter().filter_map(Command::id).cloned().collect();
        for (id, command) in ids.iter().zip(&commands) {
            let is_asked = matches!(command, Command::Ask { .. });
            self.write(EventBody::Started {
                id: id.clone(),
                attempt: 1,
                reserved: Cost {
                    model_calls: u64::from(is_asked),
                    ..Cost::default()
                },
            });
        }
        ids.into_iter().map(|id| id.0).collect()
    }

    fn finish(&mut self, id: &str, outcome: CommandOutcome) {
        self.write(EventBody::Finished {
            id: CommandId(id.to_owned()),
            outcome: Box::new(outcome),
            cost: Cost::default(),
            degraded: None,
            model: None,
            unanswered: Vec::new(),
        });
    }

    /// Accepts a plan of these steps with their calls.
    fn plan(&mut self, steps: &[&[ToolCall]]) {
        assert_eq!(self.start(), ["plan"]);
        let step = |(index, calls): (usize, &&[ToolCall])| StepDraft {
            id: format!("look{index}"),
            description: format!("look {index}"),
            tools: Vec::new(),
            expected: String::new(),
            depends_on: Vec::new(),
            calls: calls.to_vec(),
            key: false,
        };
        self.finish(
            "plan",
            CommandOutcome::Planned(PlanAnswer {
                mode: PlanMode::Planned,
                objective: "look".into(),
                steps: steps.iter().enumerate().map(step).collect(),
                source: String::new(),
                not_covered: Vec::new(),
                conditional: false,
            }),
        );
    }
}

fn lookup(limit: u32) -> ToolCall {
    let arguments = json!({"indicator": "198.51.100.7", "limit": limit});
    ToolCall::new("lookup", arguments.as_object().cloned().unwrap())
}

fn calls(calls: u64) -> TriageLimits {
    TriageLimits {
        calls,
        ..TriageLimits::default()
    }
}

#[test]
fn time_limit_during_conclusion_does_not_stall_the_case() {
    let mut case = DecideFixture::new(TriageLimits::default());
    case.start();
    case.write(EventBody::TimeUp);
    assert_eq!(case.start(), ["exonerate"]);
    case.finish("exonerate", CommandOutcome::Exonerated(Vec::new()));
    assert_eq!(case.start(), ["conclude"]);
    case.write(EventBody::TimeUp);
    assert_eq!(case.start(), ["conclude"]);
}

#[test]
fn a_wave_asks_no_more_than_the_caps_have_room_for() {
    // Of four calls one is charged for the plan and one is kept for the conclusion.
    let mut case = DecideFixture::new(calls(4));
    case.plan(&[&[], &[], &[], &[]]);
    assert_eq!(case.start(), ["turn:s1:1", "turn:s2:1", "turn:s3:1"]);
    assert!(case.0.charged().model_calls < 4);
}

#[test]
fn worker_dying_at_each_conclusion_spends_at_most_the_cap() {
    let mut case = DecideFixture::new(calls(1));
    assert_eq!(case.start(), ["exonerate"]);
    case.finish("exonerate", CommandOutcome::Exonerated(Vec::new()));
    for epoch in 2..4 {
        assert_eq!(case.start(), ["conclude"]);
        case.write(EventBody::Claimed { epoch });
    }
    assert!(matches!(decide(&case.0)[..], [Command::Conclude(_)]));
}

#[test]
fn by_how_much_clocks_of_workers_differ_is_no_time_of_the_case() {
    let mut case = DecideFixture::new(TriageLimits::default());
    let ahead = at(101) + chrono::Duration::minutes(16);
    apply(&mut case.0, &Event::new(ahead, EventBody::TimeUp));
    let so_far = case.0.active_time();
    case.write(EventBody::Claimed { epoch: 2 });
    assert_eq!(case.0.active_time(), so_far);
}

#[test]
fn a_call_that_another_step_is_making_is_waited_for() {
    let mut case = DecideFixture::new(TriageLimits::default());
    case.plan(&[&[lookup(1)], &[lookup(2)]]);
    assert_eq!(case.start(), ["call:s1:0:0", "call:s2:0:0"]);
    case.finish(
        "call:s1:0:0",
        CommandOutcome::CallFailed(ToolError::Timeout { secs: 30 }),
    );
    assert_eq!(case.start(), ["turn:s1:1"]);
    let again = TurnAnswer::calls(vec![lookup(2)]);
    case.finish("turn:s1:1", CommandOutcome::Turned(again));
    assert_eq!(case.start(), [""; 0], "s2 is making it");
    case.write(EventBody::Claimed { epoch: 2 });
    assert_eq!(
        case.start(),
        ["call:s2:0:0"],
        "and makes it again after a kill"
    );
    case.finish(
        "call:s2:0:0",
        CommandOutcome::Called(ToolOutput::from_body(json!({}))),
    );
    assert_eq!(case.start(), ["turn:s1:2", "turn:s2:1"]);
}
