//! Renders details of an alert as labelled lines: one line with all details of an address or resource, then one line
//! per kind.

use nightshift_alert::{Detail, DetailKind, FindingClass};

use super::AlertFacts;
use crate::language::Language;

/// Maximum number of lines.
const MOST_LINES: usize = 30;
/// Maximum number of values of a line.
const MOST_VALUES: usize = 6;
/// Kinds that are shown without their label after an address.
const PLACE: [DetailKind; 4] = [
    DetailKind::Asn,
    DetailKind::Organisation,
    DetailKind::City,
    DetailKind::Country,
];

/// Labels of the kinds of details in English and Japanese. A kind without a label is shown by its own word.
const LABELS: &[(DetailKind, &str, &str)] = &[
    (DetailKind::Session, "Session of", "セッションの利用者"),
    (DetailKind::Group, "Group", "グループ"),
    (DetailKind::Permission, "Permission", "権限"),
    (DetailKind::Grantee, "Granted to", "付与先"),
    (DetailKind::Application, "Application", "アプリケーション"),
    (DetailKind::Operation, "Operation", "操作"),
    (DetailKind::ErrorCode, "Error code", "エラーコード"),
    (DetailKind::UserAgent, "User agent", "ユーザーエージェント"),
    (DetailKind::LocalPort, "Local port", "ローカルポート"),
    (DetailKind::RemotePort, "Remote port", "リモートポート"),
    (DetailKind::Protocol, "Protocol", "プロトコル"),
    (DetailKind::Direction, "Direction", "方向"),
    (DetailKind::Country, "Country", "国"),
    (DetailKind::City, "City", "都市"),
    (DetailKind::Asn, "AS number", "AS 番号"),
    (DetailKind::Organisation, "Organisation", "組織"),
    (DetailKind::Vpc, "VPC", "VPC"),
    (DetailKind::Subnet, "Subnet", "サブネット"),
    (
        DetailKind::SecurityGroup,
        "Security group",
        "セキュリティグループ",
    ),
    (DetailKind::OtherAccount, "Other account", "別アカウント"),
    (DetailKind::ThreatList, "Threat list", "脅威リスト"),
    (DetailKind::ThreatName, "Threat", "脅威名"),
    (DetailKind::Signature, "Signature", "シグネチャ"),
    (DetailKind::CommandLine, "Command line", "コマンドライン"),
    (DetailKind::ParentProcess, "Started by", "親プロセス"),
    (
        DetailKind::ParentCommandLine,
        "Started by command",
        "親コマンドライン",
    ),
    (
        DetailKind::FileWritten,
        "File written",
        "書き込まれたファイル",
    ),
    (DetailKind::RegistryKey, "Registry key", "レジストリキー"),
    (DetailKind::Persistence, "Persistence", "永続化"),
    (DetailKind::HttpRequest, "HTTP request", "HTTP リクエスト"),
    (DetailKind::DnsQuery, "DNS query", "DNS クエリ"),
    (DetailKind::DatabaseName, "Database", "データベース"),
    (
        DetailKind::DatabaseQuery,
        "Database query",
        "データベースクエリ",
    ),
    (DetailKind::ProcessUser, "Ran as", "実行ユーザー"),
    (DetailKind::LogonType, "Kind of login", "ログイン種別"),
    (DetailKind::AuthResult, "Login", "ログイン結果"),
    (DetailKind::Device, "Device", "デバイス"),
    (
        DetailKind::CheckResult,
        "Result of the check",
        "チェック結果",
    ),
    (DetailKind::EventCount, "Events", "イベント数"),
    (DetailKind::Bytes, "Bytes", "バイト数"),
    (
        DetailKind::IntervalSecs,
        "Interval in seconds",
        "間隔（秒）",
    ),
    (DetailKind::MailSubject, "Mail subject", "メール件名"),
    (DetailKind::Control, "Control", "コントロール"),
    (DetailKind::Package, "Package", "パッケージ"),
    (DetailKind::FixedVersion, "Fixed in", "修正バージョン"),
    (DetailKind::Exposure, "Exposure", "露出"),
    (DetailKind::AiModel, "AI model", "AI モデル"),
    (DetailKind::CustomRule, "Own rule", "カスタムルール"),
    (
        DetailKind::RelatedFinding,
        "Related finding",
        "関連する検出",
    ),
    (DetailKind::Trait, "Trait", "特徴"),
    (
        DetailKind::Claim,
        "The alert says (a register could confirm it)",
        "アラートの主張（台帳で確認可能）",
    ),
];

/// A labelled line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetailLine {
    /// Label, in Nightshift's own words.
    pub label: &'static str,
    /// Values as the alert has them. Renderers must treat them as data.
    pub text: String,
}

impl AlertFacts {
    /// Returns lines for outcome, class and details, mainly those that no other field shows.
    #[must_use]
    pub fn detail_lines(&self, language: Language) -> Vec<DetailLine> {
        let line = |label, text| DetailLine { label, text };
        let mut lines = Vec::new();
        if let Some(outcome) = self.outcome {
            let label = language.pick("Outcome", "結果");
            lines.push(line(label, outcome.as_str().replace('_', " ")));
        }
        if self.class != FindingClass::Threat {
            let label = language.pick("Class", "分類");
            lines.push(line(label, self.class.as_str().replace('_', " ")));
        }
        if let Some(state) = &self.state_at_feed {
            let label = language.pick("At its feed", "フィード側の状態");
            lines.push(line(label, state.clone()));
        }
        for about in subjects(&self.details) {
            let label = language.pick("About", "対象");
            let told = describe_subject(&self.details, about, language);
            lines.push(line(label, format!("{about} — {told}")));
        }
        for kind in DetailKind::ALL.iter().copied() {
            let all = self
                .details
                .iter()
                .filter(|one| one.kind == kind && one.about.is_none());
            let values: Vec<&str> = all.map(|one| one.value.as_str()).collect();
            if !values.is_empty() {
                lines.push(line(label(kind, language), join_values(&values, language)));
            }
        }
        if let Some(id) = &self.finding_id {
            lines.push(line(language.pick("Finding", "検出 ID"), id.clone()));
        }
        lines.truncate(MOST_LINES);
        lines
    }
}

/// Returns the addresses and resources that details are about, in the order of the details.
fn subjects(details: &[Detail]) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for about in details.iter().filter_map(|one| one.about.as_deref()) {
        if !found.contains(&about) {
            found.push(about);
        }
    }
    found
}

/// Returns the details of one subject: `AS64500 Example, Amsterdam, NL; threat list own-bad`.
fn describe_subject(details: &[Detail], about: &str, language: Language) -> String {
    let of = |kind| -> Vec<&str> {
        let all = details.iter();
        all.filter(|one| one.kind == kind && one.about.as_deref() == Some(about))
            .map(|one| one.value.as_str())
            .collect()
    };
    let network = [of(DetailKind::Asn), of(DetailKind::Organisation)]
        .concat()
        .join(" ");
    let place = [of(DetailKind::City), of(DetailKind::Country)].concat();
    let place: Vec<&str> = std::iter::once(network.as_str())
        .filter(|text| !text.is_empty())
        .chain(place)
        .collect();
    let mut parts = vec![place.join(", ")];
    for kind in DetailKind::ALL
        .iter()
        .copied()
        .filter(|kind| !PLACE.contains(kind))
    {
        let values = of(kind);
        if !values.is_empty() {
            let (label, values) = (label(kind, language), join_values(&values, language));
            parts.push(format!("{}: {values}", label.to_lowercase()));
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

fn join_values(values: &[&str], language: Language) -> String {
    let first = values.iter().take(MOST_VALUES).copied().collect::<Vec<_>>();
    let first = first.join(", ");
    match values.len().saturating_sub(MOST_VALUES) {
        0 => first,
        more => match language {
            Language::En => format!("{first} and {more} more"),
            Language::Ja => format!("{first}、ほか {more} 件"),
        },
    }
}

/// Returns the label of a kind of detail.
fn label(kind: DetailKind, language: Language) -> &'static str {
    let known = LABELS.iter().find(|(one, ..)| *one == kind);
    known.map_or(kind.as_str(), |(_, en, ja)| language.pick(en, ja))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail(kind: DetailKind, value: &str, about: Option<&str>) -> Detail {
        Detail {
            kind,
            value: value.to_owned(),
            about: about.map(str::to_owned),
        }
    }

    #[test]
    fn details_of_one_address_share_a_line() {
        let far = Some("203.0.113.77");
        let mut facts = super::super::sample_report(
            "1",
            chrono::DateTime::UNIX_EPOCH,
            &super::super::ReportProducer::default(),
        )
        .alert;
        facts.outcome = Some(nightshift_alert::Outcome::NotAttempted);
        facts.class = FindingClass::Other;
        facts.state_at_feed = Some("suppressed".to_owned());
        facts.finding_id = Some("arn:aws:guardduty:eu-west-1:1:detector/d/finding/f".to_owned());
        facts.details = vec![
            detail(DetailKind::RemotePort, "4444", far),
            detail(DetailKind::Country, "NL", far),
            detail(DetailKind::Asn, "AS64500", far),
            detail(DetailKind::Organisation, "Example", far),
            detail(DetailKind::SecurityGroup, "sg-0aaa", None),
            detail(DetailKind::ThreatList, "own-bad", far),
            detail(DetailKind::Claim, "maintenance window", None),
        ];
        let told = |language| {
            let lines = facts.detail_lines(language);
            let lines = lines
                .iter()
                .map(|line| format!("{}: {}", line.label, line.text));
            lines.collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(told(Language::En), @"
        Outcome: not attempted
        Class: other
        At its feed: suppressed
        About: 203.0.113.77 — AS64500 Example, NL; remote port: 4444; threat list: own-bad
        Security group: sg-0aaa
        The alert says (a register could confirm it): maintenance window
        Finding: arn:aws:guardduty:eu-west-1:1:detector/d/finding/f
        ");
        insta::assert_snapshot!(told(Language::Ja), @"
        結果: not attempted
        分類: other
        フィード側の状態: suppressed
        対象: 203.0.113.77 — AS64500 Example, NL; リモートポート: 4444; 脅威リスト: own-bad
        セキュリティグループ: sg-0aaa
        アラートの主張（台帳で確認可能）: maintenance window
        検出 ID: arn:aws:guardduty:eu-west-1:1:detector/d/finding/f
        ");
    }

    #[test]
    fn a_long_list_says_how_many_are_left() {
        let values = ["a"; 9];
        assert_eq!(
            join_values(&values, Language::En),
            "a, a, a, a, a, a and 3 more"
        );
    }
}
