//! Defines the language of Nightshift's own texts. Texts of alerts, tools and analysts are not translated.
//!
//! Reports, destinations and button handlers use this module, so it is below them. Both languages of a label are
//! written where the label is used, so that neither is forgotten. This module has the words of closed sets: verdicts,
//! severities and other parts of a header.

use nightshift_alert::Severity;
use nightshift_engine::conclusion::{Confidence, Leaning, Urgency, Verdict, VerdictReason};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::case_workflow::WorkflowStatus;
use crate::report::Report;

/// The language of Nightshift's own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    #[default]
    En,
    Ja,
}

impl Language {
    pub const ALL: [Self; 2] = [Self::En, Self::Ja];

    /// Parses a code, `en` or `ja`. For `ja-JP` the first part counts.
    #[must_use]
    pub fn parse(code: &str) -> Option<Self> {
        let code = code.split(['-', '_']).next().unwrap_or_default();
        Self::ALL
            .into_iter()
            .find(|one| one.code().eq_ignore_ascii_case(code))
    }

    /// Returns the ISO 639-1 code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Ja => "ja",
        }
    }

    /// Returns the text in this language.
    #[must_use]
    pub const fn pick(self, en: &'static str, ja: &'static str) -> &'static str {
        match self {
            Self::En => en,
            Self::Ja => ja,
        }
    }

    /// Returns the words for an urgency.
    #[must_use]
    pub const fn urgency(self, urgency: Urgency) -> &'static str {
        let ja = match urgency {
            Urgency::None => "対応不要",
            Urgency::NextDay => "翌営業日",
            Urgency::ThisShift => "当番時間内",
            Urgency::Now => "今すぐ対応",
        };
        self.pick(urgency.title(), ja)
    }

    /// Returns the words for a verdict.
    #[must_use]
    pub const fn verdict(self, verdict: Verdict) -> &'static str {
        let ja = match verdict {
            Verdict::TruePositive => "真陽性",
            Verdict::BenignTruePositive => "無害な真陽性",
            Verdict::FalsePositive => "誤検知",
            Verdict::Inconclusive => "判定不能",
        };
        self.pick(verdict.title(), ja)
    }

    /// Returns the words for a verdict and its leaning.
    #[must_use]
    pub const fn leaning(self, verdict: Verdict, leaning: Leaning) -> &'static str {
        match (verdict, leaning) {
            (Verdict::Inconclusive, Leaning::Malicious) => {
                self.pick("Inconclusive, leans malicious", "判定不能（悪性寄り）")
            }
            (Verdict::Inconclusive, Leaning::Benign) => {
                self.pick("Inconclusive, leans benign", "判定不能（無害寄り）")
            }
            (verdict, _) => self.verdict(verdict),
        }
    }

    /// Returns the words for a severity.
    #[must_use]
    pub const fn severity(self, severity: Severity) -> &'static str {
        let ja = match severity {
            Severity::Informational => "情報",
            Severity::Low => "低",
            Severity::Medium => "中",
            Severity::High => "高",
            Severity::Critical => "緊急",
        };
        self.pick(severity.title(), ja)
    }

    /// Returns the words for a confidence, as half a sentence.
    #[must_use]
    pub const fn confidence(self, confidence: Confidence) -> &'static str {
        match confidence {
            Confidence::Low => self.pick("low confidence", "確信度 低"),
            Confidence::Medium => self.pick("medium confidence", "確信度 中"),
            Confidence::High => self.pick("high confidence", "確信度 高"),
        }
    }

    /// Returns the words for the reason of a verdict.
    #[must_use]
    pub const fn reason(self, reason: VerdictReason) -> &'static str {
        let ja = match reason {
            VerdictReason::SuspiciousActivity => "攻撃者の行動と一致する",
            VerdictReason::AuthorisedActivity => "台帳に許可の記録がある",
            VerdictReason::WrongDetectionLogic => "検知ロジックがこの環境に合わない",
            VerdictReason::WrongData => "検知に使われたデータが誤っている",
            VerdictReason::MissingData => "判断に必要なデータがない",
            VerdictReason::ToolFailure => "情報源を読み取れなかった",
            VerdictReason::BudgetExhausted => "調査が途中で打ち切られた",
            VerdictReason::UnsupportedEvidence => "証拠が主張を裏付けていない",
            VerdictReason::NotExonerated => "無害に見えるが、それを示す記録がない",
            VerdictReason::ModelRefused => "モデルが回答を拒否した",
            VerdictReason::SuspectedManipulation => "データ内の文章が分析者に話しかけている",
        };
        self.pick(reason.description(), ja)
    }

    /// Returns the words for a workflow status.
    #[must_use]
    pub const fn workflow_status(self, status: WorkflowStatus) -> &'static str {
        match status {
            WorkflowStatus::Open => self.pick("open", "未対応"),
            WorkflowStatus::Acknowledged => self.pick("taken", "対応中"),
            WorkflowStatus::Closed => self.pick("closed", "クローズ済み"),
        }
    }

    /// Returns the words for the verdict and leaning of a report.
    #[must_use]
    pub const fn verdict_of(self, report: &Report) -> &'static str {
        self.leaning(report.verdict, report.leaning)
    }

    /// Returns the words for the reason of a report's verdict. For a failed run they only say that.
    #[must_use]
    pub const fn reason_of(self, report: &Report) -> &'static str {
        match report.reason {
            VerdictReason::ToolFailure if report.failed.is_some() => {
                self.pick("the run failed", "実行が失敗した")
            }
            reason => self.reason(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_named_by_its_code() {
        assert_eq!(Language::parse("ja"), Some(Language::Ja));
        assert_eq!(Language::parse("ja-JP"), Some(Language::Ja));
        assert_eq!(Language::parse("EN"), Some(Language::En));
        assert_eq!(Language::parse("de"), None);
    }
}
