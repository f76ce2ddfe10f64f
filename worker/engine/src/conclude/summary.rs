//! The first sentence of a report, made by code from the verdict and what is proven.

use crate::{Conclusion, Finding, Leaning, Stance, Verdict};

/// One or two sentences.
pub(super) fn of(conclusion: &Conclusion) -> String {
    let proven = |stance| {
        conclusion
            .findings
            .iter()
            .filter(move |finding: &&Finding| finding.supported && finding.stance == stance)
            .map(|finding| sentence(&finding.claim))
    };
    match conclusion.verdict {
        Verdict::TruePositive => proven(Stance::For).take(2).collect::<Vec<_>>().join(" "),
        Verdict::BenignTruePositive | Verdict::FalsePositive => conclusion
            .exonerations
            .first()
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
            match (&conclusion.failed, conclusion.overridden.first()) {
                (Some(why), _) => format!("Not triaged: {}", sentence(why)),
                (None, Some(rule)) => format!("{known} Not decided: {}", sentence(&rule.text)),
                (None, None) => format!("Not decided. {known}"),
            }
        }
    }
}

/// With a capital and a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut chars = text.chars();
    let capital: String = chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default();
    if capital.ends_with(['.', '!', '?']) {
        capital
    } else {
        capital + "."
    }
}
