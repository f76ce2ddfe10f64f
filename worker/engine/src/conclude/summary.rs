//! The first sentence of a report, made by code from the verdict and what is proven.

use super::confidence::is_trusted;
use crate::exoneration::uncovered;
use crate::quote::is_whole;
use crate::{Conclusion, Exoneration, Finding, Leaning, Quote, Stance, State, Verdict};

/// One or two sentences; `held_up` says why an alert that records clear is not cleared.
pub(super) fn of(conclusion: &Conclusion, state: &State, held_up: Option<&str>) -> String {
    // What speaks for malice may stand on what anybody wrote, and on a part of it; what speaks against it opens no report on
    // that alone.
    let counts = |finding: &Finding| {
        finding.stance == Stance::For
            || finding
                .evidence
                .iter()
                .any(|quote| is_trusted(state, quote) && stands_whole(state, quote))
    };
    let proven = |stance| {
        conclusion
            .findings
            .iter()
            .filter(move |finding| finding.supported && finding.stance == stance && counts(finding))
            .map(|finding| sentence(&finding.claim))
    };
    // A record of one of two addresses is among what was found, and clears nothing.
    let clears_alone = |fact: &Exoneration| {
        let left = state
            .alert()
            .and_then(|alert| uncovered(fact, &conclusion.exonerations, alert));
        left.is_some_and(|left| left.is_empty())
    };
    match conclusion.verdict {
        Verdict::TruePositive => proven(Stance::For).take(2).collect::<Vec<_>>().join(" "),
        Verdict::BenignTruePositive | Verdict::FalsePositive => conclusion
            .exonerations
            .iter()
            .find(|fact| clears_alone(fact))
            .map(|fact| sentence(&fact.statement))
            .or_else(|| proven(Stance::Against).next())
            .unwrap_or_default(),
        Verdict::Inconclusive => {
            let stance = if conclusion.leaning == Leaning::Benign {
                Stance::Against
            } else {
                Stance::For
            };
            let known = proven(stance)
                .next()
                .unwrap_or_else(|| "Nothing that was read decides it.".to_owned());
            let rule = conclusion.overridden.first();
            let why = rule.map(|rule| rule.why.as_str()).or(held_up);
            match (&conclusion.failed, why) {
                (Some(why), _) => format!("Not triaged: {}", sentence(why)),
                (None, Some(why)) => format!("Not decided: {} {known}", ended(why)),
                (None, None) => format!("Not decided. {known}"),
            }
        }
    }
}

/// Whether it is all that its place says: `approved for a scan` may be taken out of `not approved for a scan`.
fn stands_whole(state: &State, quote: &Quote) -> bool {
    state
        .evidence_of(quote.id)
        .is_some_and(|evidence| is_whole(&evidence.body.value(), &quote.quote))
}

/// With a full stop.
fn ended(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?', '…', '。', '．', '！', '？']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// With a capital and a full stop. A value at the front (`pool.example.com`, `i-0a1b`) keeps its letters.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let first_word = text.split_whitespace().next().unwrap_or_default();
    let is_word = first_word
        .trim_end_matches([',', ':', ';'])
        .chars()
        .all(char::is_alphabetic);
    let mut chars = text.chars();
    let capital: String = match chars.next() {
        Some(first) if is_word => first.to_uppercase().chain(chars).collect(),
        _ => text.to_owned(),
    };
    ended(&capital)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::conclude::{conclusion, plain};
    use crate::{
        ConclusionDraft, Evidence, EvidenceId, FindingDraft, Opened, QuoteDraft, Trust,
        TrustedPath, fixture,
    };

    #[test]
    fn a19_what_is_taken_out_of_a_text_opens_no_report_against_malice() {
        let mut state = fixture::opened_state();
        let mut opened = Opened::clone(state.opened.as_ref().unwrap());
        let mut tools = fixture::tools();
        tools[1].trust.push(TrustedPath {
            path: String::new(),
            trust: Trust::Register,
        });
        opened.tools = tools.into();
        state.opened = Some(Arc::new(opened));
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
                stance: Stance::Against,
            };
            state.draft = Some(ConclusionDraft {
                verdict: Verdict::Inconclusive,
                leaning: Leaning::Benign,
                findings: vec![finding],
                ..plain::draft(&state)
            });
            let end = conclusion(&state).unwrap();
            assert!(end.findings[0].supported, "{quote}");
            end.summary
        };
        let cut = "approved for port scanning by security";
        insta::assert_snapshot!(summary(cut), @"Not decided. Nothing that was read decides it.");
        insta::assert_snapshot!(summary(&format!("Not {cut}")), @"Not decided. A register speaks of port scans.");
        insta::assert_snapshot!(summary(&format!("purpose: Not {cut}")), @"Not decided. A register speaks of port scans.");
    }

    #[test]
    fn words_get_a_capital_and_values_do_not() {
        assert_eq!(sentence("no plan"), "No plan.");
        assert_eq!(
            sentence("pool.example.com is listed."),
            "pool.example.com is listed."
        );
        assert_eq!(sentence("i-0a1b talks"), "i-0a1b talks.");
        assert_eq!(sentence("これは攻撃である。"), "これは攻撃である。");
    }
}
