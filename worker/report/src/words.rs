//! Our own words: times, durations, icons. Nothing here is made of foreign text.

use chrono::{DateTime, FixedOffset, Utc};
use nightshift_alert::Severity;
use nightshift_engine::{Cap, Cost, StepOutcome, StepStatus, Urgency};

/// Text that was made here, of numbers and our own words.
pub(crate) struct Made(pub(crate) String);

/// `2026-11-20 03:02 UTC`.
pub(crate) fn moment(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

/// `2026-11-20 03:02:15`.
pub(crate) fn second(at: DateTime<Utc>) -> Made {
    Made(at.format("%Y-%m-%d %H:%M:%S").to_string())
}

/// `2026-11-20 02:41 to 03:02 UTC`, with both days where they differ.
pub(crate) fn window(from: DateTime<Utc>, until: DateTime<Utc>) -> Made {
    Made(if from.date_naive() == until.date_naive() {
        format!(
            "{} to {}",
            from.format("%Y-%m-%d %H:%M"),
            until.format("%H:%M UTC")
        )
    } else {
        format!("{} to {}", moment(from), moment(until))
    })
}

/// `04:02 +01:00`.
pub(crate) fn local(at: DateTime<Utc>, offset: FixedOffset) -> Made {
    Made(at.with_timezone(&offset).format("%H:%M %:z").to_string())
}

/// `12 min ago`, or that it lies ahead of the clock that was asked.
pub(crate) fn ago(at: DateTime<Utc>, now: DateTime<Utc>) -> Made {
    let secs = (now - at).num_seconds();
    let span = |secs: i64| match secs {
        0..60 => format!("{secs} s"),
        60..7_200 => format!("{} min", secs / 60),
        7_200..172_800 => format!("{} h", secs / 3_600),
        _ => format!("{} days", secs / 86_400),
    };
    Made(match secs {
        0.. => format!("{} ago", span(secs)),
        _ => format!("{} ahead of the clock here", span(secs.saturating_neg())),
    })
}

/// What ended the work on a case before its plan was done.
pub(crate) const fn cap(cap: Cap) -> &'static str {
    match cap {
        Cap::Calls => "the cap on model calls",
        Cap::Tokens => "the cap on tokens",
        Cap::Usd => "the cap on its cost",
        Cap::Minutes => "the cap on its time",
        Cap::DayUsd => "the end of the day's budget",
    }
}

/// `0.4 s`, `12 s`, `3 min 20 s`.
pub(crate) fn took(ms: u64) -> Made {
    Made(match ms {
        0..10_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        10_000..120_000 => format!("{} s", ms / 1_000),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    })
}

/// `0.0312 USD, 5 model calls, 6120 tokens`; of a cost of nothing, that.
pub(crate) fn cost(cost: &Cost) -> Made {
    if cost.model_calls == 0 {
        return Made("no model calls, 0 USD".to_owned());
    }
    let calls = if cost.model_calls == 1 {
        "call"
    } else {
        "calls"
    };
    let tokens = cost.input_tokens.saturating_add(cost.output_tokens);
    Made(format!(
        "{:.4} USD, {} model {calls}, {tokens} tokens",
        cost.usd, cost.model_calls
    ))
}

/// A shape that every terminal font has; the word always stands beside it.
pub(crate) const fn icon(urgency: Urgency) -> &'static str {
    match urgency {
        Urgency::Now => "▲",
        Urgency::ThisShift => "●",
        Urgency::NextDay => "○",
        Urgency::None => "□",
    }
}

/// How a step ended, in words that stand out when it did not end well.
pub(crate) const fn step(status: StepStatus, outcome: Option<StepOutcome>) -> &'static str {
    match (status, outcome) {
        (StepStatus::Done, Some(StepOutcome::Met)) => "done, met",
        (StepStatus::Done, Some(StepOutcome::Unmet)) => "done, unmet",
        (StepStatus::Done, _) => "done",
        (StepStatus::Failed, _) => "FAILED",
        (StepStatus::Cancelled, _) => "CANCELLED",
        (StepStatus::NotRun, _) => "NOT RUN",
        (StepStatus::Pending, _) => "PENDING",
        (StepStatus::Running, _) => "RUNNING",
    }
}

/// `High → Critical`, or that triage left it.
pub(crate) fn severity(before: Severity, after: Severity) -> Made {
    Made(if before == after {
        format!("{}, unchanged", after.title())
    } else {
        format!("{} → {}", before.title(), after.title())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_time_read_as_people_say_them() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let before = |secs| ago(now - chrono::TimeDelta::seconds(secs), now).0;
        assert_eq!(before(59), "59 s ago");
        assert_eq!(before(720), "12 min ago");
        assert_eq!(before(7_200), "2 h ago");
        assert_eq!(before(400_000), "4 days ago");
        assert_eq!(before(-300), "5 min ahead of the clock here");
        assert_eq!(took(420).0, "0.4 s");
        assert_eq!(took(200_000).0, "3 min 20 s");
    }
}
