//! Builds the header and the first section: conclusion, warnings, whether the activity continues, reach.

use nightshift_alert::IndicatorRole;
use nightshift_alert::text::{sanitize, truncate};
use nightshift_pipeline::case::CaseStatus;
use nightshift_pipeline::report::{FailoverReason, GroupedSignal, Report, with_plain_times};

use super::{Block, HEADER, Part, Reader, Section, changed, others};
use crate::Language;
use crate::line::{Line, SENTENCE, joined};
use crate::words;

/// The maximum number of characters of the subject when the title must be cut.
const SUBJECT: usize = 40;
/// The maximum number of characters of a title that are examined.
const TITLE: usize = 1_200;
/// The number of characters of a title below which the account is left out.
const LEAST_TITLE: usize = 45;
/// The maximum number of texts to the analyst that are listed.
const MOST_SIGNALS: usize = 3;
/// The maximum number of destinations that are listed as not showing the report.
const MOST_MISSED: usize = 4;

/// Returns the header: `▲ Act now · True positive · Critical [SAMPLE] — Crypto miner on web-01 (production)`. The
/// marks come before the title, so foreign text cannot imitate one. The header has at most `most` characters.
pub fn header(report: &Report, language: Language, most: usize) -> Line {
    let failed = report.status == CaseStatus::Failed;
    let own = format!(
        "{} {} · {}{} · {}",
        words::icon(report.urgency),
        language.urgency(report.urgency),
        if failed {
            language.pick("Not triaged · ", "未トリアージ · ")
        } else {
            ""
        },
        language.verdict_of(report),
        language.severity(report.assessed_severity),
    );
    titled(own, report, most)
}

/// Returns the header of a case without a report: `◌ Investigating · High — Crypto miner on web-01 (production)`.
pub fn early(report: &Report, language: Language) -> Line {
    let word = match report.status {
        CaseStatus::Cancelled => language.pick("Called off", "調査取消"),
        CaseStatus::Failed => language.pick("Not triaged", "未トリアージ"),
        CaseStatus::Queued | CaseStatus::Running | CaseStatus::Concluded => {
            language.pick("Investigating", "調査中")
        }
    };
    let severity = language.severity(report.severity);
    titled(format!("◌ {word} · {severity}"), report, HEADER)
}

/// Joins fixed words, the marks, and as much of the title as fits.
fn titled(mut own: String, report: &Report, most: usize) -> Line {
    let early = !matches!(report.status, CaseStatus::Concluded | CaseStatus::Failed);
    let marks = report.marks();
    // The marks of the analyst are not final before the case has ended.
    for mark in marks
        .iter()
        .filter(|mark| !early || matches!(**mark, "[SAMPLE]" | "[CANARY]"))
    {
        own.push(' ');
        own.push_str(mark);
    }
    own.push_str(" — ");
    let account = report
        .alert
        .account_name
        .as_ref()
        .or(report.alert.account.as_ref());
    let place = account
        .filter(|account| !report.title.contains(account.as_str()))
        .map(|account| format!(" ({})", sanitize(account, 40)))
        .unwrap_or_default();
    let left = most.saturating_sub(own.chars().count());
    // Without room for both, the title says more than the account.
    let place = match left < LEAST_TITLE + place.chars().count() {
        true => String::new(),
        false => place,
    };
    let room = left.saturating_sub(place.chars().count());
    let title = without_marks(&short_title(report, room));
    Line::default().made(words::FormattedText(format!(
        "{own}{title}{}",
        without_marks(&place)
    )))
}

/// Shortens the title to so many characters, between words, and keeps the subject, because without it an on-call
/// engineer does not know where to look. The subject appears once. A long subject within the title is shortened in
/// place if it then remains visible.
fn short_title(report: &Report, room: usize) -> String {
    let title = sanitize(&report.title, TITLE);
    let subject = report.alert.subject.as_deref().unwrap_or_default();
    let mut actors = report
        .indicators
        .iter()
        .filter(|one| one.role == IndicatorRole::Actor);
    // An actor is not what the alert happened to.
    let has_acted = actors.any(|one| one.value == subject);
    let subject = sanitize(if has_acted { "" } else { subject }, TITLE);
    let whole = at_word(&title, room);
    let named = truncate(&subject, SUBJECT.min(room / 2));
    if named.is_empty() || title == subject || whole == title || whole.contains(&subject) {
        return whole;
    }
    let Some((before, _)) = title.split_once(&subject) else {
        return on(&title, &named, room);
    };
    let within = at_word(&title.replacen(&subject, &named, 1), room);
    match within.contains(&*named) {
        true => within,
        false => on(before, &named, room),
    }
}

/// Returns the title with its subject: `EC2 instance is communicating with an IP… on web-01`.
fn on(what: &str, named: &str, room: usize) -> String {
    let on = format!(" on {named}");
    let what = at_word(what, room.saturating_sub(on.chars().count()));
    format!("{what}{on}")
}

/// Shortens safe text to so many characters, between words if it has any.
pub(super) fn at_word(safe: &str, room: usize) -> String {
    let head: String = safe.chars().take(room).collect();
    if head.len() == safe.len() {
        return head;
    }
    let words = head.rsplit_once(' ').map(|(words, _)| words);
    match words.filter(|words| 2 * words.chars().count() >= room) {
        Some(words) => format!(
            "{}…",
            words.trim_end_matches([' ', ',', ';', ':', '.', '-'])
        ),
        None => truncate(safe, room).into_owned(),
    }
}

/// Replaces the brackets of marks in a title, because they are the alert's text and not marks of Nightshift.
fn without_marks(title: &str) -> String {
    let mut title = title.to_owned();
    for mark in ["CANARY", "SAMPLE", "PLAYBOOK", "PARTIAL"] {
        while let Some(at) = title.to_ascii_uppercase().find(&format!("[{mark}]")) {
            let end = at + mark.len() + 1;
            title.replace_range(end..=end, ")");
            title.replace_range(at..=at, "(");
        }
    }
    title
}

/// Returns the conclusion.
pub fn summary(report: &Report) -> Line {
    Line::default().foreign(&with_plain_times(&report.summary), 2 * SENTENCE)
}

pub(super) fn section(report: &Report, reader: Reader) -> Section {
    let changed = changed::line(report, reader.language).map(Block::Text);
    let mut blocks: Vec<Block> = changed.into_iter().collect();
    blocks.push(Block::Text(summary(report)));
    if !report.meaning.trim().is_empty() {
        blocks.push(Block::Text(Line::from_sentence(&report.meaning)));
    }
    blocks.extend(warnings(report, reader.language));
    let language = reader.language;
    blocks.push(Block::Labelled(
        language.pick("Still happening?", "継続中か？"),
        still(report, reader),
    ));
    blocks.push(Block::Labelled(
        language.pick("Reach", "影響範囲"),
        reach(report, language),
    ));
    blocks.push(Block::Labelled(
        language.pick("Other cases", "関連ケース"),
        others::line(report, language),
    ));
    blocks.retain(|block| !matches!(block, Block::Text(line) if line.is_empty()));
    Section {
        part: Part::Head,
        title: "",
        heading: language.pick("Summary", "要約"),
        blocks,
    }
}

/// Returns warnings about destinations that should show the report and do not. The reader may be the only one who
/// learns of it.
pub fn instead_of(report: &Report, language: Language) -> Vec<Line> {
    let all = report.instead_of.iter().take(MOST_MISSED);
    all.map(|(name, one)| not_shown(name, one.why, language))
        .collect()
}

fn not_shown(name: &str, why: FailoverReason, language: Language) -> Line {
    let (before, after) = match why {
        FailoverReason::Refused => (
            language.pick("Not shown at ", ""),
            language.pick(
                ", which refused it: it stands here instead.",
                " が受け付けなかったため、代わりにここに表示しています。",
            ),
        ),
        FailoverReason::NotKnown => (
            language.pick("Nobody knows whether it is shown at ", ""),
            language.pick(
                ", which lets nobody look: it stands here too.",
                " に表示されたか確認できないため、ここにも表示しています。",
            ),
        ),
        FailoverReason::Removed => (
            language.pick("Not shown at ", ""),
            language.pick(
                ", which is configured no more: it stands here instead.",
                " は設定から削除されたため、代わりにここに表示しています。",
            ),
        ),
    };
    Line::from_static(before).name(name).say(after)
}

fn warnings(report: &Report, language: Language) -> Vec<Block> {
    let mut lines = instead_of(report, language);
    if report.manipulation {
        lines.push(Line::from_static(language.pick(
            "Text in the data talks to the analyst. Nothing of this alert was cleared by what it says; read its words as the attacker's.",
            "データ内の文章が分析者に話しかけています。その内容で無害とした点はありません。攻撃者の言葉として読んでください。",
        )));
        let told = report.grouped_signals();
        lines.extend(
            told.iter()
                .take(MOST_SIGNALS)
                .map(|one| signal(one, language)),
        );
    }
    if report.failed.is_some() {
        lines.push(Line::from_static(language.pick(
            "The run failed: nothing here is a verdict. Look at the alert yourself, or run it again.",
            "実行が失敗しました。判定ではありません。アラートを直接確認するか、再実行してください。",
        )));
    }
    if let Some(cap) = report.stopped_by {
        lines.push(
            Line::from_static(language.pick("The work was cut short by ", "調査は"))
                .say(words::cap(language, cap))
                .say(language.pick(
                    "; what follows is what was seen by then.",
                    "により打ち切られました。以下はそれまでに判明した内容です。",
                )),
        );
    }
    if report.degraded && report.failed.is_none() {
        lines.push(degraded(report, language));
    }
    if report.alert.sample && !report.is_canary() {
        lines.push(Line::from_static(language.pick(
            "A generated sample of the feed, no real event.",
            "フィードが生成したサンプルで、実際の事象ではありません。",
        )));
    }
    lines.into_iter().map(Block::Warning).collect()
}

/// Returns a line for one text to the analyst, with the number of its places.
fn signal(told: &GroupedSignal<'_>, language: Language) -> Line {
    let line = match told.places {
        1 => Line::from_static(language.pick("It stands at ", "場所: "))
            .name(&told.first.path)
            .say(language.pick(" and begins: ", " 冒頭: ")),
        places => Line::from_static(language.pick("It stands in ", "場所: "))
            .number(u64::try_from(places).unwrap_or(u64::MAX))
            .say(language.pick(" places and begins: ", " か所 冒頭: ")),
    };
    line.foreign(&told.first.text, 160)
        .cite(told.evidence.iter().copied())
}

/// Returns who took over from the model, from which point, and why.
fn degraded(report: &Report, language: Language) -> Line {
    let why = match &report.takeover {
        Some(one) => Line::from_static(language.pick(" (", "（"))
            .sentence(&one.why)
            .say(language.pick(")", "）")),
        None => Line::default(),
    };
    match &report.takeover {
        _ if report.no_model_answered() => {
            Line::from_static(language.pick("No model answered", "モデルの応答なし"))
                .then(&why)
                .say(language.pick(
                    ": rules made this report.",
                    ": ルールがこのレポートを作成しました。",
                ))
        }
        Some(one) => {
            let place = one.place(language);
            match language {
                Language::En => Line::from_static("The model stopped answering at ")
                    .name(&place)
                    .then(&why),
                Language::Ja => Line::from_name(&place)
                    .say("でモデルの応答が途絶えました")
                    .then(&why),
            }
            .say(match one.concluded {
                true => language.pick(
                    "; the playbook did the rest, verdict included.",
                    "。以後は判定を含めプレイブックによるものです。",
                ),
                false => language.pick(
                    "; the playbook did the rest.",
                    "。以後はプレイブックによるものです。",
                ),
            })
        }
        None => Line::from_static(language.pick(
            "A lesser analyst had to step in for part of this report.",
            "このレポートの一部は代替の分析者が作成しました。",
        )),
    }
}

/// Returns when the alert was last seen, relative and absolute, and what logs showed since.
fn still(report: &Report, reader: Reader) -> Line {
    let language = reader.language;
    let Some(last) = report.alert.last_seen.or(report.alert.first_seen) else {
        return Line::from_static(language.pick(
            "not known: the alert tells no time of its events",
            "不明（アラートに事象の時刻がありません）",
        ));
    };
    let ago = match reader.is_kept {
        false => Line::default().made(words::ago(language, last, reader.now)),
        true => Line::default(),
    };
    let mut line = Line::from_static(language.pick("last seen ", "最終観測 ")).then(&joined(
        [ago, Line::default().at(last)],
        language.pick(", ", "、"),
    ));
    if let Some(offset) = reader.local {
        line = line
            .say(" (")
            .made(words::local(last, offset))
            .say(language.pick(" here)", " 現地)"));
    }
    if report.alert.count > 1 {
        line = line
            .say(language.pick(", ", "、"))
            .number(report.alert.count)
            .say(language.pick(" times", " 回"));
    }
    let since = report.since.text(language);
    line = line.say("; ").made(words::FormattedText(since.before));
    if let Some(at) = since.at {
        line = line.at(at);
    }
    line.say(since.after).cite(since.evidence)
}

fn reach(report: &Report, language: Language) -> Line {
    let reach = &report.reach;
    let named = |label: &'static str, value: &Option<String>| match value {
        Some(value) => Line::from_static(label).name(value),
        None => Line::default(),
    };
    let facing = match reach.internet_facing {
        Some(true) => Line::from_static(language.pick("internet-facing", "インターネット公開")),
        Some(false) => {
            Line::from_static(language.pick("not internet-facing", "インターネット非公開"))
        }
        None => Line::default(),
    };
    let known = [
        named(language.pick("environment ", "環境 "), &reach.environment),
        facing,
        named(language.pick("owner ", "所有者 "), &reach.owner),
        named(language.pick("role ", "役割 "), &reach.role),
        named(language.pick("data ", "データ "), &reach.data),
    ];
    let names = [
        language.pick("environment", "環境"),
        language.pick("exposure to the internet", "インターネットへの公開"),
        language.pick("owner", "所有者"),
        language.pick("role", "役割"),
        language.pick("data", "データ"),
    ];
    let unknown = names
        .into_iter()
        .zip(&known)
        .filter(|(_, line)| line.is_empty());
    let unknown = joined(
        unknown.map(|(name, _)| Line::from_static(name)),
        language.pick(", ", "、"),
    );
    let known = joined(known, " · ");
    match (known.is_empty(), unknown.is_empty()) {
        (true, _) => Line::from_static(language.pick(
            "not known: no register or tag tells of environment, exposure, owner, role or data",
            "不明（環境・公開・所有者・役割・データを示す台帳やタグがありません）",
        )),
        (false, true) => known.cite(reach.evidence),
        (false, false) => known
            .cite(reach.evidence)
            .say(language.pick(" (not known: ", "（不明: "))
            .then(&unknown)
            .say(language.pick(")", "）")),
    }
}
