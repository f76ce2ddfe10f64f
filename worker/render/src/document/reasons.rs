//! Builds the reasons for the verdict, the evidence against it, the gaps, and what would decide it.

use nightshift_engine::conclusion::Verdict;
use nightshift_engine::finding::{FindingStance, Quote};
use nightshift_pipeline::report::{FindingEntry, Report};

use super::{Block, FindingItem, Part, Reader, Section, assessment, more};
use crate::Language;
use crate::line::{Line, joined};

/// The maximum number of bullets of reasons, and of what would decide the case.
const MOST_REASONS: usize = 5;
/// The maximum number of bullets against the verdict or not checked.
const MOST_AGAINST: usize = 3;
/// The maximum number of unread sources that are listed.
const MOST_MISSING: usize = 4;
/// The maximum number of quotes of a finding, and of characters of a quote.
const MOST_QUOTES: usize = 8;
const QUOTE: usize = 300;
/// The maximum number of further findings.
const MOST_FURTHER: usize = 20;

const fn other(stance: FindingStance) -> FindingStance {
    match stance {
        FindingStance::For => FindingStance::Against,
        FindingStance::Against => FindingStance::For,
    }
}

/// Returns the bullet of a finding, with what it quotes for a page.
fn bullet(report: &Report, finding: &FindingEntry, line: Line, reader: Reader) -> Block {
    let all = report.findings.iter();
    let place = all.take_while(|one| !std::ptr::eq(*one, finding)).count();
    let quotes = finding.evidence.iter().take(MOST_QUOTES);
    Block::Finding(FindingItem {
        number: place + 1,
        line,
        quotes: quotes
            .filter(|_| reader.is_page)
            .map(|one| quote(one, reader.language))
            .collect(),
    })
}

/// Returns a quote with its place: `“RunInstances” at /rows/0/action [E4]`.
fn quote(quote: &Quote, language: Language) -> Line {
    let line = Line::from_static(language.pick("\u{201c}", "「"))
        .foreign(&quote.quote, QUOTE)
        .say(language.pick("\u{201d}", "」"));
    let line = match &quote.path {
        Some(path) => line.say(language.pick(" at ", " 場所: ")).name(path),
        None => line,
    };
    line.cite([quote.id])
}

/// Returns the bullets of the findings with this stance that their evidence supports.
fn proven(report: &Report, stance: FindingStance, reader: Reader) -> Vec<Block> {
    let findings = report.proven(stance);
    findings
        .map(|finding| {
            let ids = finding.evidence.iter().map(|quote| quote.id);
            let line = Line::from_sentence(&finding.claim).cite(ids);
            bullet(report, finding, line, reader)
        })
        .collect()
}

/// Splits two lists into shown bullets and the rest. The second list gets at least one place if it is not empty.
fn split(first: Vec<Block>, second: Vec<Block>, most: usize) -> (Vec<Block>, Vec<Block>) {
    let of_first = first.len().min(most - usize::from(!second.is_empty()));
    let of_second = second.len().min(most - of_first);
    let (mut shown, mut below) = (first, second);
    let rest = shown.split_off(of_first);
    let after = below.split_off(of_second);
    shown.append(&mut below);
    (shown, rest.into_iter().chain(after).collect())
}

/// Returns a line with the number of bullets that are listed further below.
fn below(language: Language, left: usize) -> Option<Block> {
    let number = u64::try_from(left).unwrap_or(u64::MAX);
    let line = Line::from_static(language.pick("… and ", "… ほか "))
        .number(number)
        .say(language.pick(
            " more, under Further findings",
            " 件（「その他の所見」にあります）",
        ));
    (left > 0).then_some(Block::Text(line))
}

/// Returns what supports the verdict: clearing records, then findings.
fn bearing(report: &Report, reader: Reader) -> (Vec<Block>, Vec<Block>) {
    let language = reader.language;
    let records = match report.verdict.is_benign() {
        true => report.grouped_records(),
        false => Vec::new(),
    };
    let cleared = |one| {
        let word = Line::from_static(language.pick("Cleared: ", "無害の根拠: "));
        Block::Item(word.then(&assessment::record(one, language)))
    };
    let records = records.iter().map(cleared).collect();
    let findings = proven(report, report.bearing(), reader);
    split(records, findings, MOST_REASONS)
}

/// Returns what speaks against the verdict, then what was not checked.
fn opposing(report: &Report, reader: Reader) -> (Vec<Block>, Vec<Block>) {
    let language = reader.language;
    let findings = proven(report, other(report.bearing()), reader);
    let gap = |gap: &String| {
        Block::Item(Line::from_static(language.pick("Not checked: ", "未確認: ")).sentence(gap))
    };
    split(
        findings,
        report.gaps.iter().map(gap).collect(),
        reader.most(MOST_AGAINST),
    )
}

pub(super) fn why(report: &Report, reader: Reader) -> Section {
    let language = reader.language;
    let (mut blocks, left) = bearing(report, reader);
    blocks.extend(below(language, left.len()));
    if blocks.is_empty() {
        let none = if report.failed.is_some() {
            language.pick(
                "Nothing was found: the run failed.",
                "実行が失敗し、何も判明していません。",
            )
        } else {
            language.pick(
                "No finding is borne by evidence.",
                "証拠に裏付けられた所見はありません。",
            )
        };
        blocks.push(Block::Item(Line::from_static(none)));
    }
    Section {
        part: Part::Why,
        title: language.pick("Why", "根拠"),
        heading: language.pick("Key findings: why", "主な所見: 根拠"),
        blocks,
    }
}

pub(super) fn against(report: &Report, reader: Reader) -> Section {
    let language = reader.language;
    let (mut blocks, left) = opposing(report, reader);
    blocks.extend(below(language, left.len()));
    if blocks.is_empty() {
        let nothing = report.nothing_against(language);
        blocks.push(Block::Item(Line::from_static(nothing)));
    }
    blocks.push(Block::Labelled(
        language.pick("Coverage", "情報源"),
        coverage(report, reader),
    ));
    Section {
        part: Part::Against,
        title: language.pick("Against, or not checked", "反証・未確認"),
        heading: language.pick(
            "Uncertainties: against, or not checked",
            "不確かな点: 反証・未確認",
        ),
        blocks,
    }
}

/// Returns the coverage: `4 of 5 sources read; VPC flow: access denied`.
fn coverage(report: &Report, reader: Reader) -> Line {
    let (language, most) = (reader.language, reader.most(MOST_MISSING));
    let coverage = &report.coverage;
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    if coverage.wanted == 0 {
        return Line::from_static(language.pick(
            "no source was wanted, and none was read",
            "必要な情報源はなく、何も読んでいません",
        ));
    }
    let (read, wanted) = (number(coverage.read), number(coverage.wanted));
    let line = match language {
        Language::En => Line::default()
            .number(read)
            .say(" of ")
            .count(language, wanted, ["source", "sources", ""])
            .say(" read"),
        Language::Ja => Line::default()
            .number(wanted)
            .say(" 件中 ")
            .number(read)
            .say(" 件を読み取り"),
    };
    let missing = coverage
        .missing
        .iter()
        .take(most)
        .map(|why| Line::default().foreign(why, 200));
    let missing = joined(missing, "; ");
    let line = if missing.is_empty() {
        line
    } else {
        line.say("; ").then(&missing)
    };
    match number(coverage.missing.len().saturating_sub(most)) {
        0 => line,
        rest => line
            .say(language.pick("; and ", "; ほか "))
            .number(rest)
            .say(language.pick(" more", " 件")),
    }
}

pub(super) fn would_decide(report: &Report, reader: Reader) -> Option<Section> {
    let (language, most) = (reader.language, reader.most(MOST_REASONS));
    if report.verdict != Verdict::Inconclusive {
        return None;
    }
    let wanted = report.would_decide.iter().take(most);
    let mut blocks: Vec<Block> = wanted
        .map(|line| Block::Item(Line::from_sentence(line)))
        .collect();
    blocks.extend(more(language, most, report.would_decide.len()));
    if blocks.is_empty() {
        let not_known = report.not_known_what_decides(language)?;
        blocks.push(Block::Item(Line::from_static(not_known)));
    }
    Some(Section {
        part: Part::WouldDecide,
        title: language.pick("What would decide it", "判断を決める材料"),
        heading: language.pick("What would decide it", "判断を決める材料"),
        blocks,
    })
}

/// Returns the records, findings and gaps that did not fit above.
pub(super) fn further(report: &Report, reader: Reader) -> Option<Section> {
    let (language, most) = (reader.language, reader.most(MOST_FURTHER));
    let (_, supporting) = bearing(report, reader);
    let (_, opposing) = opposing(report, reader);
    let mut blocks: Vec<Block> = labelled(supporting, language.pick("For: ", "支持: "))
        .chain(labelled(opposing, language.pick("Against: ", "反証: ")))
        .collect();
    let all = blocks.len();
    blocks.truncate(most);
    blocks.extend(more(language, most, all));
    (!blocks.is_empty()).then_some(Section {
        part: Part::Further,
        title: language.pick("Further findings", "その他の所見"),
        heading: language.pick("Further findings", "その他の所見"),
        blocks,
    })
}

/// Puts the side on which it is before each finding. Records and gaps have words of their own.
fn labelled(blocks: Vec<Block>, side: &'static str) -> impl Iterator<Item = Block> {
    blocks.into_iter().map(move |block| match block {
        Block::Finding(finding) => Block::Finding(FindingItem {
            line: Line::from_static(side).then(&finding.line),
            ..finding
        }),
        other => other,
    })
}

/// Returns the claims that their evidence does not support, each with the reason.
pub(super) fn unverified(report: &Report, reader: Reader) -> Option<Section> {
    let (language, most) = (reader.language, reader.most(MOST_FURTHER));
    let unverified: Vec<_> = report
        .findings
        .iter()
        .filter(|one| !one.supported)
        .collect();
    let mut blocks = Vec::new();
    for finding in unverified.iter().take(most) {
        let claim = Line::from_static(language.pick("Unverified: ", "未検証: "));
        let claim = claim.sentence(&finding.claim);
        blocks.push(bullet(report, finding, claim, reader));
        let unborne = language.pick("its evidence does not bear it", "証拠が裏付けていない");
        let problem = finding.problem.as_deref().unwrap_or(unborne);
        blocks.push(Block::Below(
            Line::from_static(language.pick("problem: ", "問題点: "))
                .sentence(problem)
                .cite(finding.evidence.iter().map(|quote| quote.id)),
        ));
    }
    blocks.extend(more(language, most, unverified.len()));
    (!blocks.is_empty()).then_some(Section {
        part: Part::Unverified,
        title: language.pick("Unverified, counts for nothing", "未検証（判定に使わない）"),
        heading: language.pick("Unverified, counts for nothing", "未検証（判定に使わない）"),
        blocks,
    })
}
