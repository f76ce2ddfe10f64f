//! Lists other cases that share an actor, target or far end with this one. Together they may show an attack that no
//! single case shows.

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_pipeline::report::{OtherCase, Report};

use crate::Language;
use crate::line::{Line, joined};
use crate::words;

/// The maximum number of other cases that are listed.
const MOST_CASES: usize = 5;
/// The number of hours around this case within which others are counted.
const NEAR_HOURS: i64 = 12;

/// Returns `2 within 12 h: True positive, Cryptocurrency Mining, 20 min before, shares shop-web-03 (1qsk-2kbc-pwjb);
/// …`
pub(super) fn line(report: &Report, language: Language) -> Line {
    let reach = &report.reach;
    if reach.other_cases.is_empty() {
        return Line::from_static(language.pick(
            "none known that share an actor, target or far end",
            "実行主体・対象・通信相手を共有するケースはありません",
        ));
    }
    let all = reach.other_cases.len();
    if reach.others.is_empty() {
        let ids = reach.other_cases.iter().take(MOST_CASES);
        let named = ids.map(|id| Line::default().case(id));
        return joined(named, ", ").and_more(language, MOST_CASES, all);
    }
    let is_near = |other: &&OtherCase| {
        (report.opened_at - other.opened_at).abs() <= TimeDelta::hours(NEAR_HOURS)
    };
    let near = reach.others.iter().filter(is_near).count();
    let told = reach.others.iter().take(MOST_CASES);
    let told = joined(told.map(|one| other(one, report.opened_at, language)), "; ");
    let left = u64::try_from(all.saturating_sub(MOST_CASES)).unwrap_or(u64::MAX);
    let told = match (language, reach.others_cut) {
        (Language::En, true) if left > 0 => told.say(" and at least ").number(left).say(" more"),
        (Language::Ja, true) if left > 0 => told.say("、ほか ").number(left).say(" 件以上"),
        _ => told.and_more(language, MOST_CASES, all),
    };
    // The search lists cases of the same finding first, whatever their age, and then the newest others up to its
    // limit. If all of the others are near, older ones beyond the limit may be near as well.
    let mut others = reach.others.iter().filter(|other| !other.same_key);
    let is_least = reach.others_cut && others.all(|other| is_near(&other));
    let count = Line::default().number(u64::try_from(near).unwrap_or(u64::MAX));
    match (language, is_least) {
        _ if near == 0 => told,
        (Language::En, true) => count.say(" or more within 12 h: ").then(&told),
        (Language::En, false) => count.say(" within 12 h: ").then(&told),
        (Language::Ja, true) => Line::from_static("前後12時間に ")
            .then(&count)
            .say(" 件以上: ")
            .then(&told),
        (Language::Ja, false) => Line::from_static("前後12時間に ")
            .then(&count)
            .say(" 件: ")
            .then(&told),
    }
}

fn other(other: &OtherCase, opened_at: DateTime<Utc>, language: Language) -> Line {
    let verdict = match (other.person_verdict, other.verdict) {
        (Some(verdict), _) => Line::from_static(language.verdict(verdict))
            .say(language.pick(" by a person's verdict", "（人の判定）")),
        (None, Some(verdict)) => Line::from_static(language.verdict(verdict)),
        (None, None) => Line::from_static(language.pick("no verdict yet", "判定なし")),
    };
    let shares = match other.first_shared() {
        _ if other.same_key => Line::from_static(language.pick("the same finding", "同一の検出")),
        Some((first, more)) => Line::from_static(language.pick("shares ", "共有: "))
            .value(&first)
            .and_more(language, 0, more),
        None => Line::default(),
    };
    let kind = Line::default().foreign(&other.kind, 80);
    let when = Line::default().made(words::apart(language, other.opened_at, opened_at));
    joined([verdict, kind, when, shares], language.pick(", ", "、"))
        .say(" (")
        .case(&other.case_id)
        .say(")")
}
