//! Builds the plan as it ran: waves, steps with their results, and the insights and changes of reflections.

use nightshift_engine::plan::{PlanUpdate, PlanUpdateRecord, StepOutcome, StepStatus};
use nightshift_pipeline::report::{Report, StepCall, StepEntry};

use super::record::arguments;
use super::{Block, Part, Reader, Section, more, more_line};
use crate::Language;
use crate::line::{Line, joined};
use crate::words;

/// The maximum number of steps. The engine plans at most 20.
const MOST_STEPS: usize = 40;
/// The maximum number of calls of a step that are listed.
const MOST_CALLS: usize = 8;
/// The maximum number of insights, and of updates.
const MOST_NOTES: usize = 20;

pub(super) fn section(report: &Report, reader: Reader) -> Section {
    let language = reader.language;
    let mut steps: Vec<&StepEntry> = report.steps.iter().collect();
    steps.sort_by_key(|step| step.wave.unwrap_or(u32::MAX));
    let mut blocks: Vec<Block> = steps
        .iter()
        .take(MOST_STEPS)
        .flat_map(|step| self::step(step, reader))
        .collect();
    if steps.is_empty() {
        blocks.push(Block::Text(Line::from_static(
            language.pick("No step was planned.", "計画された手順はありません。"),
        )));
    }
    blocks.extend(more(language, MOST_STEPS, steps.len()));
    for insight in report.insights.iter().take(MOST_NOTES) {
        blocks.push(Block::Item(
            Line::from_static(language.pick("Learned: ", "判明: ")).sentence(insight),
        ));
    }
    blocks.extend(more(language, MOST_NOTES, report.insights.len()));
    blocks.extend(
        report
            .updates
            .iter()
            .take(MOST_NOTES)
            .map(|record| Block::Item(update(record, language))),
    );
    blocks.extend(more(language, MOST_NOTES, report.updates.len()));
    Section {
        part: Part::Plan,
        title: language.pick("Plan as it ran", "実行した計画"),
        heading: language.pick("Plan as it ran", "実行した計画"),
        blocks,
    }
}

/// Returns a step with its result and its calls.
pub fn step(step: &StepEntry, reader: Reader) -> Vec<Block> {
    let language = reader.language;
    let mut head = Line::default().foreign(&step.id.0, 12).say(" · ");
    if let Some(wave) = step.wave {
        head = head
            .say(language.pick("wave ", "第 "))
            .number(wave.into())
            .say(language.pick(" · ", " 波 · "));
    }
    let head = head
        .say(words::step(language, step.status, step.outcome))
        .say(" — ")
        .sentence(&step.description);
    let mut blocks = vec![Block::Step(result(step), head)];
    if !step.summary.trim().is_empty() {
        blocks.push(Block::Below(Line::from_sentence(&step.summary)));
    }
    if let Some(reason) = &step.reason {
        blocks.push(Block::Below(
            Line::from_static(language.pick("changed by reflection: ", "見直しで変更: "))
                .sentence(reason),
        ));
    }
    let most = reader.most(MOST_CALLS);
    if reader.is_page {
        // A running step still makes those that were only planned.
        let is_running = step.status == StepStatus::Running;
        let calls: Vec<&StepCall> = step
            .calls
            .iter()
            .filter(|call| is_running || call.is_made())
            .collect();
        let shown = calls.iter().take(most);
        let shown = shown.map(|call| call_with_arguments(call, reader));
        let more = more_line(language, most, calls.len());
        blocks.extend(shown.chain(more).map(Block::Below));
        return blocks;
    }
    let named = joined(step.calls_made().take(most).map(call), ", ");
    if !named.is_empty() {
        blocks.push(Block::Below(
            Line::from_static(language.pick("asked: ", "問い合わせ: "))
                .then(&named)
                .and_more(language, most, step.calls_made().count()),
        ));
    }
    blocks
}

const fn result(step: &StepEntry) -> &'static str {
    match (step.status, step.outcome) {
        (StepStatus::Done, Some(StepOutcome::Unmet)) => "unmet",
        (status, _) => status.as_str(),
    }
}

fn call(call: &StepCall) -> Line {
    let line = Line::default().foreign(&call.tool, 60).cite(call.evidence);
    match &call.error {
        Some(error) => line.say(" (").foreign(&error.to_string(), 120).say(")"),
        None => line,
    }
}

/// Returns a call: `vpc_flow (ip=185.220.101[.]42): 12 rows [E4]`.
fn call_with_arguments(call: &StepCall, reader: Reader) -> Line {
    let language = reader.language;
    let line = Line::default().foreign(&call.tool, 60);
    let line = match arguments(&call.arguments, reader) {
        named if named.is_empty() => line,
        named => line.say(" (").then(&named).say(")"),
    };
    let line = match (&call.error, call.rows) {
        (Some(error), _) => line
            .say(language.pick(": NO ANSWER, ", ": 【応答なし】"))
            .foreign(&error.to_string(), 200),
        (None, Some(rows)) => line.say(": ").count(language, rows, ["row", "rows", "行"]),
        (None, None) => line,
    };
    line.cite(call.evidence)
}

/// Returns a plan update: `Reflection 1 cancelled s4 (the owner is known)`, or the requested change and why it was
/// refused.
fn update(record: &PlanUpdateRecord, language: Language) -> Line {
    let done = record.refused.is_none();
    let word = |did: &'static str, wanted: &'static str, ja: &'static str, ja_wanted| {
        if done {
            language.pick(did, ja)
        } else {
            language.pick(wanted, ja_wanted)
        }
    };
    let begin =
        Line::from_static(language.pick("Reflection ", "見直し ")).number(record.reflection.into());
    let line = match &record.update {
        PlanUpdate::AddStep { step, .. } => quoted(
            begin.say(word(" added", " wanted to add", " 追加", " 追加案")),
            &step.description,
            language,
        ),
        PlanUpdate::UpdateStep {
            id, description, ..
        } => {
            let line = begin
                .say(word(
                    " changed ",
                    " wanted to change ",
                    " 変更 ",
                    " 変更案 ",
                ))
                .foreign(&id.0, 12);
            if description.is_empty() {
                line
            } else {
                quoted(line.say(language.pick(" to", " → ")), description, language)
            }
        }
        PlanUpdate::CancelStep { id, .. } => begin
            .say(word(
                " cancelled ",
                " wanted to cancel ",
                " 取消 ",
                " 取消案 ",
            ))
            .foreign(&id.0, 12),
    };
    let line = match record.update.reason() {
        "" => line,
        reason => line.say(" (").sentence(reason).say(")"),
    };
    match &record.refused {
        Some(why) => line
            .say(language.pick(": REFUSED, ", ": 【却下】"))
            .sentence(why),
        None => line,
    }
}

/// Returns the quoted description of a step, or a placeholder if none of it may be shown.
fn quoted(line: Line, description: &str, language: Language) -> Line {
    if description.is_empty() {
        return line.say(language.pick(" a step", " 手順"));
    }
    line.say(language.pick(" \u{201c}", "「"))
        .sentence(description)
        .say(language.pick("\u{201d}", "」"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plan_update_with_no_showable_text_is_reported_without_it() {
        let told = |step: &str, why: &str, refused: Option<&str>, language| {
            let draft = json!({"id": "", "description": step});
            let updates = [
                json!({"type": "add_step", "step": draft, "reason": why}),
                json!({"type": "update_step", "id": "s2", "description": step, "expected": null, "reason": why}),
                json!({"type": "cancel_step", "id": "s3", "reason": why}),
            ];
            let lines = updates.map(|one| {
                let record = PlanUpdateRecord {
                    reflection: 1,
                    update: serde_json::from_value(one).unwrap(),
                    refused: refused.map(str::to_owned),
                };
                update(&record, language).as_str().to_owned()
            });
            lines.join("\n")
        };
        insta::assert_snapshot!(told("", "", None, Language::En), @r"
        Reflection 1 added a step
        Reflection 1 changed s2
        Reflection 1 cancelled s3
        ");
        insta::assert_snapshot!(told("", "", Some("s2 is done"), Language::En), @r"
        Reflection 1 wanted to add a step: REFUSED, s2 is done
        Reflection 1 wanted to change s2: REFUSED, s2 is done
        Reflection 1 wanted to cancel s3: REFUSED, s2 is done
        ");
        insta::assert_snapshot!(told("Look again", "to be sure", None, Language::En), @r"
        Reflection 1 added “Look again” (to be sure)
        Reflection 1 changed s2 to “Look again” (to be sure)
        Reflection 1 cancelled s3 (to be sure)
        ");
        insta::assert_snapshot!(told("", "", None, Language::Ja), @r"
        見直し 1 追加 手順
        見直し 1 変更 s2
        見直し 1 取消 s3
        ");
        insta::assert_snapshot!(told("Look again", "to be sure", Some("s2 is done"), Language::Ja), @r"
        見直し 1 追加案「Look again」 (to be sure): 【却下】s2 is done
        見直し 1 変更案 s2 → 「Look again」 (to be sure): 【却下】s2 is done
        見直し 1 取消案 s3 (to be sure): 【却下】s2 is done
        ");
    }
}
