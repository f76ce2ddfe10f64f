//! Compares the report of a repeated triage with the previous one, and explains why there is another.

use nightshift_alert::{Indicator, Role, Severity};
use nightshift_engine::again::Again;
use nightshift_engine::conclusion::{Leaning, Urgency, Verdict};

use super::Report;
use crate::case::CaseStatus;
use crate::language::Language;
use crate::showing::Shown;

/// Contents of a report on which its reader acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    failed: bool,
    verdict: Verdict,
    leaning: Leaning,
    severity: Severity,
    urgency: Urgency,
}

impl From<&Again> for Said {
    fn from(again: &Again) -> Self {
        Self {
            failed: again.failed,
            verdict: again.verdict,
            leaning: again.leaning,
            severity: again.severity,
            urgency: again.urgency,
        }
    }
}

impl From<&Shown> for Said {
    fn from(shown: &Shown) -> Self {
        Self {
            failed: shown.status == CaseStatus::Failed,
            verdict: shown.verdict,
            leaning: shown.leaning,
            severity: shown.assessed_severity,
            urgency: shown.urgency,
        }
    }
}

/// One difference between two reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    /// Field that differs: verdict, severity, or urgency.
    pub what: &'static str,
    /// Previous value.
    pub from: &'static str,
    /// New value.
    pub to: &'static str,
}

/// One reason why a case is triaged again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Because<'a> {
    /// Words of our own.
    pub words: &'static str,
    /// Value that the reason names.
    pub who: Option<&'a Indicator>,
}

impl Report {
    /// Returns the differences from the previous contents.
    #[must_use]
    pub fn changes_since(&self, before: Said, language: Language) -> Vec<Changed> {
        let now = Said::from(&Shown::of(self));
        let verdict = |said: Said| match said.failed {
            true => language.of("not triaged", "未トリアージ"),
            false => language.leaning(said.verdict, said.leaning),
        };
        let of = |what, word: &dyn Fn(Said) -> &'static str| Changed {
            what,
            from: word(before),
            to: word(now),
        };
        [
            of(language.of("verdict", "判定"), &verdict),
            of(language.of("severity", "重要度"), &|said| {
                language.severity(said.severity)
            }),
            of(language.of("urgency", "緊急性"), &|said| {
                language.urgency(said.urgency)
            }),
        ]
        .into_iter()
        .filter(|changed| changed.from != changed.to)
        .collect()
    }
}

/// Returns why a case is triaged again: the reason of the admission, then the new values of the alert.
#[must_use]
pub fn because(again: &Again, language: Language) -> Vec<Because<'_>> {
    let role = |role| match role {
        Role::Actor => Some(language.of("new actor", "新しい実行主体")),
        Role::Target => Some(language.of("new target", "新しい対象")),
        Role::Remote => Some(language.of("new far end", "新しい通信相手")),
        Role::Related => None,
    };
    let named: Vec<Because<'_>> = again
        .new
        .iter()
        .filter_map(|who| {
            Some(Because {
                words: role(who.role)?,
                who: Some(who),
            })
        })
        .collect();
    let is_named = |role| {
        named
            .iter()
            .any(|one| one.who.is_some_and(|who| who.role == role))
    };
    let words = match again.why.as_deref().unwrap_or_default() {
        "actor" if is_named(Role::Actor) => None,
        "target" if is_named(Role::Target) => None,
        "remote" if is_named(Role::Remote) => None,
        why => admission(why, language),
    };
    words
        .map(|words| Because { words, who: None })
        .into_iter()
        .chain(named)
        .collect()
}

/// Returns the words for the reason of an admission, or `None` for one that this version does not know.
fn admission(why: &str, language: Language) -> Option<&'static str> {
    Some(match why {
        "asked" => language.of("somebody asked for it", "再実行の依頼"),
        "models_back" => language.of("the models answer again", "モデルの復旧"),
        "severity" => language.of("severity rose as sent", "送信時の重要度が上昇"),
        "type" => language.of("another finding type", "検出種別の変化"),
        "state" => language.of("its state at the feed changed", "フィードでの状態の変化"),
        "actor" => language.of("new actor", "新しい実行主体"),
        "target" => language.of("new target", "新しい対象"),
        "remote" => language.of("new far end", "新しい通信相手"),
        "related" => language.of(
            "another resource or principal is named beside it",
            "関連するリソースまたは主体の追加",
        ),
        "action" => language.of("another action, or it succeeded", "操作または成否の変化"),
        "inconclusive" => language.of(
            "it came again changed, and was not decided",
            "未決のまま内容が変わって再着信",
        ),
        "disputed" => language.of(
            "it came again changed, and a person had disagreed",
            "異議のあるまま内容が変わって再着信",
        ),
        "no_longer_cleared" => language.of(
            "not all of its events are within the time of what cleared it",
            "問題なしの根拠の期間外にも発生",
        ),
        "cooled_down" => language.of(
            "it came again changed, after a long time",
            "長時間の後に内容が変わって再着信",
        ),
        "record_ended" => language.of(
            "a record that cleared it has ended or was withdrawn",
            "問題なしの根拠となる記録の終了または取り消し",
        ),
        "new_acts" => language.of(
            "the audit log shows new acts that no record covers",
            "根拠となる記録のない新たな操作を監査ログで確認",
        ),
        "lookup_whole" => language.of(
            "a log or register that was not read whole before now is",
            "前回すべて読めなかったログまたは台帳の読み取り完了",
        ),
        _ => return None,
    })
}
