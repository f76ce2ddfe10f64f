//! Builds the daily digest as one message.

use nightshift_pipeline::digest::{Digest, DigestMute, FeedDay, OpenCase};
use serde_json::json;

use super::blocks::{Message, Style};
use super::limits::FALLBACK;
use super::rich::{Piece, Shape, Sheet, escape, fit, plain_text, units};
use crate::Language;
use crate::line::{Line, joined};
use crate::words;

/// The maximum number of characters of a line.
const LINE: usize = 300;
/// The maximum number of feeds, sources and destinations that are listed.
const MOST: usize = 10;

/// Builds the message of a day.
pub fn message(digest: &Digest, style: &Style) -> Message {
    let language = style.language;
    let day = digest.day.format("%Y-%m-%d");
    let header = format!("{} {day}", language.pick("Nightshift:", "Nightshift 日報:"));
    let mut sheet = Sheet::default();
    let block = json!({ "type": "header", "text": plain_text(&header) });
    sheet.block(block, units(&header));
    let first = summary(digest, language);
    sheet.put(Piece::new(Shape::Line, "", first.as_str(), LINE));
    sheet.close();
    let lists = [
        (
            language.pick("What came", "受信"),
            arrived(digest, language),
        ),
        (
            language.pick("What it was", "判定"),
            verdicts(digest, language),
        ),
        (
            language.pick("Open, and whose", "未完了と担当者"),
            opened(digest, language),
        ),
        (
            language.pick("Muted, and until when", "ミュートと期限"),
            mutes(digest, language),
        ),
        (
            language.pick("What failed", "失敗"),
            failures(digest, language),
        ),
    ];
    for (title, lines) in lists {
        list(&mut sheet, title, lines, language);
    }
    let about = format!(
        "{} · {}",
        words::window(language, digest.since, digest.until).0,
        Line::from_name(&digest.timezone).as_str()
    );
    let chars = units(&about);
    let elements = json!([plain_text(&about)]);
    sheet.block(json!({ "type": "context", "elements": elements }), chars);
    let text = format!("{header}\n{}", first.as_str());
    Message {
        text: escape(&fit(&text, FALLBACK)),
        blocks: sheet.finish(),
    }
}

/// Returns the totals: `41 alerts · 12 triaged · 3 open · 1 failure · 0.4210 USD`.
fn summary(digest: &Digest, language: Language) -> Line {
    let sum = |of: fn(&FeedDay) -> u64| digest.arrived.iter().map(of).fold(0, u64::saturating_add);
    let say = |number, words| Line::default().count(language, number, words);
    let failed = digest.failed.saturating_add(digest.dead_letters);
    let cost = words::FormattedText(format!("{:.4} USD", digest.cost_usd));
    joined(
        [
            say(sum(|day| day.alerts), ["alert", "alerts", "件受信"]),
            say(
                sum(|day| day.triaged),
                ["triaged", "triaged", "件トリアージ"],
            ),
            Line::default()
                .up_to_most(digest.open_total, 0)
                .say(language.pick(" open", " 件未完了")),
            say(failed, ["failure", "failures", "件失敗"]),
            Line::default().made(cost),
        ],
        " · ",
    )
}

fn arrived(digest: &Digest, language: Language) -> Vec<Line> {
    let line = |day: &FeedDay| {
        let counts = [
            (day.triaged, ["triaged", "triaged", "件トリアージ"]),
            (day.repeated, ["repeated", "repeated", "件重複"]),
            (day.members, ["in a storm", "in a storm", "件集中発生"]),
            (day.muted, ["muted", "muted", "件ミュート"]),
            (day.set_aside, ["set aside", "set aside", "件対象外"]),
        ];
        let counts = counts
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, words)| Line::default().count(language, number, words));
        let alerts = Line::default().count(language, day.alerts, ["alert", "alerts", "件"]);
        let counts = joined(std::iter::once(alerts).chain(counts), ", ");
        Line::from_name(&day.feed).say(": ").then(&counts)
    };
    let silent = digest.silent.iter().take(MOST).map(|(source, last)| {
        Line::from_static(language.pick("SILENT: ", "【無通信】"))
            .name(source)
            .say(language.pick(", the last message at ", "、最終受信 "))
            .at(*last)
    });
    let lines = digest.arrived.iter().take(MOST).map(line);
    lines.chain(silent).collect()
}

fn verdicts(digest: &Digest, language: Language) -> Vec<Line> {
    let some = digest.verdicts.iter().filter(|(_, number)| *number > 0);
    let line = joined(
        some.map(|(verdict, number)| {
            Line::from_static(language.verdict(*verdict))
                .say(" ")
                .number(*number)
        }),
        " · ",
    );
    Vec::from_iter((!line.is_empty()).then_some(line))
}

fn opened(digest: &Digest, language: Language) -> Vec<Line> {
    let line = |case: &OpenCase| {
        let verdict = case.verdict.map_or_else(
            || language.pick("Not triaged", "未トリアージ"),
            |verdict| language.verdict(verdict),
        );
        let owner = match &case.owner {
            Some(owner) => Line::from_name(owner),
            None => Line::from_static(language.pick("nobody has it", "担当者なし")),
        };
        let since = Line::from_static(language.pick("since ", "発生 ")).at(case.since);
        let parts = [
            Line::from_static(language.severity(case.severity)),
            Line::from_static(verdict),
            Line::from_name(&case.title),
            owner,
            since,
            Line::default().foreign(&case.case_id, 40),
        ];
        joined(parts, " · ")
    };
    let lines = digest.open.iter().map(line).collect();
    with_rest(lines, digest.open_total, language)
}

fn mutes(digest: &Digest, language: Language) -> Vec<Line> {
    let line = |mute: &DigestMute| {
        let line = Line::from_name(&mute.name);
        let line = line
            .say(language.pick(", until ", "、期限 "))
            .at(mute.until);
        let words = match mute.hid {
            1 => language.pick(" alert", " 件"),
            _ => language.pick(" alerts", " 件"),
        };
        let hid = line.say(language.pick(", hid ", "、非表示 "));
        let line = hid.up_to_most(mute.hid, 0).say(words);
        match mute.why.trim() {
            "" => line,
            why => line.say(" — ").name(why),
        }
    };
    let lines = digest.mutes.iter().map(line).collect();
    with_rest(lines, digest.mutes_total, language)
}

fn failures(digest: &Digest, language: Language) -> Vec<Line> {
    let counts = [
        (
            digest.failed,
            [
                "case was not triaged",
                "cases were not triaged",
                "件のトリアージ失敗",
            ],
        ),
        (
            digest.dead_letters,
            [
                "message could not be read",
                "messages could not be read",
                "件のメッセージを読み取れず",
            ],
        ),
    ];
    let counts = counts
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, words)| Line::default().count(language, number, words));
    let undelivered = digest.undelivered.iter().take(MOST).map(|(name, number)| {
        Line::from_name(name)
            .say(language.pick(" did not take ", " が受け取らなかったレポート "))
            .count(language, *number, ["report", "reports", "件"])
    });
    counts.chain(undelivered).collect()
}

/// Adds a line with the number of entries that are not listed.
fn with_rest(mut lines: Vec<Line>, total: u64, language: Language) -> Vec<Line> {
    let named = u64::try_from(lines.len()).unwrap_or(u64::MAX);
    if total > named {
        lines.push(
            Line::from_static(language.pick("… and ", "… ほか "))
                .up_to_most(total, named)
                .say(language.pick(" more", " 件")),
        );
    }
    lines
}

/// Adds a heading and its lines. An empty list is shown as such.
fn list(sheet: &mut Sheet, title: &str, lines: Vec<Line>, language: Language) {
    if lines.is_empty() {
        let label = format!("{title}: ");
        let nothing = language.pick("nothing", "なし");
        sheet.put(Piece::new(Shape::Line, &label, nothing, LINE));
    } else {
        sheet.put(Piece::heading(title));
    }
    for line in lines {
        let piece = Piece::new(Shape::Bullet(0), "", line.as_str(), LINE);
        if sheet.has_room(piece.chars) {
            sheet.put(piece);
        }
    }
    sheet.close();
}
