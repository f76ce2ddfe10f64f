//! Builds the context line: case, analyst, duration and cost.

use nightshift_engine::event::AnalystKind;
use nightshift_pipeline::report::Report;

use super::{Block, Part, Reader, Section};
use crate::Language;
use crate::line::{Line, joined};
use crate::words;

/// The maximum number of models that are listed.
const MOST_MODELS: usize = 4;

pub(super) fn section(report: &Report, reader: Reader) -> Section {
    let language = reader.language;
    let line = joined(
        [
            Line::from_static(language.pick("case ", "ケース "))
                .name(&report.case_id)
                .say(language.pick(" revision ", " 改訂 "))
                .number(report.revision.into()),
            Line::from_static(language.confidence(report.confidence)),
            steps(report, language),
            Line::default().made(words::took(language, report.took_ms)),
            analyst(report, language),
            prompts(report, language),
            Line::default().made(words::cost(language, &report.cost)),
            Line::from_static(language.pick("concluded ", "結論 ")).at(report.concluded_at),
            Line::from_static("nightshift ").foreign(&report.sender.version, 30),
        ],
        " · ",
    );
    Section {
        part: Part::About,
        title: language.pick("About this report", "このレポートについて"),
        heading: language.pick("About this report", "このレポートについて"),
        blocks: [
            Some(line),
            reader.is_page.then(|| tokens(report, language)),
            Some(alert_key(report, language)),
            Some(Line::from_static(language.pick(
                "Written by a machine; alert text is untrusted.",
                "機械が作成しました。アラート内の文章は信頼できません。",
            ))),
        ]
        .into_iter()
        .flatten()
        .filter(|line| !line.is_empty())
        .map(Block::Text)
        .collect(),
    }
}

/// Returns the section of a case without a report: the key of its alert.
pub(super) fn early(report: &Report, language: Language) -> Section {
    let title = language.pick("About this case", "このケースについて");
    Section {
        part: Part::About,
        title,
        heading: title,
        blocks: vec![Block::Text(alert_key(report, language))],
    }
}

fn alert_key(report: &Report, language: Language) -> Line {
    Line::from_static(language.pick("Alert ", "アラート "))
        .name(&report.alert.key)
        .say(language.pick(" of ", "、フィード "))
        .name(&report.alert.feed)
        .say(language.pick(".", "。"))
}

/// Returns the same in one line: case, author, confidence, analyst, duration and cost.
pub(super) fn short(report: &Report, language: Language) -> Line {
    // Without model calls the analyst's name says already that there was no cost.
    let cost = match report.cost.model_calls {
        0 => Line::default(),
        _ => Line::default().made(words::cost(language, &report.cost)),
    };
    joined(
        [
            Line::from_static(language.pick("case ", "ケース "))
                .name(&report.case_id)
                .say(language.pick(" revision ", " 改訂 "))
                .number(report.revision.into()),
            Line::from_static(language.pick(
                "written by a machine; alert text is untrusted",
                "機械が作成、アラートの文章は信頼できません",
            )),
            Line::from_static(language.confidence(report.confidence)),
            analyst(report, language),
            prompts(report, language),
            Line::default().made(words::took(language, report.took_ms)),
            cost,
        ],
        " · ",
    )
}

/// Returns `5600 tokens in (4100 of them cached), 520 out`, or an empty line if no model was asked.
fn tokens(report: &Report, language: Language) -> Line {
    let cost = &report.cost;
    if cost.model_calls == 0 {
        return Line::default();
    }
    Line::from_static(language.pick("", "入力 "))
        .number(cost.input_tokens)
        .say(language.pick(" tokens in (", " トークン（うちキャッシュ "))
        .number(cost.cached_tokens)
        .say(language.pick(" of them cached), ", "）、出力 "))
        .number(cost.output_tokens)
        .say(language.pick(" out", " トークン"))
}

/// Returns `4 steps`, or `2 of 35 steps` when not all of them ran.
fn steps(report: &Report, language: Language) -> Line {
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let (ran, all) = (number(report.steps_ran()), number(report.steps.len()));
    let line = match (ran == all, language) {
        (true, _) => Line::default(),
        (false, Language::En) => Line::default().number(ran).say(" of "),
        (false, Language::Ja) => Line::default().number(ran).say(" / "),
    };
    line.count(language, all, ["step", "steps", "ステップ"])
}

/// Returns the prompts' hash (`prompts 1a2b3c4d`), which tells reports before and after an edit of the prompts apart.
fn prompts(report: &Report, language: Language) -> Line {
    report
        .prompts_in_short()
        .map_or_else(Line::default, |hash| {
            Line::from_static(language.pick("prompts ", "プロンプト ")).name(hash)
        })
}

fn analyst(report: &Report, language: Language) -> Line {
    if report.is_by_rules_alone() {
        let no_model = match report.analyst {
            AnalystKind::Playbook => language.pick(", no model was used", "（モデル不使用）"),
            AnalystKind::Model => language.pick(", no model answered", "（モデルの応答なし）"),
        };
        let rules = match report.source.as_str() {
            "" => Line::from_static(language.pick("playbook analyst", "プレイブック")),
            source => Line::from_name(source),
        };
        return rules.say(no_model);
    }
    let models = report.models.iter().take(MOST_MODELS);
    let named = joined(models.map(|model| Line::from_name(model)), ", ");
    let plan = match report.source.as_str() {
        "model" => Line::default(),
        source => Line::from_name(source),
    };
    let model = Line::from_static(language.pick("model ", "モデル ")).then(&named);
    let model = match &report.takeover {
        Some(one) => {
            let place = one.place(language);
            match language {
                Language::En => model.say(" until ").name(&place).say(", then the playbook"),
                Language::Ja => model
                    .say("（")
                    .name(&place)
                    .say(" まで）、以後プレイブック"),
            }
        }
        None => model,
    };
    joined([model, plan], language.pick(", plan from ", "、計画 "))
}
