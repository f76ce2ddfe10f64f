//! Writes the summary of a report by code: what happened, and why the verdict follows from what is proven.

use super::confidence::is_trusted;
use crate::conclusion::{Conclusion, Leaning, Verdict};
use crate::evidence::EvidenceId;
use crate::finding::{Finding, FindingStance, Quote};
use crate::quote::is_whole;
use crate::state::CaseState;
use nightshift_alert::Alert;

/// The words with which the last sentence of an undecided case's summary begins.
pub const UNDECIDED: [&str; 2] = ["Not decided", "Not triaged: "];

/// Writes what happened, then what decides the case or what is missing. `held_up` says why an alert that records
/// clear is not cleared.
pub(super) fn write_summary(
    conclusion: &Conclusion,
    state: &CaseState,
    held_up: Option<&str>,
) -> String {
    let Some(alert) = state.alert() else {
        return String::new();
    };
    let why = supporting_claims(conclusion, state, alert);
    let happened = alert.what_happened();
    let named = named_values(&happened, alert);
    // Claims of an attack say themselves what happened; statements of a register do not.
    let is_told = conclusion.verdict == Verdict::TruePositive
        && !named.is_empty()
        && named.iter().all(|value| why.join(" ").contains(value));
    // The strongest claim of an attack comes first when its subject is that of the sentence.
    let begins = conclusion.verdict == Verdict::TruePositive
        && why
            .first()
            .is_some_and(|claim| named.iter().any(|value| claim.contains(value)));
    let happened = (!is_told).then_some(happened);
    let end = match conclusion.verdict {
        Verdict::Inconclusive => Some(undecided_sentence(conclusion, alert, held_up)),
        _ => None,
    };
    let said: Vec<String> = match begins {
        true => why.into_iter().chain(happened).collect(),
        false => happened.into_iter().chain(why).chain(end).collect(),
    };
    said.join(" ")
}

/// Returns the claims that support the verdict or the leaning, the strongest first.
fn supporting_claims(conclusion: &Conclusion, state: &CaseState, alert: &Alert) -> Vec<String> {
    // A claim of malice may rest on untrusted or partial text. A claim against malice opens no report on such text
    // alone. For an undecided case the alert's own sentence is already written.
    let is_decided = conclusion.verdict != Verdict::Inconclusive;
    let counts = |finding: &Finding| {
        let mut evidence = finding.evidence.iter();
        match finding.stance {
            FindingStance::For => is_decided || evidence.any(|quote| quote.id != EvidenceId::ALERT),
            _ => evidence.any(|quote| is_trusted(state, quote) && is_whole_quote(state, quote)),
        }
    };
    let proven = |stance| {
        conclusion
            .findings
            .iter()
            .filter(move |finding| finding.supported && finding.stance == stance && counts(finding))
            .map(|finding| sentence(&finding.claim, alert))
    };
    let record = || conclusion.exonerations.first();
    match (conclusion.verdict, conclusion.leaning) {
        (Verdict::TruePositive, _) => proven(FindingStance::For).take(2).collect(),
        (Verdict::BenignTruePositive | Verdict::FalsePositive, _) => record()
            .map(|fact| sentence(&fact.statement, alert))
            .or_else(|| proven(FindingStance::Against).next())
            .into_iter()
            .collect(),
        (Verdict::Inconclusive, Leaning::Benign) => {
            proven(FindingStance::Against).take(1).collect()
        }
        (Verdict::Inconclusive, _) => proven(FindingStance::For).take(1).collect(),
    }
}

/// Returns the values of the alert that the sentence names.
fn named_values<'a>(happened: &str, alert: &'a Alert) -> Vec<&'a str> {
    let values = alert.indicators.iter().map(|one| one.value.as_str());
    let values = values.chain(alert.subject());
    values.filter(|value| happened.contains(value)).collect()
}

/// Returns why the case is undecided: the rule or record in the way, else the first missing fact.
fn undecided_sentence(conclusion: &Conclusion, alert: &Alert, held_up: Option<&str>) -> String {
    let rule = conclusion.overridden.first();
    let why = rule.map(|rule| rule.why.as_str()).or(held_up);
    match (&conclusion.failed, why, conclusion.would_decide.first()) {
        (Some(why), ..) => format!("Not triaged: {}", sentence(why, alert)),
        (None, Some(why), _) => format!("Not decided: {}", with_full_stop(why)),
        (None, None, Some(missing)) => format!(
            "Not decided; missing: {}",
            with_full_stop(&lowercase_first(missing))
        ),
        (None, None, None) => "Not decided.".to_owned(),
    }
}

/// Lowercases the first letter of a plain word: `Logs of …` continues a sentence as `logs of …`.
fn lowercase_first(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    let mut chars = text.chars();
    match chars.next() {
        Some(head) if first.chars().skip(1).all(char::is_lowercase) => {
            head.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// Returns whether a quote is the whole text of its field: `approved for a scan` may be cut from `not approved for a
/// scan`.
fn is_whole_quote(state: &CaseState, quote: &Quote) -> bool {
    state
        .evidence_of(quote.id)
        .is_some_and(|evidence| is_whole(&evidence.body.value(), &quote.quote))
}

/// Adds a full stop.
fn with_full_stop(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?', '…', '。', '．', '！', '？']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// Capitalises a sentence and adds a full stop. A value at the start (`pool.example.com`, `i-0a1b`, a user `alice`)
/// keeps its case.
fn sentence(text: &str, alert: &Alert) -> String {
    let text = text.trim();
    let first_word = text.split_whitespace().next().unwrap_or_default();
    let is_word = first_word
        .trim_end_matches([',', ':', ';'])
        .chars()
        .all(char::is_alphabetic)
        && !alert.indicators.iter().any(|one| one.value == first_word);
    let mut chars = text.chars();
    let capital: String = match chars.next() {
        Some(first) if is_word => first.to_uppercase().chain(chars).collect(),
        _ => text.to_owned(),
    };
    with_full_stop(&capital)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole};

    use super::*;
    use crate::conclude::{draw_conclusion, fallback};
    use crate::conclusion::ConclusionDraft;
    use crate::event::CaseSetup;
    use crate::evidence::{Evidence, EvidenceId};
    use crate::finding::{FindingDraft, QuoteDraft};
    use crate::fixture;
    use crate::tool::{Trust, TrustedPath};

    #[test]
    fn a19_removed_text_opens_no_report_against_malice() {
        let mut state = fixture::opened_state();
        let mut opened = CaseSetup::clone(state.setup.as_ref().unwrap());
        let mut tools = fixture::tools();
        tools[1].trust.push(TrustedPath {
            path: String::new(),
            trust: Trust::Register,
        });
        opened.tools = tools.into();
        state.setup = Some(Arc::new(opened));
        let mut row = Evidence::clone(state.evidence_of(EvidenceId::ALERT).unwrap());
        row.id = EvidenceId(2);
        row.tool = "lookup".to_owned();
        row.body =
            serde_json::json!({"purpose": "Not approved for port scanning by security"}).into();
        state.evidence.insert(row.id, Arc::new(row));
        let mut summary = |quote: &str| {
            let finding = FindingDraft {
                claim: "a register speaks of port scans".to_owned(),
                quotes: vec![QuoteDraft {
                    evidence: EvidenceId(2),
                    quote: quote.to_owned(),
                }],
                stance: FindingStance::Against,
            };
            state.draft = Some(ConclusionDraft {
                verdict: Verdict::Inconclusive,
                leaning: Leaning::Benign,
                findings: vec![finding],
                ..fallback::fallback_draft(&state)
            });
            let end = draw_conclusion(&state).unwrap();
            assert!(end.findings[0].supported, "{quote}");
            end.summary
        };
        let cut = "approved for port scanning by security";
        insta::assert_snapshot!(summary(cut), @"198.51.100.7 connected to web-1, 3 times, reported as SSH password guessing. Not decided; missing: another run of this case, once the analyst answers.");
        insta::assert_snapshot!(summary(&format!("Not {cut}")), @"198.51.100.7 connected to web-1, 3 times, reported as SSH password guessing. A register speaks of port scans. Not decided; missing: another run of this case, once the analyst answers.");
        insta::assert_snapshot!(summary(&format!("purpose: Not {cut}")), @"198.51.100.7 connected to web-1, 3 times, reported as SSH password guessing. A register speaks of port scans. Not decided; missing: another run of this case, once the analyst answers.");
    }

    #[test]
    fn words_get_a_capital_and_values_do_not() {
        let mut alert = fixture::alert();
        let user = Indicator::new(IndicatorKind::Principal, "alice", IndicatorRole::Actor);
        alert.indicators.push(user);
        let sentence = |text: &str| sentence(text, &alert);
        assert_eq!(sentence("no plan"), "No plan.");
        assert_eq!(sentence("alice stopped it"), "alice stopped it.");
        assert_eq!(
            sentence("pool.example.com is listed."),
            "pool.example.com is listed."
        );
        assert_eq!(sentence("i-0a1b talks"), "i-0a1b talks.");
        assert_eq!(sentence("これは攻撃である。"), "これは攻撃である。");
    }
}
