//! Builds the short form of a report: what an on-call engineer reads first, on a phone or a terminal (report.md, "In
//! fifteen seconds"). Each part is one line; writers decide how much of it has room.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use nightshift_alert::text::sanitize;
use nightshift_alert::{Indicator, IndicatorRole};
use nightshift_engine::conclude::UNDECIDED;
use nightshift_engine::conclusion::{Urgency, Verdict};
use nightshift_engine::evidence::EvidenceId;
use nightshift_pipeline::report::{GroupedRecord, LaterActivity, Report, with_plain_times};

use super::head::at_word;
use super::{Block, Document, HEADER, Part, Reader, Section, about, changed, header};
use crate::Language;
use crate::line::{Line, joined};
use crate::words;

/// The maximum number of actions.
const ACTIONS: usize = 3;
/// The maximum number of reasons.
const REASONS: usize = 2;
/// The maximum number of characters of what happened. Whole sentences are taken as long as they fit.
const HAPPENED: usize = 200;
/// The maximum number of characters of any other part.
const PART: usize = 140;

/// A report in short.
#[derive(Debug)]
pub struct Brief {
    pub case_id: Line,
    pub header: Line,
    pub urgency: Urgency,
    /// Changes since the previous revision.
    pub changed: Option<Line>,
    /// The first sentences of the summary.
    pub happened: Line,
    /// Why the case is not decided, or who approved what happened.
    pub decided_by: Option<Line>,
    pub warning: Option<Line>,
    /// The time of the last event.
    pub last_seen: Option<DateTime<Utc>>,
    /// The number of times that the alert came; empty for one.
    pub counts: Line,
    /// Activity that logs show since the last event.
    pub since: Line,
    pub since_evidence: Option<EvidenceId>,
    pub reach: Line,
    /// The titles of the first actions.
    pub actions: Vec<Line>,
    /// True if the actions need not be taken, because the case is benign.
    pub is_optional: bool,
    /// Why there is no action, if there is none.
    pub no_action: &'static str,
    pub why: Vec<Line>,
    pub not_checked: Line,
    /// The case, who wrote the report, confidence, duration and cost.
    pub about: Line,
}

impl Brief {
    /// Builds the short form of a report.
    pub fn from_report(report: &Report, language: Language) -> Self {
        let (happened, undecided) = split_summary(report);
        let opening = opening(&happened);
        let decided_by = match undecided {
            Some(text) => Some(Line::default().foreign(&text, PART)),
            None => approved_by(report, &opening, language),
        };
        let actions = report.actions.iter().take(ACTIONS);
        Self {
            case_id: Line::from_name(&report.case_id),
            header: header(report, language, HEADER),
            urgency: report.urgency,
            changed: changed::line(report, language).map(|line| cut(&line)),
            happened: Line::default().foreign(&opening, HAPPENED),
            decided_by,
            warning: warning(report, language),
            last_seen: report.alert.last_seen.or(report.alert.first_seen),
            counts: counts(report, language),
            since: since(report, language),
            since_evidence: report.since.text(language).evidence,
            reach: reach(report, language),
            actions: actions
                .map(|one| Line::default().foreign(one.text.trim_end_matches('.'), PART))
                .collect(),
            is_optional: report.verdict.is_benign(),
            no_action: report.no_action(language),
            why: why(report, &happened, language),
            not_checked: not_checked(report, language),
            about: about::short(report, language),
        }
    }

    /// Returns the short form as a document with few sections. Its last line is the command that shows the whole report:
    /// `show` and the id of the case.
    pub fn into_document(self, reader: Reader, show: &'static str) -> Document {
        let language = reader.language;
        let [still, reach, not_checked] = labels(language);
        let seen = self.last_seen.map(|at| {
            let ago = Line::default().made(words::ago(language, at, reader.now));
            ago.say(" (").at(at).say(")")
        });
        let seen = joined([self.since].into_iter().chain(seen), " ").cite(self.since_evidence);
        let seen = joined([seen, self.counts], language.pick(", ", "、"));
        let head = [self.changed, Some(self.happened), self.decided_by];
        let head = head.into_iter().flatten().map(Block::Text);
        let first = match self.actions.is_empty() {
            true => vec![Block::Text(Line::from_static(self.no_action))],
            false => (1..)
                .zip(self.actions)
                .map(|(number, line)| Block::Numbered(number, line))
                .collect(),
        };
        let title = match self.is_optional {
            true => language.pick("Optional", "任意の対応"),
            false => language.pick("Do this first", "最初にすること"),
        };
        let why = self.why.into_iter().map(Block::Item);
        let all = Line::from_static(language.pick("All of it: ", "全文: "))
            .say(show)
            .say(" ")
            .then(&self.case_id);
        let section = |part, title, heading, blocks| Section {
            part,
            title,
            heading,
            blocks,
        };
        Document {
            header: self.header,
            urgency: self.urgency,
            sections: vec![
                section(
                    Part::Head,
                    "",
                    language.pick("Summary", "要約"),
                    head.chain(self.warning.map(Block::Warning))
                        .chain([
                            Block::Labelled(still, seen),
                            Block::Labelled(reach, self.reach),
                        ])
                        .collect(),
                ),
                section(Part::First, title, title, first),
                section(
                    Part::Why,
                    language.pick("Why", "根拠"),
                    language.pick("Why", "根拠"),
                    why.chain([Block::Labelled(not_checked, self.not_checked)])
                        .collect(),
                ),
                section(
                    Part::About,
                    "",
                    language.pick("About this report", "このレポートについて"),
                    vec![Block::Text(self.about), Block::Text(all)],
                ),
            ],
        }
    }
}

/// Returns the labels of the lines that have one: whether the activity continues, its reach, what was not checked.
pub(crate) const fn labels(language: Language) -> [&'static str; 3] {
    [
        language.pick("Still happening?", "継続中か？"),
        language.pick("Reach", "影響範囲"),
        language.pick("Not checked", "未確認"),
    ]
}

/// Splits the summary into what happened and, for an undecided case, why it is not decided.
fn split_summary(report: &Report) -> (String, Option<String>) {
    let text = with_plain_times(&report.summary).into_owned();
    if report.verdict != Verdict::Inconclusive {
        return (text, None);
    }
    let at = UNDECIDED.iter().filter_map(|words| text.rfind(words)).max();
    match at.and_then(|at| text.split_at_checked(at)) {
        Some((happened, undecided)) if !happened.trim().is_empty() => {
            (happened.trim().to_owned(), Some(undecided.to_owned()))
        }
        _ => (text, None),
    }
}

/// Returns the first sentences that fit.
fn opening(text: &str) -> String {
    if text.chars().count() <= HAPPENED {
        return text.to_owned();
    }
    let ends = text.match_indices(". ").map(|(at, _)| at + 1);
    let heads = ends.filter_map(|end| text.split_at_checked(end));
    let fitting = heads.take_while(|(head, _)| head.chars().count() <= HAPPENED);
    match fitting.last() {
        Some((head, _)) => head.to_owned(),
        None => at_word(text, HAPPENED),
    }
}

/// Shortens a line between words.
fn cut(line: &Line) -> Line {
    Line::default().made(words::FormattedText(at_word(line.as_str(), PART)))
}

/// Returns the warnings that change how the report is read, in one line.
fn warning(report: &Report, language: Language) -> Option<Line> {
    let manipulation = report.manipulation.then(|| {
        Line::from_static(language.pick(
            "Text in the data talks to the analyst: read it as the attacker's",
            "データ内の文章が分析者に話しかけています（攻撃者の言葉として読むこと）",
        ))
    });
    let stopped = report.stopped_by.map(|cap| {
        Line::from_static(language.pick("Cut short by ", "打ち切り: "))
            .say(words::cap(language, cap))
    });
    let missed = report
        .instead_of
        .keys()
        .map(|name| Line::default().foreign(name, 40));
    let missed = joined(missed, language.pick(", ", "、"));
    let elsewhere = (!missed.is_empty()).then(|| {
        Line::from_static(language.pick("Shown here in place of ", "代わりにここに表示: "))
            .then(&missed)
    });
    let all = [manipulation, stopped].into_iter().flatten();
    let line = joined(all.chain(elsewhere), "; ");
    (!line.is_empty()).then(|| cut(&line))
}

/// Returns what the logs show since the last event.
fn since(report: &Report, language: Language) -> Line {
    match *report.since {
        LaterActivity::Events {
            count, at_least, ..
        } => Line::from_static(match at_least {
            true => language.pick("at least ", "少なくとも "),
            false => "",
        })
        .count(
            language,
            count,
            ["event since", "events since", "件が以後にあり"],
        ),
        LaterActivity::Nothing { .. } => {
            Line::from_static(language.pick("nothing since", "以後の活動なし"))
        }
        LaterActivity::Ends { .. }
        | LaterActivity::Uncovered { .. }
        | LaterActivity::Cut { .. }
        | LaterActivity::Unread { .. }
        | LaterActivity::NotKnown => {
            Line::from_static(language.pick("unknown since", "以後は不明"))
        }
    }
}

/// Returns how often the alert came, if more than once.
fn counts(report: &Report, language: Language) -> Line {
    let alert = &report.alert;
    let repeats = if alert.count > 1 { alert.count } else { 0 };
    let times = |before: &'static str, count, words| match count {
        0 => Line::default(),
        _ => Line::from_static(before).count(language, count, words),
    };
    joined(
        [
            times("", repeats, ["time", "times", "回"]),
            times("", alert.sightings, ["repeat", "repeats", "件の再着信"]),
            times(
                language.pick("stands for ", "代表 "),
                alert.members,
                ["other", "others", "件"],
            ),
        ],
        language.pick(", ", "、"),
    )
}

/// Returns environment, exposure, owner and data where known, and how many other cases share something.
fn reach(report: &Report, language: Language) -> Line {
    let reach = &report.reach;
    let named = |label: &'static str, value: &Option<String>| {
        let value = value.as_deref().filter(|value| !value.trim().is_empty());
        value.map(|value| Line::from_static(label).foreign(value, 40))
    };
    let facing = reach.internet_facing.map(|is_facing| {
        Line::from_static(match is_facing {
            true => language.pick("internet-facing", "インターネット公開"),
            false => language.pick("not internet-facing", "インターネット非公開"),
        })
    });
    let known = [
        named("", &reach.environment),
        facing,
        named("", &reach.owner),
        named(language.pick("data ", "データ "), &reach.data),
    ];
    let known = joined(known.into_iter().flatten(), " · ");
    let known = match known.is_empty() {
        true => Line::from_static(language.pick("not known", "不明")),
        false => known.cite(reach.evidence),
    };
    let others = u64::try_from(reach.other_cases.len()).unwrap_or(u64::MAX);
    let others = (others > 0).then(|| {
        Line::default().count(
            language,
            others,
            ["other case", "other cases", "件の関連ケース"],
        )
    });
    joined([known].into_iter().chain(others), " · ")
}

/// Returns the reasons that the first sentences do not say yet: clearing records, then findings.
fn why(report: &Report, happened: &str, language: Language) -> Vec<Line> {
    let is_new = |text: &str| !happened.contains(text.trim_end_matches('.'));
    let records = match report.verdict.is_benign() {
        true => report.grouped_records(),
        false => Vec::new(),
    };
    let records = records
        .iter()
        .map(|one| record(one, report.concluded_at, language));
    let findings = report.proven(report.bearing()).map(|finding| {
        let line = Line::default().foreign(&with_plain_times(&finding.claim), PART);
        let ids = finding.evidence.iter().map(|quote| quote.id);
        (is_new(&with_plain_times(&finding.claim)), line.cite(ids))
    });
    let (new, said): (Vec<_>, Vec<_>) = findings.partition(|(is_new, _)| *is_new);
    let findings = new.into_iter().chain(said).map(|(_, line)| line);
    let lines: Vec<Line> = records.chain(findings).take(REASONS).collect();
    if !lines.is_empty() {
        return lines;
    }
    vec![Line::from_static(match report.failed.is_some() {
        true => language.pick(
            "Nothing was found: the run failed",
            "実行が失敗し、何も判明していません",
        ),
        false => language.pick(
            "No finding is borne by evidence",
            "証拠に裏付けられた所見はありません",
        ),
    })]
}

/// Returns who approved what happened, unless the opening says it already.
fn approved_by(report: &Report, opening: &str, language: Language) -> Option<Line> {
    if !report.verdict.is_benign() {
        return None;
    }
    let approvers: BTreeSet<&str> = report
        .grouped_records()
        .iter()
        .map(|one| one.record.approved_by.as_str())
        .filter(|name| !name.is_empty() && !opening.contains(name))
        .collect();
    let names = approvers
        .iter()
        .take(2)
        .map(|name| Line::default().name(name));
    let names = joined(names, language.pick(" and ", "、"));
    (!names.is_empty()).then(|| {
        Line::from_static(language.pick("Approved by ", "承認: "))
            .then(&names)
            .and_more(language, 2, approvers.len())
            .say(language.pick(".", "。"))
    })
}

/// Returns a clearing record: `203.0.113[.]9 is approved (authorised scanner SCAN-7) by maria [E2]`. One that has ended
/// by now says so.
fn record(told: &GroupedRecord<'_>, now: DateTime<Utc>, language: Language) -> Line {
    let record = told.record;
    let subject = Indicator::new(record.subject_type, &record.subject, IndicatorRole::Related);
    let line = Line::default()
        .value(&subject)
        .say(language.pick(" is approved (", " は承認済み（"))
        .name(&record.kind.replace('_', " "));
    // A record of an identity has its name.
    let line = match record.subject.contains(&record.reference) {
        true => line,
        false => line.say(" ").name(&record.reference),
    };
    let line = line
        .say(language.pick(") by ", "）、承認 "))
        .name(&record.approved_by);
    let line = match record.until {
        Some(until) => {
            let line = line.say(language.pick(", until ", "、期限 ")).at(until);
            match until < now {
                true => line.say(language.pick(" (ended since)", "（その後終了）")),
                false => line,
            }
        }
        None => line,
    };
    line.cite(record.evidence)
}

/// Returns the first thing that was not checked, or that nothing was left out.
fn not_checked(report: &Report, language: Language) -> Line {
    let coverage = &report.coverage;
    let (first, all) = match (report.gaps.first(), coverage.missing.first()) {
        (Some(gap), _) => (gap, report.gaps.len()),
        (None, Some(missing)) => (missing, coverage.missing.len()),
        (None, None) => return Line::from_static(report.nothing_unchecked(language)),
    };
    let first = at_word(&sanitize(&with_plain_times(first), PART), PART);
    Line::default()
        .made(words::FormattedText(first))
        .and_more(language, 1, all)
}
