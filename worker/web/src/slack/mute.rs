//! Handles mutes from Slack: the same type in the same account, never above the severity of the alert, never critical,
//! for at most 30 days. A preview shows what the mute would have hidden.

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};
use nightshift_alert::text::{sanitize, truncate};
use nightshift_alert::{Alert, Severity};
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::{CaseStatus, CaseView};
use nightshift_pipeline::language::Language;
use nightshift_pipeline::mutes::{MutePreview, NewMute};
use nightshift_pipeline::route::Match;

/// Period of the preview.
pub(super) const PREVIEW_WINDOW: TimeDelta = TimeDelta::days(30);
pub(super) const DEFAULT_DURATION: TimeDelta = TimeDelta::days(7);
/// Longest duration in days.
const MAX_DAYS: u64 = 30;
/// Maximum number of true positives that are listed.
const MAX_LISTED: usize = 10;
/// Maximum number of characters of a text block, below Slack's limit (3,000,
/// <https://docs.slack.dev/reference/block-kit/blocks/section-block>).
const MAX_BLOCK_CHARS: usize = 2_900;

/// Returns why this case cannot be muted.
pub(super) fn unmutable_reason(language: Language, view: &CaseView) -> Option<&'static str> {
    let is_critical = view.alert.severity == Severity::Critical
        || view.row.assessed_severity == Some(Severity::Critical);
    is_critical.then_some(language.pick(
        "Nothing critical is ever muted, and this case is critical. If it is wrong, disagree with its verdict; that \
         clears the same type by the same actors.",
        "緊急のものは決してミュートされません。このケースは緊急です。誤りであれば判定に「異議」を選んでください。同じ主体による同じ種類のアラートが無害とされます。",
    ))
}

/// Returns the rule that matches alerts like this one.
pub(super) fn rule(alert: &Alert, until: DateTime<Utc>, why: &str, by: &str) -> NewMute {
    NewMute {
        when: Match {
            // Without an account, the feed bounds the rule.
            feed: alert.account.is_none().then(|| alert.feed.clone()),
            kind: Some(exactly(&alert.kind)),
            account: alert.account.iter().cloned().collect(),
            ..Match::default()
        },
        severity: alert.severity,
        until,
        why: why.to_owned(),
        by: by.to_owned(),
    }
}

/// Returns a glob that matches only this type. The contents of an alert cannot make a rule wider.
fn exactly(kind: &str) -> String {
    let mut glob = String::with_capacity(kind.len());
    for c in kind.chars() {
        if "*?[]{}\\!,".contains(c) {
            glob.push('\\');
        }
        glob.push(c);
    }
    glob
}

/// Returns the end of a mute with this last day, which is the end of the day.
///
/// # Errors
///
/// Returns the reason why the day is not allowed.
pub(super) fn until(
    language: Language,
    day: &str,
    now: DateTime<Utc>,
) -> Result<DateTime<Utc>, String> {
    let today = now.date_naive();
    let last = today.checked_add_days(Days::new(MAX_DAYS)).unwrap_or(today);
    let choose = language.pick("Choose the last day.", "最終日を選んでください。");
    let day: NaiveDate = day.parse().map_err(|_| choose.to_owned())?;
    if day < today || day > last {
        return Err(match language {
            Language::En => format!(
                "A day from {today} to {last}, please: a mute holds for {MAX_DAYS} days at the most."
            ),
            Language::Ja => format!(
                "{today} から {last} までの日を選んでください。ミュートは最長 {MAX_DAYS} 日です。"
            ),
        });
    }
    let end = day.checked_add_days(Days::new(1)).unwrap_or(day);
    let most = now + TimeDelta::days(30);
    Ok(end.and_time(NaiveTime::MIN).and_utc().min(most))
}

/// Returns a sentence about what the rule hides.
pub(super) fn rule_text(language: Language, rule: &NewMute) -> String {
    let kind = sanitize(rule.when.kind.as_deref().unwrap_or_default(), 200);
    let account = rule.when.account.first().map(|one| sanitize(one, 100));
    let feed = rule.when.feed.as_ref().map(|one| sanitize(one, 60));
    let severity = language.severity(rule.severity);
    match language {
        Language::En => {
            let within = match (account, feed) {
                (Some(account), _) => format!("in {account}"),
                (None, Some(feed)) => format!("of the feed {feed}"),
                (None, None) => "everywhere".to_owned(),
            };
            format!(
                "Hides alerts of the type {kind} {within}, up to {severity}. What is more severe comes through, and \
                 nothing critical is ever muted. What is hidden is stored and counted."
            )
        }
        Language::Ja => {
            let within = match (account, feed) {
                (Some(account), _) => format!("{account} 内の"),
                (None, Some(feed)) => format!("フィード {feed} の"),
                (None, None) => "すべての".to_owned(),
            };
            format!(
                "{within}種類 {kind} のアラートを、重大度「{severity}」まで隠します。それより重いものは届き、緊急のものは決してミュート\
                 されません。隠されたものも保存され、数えられます。"
            )
        }
    }
}

/// Returns what the rule would have hidden, with the names of true positives. `None` means that the preview failed.
pub(super) fn preview(language: Language, preview: Option<&MutePreview>) -> String {
    let Some(preview) = preview else {
        let text = language.pick(
            "What it would have hidden could not be counted in time.",
            "隠されたはずの件数は時間内に集計できませんでした。",
        );
        return text.to_owned();
    };
    let mut lines = match language {
        Language::En => preview_lines(preview),
        Language::Ja => preview_lines_ja(preview),
    };
    if let Some(newest) = preview.only_newest {
        lines.push(match language {
            Language::En => format!("Only the newest {newest} alerts were looked at."),
            Language::Ja => format!("最新のアラート {newest} 件のみを確認しました。"),
        });
    }
    let positives = &preview.true_positives;
    for row in positives.iter().take(MAX_LISTED) {
        lines.push(format!(
            "\u{2022} {} {} {} {}",
            row.opened_at.format("%Y-%m-%d"),
            language.severity(row.severity),
            sanitize(&row.title, 120),
            row.id
        ));
    }
    if positives.len() > MAX_LISTED {
        let more = positives.len() - MAX_LISTED;
        lines.push(match language {
            Language::En => format!("and {more} more"),
            Language::Ja => format!("ほか {more} 件"),
        });
    }
    truncate(&lines.join("\n"), MAX_BLOCK_CHARS).into_owned()
}

fn preview_lines(preview: &MutePreview) -> Vec<String> {
    let days = PREVIEW_WINDOW.num_days();
    let total: u64 = preview.cases.values().sum();
    let counts = preview.cases.iter();
    let counts: Vec<String> = counts
        .map(|(word, count)| format!("{count} {}", sanitize(&word.replace('_', " "), 40)))
        .collect();
    let mut lines = vec![match total {
        0 => format!("In the last {days} days it would have hidden no case."),
        _ => format!(
            "In the last {days} days it would have hidden {total} {}: {}.",
            if total == 1 { "case" } else { "cases" },
            counts.join(", ")
        ),
    }];
    if preview.members > 0 {
        lines.push(format!("And {} members of storms.", preview.members));
    }
    if preview.muted > 0 {
        lines.push(format!(
            "And {} alerts that other mutes hid.",
            preview.muted
        ));
    }
    if !preview.true_positives.is_empty() {
        let positives = preview.true_positives.len();
        lines.push(format!("\u{26a0} TRUE POSITIVES among them: {positives}"));
    }
    lines
}

/// Translates a verdict, or the status of a case without one.
fn japanese(word: &str) -> String {
    let verdict = Verdict::ALL.into_iter().find(|one| one.as_str() == word);
    let words = match (verdict, CaseStatus::parse(word)) {
        (Some(verdict), _) => Language::Ja.verdict(verdict),
        (None, Some(CaseStatus::Queued)) => "待機中",
        (None, Some(CaseStatus::Running)) => "調査中",
        (None, Some(CaseStatus::Concluded)) => "完了",
        (None, Some(CaseStatus::Failed)) => "トリアージ失敗",
        (None, Some(CaseStatus::Cancelled)) => "中止",
        (None, None) => return sanitize(word, 40),
    };
    words.to_owned()
}

fn preview_lines_ja(preview: &MutePreview) -> Vec<String> {
    let days = PREVIEW_WINDOW.num_days();
    let total: u64 = preview.cases.values().sum();
    let counts = preview.cases.iter();
    let counts: Vec<String> = counts
        .map(|(word, count)| {
            let word = japanese(word);
            format!("{word} {count} 件")
        })
        .collect();
    let mut lines = vec![match total {
        0 => format!("過去 {days} 日間で隠されたはずのケースはありません。"),
        _ => format!(
            "過去 {days} 日間で {total} 件のケースが隠されたはずです: {}。",
            counts.join("、")
        ),
    }];
    if preview.members > 0 {
        let members = preview.members;
        lines.push(format!("ほかに同時多発アラートの構成分 {members} 件。"));
    }
    if preview.muted > 0 {
        let muted = preview.muted;
        lines.push(format!("ほかに別のミュートが隠したアラート {muted} 件。"));
    }
    if !preview.true_positives.is_empty() {
        let positives = preview.true_positives.len();
        lines.push(format!("\u{26a0} うち真陽性: {positives} 件"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use nightshift_engine::exoneration::type_matches;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{now, report, view};

    #[test]
    fn a_mute_ends_with_its_day_and_within_thirty() {
        let at = |day: &str| until(Language::En, day, now()).map(|end| end.to_rfc3339());
        assert_eq!(at("2026-11-20").unwrap(), "2026-11-21T00:00:00+00:00");
        assert_eq!(at("2026-11-27").unwrap(), "2026-11-28T00:00:00+00:00");
        assert_eq!(at("2026-12-20").unwrap(), "2026-12-20T03:14:00+00:00");
        for wrong in ["2026-11-19", "2026-12-21", "9999-12-31", "+262142-12-31"] {
            assert!(
                at(wrong).unwrap_err().contains("2026-11-20 to 2026-12-20"),
                "{wrong}"
            );
        }
        for wrong in ["", "tomorrow", "2026-13-01"] {
            assert_eq!(at(wrong).unwrap_err(), "Choose the last day.", "{wrong}");
        }
    }

    #[test]
    fn what_would_have_been_hidden_is_said_with_its_true_positives() {
        let mut row = view(Some(report())).row;
        row.title = "Miner <!channel> on https://evil.com/".into();
        let hidden = MutePreview {
            cases: [
                ("false_positive".to_owned(), 8),
                ("true_positive".to_owned(), 12),
            ]
            .into(),
            true_positives: vec![row; 12],
            members: 3,
            muted: 0,
            only_newest: Some(50_000),
        };
        let text = preview(Language::En, Some(&hidden));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..5],
            [
                "In the last 30 days it would have hidden 20 cases: 8 false positive, 12 true positive.",
                "And 3 members of storms.",
                "\u{26a0} TRUE POSITIVES among them: 12",
                "Only the newest 50000 alerts were looked at.",
                "\u{2022} 2026-11-20 High Miner <(!)channel> on hxxps://evil[.]com/ k3f9-x2mq-7d1w",
            ]
        );
        assert_eq!(*lines.last().unwrap(), "and 2 more");
        assert_eq!(
            preview(Language::En, Some(&MutePreview::default())),
            "In the last 30 days it would have hidden no case."
        );
    }

    #[test]
    fn without_an_account_the_feed_bounds_a_mute() {
        let mut alert = view(None).alert;
        alert.severity = Severity::High;
        assert_eq!(rule(&alert, now(), "w", "b").when.feed, None);
        alert.account = None;
        let mute = rule(&alert, now(), "w", "b");
        assert_eq!(mute.when.feed.as_ref(), Some(&alert.feed));
        assert!(mute.clone().named("m").faults().is_empty());
        assert!(rule_text(Language::En, &mute).contains("of the feed"));
    }

    proptest! {
        #[test]
        fn a13_a_type_from_an_alert_mutes_itself_and_nothing_wider(kind in "[a-z*?{},!\\[\\]\\\\-]{1,12}", other in "[a-z*?]{1,12}") {
            let glob = exactly(&kind);
            prop_assert!(type_matches(&glob, &kind));
            prop_assert_eq!(type_matches(&glob, &other), kind == other);
        }
    }
}
