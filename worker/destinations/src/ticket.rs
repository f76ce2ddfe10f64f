//! Builds the sentences that tickets of all vendors share: what changed since the last comment, who closed the case,
//! and where the whole report is. Each vendor's module decides the layout.

use std::time::Duration;

use nightshift_alert::text::truncate;
use nightshift_pipeline::case_workflow::{CaseActionKind, CaseWorkflow, WorkflowStatus};
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::port::DeliveryError;
use nightshift_pipeline::report::Report;
use nightshift_render::document::{Document, Part, Reader, Section, document};
use nightshift_render::line::Line;
use nightshift_render::{Language, Links, console};

/// The shortest time between two look-ups in a search that lags.
const SHORTEST_LOOK: Duration = Duration::from_secs(5);

/// Makes the document of a ticket. Times are relative to the end of the triage, because a ticket does not age.
pub(super) fn read(report: &Report, language: Language) -> Document {
    let reader = Reader {
        now: report.concluded_at,
        local: None,
        language,
        is_kept: true,
        is_page: false,
    };
    document(report, reader)
}

/// Returns whether somebody acts on this section. Only these sections are in comments and pages; the rest is on the
/// page of the case.
pub(super) const fn is_pressing(section: &Section) -> bool {
    matches!(
        section.part,
        Part::Head
            | Part::First
            | Part::Facts
            | Part::Details
            | Part::Vendor
            | Part::Why
            | Part::Against
            | Part::WouldDecide
            | Part::Assessment
            | Part::Ledger
    )
}

/// Returns the links of a ticket with their names.
pub(super) fn addresses(
    report: &Report,
    links: &Links,
    language: Language,
) -> Vec<(&'static str, String)> {
    let page = links.case_url(&report.case_id);
    let console = console(report);
    [
        (language.pick("Case page", "ケースページ"), page),
        (
            language.pick("Finding console", "検出元コンソール"),
            console,
        ),
    ]
    .into_iter()
    .filter_map(|(name, address)| Some((name, address?)))
    .collect()
}

/// Returns the first line of a comment, with what changed since the last one if that is known.
pub(super) fn change(showing: &DeliveryPayload, language: Language) -> Line {
    let report = &showing.report;
    let line = Line::from_static(language.pick("Triage ", "トリアージ "))
        .number(report.revision.into())
        .say(": ")
        .say(language.verdict_of(report))
        .say(" · ")
        .say(language.severity(report.assessed_severity));
    match showing.delivered_report() {
        Some(before) if showing.is_changed() => line
            .say(language.pick(". Before: ", "。以前: "))
            .say(language.leaning(before.verdict, before.leaning))
            .say(" · ")
            .say(language.severity(before.assessed_severity))
            .say(language.pick(".", "。")),
        Some(_) => line.say(language.pick(", as before.", "（変更なし）。")),
        None => line.say(language.pick(".", "。")),
    }
}

/// Returns who closed the case and their note.
pub(super) fn settled(desk: &CaseWorkflow, language: Language) -> Line {
    let is_end = |kind: &CaseActionKind| match desk.status {
        WorkflowStatus::Closed => *kind == CaseActionKind::Closed,
        _ => matches!(kind, CaseActionKind::Disagreed { .. }),
    };
    let what = match desk.status {
        WorkflowStatus::Closed => language.pick("Closed by ", "クローズ: "),
        _ => language.pick("Called a false positive by ", "誤検知と判定: "),
    };
    let Some(act) = desk.acts.iter().rev().find(|act| is_end(&act.kind)) else {
        return Line::from_static(
            language.pick("People are done with it.", "対応は完了しました。"),
        );
    };
    let line = Line::from_static(what).name(&act.by);
    match act.note.trim() {
        "" => line.say(language.pick(".", "。")),
        note => line.say(": ").sentence(note),
    }
}

/// Returns the line that says that the case is open again.
pub(super) fn reopened(language: Language) -> Line {
    Line::from_static(language.pick(
        "People were done with it; it is open again.",
        "対応完了後に、再び未対応になりました。",
    ))
}

/// Returns the line that says that the report was cut, with the command that shows all of it.
pub(super) fn shortened(report: &Report, language: Language) -> Line {
    Line::from_static(language.pick(
        "Shortened. The whole report: nightshift cases show ",
        "以下省略。全文: nightshift cases show ",
    ))
    .name(&report.case_id)
}

/// Shortens text to this many UTF-16 units, between graphemes. Java and JavaScript count these units, which are never
/// fewer than characters.
pub(super) fn bounded(text: &str, most_units: usize) -> String {
    let mut letters = most_units;
    loop {
        let short = truncate(text, letters);
        if letters == 0 || short.encode_utf16().count() <= most_units {
            return short.into_owned();
        }
        letters = letters * 3 / 4;
    }
}

/// Returns an error while a search that found nothing may still lag. The intervals grow.
pub(super) fn not_yet(
    what: &str,
    begun_ago: Duration,
    settles_in: Duration,
) -> Result<(), DeliveryError> {
    let Some(left) = settles_in
        .checked_sub(begun_ago)
        .filter(|left| !left.is_zero())
    else {
        return Ok(());
    };
    let next = begun_ago.max(SHORTEST_LOOK).min(left);
    Err(DeliveryError::NotVisibleYet {
        what: format!(
            "{what} is not found, but an attempt without an answer began {} s ago; looking it up \
             until {} s have passed",
            begun_ago.as_secs(),
            settles_in.as_secs(),
        ),
        after_secs: next.as_secs().max(1),
    })
}

#[cfg(test)]
mod tests {
    use nightshift_engine::conclusion::Verdict;
    use nightshift_pipeline::case_workflow::CaseAction;
    use nightshift_pipeline::delivery_payload::DeliveredReport;

    use super::*;
    use crate::fixture;

    fn act(kind: CaseActionKind, note: &str) -> CaseAction {
        CaseAction {
            at: fixture::now(),
            by: "maria <!channel>".into(),
            kind,
            note: note.into(),
        }
    }

    #[test]
    fn what_changed_and_who_closed_it_are_said_in_both_languages() {
        let mut showing = DeliveryPayload::new(fixture::overridden());
        showing.report.revision = 2;
        let mut said = Vec::new();
        for language in Language::ALL {
            showing.delivered = None;
            said.push(change(&showing, language));
            showing.delivered = Some(DeliveredReport::from_report(&fixture::true_positive()));
            said.push(change(&showing, language));
            showing.delivered = Some(DeliveredReport::from_report(&showing.report));
            said.push(change(&showing, language));
            let closed = CaseWorkflow::from_actions(vec![act(
                CaseActionKind::Closed,
                "known https://evil.com",
            )]);
            said.push(settled(&closed, language));
            let verdict = Verdict::FalsePositive;
            let wrong =
                CaseWorkflow::from_actions(vec![act(CaseActionKind::Disagreed { verdict }, "")]);
            said.push(settled(&wrong, language));
        }
        let said: Vec<_> = said.iter().map(Line::as_str).collect();
        insta::assert_snapshot!(said.join("\n"), @"
        Triage 2: Inconclusive, leans benign · High.
        Triage 2: Inconclusive, leans benign · High. Before: True positive · Critical.
        Triage 2: Inconclusive, leans benign · High, as before.
        Closed by maria <(!)channel>: known hxxps://evil[.]com
        Called a false positive by maria <(!)channel>.
        トリアージ 2: 判定不能（無害寄り） · 高。
        トリアージ 2: 判定不能（無害寄り） · 高。以前: 真陽性 · 緊急。
        トリアージ 2: 判定不能（無害寄り） · 高（変更なし）。
        クローズ: maria <(!)channel>: known hxxps://evil[.]com
        誤検知と判定: maria <(!)channel>。
        ");
    }

    #[test]
    fn text_is_bounded_in_units_and_cut_between_letters() {
        for text in ["日本語", "👨‍👩‍👧‍👦👾", "e\u{301}\u{323}z", "abc"] {
            let text = text.repeat(200);
            for most in [1, 9, 160, 255] {
                let short = bounded(&text, most);
                assert!(short.encode_utf16().count() <= most, "{short}");
            }
        }
        assert_eq!(bounded("abc", 3), "abc");
    }

    #[test]
    fn looks_grow_until_it_has_settled() {
        let settles = Duration::from_secs(300);
        let mut begun_ago = Duration::ZERO;
        let mut looks = Vec::new();
        while let Err(DeliveryError::NotVisibleYet { after_secs, .. }) =
            not_yet("x", begun_ago, settles)
        {
            looks.push(begun_ago.as_secs());
            begun_ago += Duration::from_secs(after_secs);
        }
        looks.push(begun_ago.as_secs());
        assert_eq!(looks, [0, 5, 10, 20, 40, 80, 160, 300]);
    }
}
