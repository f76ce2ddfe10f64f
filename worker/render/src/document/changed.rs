//! Describes the changes since the previous report, and why the case was triaged again.

use nightshift_pipeline::report::{Assessment, Report, RevisionCause, revision_causes};

use crate::Language;
use crate::line::{Line, joined};

/// The maximum number of reasons that are listed.
const MOST_REASONS: usize = 5;

/// Returns `Changed since revision 1: severity High → Critical; triaged again because: severity rose as sent, new
/// actor 203.0.113[.]99`, or `None` for the first report of a case.
pub(super) fn line(report: &Report, language: Language) -> Option<Line> {
    let again = report.again.as_deref()?;
    let changes = differences(report, again.into(), language);
    let line = match (changes.is_empty(), language) {
        (false, Language::En) => {
            Line::from_static("Changed since revision ").number(again.revision.into())
        }
        (false, Language::Ja) => Line::from_static("改訂 ")
            .number(again.revision.into())
            .say(" からの変更"),
        (true, Language::En) => Line::from_static("Since revision ")
            .number(again.revision.into())
            .say(" verdict, severity and urgency stay as they were"),
        (true, Language::Ja) => Line::from_static("改訂 ")
            .number(again.revision.into())
            .say(" から判定・重要度・緊急性の変更なし"),
    };
    let line = match changes.is_empty() {
        false => line.say(language.pick(": ", "：")).then(&changes),
        true => line,
    };
    Some(joined([line, reasons(report, language)], "; "))
}

/// Returns `verdict Inconclusive → True positive; severity High → Critical`, or an empty line if nothing differs.
pub fn differences(report: &Report, before: Assessment, language: Language) -> Line {
    let changes = report.changes_since(before, language);
    joined(
        changes.into_iter().map(|one| {
            Line::from_static(one.what)
                .say(" ")
                .say(one.from)
                .say(" → ")
                .say(one.to)
        }),
        "; ",
    )
}

/// Returns `triaged again because: severity rose as sent, new actor 203.0.113[.]99`, or an empty line if the reasons
/// are unknown.
pub fn reasons(report: &Report, language: Language) -> Line {
    let all = report
        .again
        .as_deref()
        .map_or_else(Vec::new, |again| revision_causes(again, language));
    let said = all
        .iter()
        .take(MOST_REASONS)
        .map(|RevisionCause { words, who }| {
            let words = Line::from_static(words);
            match who {
                Some(who) => words.say(" ").value(who),
                None => words,
            }
        });
    let said = joined(said, language.pick(", ", "、")).and_more(language, MOST_REASONS, all.len());
    match said.is_empty() {
        false => {
            Line::from_static(language.pick("triaged again because: ", "再トリアージの理由: "))
                .then(&said)
        }
        true => said,
    }
}
