//! Formats times, durations and icons in fixed words. Nothing here contains foreign text.

use chrono::{DateTime, FixedOffset, Utc};
use nightshift_alert::Severity;
use nightshift_engine::conclusion::Urgency;
use nightshift_engine::limits::{BudgetCap, Cost};
use nightshift_engine::plan::{StepOutcome, StepStatus};

use crate::Language;

/// Text made from numbers and fixed words.
#[derive(Debug)]
pub struct FormattedText(pub String);

/// Formats a time: `2026-11-20 03:02 UTC`.
pub fn moment(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

/// Formats a period: `2026-11-20 02:41 to 03:02 UTC`. It has both days if they differ.
pub fn window(language: Language, from: DateTime<Utc>, until: DateTime<Utc>) -> FormattedText {
    let to = language.pick(" to ", " ～ ");
    FormattedText(if from.date_naive() == until.date_naive() {
        format!(
            "{}{to}{}",
            from.format("%Y-%m-%d %H:%M"),
            until.format("%H:%M UTC")
        )
    } else {
        format!("{}{to}{}", moment(from), moment(until))
    })
}

/// Formats a local time: `04:02 +01:00`.
pub fn local(at: DateTime<Utc>, offset: FixedOffset) -> FormattedText {
    FormattedText(at.with_timezone(&offset).format("%H:%M %:z").to_string())
}

/// Formats an age: `12 min ago`, or that the time is in the future.
pub fn ago(language: Language, at: DateTime<Utc>, now: DateTime<Utc>) -> FormattedText {
    let after = match at <= now {
        true => language.pick(" ago", "前"),
        false => language.pick(" ahead of the clock here", "先（当システムの時計基準）"),
    };
    FormattedText(format!("{}{after}", span(language, at, now)))
}

/// Formats the time from another event: `20 min before`, or after.
pub fn apart(language: Language, at: DateTime<Utc>, other: DateTime<Utc>) -> FormattedText {
    let after = match at <= other {
        true => language.pick(" before", "前"),
        false => language.pick(" after", "後"),
    };
    FormattedText(format!("{}{after}", span(language, at, other)))
}

/// Formats the difference of two times in its largest unit.
fn span(language: Language, one: DateTime<Utc>, other: DateTime<Utc>) -> String {
    match (other - one).num_seconds().saturating_abs() {
        secs @ 0..60 => format!("{secs} {}", language.pick("s", "秒")),
        secs @ 60..7_200 => format!("{} {}", secs / 60, language.pick("min", "分")),
        secs @ 7_200..172_800 => format!("{} {}", secs / 3_600, language.pick("h", "時間")),
        secs => format!("{} {}", secs / 86_400, language.pick("days", "日")),
    }
}

/// Returns the name of the limit that ended the work early.
pub const fn cap(language: Language, cap: BudgetCap) -> &'static str {
    match cap {
        BudgetCap::Calls => language.pick("the cap on model calls", "モデル呼び出し回数の上限"),
        BudgetCap::Tokens => language.pick("the cap on tokens", "トークン数の上限"),
        BudgetCap::Usd => language.pick("the cap on its cost", "費用の上限"),
        BudgetCap::Minutes => language.pick("the cap on its time", "時間の上限"),
        BudgetCap::DayUsd => language.pick("the end of the day's budget", "1日の予算切れ"),
    }
}

/// Formats a duration: `0.4 s`, `12 s`, `3 min 20 s`.
pub fn took(language: Language, ms: u64) -> FormattedText {
    let (min, s) = (language.pick("min", "分"), language.pick("s", "秒"));
    FormattedText(match ms {
        0..10_000 => format!("{}.{} {s}", ms / 1_000, ms % 1_000 / 100),
        10_000..120_000 => format!("{} {s}", ms / 1_000),
        _ => format!("{} {min} {} {s}", ms / 60_000, ms % 60_000 / 1_000),
    })
}

/// Formats a cost: `0.0312 USD, 5 model calls, 6120 tokens`, or that there was none.
pub fn cost(language: Language, cost: &Cost) -> FormattedText {
    if cost.model_calls == 0 {
        return FormattedText(
            language
                .pick("no model calls, 0 USD", "モデル呼び出しなし、0 USD")
                .to_owned(),
        );
    }
    let tokens = cost.input_tokens.saturating_add(cost.output_tokens);
    let (usd, calls) = (cost.usd, cost.model_calls);
    FormattedText(match (language, calls) {
        (Language::En, 1) => format!("{usd:.4} USD, 1 model call, {tokens} tokens"),
        (Language::En, _) => format!("{usd:.4} USD, {calls} model calls, {tokens} tokens"),
        (Language::Ja, _) => format!("{usd:.4} USD、モデル呼び出し {calls} 回、{tokens} トークン"),
    })
}

/// Returns a shape that every terminal font has. The word always follows it.
pub const fn icon(urgency: Urgency) -> &'static str {
    match urgency {
        Urgency::Now => "▲",
        Urgency::ThisShift => "●",
        Urgency::NextDay => "○",
        Urgency::None => "□",
    }
}

/// Returns the result of a step. Anything but success stands out.
pub const fn step(
    language: Language,
    status: StepStatus,
    outcome: Option<StepOutcome>,
) -> &'static str {
    match (status, outcome) {
        (StepStatus::Done, Some(StepOutcome::Met)) => language.pick("done, met", "完了（達成）"),
        (StepStatus::Done, Some(StepOutcome::Unmet)) => {
            language.pick("done, unmet", "完了（未達成）")
        }
        (StepStatus::Done, _) => language.pick("done", "完了"),
        (StepStatus::Failed, _) => language.pick("FAILED", "【失敗】"),
        (StepStatus::Cancelled, _) => language.pick("CANCELLED", "【取消】"),
        (StepStatus::NotRun, _) => language.pick("NOT RUN", "【未実行】"),
        (StepStatus::Pending, _) => language.pick("PENDING", "【待機中】"),
        (StepStatus::Running, _) => language.pick("RUNNING", "【実行中】"),
    }
}

/// Formats a severity: `High → Critical`, or that triage left it unchanged.
pub fn severity(language: Language, before: Severity, after: Severity) -> FormattedText {
    let [before_word, after_word] = [before, after].map(|one| language.severity(one));
    FormattedText(if before == after {
        format!(
            "{after_word}{}",
            language.pick(", unchanged", "（変更なし）")
        )
    } else {
        format!("{before_word} → {after_word}")
    })
}

#[cfg(test)]
mod tests {
    use nightshift_engine::conclusion::{Leaning, Verdict};

    use super::*;

    #[test]
    fn spans_of_time_read_as_people_say_them() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let before = |secs| ago(Language::En, now - chrono::TimeDelta::seconds(secs), now).0;
        assert_eq!(before(59), "59 s ago");
        assert_eq!(before(720), "12 min ago");
        assert_eq!(before(7_200), "2 h ago");
        assert_eq!(before(400_000), "4 days ago");
        assert_eq!(before(-300), "5 min ahead of the clock here");
        assert_eq!(took(Language::En, 420).0, "0.4 s");
        assert_eq!(took(Language::En, 200_000).0, "3 min 20 s");
    }

    #[test]
    fn english_is_what_the_report_itself_says() {
        let mut report = crate::fixture::true_positive();
        for verdict in Verdict::ALL {
            for leaning in [Leaning::None, Leaning::Benign, Leaning::Malicious] {
                (report.verdict, report.leaning) = (verdict, leaning);
                assert_eq!(Language::En.verdict_of(&report), report.verdict_text());
            }
        }
    }
}
