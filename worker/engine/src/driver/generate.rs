//! Generates hostile and sloppy answers of analysts and tools from a seed and the command's id.
//!
//! The same command of the same scenario always gets the same answer, so that a killed case can be compared with one
//! that was not killed. Proptest draws and shrinks the scenario; the answers follow from its seed.

use std::hash::{DefaultHasher, Hash, Hasher};

use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole, Severity};
use serde_json::{Map, Value, json};

use crate::catalogue::ActionChoice;
use crate::command::{Command, Question};
use crate::conclusion::{ConclusionDraft, Leaning, Verdict, VerdictReason};
use crate::event::{AnalystKind, CaseSetup, CommandOutcome, Event, EventBody};
use crate::evidence::EvidenceId;
use crate::exoneration::Exoneration;
use crate::finding::{FindingDraft, FindingStance, QuoteDraft};
use crate::fixture::{at, opened, tools};
use crate::limits::{Cost, TriageLimits};
use crate::plan::{PlanMode, PlanUpdate, StepDraft, StepId, StepOutcome};
use crate::question::{AskError, Decision, Judgement, PlanAnswer, Reflection, TurnAnswer};
use crate::strategy::TriageOptions;
use crate::tool::{ToolCall, ToolError, ToolOutput};

/// Random numbers from a seed (splitmix64).
pub(super) struct SeededRng(u64);

impl SeededRng {
    pub(super) fn from_seed(seed: u64, what: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        (seed, what).hash(&mut hasher);
        Self(hasher.finish())
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end.max(1) as u64) as usize
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    fn list<T>(&mut self, below: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        // Sometimes returns a list longer than any real analyst would.
        let many = if self.one_in(150) {
            50
        } else {
            self.below(below)
        };
        (0..many).map(|_| one(self)).collect()
    }
}

/// Setup of a case, and source of its answers.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) seed: u64,
    pub(super) limits: TriageLimits,
    pub(super) reserve: Cost,
    /// Maximum cost of a question as a multiple of its reserve.
    pub(super) dear: u64,
    pub(super) analyst: AnalystKind,
    pub(super) conduct: TriageOptions,
}

impl Scenario {
    pub(super) fn opening(&self) -> Vec<Event> {
        let opened = CaseSetup {
            analyst: self.analyst,
            reserve: self.reserve,
            options: self.conduct.clone(),
            delimiter: String::new(),
            pseudonym_key: String::new(),
            prompts_hash: String::new(),
            previous_run: None,
            ..opened(self.limits)
        };
        vec![
            Event::new(at(100), EventBody::Opened(Box::new(opened))),
            Event::new(at(100), EventBody::Claimed { epoch: 1 }),
        ]
    }

    /// Returns whether questions cost something. Without cost no budget can be spent.
    fn costs(&self) -> bool {
        self.reserve != Cost::default()
    }

    /// Returns the answer to a command and its cost, up to `dear` times the charged reserve.
    pub(super) fn answer(&self, command: &Command) -> EventBody {
        let id = command.id().unwrap().clone();
        let mut dice = SeededRng::from_seed(self.seed, &id.0);
        let outcome = match command {
            Command::Ask { .. } if dice.one_in(12) => {
                CommandOutcome::AskFailed(ask_error(&mut dice, self.costs()))
            }
            Command::Ask { question, .. } => answer(&mut dice, question),
            Command::Call { .. } if dice.one_in(5) => {
                CommandOutcome::CallFailed(tool_error(&mut dice))
            }
            Command::Call { call, .. } => CommandOutcome::Called(output(&mut dice, call)),
            Command::Exonerate { .. } => CommandOutcome::Exonerated(dice.list(2, exoneration)),
            Command::Conclude(_) => unreachable!("it has no id"),
        };
        let unanswered = match command {
            Command::Exonerate { .. } => dice.list(2, text),
            _ => Vec::new(),
        };
        let is_asked = matches!(command, Command::Ask { .. });
        let share = if is_asked {
            dice.below(1 + 4 * self.dear as usize) as u64
        } else {
            0
        };
        EventBody::Finished {
            id,
            outcome: Box::new(outcome),
            cost: Cost {
                usd: self.reserve.usd * share as f64 / 4.0,
                input_tokens: self.reserve.input_tokens * share / 4,
                output_tokens: self.reserve.output_tokens * share / 4,
                model_calls: self.reserve.model_calls * share.div_ceil(4),
                cached_tokens: 0,
            },
            degraded: (is_asked && dice.one_in(30)).then(|| ask_error(&mut dice, self.costs())),
            model: None,
            unanswered,
        }
    }
}

fn answer(dice: &mut SeededRng, question: &Question) -> CommandOutcome {
    match question {
        Question::Plan => CommandOutcome::Planned(PlanAnswer {
            mode: dice.pick(&[
                PlanMode::Planned,
                PlanMode::Planned,
                PlanMode::Planned,
                PlanMode::Direct,
                PlanMode::Adaptive,
            ]),
            objective: text(dice),
            steps: dice.list(6, step),
            source: String::new(),
            not_covered: dice.list(2, text),
            conditional: dice.one_in(4),
        }),
        Question::Turn { .. } if dice.one_in(2) => {
            CommandOutcome::Turned(TurnAnswer::calls(dice.list(4, call)))
        }
        Question::Turn { .. } => CommandOutcome::Turned(TurnAnswer::Result {
            outcome: step_outcome(dice),
            summary: text(dice),
            findings: dice.list(3, finding),
        }),
        Question::Decide => CommandOutcome::Decided(Decision {
            source: String::new(),
            objective: text(dice),
            reasoning: text(dice),
            judgement: (!dice.one_in(4)).then(|| Judgement {
                outcome: step_outcome(dice),
                summary: text(dice),
                findings: dice.list(3, finding),
            }),
            next: (!dice.one_in(5)).then(|| step(dice)),
        }),
        Question::Reflect => CommandOutcome::Reflected(Reflection {
            achieved: dice.one_in(8),
            insights: dice.list(2, text),
            plan_updates: dice.list(4, update),
        }),
        Question::Conclude | Question::RepairClaims | Question::Counterfactual => {
            CommandOutcome::Drafted(Box::new(draft(dice)))
        }
    }
}

fn text(dice: &mut SeededRng) -> String {
    dice.pick(&[
        "",
        "look",
        "look again",
        "198.51.100.7 is listed",
        "ERROR: no",
        "</step>",
        "\u{0}é\u{202e}",
    ])
    .to_owned()
}

fn name(dice: &mut SeededRng) -> String {
    dice.pick(&["a", "b", "c", "d", "", "s1", "s2", "s3", "s99", "direct"])
        .to_owned()
}

fn step(dice: &mut SeededRng) -> StepDraft {
    StepDraft {
        id: name(dice),
        description: format!("{} {}", text(dice), dice.below(30)),
        tools: dice.list(2, name),
        expected: text(dice),
        depends_on: dice.list(3, name),
        calls: dice.list(3, call),
        key: dice.one_in(4),
    }
}

fn update(dice: &mut SeededRng) -> PlanUpdate {
    let id = StepId(name(dice));
    let reason = text(dice);
    match dice.below(4) {
        0 => PlanUpdate::UpdateStep {
            id,
            description: text(dice),
            expected: dice.one_in(2).then(|| text(dice)),
            reason,
        },
        1 => PlanUpdate::CancelStep { id, reason },
        _ => PlanUpdate::AddStep {
            step: step(dice),
            reason,
        },
    }
}

fn call(dice: &mut SeededRng) -> ToolCall {
    let arguments = match dice.below(9) {
        0 => json!({}),
        1 => json!({"indicator": "<ip>"}),
        2 => json!({"indicator": "c2VjcmV0.evil.example"}),
        3 => json!({"indicator": 7, "more": [null]}),
        4 => json!({"indicator": "203.0.113.9"}),
        5 => json!({"indicator": "198.51.100.7"}),
        _ => json!({"indicator": "198.51.100.7", "limit": dice.below(11)}),
    };
    let tool = if dice.one_in(6) {
        dice.pick(&["past_cases", "look", "rm -rf /", ""])
    } else {
        "lookup"
    };
    ToolCall::new(
        tool,
        arguments.as_object().cloned().unwrap_or_else(Map::new),
    )
}

fn step_outcome(dice: &mut SeededRng) -> StepOutcome {
    dice.pick(&[
        StepOutcome::Met,
        StepOutcome::Met,
        StepOutcome::Unmet,
        StepOutcome::Failed,
    ])
}

fn finding(dice: &mut SeededRng) -> FindingDraft {
    FindingDraft {
        claim: text(dice),
        quotes: dice.list(2, |dice| QuoteDraft {
            evidence: EvidenceId(dice.below(6) as u32),
            quote: dice
                .pick(&["", "listed: true", "listed: false", "f1", "number: 7"])
                .to_owned(),
        }),
        stance: dice.pick(&[FindingStance::For, FindingStance::Against]),
    }
}

fn draft(dice: &mut SeededRng) -> ConclusionDraft {
    ConclusionDraft {
        verdict: dice.pick(&Verdict::ALL),
        leaning: dice.pick(&[Leaning::None, Leaning::Benign, Leaning::Malicious]),
        reason: dice.pick(&[
            VerdictReason::AuthorisedActivity,
            VerdictReason::SuspiciousActivity,
        ]),
        assessed_severity: dice.pick(&[
            Severity::Informational,
            Severity::Low,
            Severity::High,
            Severity::Critical,
        ]),
        findings: dice.list(3, finding),
        gaps: dice.list(2, text),
        not_covered: dice.list(2, text),
        would_decide: dice.list(2, text),
        actions: dice.list(2, |dice| ActionChoice {
            id: name(dice),
            indicators: Vec::new(),
        }),
        meaning: text(dice),
        techniques: Vec::new(),
    }
}

fn output(dice: &mut SeededRng, call: &ToolCall) -> ToolOutput {
    let note: Value = text(dice).into();
    let mut output =
        ToolOutput::from_body(json!({"asked": call.arguments, "listed": true, "note": note}));
    output.rows = dice.pick(&[None, Some(0), Some(2)]);
    output.truncated = dice.one_in(5);
    output.indicators = dice.list(2, |_| {
        Indicator::new(IndicatorKind::Ip, "203.0.113.9", IndicatorRole::Related)
    });
    output.exonerations = dice.list(2, exoneration);
    output
}

/// Generates a register's record: approved or not, about this actor or another, in force or not.
fn exoneration(dice: &mut SeededRng) -> Exoneration {
    let mut fact = super::scripted::scanner(dice.pick(&["198.51.100.7", "203.0.113.9"]));
    if dice.one_in(2) {
        fact.approved_by = String::new();
    }
    if dice.one_in(3) {
        fact.until = Some(at(-50));
    }
    fact
}

fn ask_error(dice: &mut SeededRng, costs: bool) -> AskError {
    let what = text(dice);
    match dice.below(if costs { 6 } else { 5 }) {
        0 => AskError::Refused { what },
        1 => AskError::Malformed { what },
        2 => AskError::Truncated { what },
        3 => AskError::Timeout { what },
        4 => AskError::Unavailable { what },
        _ => AskError::Budget { what },
    }
}

fn tool_error(dice: &mut SeededRng) -> ToolError {
    let what = text(dice);
    match dice.below(3) {
        0 => ToolError::Timeout { secs: 30 },
        1 => ToolError::Denied { what },
        _ => ToolError::Unavailable { what },
    }
}

/// Returns whether the case has the called tool.
pub(super) fn is_declared(call: &ToolCall) -> bool {
    tools().iter().any(|spec| spec.name == call.tool)
}
