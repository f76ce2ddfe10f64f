//! The first sentence of a report, made by code from the verdict and what is proven.

use super::confidence::is_trusted;
use crate::exoneration::uncovered;
use crate::{Conclusion, Exoneration, Finding, Leaning, Stance, State, Verdict};

/// One or two sentences; `held_up` says why an alert that records clear is not cleared.
pub(super) fn of(conclusion: &Conclusion, state: &State, held_up: Option<&str>) -> String {
    // What speaks for malice may stand on what anybody wrote; what speaks against it opens no report on that alone.
    let counts = |finding: &Finding| {
        finding.stance == Stance::For
            || finding
                .evidence
                .iter()
                .any(|quote| is_trusted(state, quote))
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
    use super::*;

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
