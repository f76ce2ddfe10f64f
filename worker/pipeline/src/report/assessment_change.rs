//! Compares the report of a repeated triage with the previous one, and explains why there is another.

use nightshift_alert::{Indicator, IndicatorRole, Severity};
use nightshift_engine::conclusion::{Leaning, Urgency, Verdict};
use nightshift_engine::previous_run::PreviousRun;

use super::Report;
use crate::case::CaseStatus;
use crate::delivery_payload::DeliveredReport;
use crate::language::Language;

/// Contents of a report on which its reader acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assessment {
    failed: bool,
    verdict: Verdict,
    leaning: Leaning,
    severity: Severity,
    urgency: Urgency,
}

impl From<&PreviousRun> for Assessment {
    fn from(again: &PreviousRun) -> Self {
        Self {
            failed: again.failed,
            verdict: again.verdict,
            leaning: again.leaning,
            severity: again.severity,
            urgency: again.urgency,
        }
    }
}

impl From<&DeliveredReport> for Assessment {
    fn from(shown: &DeliveredReport) -> Self {
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
pub struct AssessmentChange {
    /// Field that differs: verdict, severity, or urgency.
    pub what: &'static str,
    /// Previous value.
    pub from: &'static str,
    /// New value.
    pub to: &'static str,
}

/// One reason why a case is triaged again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionCause<'a> {
    /// Nightshift's own words.
    pub words: &'static str,
    /// Value that the reason names.
    pub who: Option<&'a Indicator>,
}

impl Report {
    /// Returns the differences from the previous contents.
    #[must_use]
    pub fn changes_since(&self, before: Assessment, language: Language) -> Vec<AssessmentChange> {
        let now = Assessment::from(&DeliveredReport::from_report(self));
        let verdict = |said: Assessment| match said.failed {
            true => language.pick("not triaged", "未トリアージ"),
            false => language.leaning(said.verdict, said.leaning),
        };
        let of = |what, word: &dyn Fn(Assessment) -> &'static str| AssessmentChange {
            what,
            from: word(before),
            to: word(now),
        };
        [
            of(language.pick("verdict", "判定"), &verdict),
            of(language.pick("severity", "重要度"), &|said| {
                language.severity(said.severity)
            }),
            of(language.pick("urgency", "緊急性"), &|said| {
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
pub fn revision_causes(again: &PreviousRun, language: Language) -> Vec<RevisionCause<'_>> {
    let role = |role| match role {
        IndicatorRole::Actor => Some(language.pick("new actor", "新しい実行主体")),
        IndicatorRole::Target => Some(language.pick("new target", "新しい対象")),
        IndicatorRole::Remote => Some(language.pick("new far end", "新しい通信相手")),
        IndicatorRole::Related => None,
    };
    let named: Vec<RevisionCause<'_>> = again
        .new
        .iter()
        .filter_map(|who| {
            Some(RevisionCause {
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
        "actor" if is_named(IndicatorRole::Actor) => None,
        "target" if is_named(IndicatorRole::Target) => None,
        "remote" if is_named(IndicatorRole::Remote) => None,
        why => revision_reason_text(why, language),
    };
    words
        .map(|words| RevisionCause { words, who: None })
        .into_iter()
        .chain(named)
        .collect()
}

/// Returns the words for the reason of an admission, or `None` for one that this version does not know.
fn revision_reason_text(why: &str, language: Language) -> Option<&'static str> {
    Some(match why {
        "asked" => language.pick("somebody asked for it", "再実行の依頼"),
        "models_back" => language.pick("the models answer again", "モデルの復旧"),
        "severity" => language.pick("severity rose as sent", "送信時の重要度が上昇"),
        "type" => language.pick("another finding type", "検出種別の変化"),
        "state" => language.pick("its state at the feed changed", "フィードでの状態の変化"),
        "actor" => language.pick("new actor", "新しい実行主体"),
        "target" => language.pick("new target", "新しい対象"),
        "remote" => language.pick("new far end", "新しい通信相手"),
        "related" => language.pick(
            "another resource or principal is named beside it",
            "関連するリソースまたは主体の追加",
        ),
        "action" => language.pick("another action, or it succeeded", "操作または成否の変化"),
        "inconclusive" => language.pick(
            "it came again changed, and was not decided",
            "未決のまま内容が変わって再着信",
        ),
        "disputed" => language.pick(
            "it came again changed, and a person had disagreed",
            "異議のあるまま内容が変わって再着信",
        ),
        "no_longer_cleared" => language.pick(
            "not all of its events are within the time of what cleared it",
            "問題なしの根拠の期間外にも発生",
        ),
        "cooled_down" => language.pick(
            "it came again changed, after a long time",
            "長時間の後に内容が変わって再着信",
        ),
        "record_ended" => language.pick(
            "a record that cleared it has ended or was withdrawn",
            "問題なしの根拠となる記録の終了または取り消し",
        ),
        "new_acts" => language.pick(
            "the audit log shows new acts that no record covers",
            "根拠となる記録のない新たな操作を監査ログで確認",
        ),
        "lookup_whole" => language.pick(
            "a log or register that was not read whole before now is",
            "前回すべて読めなかったログまたは台帳の読み取り完了",
        ),
        _ => return None,
    })
}
