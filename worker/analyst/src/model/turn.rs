//! Asks the turn question of a step. It holds objective, alert, plan with statuses, summaries of finished steps, and
//! the step's own calls so far.
//!
//! The first message is the same for all turns of a step and describes the state when its wave began. Later results of
//! other steps in the wave, and the rest of the caps, come at the very end of each turn and stay there. The
//! conversation only grows, because cached prefixes and sealed reasoning are valid only after the same preceding text.

use minijinja::context;
use nightshift_engine::plan::StepStatus;
use nightshift_engine::port::{Answer, NoAnswer};
use nightshift_engine::question::{StepView, TurnAnswer, TurnQuestion};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer_json::{self, MAX_SUMMARY_CHARS, clean_line};
use super::conversation::{Exchange, StepTurns, TurnMemo};
use super::fence;
use super::prompts::Prompt;
use super::render::{self, ResultRenderer};
use super::repair::answer_parts;
use super::request_builder::{PromptContext, RequestBuilder, text_part, user_message};
use super::tokens::fair_share;
use super::tools::ToolNames;
use super::{ModelAnalyst, parse, schema};
use nightshift_llm::chat::{CallArguments, ChatAnswer, ChatMessage, ChatPart, QuestionKind};

/// Name of the argument that holds arguments which are no object or nested too deep. No tool has it, so the engine
/// refuses the call.
const INVALID_ARGUMENTS: &str = "(not a flat JSON object)";

pub(super) async fn ask(
    analyst: &ModelAnalyst,
    question: &TurnQuestion,
) -> Result<Answer<TurnAnswer>, NoAnswer> {
    let about = PromptContext {
        question: &question.context,
        alert: &question.alert,
        past_cases: question.past.as_ref(),
        steps: &question.steps,
        step: Some(&question.step),
        tools: &question.tools,
    };
    let frame = RequestBuilder::new(analyst, QuestionKind::Turn, &about)?;
    let names = &frame.cached.tools.names;
    let is_last = question.turn >= question.limits.turns;
    let native = frame.takes_tools;
    let turns = StepTurns::from_question(question, native);
    let news = turn_update(&frame, question, &turns);
    let messages = messages(&frame, question, &turns, &news)?;
    let shape = if native {
        &schema::RESULT
    } else {
        &schema::TURN
    };
    let request = frame.request(messages, Some(shape), !is_last);
    let may_call = request.may_call || !native && !is_last;
    frame
        .ask(request, &|answer| {
            if native {
                parse_turn(answer, names, may_call, &news)
            } else {
                parse_turn_without_tools(answer, names, may_call, &news)
            }
        })
        .await
}

fn messages(
    frame: &RequestBuilder<'_>,
    question: &TurnQuestion,
    turns: &StepTurns<'_>,
    news: &str,
) -> Result<Vec<ChatMessage>, NoAnswer> {
    let mut messages = vec![user_message(first_message(frame, question, turns)?)];
    for exchange in &turns.exchanges {
        if let Some(news) = exchange.news() {
            append_part(&mut messages, ChatPart::text(news));
        }
        let many = exchange.call_count();
        // The results of a turn take at most the room of two results, however many calls it made.
        let together = fair_share(
            &vec![frame.max_result_tokens; many],
            frame.max_result_tokens * 2,
        );
        let most = frame.max_result_tokens.min(together);
        messages.extend(exchange.messages(&frame.fence, most, frame.takes_tools));
        let next = exchange.turn + 1;
        let text = next_turn(frame, question, next)?;
        append_part(&mut messages, text_part(text, next == question.turn));
    }
    let is_only = question.limits.turns <= 1 && turns.exchanges.is_empty();
    if is_only {
        let text = next_turn(frame, question, question.turn)?;
        append_part(&mut messages, ChatPart::text(text));
    }
    append_part(&mut messages, ChatPart::text(news));
    Ok(messages)
}

/// Appends to the last message.
fn append_part(messages: &mut [ChatMessage], part: ChatPart) {
    if let Some(last) = messages.last_mut() {
        last.parts.push(part);
    }
}

fn next_turn(
    frame: &RequestBuilder<'_>,
    question: &TurnQuestion,
    turn: u32,
) -> Result<String, NoAnswer> {
    let turns = question.limits.turns;
    frame.prompt(
        Prompt::TurnNext,
        context! { step => question.step.step.id.0.as_str(), turn, turns, last => turn >= turns },
    )
}

/// Returns the first message, which is the same for every turn of the step.
fn first_message(
    frame: &RequestBuilder<'_>,
    question: &TurnQuestion,
    turns: &StepTurns<'_>,
) -> Result<Vec<ChatPart>, NoAnswer> {
    let mut parts = frame.opening_parts(true);
    let own = frame.prompt(Prompt::Turn, context! { tools => frame.takes_tools })?;
    let plan = frame.fence.block("plan", &plan(question));
    // Text that all steps of a wave share comes before the step's own.
    let mut text = format!("\nThe plan:\n{plan}\n{own}");
    let earlier: Vec<&StepView> = question
        .steps
        .iter()
        .filter(|view| is_earlier(view, question) && !view.step.summary.is_empty())
        .collect();
    let calls = || earlier.iter().flat_map(|view| &view.calls);
    let told = || turns.initial_calls.iter().copied();
    let mut results = ResultRenderer::with_budget(
        calls().chain(told()),
        frame.max_result_tokens,
        frame.remaining_tokens(&parts) / 2,
    );
    let names = &frame.cached.tools.names;
    if !earlier.is_empty() {
        let mut lines = Vec::new();
        for view in &earlier {
            lines.push(render::json_lines([summary(view)]));
            lines.extend(
                view.calls
                    .iter()
                    .map(|call| results.render_call(call, names)),
            );
        }
        let block = frame.fence.block("done", &lines.join("\n"));
        text.push_str(&format!("\n{block}"));
    }
    parts.push(text_part(text + "\n", true));
    let block = frame.fence.block(
        "step",
        &render::json_lines([describe_step(question, names)]),
    );
    let mut text = block;
    if !turns.initial_calls.is_empty() {
        let lines: Vec<String> = told()
            .map(|call| results.render_call(call, names))
            .collect();
        text.push_str(&frame.fence.block("first calls", &lines.join("\n")));
    }
    parts.push(text_part(text, turns.exchanges.is_empty()));
    Ok(parts)
}

/// Returns objective and steps. Steps of this wave and later ones are `open`; their end is reported in the last
/// message.
fn plan(question: &TurnQuestion) -> String {
    let objective = json!({"objective": *question.objective});
    let steps = question.steps.iter().map(|view| {
        let status = if is_earlier(view, question) {
            view.step.status.as_str()
        } else {
            "open"
        };
        Value::Object(render::step_fields(&view.step, status))
    });
    render::json_lines(std::iter::once(objective).chain(steps))
}

/// Returns whether the step had ended when the wave of this one began.
fn is_earlier(view: &StepView, question: &TurnQuestion) -> bool {
    let step = &view.step;
    step.id != question.step.step.id
        && step.status.is_terminal()
        && (step.status == StepStatus::Cancelled || step.wave < question.step.step.wave)
}

fn summary(view: &StepView) -> Value {
    json!({
        "id": view.step.id,
        "status": view.step.status.as_str(),
        "outcome": view.step.outcome,
        "summary": view.step.summary,
    })
}

fn describe_step(question: &TurnQuestion, names: &ToolNames) -> Value {
    let step = &question.step.step;
    let mut map = Map::new();
    map.insert("id".to_owned(), json!(step.id));
    map.insert("description".to_owned(), json!(step.description));
    if !step.expected.is_empty() {
        map.insert("expected".to_owned(), json!(step.expected));
    }
    if !step.tools.is_empty() {
        let tools: Vec<&str> = step
            .tools
            .iter()
            .map(|tool| names.model_name(tool))
            .collect();
        map.insert("tools".to_owned(), json!(tools));
    }
    Value::Object(map)
}

/// Returns the text that changes from turn to turn: steps of this wave that ended since the last turn, and the rest of
/// the caps.
fn turn_update(
    frame: &RequestBuilder<'_>,
    question: &TurnQuestion,
    turns: &StepTurns<'_>,
) -> String {
    let told = turns.exchanges.iter().filter_map(Exchange::news);
    let is_told = |line: &str| told.clone().any(|news| news.contains(line));
    let ended: Vec<String> = question
        .steps
        .iter()
        .filter(|view| {
            view.step.id != question.step.step.id
                && view.step.status.is_terminal()
                && !is_earlier(view, question)
                && !view.step.summary.is_empty()
        })
        .map(|view| render::json_lines([summary(view)]))
        .filter(|line| !is_told(line))
        .collect();
    let mut text = String::new();
    if !ended.is_empty() {
        let block = frame.fence.block("news", &ended.join("\n"));
        text.push_str(&format!("Steps that ended meanwhile:\n{block}"));
    }
    text.push_str(&format!(
        "Left for this case: {}.\n",
        render::describe_budget(&question.context.remaining)
    ));
    text
}

/// Parses the calls that the model made, or the step's result.
fn parse_turn(
    answer: &ChatAnswer,
    names: &ToolNames,
    may_call: bool,
    news: &str,
) -> Result<TurnAnswer, Vec<String>> {
    let calls: Vec<_> = answer.calls().collect();
    if calls.is_empty() {
        return step_result(parse::parse_answer(answer, &schema::RESULT)?);
    }
    if !may_call {
        return Err(vec![
            "no more calls can be made: answer with the step's result".to_owned(),
        ]);
    }
    let calls = calls
        .into_iter()
        .map(|call| match &call.arguments {
            CallArguments::Object(arguments) => {
                let mut arguments = arguments.clone();
                arguments.values_mut().for_each(fence::unbreak_value);
                names.tool_call(&call.name, arguments)
            }
            CallArguments::Unreadable(text) => {
                let text: String = text.chars().take(200).collect();
                let wrong = Map::from_iter([(INVALID_ARGUMENTS.to_owned(), Value::from(text))]);
                names.tool_call(&call.name, wrong)
            }
        })
        .collect();
    Ok(TurnAnswer::Calls {
        calls,
        memo: TurnMemo::encode(news, answer_parts(answer)).map(Into::into),
    })
}

#[derive(Deserialize)]
struct TurnJson {
    calls: Vec<answer_json::CallJson>,
    outcome: Option<nightshift_engine::plan::StepOutcome>,
    summary: String,
    findings: Vec<answer_json::FindingJson>,
}

/// Parses the answer of a model that takes no tools.
fn parse_turn_without_tools(
    answer: &ChatAnswer,
    names: &ToolNames,
    may_call: bool,
    news: &str,
) -> Result<TurnAnswer, Vec<String>> {
    let wire: TurnJson = parse::parse_answer(answer, &schema::TURN)?;
    match wire.outcome {
        Some(outcome) if wire.calls.is_empty() || !may_call => {
            step_result(answer_json::StepResultJson {
                outcome,
                summary: wire.summary,
                findings: wire.findings,
            })
        }
        _ if wire.calls.is_empty() => Err(vec![
            "/outcome: is null, and there are no calls: give either".to_owned(),
        ]),
        _ if !may_call => Err(vec![
            "/calls: no more calls can be made: give the step's outcome".to_owned(),
        ]),
        _ => Ok(TurnAnswer::Calls {
            calls: wire
                .calls
                .into_iter()
                .map(|call| call.draft(names))
                .collect(),
            memo: TurnMemo::encode(news, answer_parts(answer)).map(Into::into),
        }),
    }
}

fn step_result(outcome: answer_json::StepResultJson) -> Result<TurnAnswer, Vec<String>> {
    Ok(TurnAnswer::Result {
        outcome: outcome.outcome,
        summary: clean_line(&outcome.summary, MAX_SUMMARY_CHARS),
        findings: answer_json::findings(outcome.findings, "/findings")?,
    })
}
