//! Writes texts of a report for empty sections, which say why the section is empty.

use super::Report;
use crate::language::Language;

impl Report {
    /// Returns why no action is advised.
    #[must_use]
    pub fn no_action(&self, language: Language) -> &'static str {
        if self.verdict.is_benign() {
            language.pick("Nothing: no action is needed.", "なし。対応は不要です。")
        } else if self.is_canary() {
            language.pick(
                "Nothing: it is a canary of Nightshift's own.",
                "なし。Nightshift 自身のカナリアです。",
            )
        } else if self.alert.sample {
            language.pick(
                "Nothing: it is a generated sample.",
                "なし。生成されたサンプルです。",
            )
        } else if self.failed.is_some() {
            language.pick(
                "The run failed before an action was chosen. Open the alert in its own console.",
                "対応を選ぶ前に実行が失敗しました。アラートを元のコンソールで確認してください。",
            )
        } else {
            language.pick(
                "No action was chosen: read what would decide it.",
                "対応は選ばれていません。判断を決める材料を確認してください。",
            )
        }
    }

    /// Returns the text for a report without counter-evidence and gaps.
    #[must_use]
    pub fn nothing_against(&self, language: Language) -> &'static str {
        if self.coverage.read == 0 {
            language.pick(
                "Everything: no source was read.",
                "すべて未確認です（情報源を読めていません）。",
            )
        } else if self.failed.is_some() {
            language.pick(
                "What was read was not judged: the run failed.",
                "読めた内容は判定されていません（実行が失敗しました）。",
            )
        } else if self.coverage.missing.is_empty() {
            language.pick(
                "Nothing: no finding speaks against it, and every source that was wanted was read.",
                "なし。反する所見はなく、必要な情報源はすべて読めました。",
            )
        } else {
            language.pick(
                "Nothing speaks against it in what was read.",
                "読めた範囲に反する材料はありません。",
            )
        }
    }

    /// Returns the text for a report without gaps, in short.
    #[must_use]
    pub const fn nothing_unchecked(&self, language: Language) -> &'static str {
        if self.coverage.read == 0 {
            language.pick(
                "everything (no source was read)",
                "すべて（情報源を読めていません）",
            )
        } else if self.failed.is_some() {
            language.pick(
                "everything (the run failed)",
                "すべて（実行が失敗しました）",
            )
        } else {
            language.pick(
                "nothing; all sources read",
                "設定された情報源はすべて確認済み",
            )
        }
    }

    /// Returns the text for an undecided case without anything that would decide it, or `None` if there is nothing to
    /// decide.
    #[must_use]
    pub fn not_known_what_decides(&self, language: Language) -> Option<&'static str> {
        if self.failed.is_some() {
            Some(language.pick("A run that comes to its end.", "最後まで終わる実行。"))
        } else if self.alert.sample {
            None
        } else if self.coverage.missing.is_empty() {
            Some(language.pick(
                "Not known: every source that was wanted was read. Ask who owns it.",
                "不明。必要な情報源はすべて読めました。所有者に確認してください。",
            ))
        } else {
            Some(language.pick(
                "Not known; the sources that were not read come first.",
                "不明。まず読めなかった情報源を確認してください。",
            ))
        }
    }
}
