//! Checks claims: each must be supported by the evidence that it cites.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;

use nightshift_alert::IndicatorKind;
use nightshift_alert::indicator::{embedded_addresses, extract};
use serde_json::Value;

use crate::evidence::EvidenceId;
use crate::finding::{Finding, FindingDraft, Quote};
use crate::quote::resolve_quote;
use crate::state::CaseState;

/// Texts of the evidence that findings cite, read once for all of them.
pub(super) struct CitedEvidence(BTreeMap<EvidenceId, EvidenceText>);

/// Maximum number of values that are searched for as text in one piece of evidence. Beyond it, only typed values are
/// found. An answer of a model has room for thousands.
const MAX_SOUGHT: usize = 100;

/// Texts and typed values of one piece of evidence.
pub(super) struct EvidenceText {
    body: Value,
    /// The texts in lower case, built when first searched.
    lowered: OnceCell<String>,
    /// Typed values of the texts, collected when a value is first not found as text.
    values: OnceCell<BTreeSet<(IndicatorKind, String)>>,
    /// Values that were searched for, and whether they were found.
    lookups: RefCell<BTreeMap<(IndicatorKind, String), bool>>,
}

impl From<Value> for EvidenceText {
    fn from(body: Value) -> Self {
        Self {
            body,
            lowered: OnceCell::new(),
            values: OnceCell::new(),
            lookups: RefCell::default(),
        }
    }
}

impl EvidenceText {
    /// Returns whether the evidence holds a typed value, in any case and any spelling. A claim may name
    /// `http://a.example/x` where the evidence has `hxxp://a[.]example:80/x`.
    pub(super) fn mentions(&self, kind: IndicatorKind, value: &str) -> bool {
        let wanted = (kind, value.to_owned());
        let mut sought = self.lookups.borrow_mut();
        if let Some(is_there) = sought.get(&wanted) {
            return *is_there;
        }
        if sought.len() >= MAX_SOUGHT {
            return self.values().contains(&wanted);
        }
        let is_there = self.contains_text(value) || self.values().contains(&wanted);
        sought.insert(wanted, is_there);
        is_there
    }

    /// Returns whether the evidence holds the text of the value, ignoring case.
    pub(super) fn contains_text(&self, value: &str) -> bool {
        let lowered = self.lowered.get_or_init(|| {
            let mut texts = String::new();
            collect_lowercase(&self.body, &mut texts);
            texts
        });
        contains_whole_value(lowered, &value.to_lowercase())
    }

    fn values(&self) -> &BTreeSet<(IndicatorKind, String)> {
        self.values.get_or_init(|| {
            let mut values = BTreeSet::new();
            collect_values(&self.body, &mut values);
            values
        })
    }
}

/// Appends keys, texts and numbers in lower case, one per line.
fn collect_lowercase(body: &Value, texts: &mut String) {
    match body {
        Value::String(text) => add_line(text, texts),
        Value::Number(number) => add_line(&number.to_string(), texts),
        Value::Array(list) => list
            .iter()
            .for_each(|inner| collect_lowercase(inner, texts)),
        Value::Object(map) => {
            for (key, inner) in map {
                add_line(key, texts);
                collect_lowercase(inner, texts);
            }
        }
        Value::Bool(_) | Value::Null => {}
    }
}

fn add_line(text: &str, texts: &mut String) {
    texts.push_str(&text.to_lowercase());
    texts.push('\n');
}

fn collect_values(body: &Value, values: &mut BTreeSet<(IndicatorKind, String)>) {
    match body {
        Value::String(text) => values.extend(extract(text)),
        Value::Array(list) => list.iter().for_each(|inner| collect_values(inner, values)),
        Value::Object(map) => map.values().for_each(|inner| collect_values(inner, values)),
        Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

impl CitedEvidence {
    /// Reads the evidence that these findings cite.
    pub(super) fn from_findings(findings: &[FindingDraft], state: &CaseState) -> Self {
        let cited: BTreeSet<EvidenceId> = findings
            .iter()
            .flat_map(|draft| &draft.quotes)
            .map(|quote| quote.evidence)
            .collect();
        let bodies = cited
            .into_iter()
            .filter_map(|id| state.evidence_of(id))
            // The evidence of a failed call holds nothing, not even `null`.
            .filter(|evidence| evidence.error.is_none())
            .map(|evidence| (evidence.id, evidence.body.value().into()))
            .collect();
        Self(bodies)
    }
}

/// Checks one finding. A finding that fails is kept, but supports no verdict.
pub(super) fn check_finding(draft: &FindingDraft, cited: &CitedEvidence) -> Finding {
    let body = |id| cited.0.get(&id);
    let evidence: Vec<Quote> = draft
        .quotes
        .iter()
        .map(|quote| Quote {
            id: quote.evidence,
            quote: quote.quote.clone(),
            path: body(quote.evidence).and_then(|said| resolve_quote(&said.body, &quote.quote)),
        })
        .collect();
    let ids: BTreeSet<EvidenceId> = evidence.iter().map(|quote| quote.id).collect();
    let bodies: Vec<&EvidenceText> = ids.into_iter().filter_map(body).collect();
    let problem = finding_problem(draft, &evidence, &bodies);
    Finding {
        claim: draft.claim.clone(),
        supported: problem.is_none(),
        problem,
        evidence,
        stance: draft.stance,
    }
}

fn finding_problem(
    draft: &FindingDraft,
    quotes: &[Quote],
    bodies: &[&EvidenceText],
) -> Option<String> {
    if quotes.is_empty() {
        return Some("it cites no evidence".to_owned());
    }
    if let Some(quote) = quotes.iter().find(|quote| quote.path.is_none()) {
        return Some(format!("{} does not say {:?}", quote.id, quote.quote));
    }
    let says = |kind, value: &str| bodies.iter().any(|said| said.mentions(kind, value));
    let spells = |word: &str| bodies.iter().any(|said| said.contains_text(word));
    unsupported_value(&draft.claim, &says, &spells)
        .map(|(kind, value)| format!("the {kind} {value} does not stand in what it cites"))
}

/// Returns the first value in a sentence that no evidence holds. An address joined to a word is ignored where the
/// evidence holds that word.
pub(super) fn unsupported_value(
    sentence: &str,
    says: &dyn Fn(IndicatorKind, &str) -> bool,
    spells: &dyn Fn(&str) -> bool,
) -> Option<(IndicatorKind, String)> {
    let plain = extract(sentence);
    let unsaid = plain.into_iter().find(|(kind, value)| !says(*kind, value));
    unsaid.or_else(|| {
        let ip = IndicatorKind::Ip;
        let mut all = embedded_addresses(sentence).into_iter();
        let unsaid = all.find(|(value, word)| !says(ip, value) && !spells(word));
        unsaid.map(|(value, _)| (ip, value))
    })
}

/// Returns whether a text holds a value as a whole, both in lower case. `3.0.113.4` is not in `203.0.113.42`, nor
/// `evil.com` in `notevil.com` and `evil.com.example.net`.
fn contains_whole_value(text: &str, value: &str) -> bool {
    text.match_indices(value).any(|(at, found)| {
        let before = text.get(..at).unwrap_or_default().chars().rev();
        let after = text.get(at + found.len()..).unwrap_or_default().chars();
        !continues_name(before, value) && !continues_name(after, value)
    })
}

/// Returns whether the characters beside a value belong to the same name. A dot, or a colon of an address, belongs to
/// it when more follows.
fn continues_name(mut beside: impl Iterator<Item = char>, value: &str) -> bool {
    match beside.next() {
        Some('.') => beside.next().is_some_and(char::is_alphanumeric),
        Some(':') => {
            value.parse::<Ipv6Addr>().is_ok()
                && beside.next().is_some_and(|c| c.is_ascii_hexdigit())
        }
        Some(next) => next.is_alphanumeric() || matches!(next, '-' | '_'),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::evidence::Evidence;
    use crate::finding::{FindingStance, QuoteDraft};
    use crate::fixture;
    use crate::tool::ToolError;

    #[test]
    fn a19_of_a_call_that_failed_nothing_can_be_quoted() {
        let mut state = fixture::opened_state();
        let mut failed = Evidence::clone(state.evidence_of(EvidenceId::ALERT).unwrap());
        failed.id = EvidenceId(2);
        failed.body = Value::Null.into();
        failed.error = Some(ToolError::Unavailable {
            what: "the register".to_owned(),
        });
        state.evidence.insert(failed.id, Arc::new(failed));
        let draft = FindingDraft {
            claim: "Nobody allowed it.".to_owned(),
            quotes: vec![QuoteDraft {
                evidence: EvidenceId(2),
                quote: "null".to_owned(),
            }],
            stance: FindingStance::For,
        };
        let cited = CitedEvidence::from_findings(std::slice::from_ref(&draft), &state);
        let finding = check_finding(&draft, &cited);
        assert!(!finding.supported, "{finding:?}");
        assert_eq!(finding.evidence[0].path, None);
    }

    #[test]
    fn a_claim_that_is_copied_from_its_evidence_is_borne_by_it() {
        let check_copy = |text: &str, claim: &str| {
            let mut state = fixture::opened_state();
            let mut evidence = Evidence::clone(state.evidence_of(EvidenceId::ALERT).unwrap());
            evidence.id = EvidenceId(2);
            evidence.body = serde_json::json!({"rows": [{"event": text}]}).into();
            state.evidence.insert(evidence.id, Arc::new(evidence));
            let draft = FindingDraft {
                claim: claim.to_owned(),
                quotes: vec![QuoteDraft {
                    evidence: EvidenceId(2),
                    quote: text.to_owned(),
                }],
                stance: FindingStance::For,
            };
            check_finding(
                &draft,
                &CitedEvidence::from_findings(std::slice::from_ref(&draft), &state),
            )
            .problem
        };
        for text in [
            "GET http://203.0.113.66/stage2.sh",
            "GET http://203.0.113.66:80/stage2.sh",
            "GET http://cdn.evil-updates.com?x=1",
            "GET http://CDN.evil-updates.com/a/../b",
            "dropped packet from 2001:db8:0:0:0:0:0:66",
            "see hxxp://cdn[.]evil-updates[.]com/a",
        ] {
            let claim = format!("The app log holds {text}");
            assert_eq!(check_copy(text, &claim), None, "{text}");
        }
        // A version is not an address where the evidence writes it so.
        let version = "nginx-1.24.0.1 started";
        assert_eq!(check_copy(version, "It runs nginx-1.24.0.1"), None);
        for claim in [
            "It came from a 203.0.113.9-based host",
            "It came from _203.0.113.9_",
            "It came from \u{ff12}\u{ff10}\u{ff13}.0.113.9",
            "It came from host203.0.113.9",
            "It came from host.203.0.113.9",
            "It came from 203.0.113.9.lan",
        ] {
            let problem = check_copy(version, claim).unwrap();
            assert!(problem.contains("203.0.113.9 does not stand"), "{problem}");
            assert_eq!(check_copy("from 203.0.113.9.", claim), None, "{claim}");
        }
        let other = check_copy(
            "see hxxp://cdn[.]evil-updates[.]com/a",
            "It asked evil-updates.com",
        );
        insta::assert_snapshot!(other.unwrap(), @"the domain evil-updates.com does not stand in what it cites");
    }

    #[test]
    fn a19_a_part_of_a_value_is_no_value() {
        let says = |text: &str, value: &str| {
            EvidenceText::from(serde_json::json!({"seen": [text], "by": "x"})).contains_text(value)
        };
        for (text, value) in [
            ("203.0.113.42", "203.0.113.42"),
            ("from 203.0.113.42.", "203.0.113.42"),
            ("203.0.113.42:443", "203.0.113.42"),
            ("mail of a@Evil.com, sent", "evil.com"),
            ("https://evil.com/x", "evil.com"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("arn:aws:iam::1:user/bob", "arn:aws:iam::1:user/bob"),
        ] {
            assert!(says(text, value), "{value} stands in {text}");
        }
        for (text, value) in [
            ("203.0.113.42", "03.0.113.4"),
            ("11.2.3.45", "1.2.3.4"),
            ("1.2.3.4.5", "1.2.3.4"),
            ("notevil.com", "evil.com"),
            ("not-evil.com", "evil.com"),
            ("evil.com.example.net", "evil.com"),
            ("www.evil.com", "evil.com"),
            ("2001:db8::12", "2001:db8::1"),
            ("2001:db8::1:5", "2001:db8::1"),
            ("arn:aws:iam::1:user/bobby", "arn:aws:iam::1:user/bob"),
        ] {
            assert!(!says(text, value), "{value} does not stand in {text}");
        }
        assert!(EvidenceText::from(serde_json::json!({"1.2.3.4": 1})).contains_text("1.2.3.4"));
        assert!(!EvidenceText::from(serde_json::json!({"1.2.3.40": 1})).contains_text("1.2.3.4"));
        assert!(
            EvidenceText::from(serde_json::json!([444_455_556_666_u64]))
                .contains_text("444455556666")
        );
    }

    #[test]
    fn a18_evidence_is_searched_a_bounded_number_of_times() {
        let many: Vec<String> = (0..1_000)
            .map(|n| format!("10.1.{}.{}", n / 250, n % 250))
            .collect();
        let said = EvidenceText::from(
            serde_json::json!({"seen": "from 192.0.2.1 and hxxp://192.0.2[.]9/a"}),
        );
        let is_there = |value: &str| said.mentions(IndicatorKind::Ip, value);
        for value in many.iter().chain(&many) {
            assert!(!is_there(value), "{value}");
        }
        assert_eq!(said.lookups.borrow().len(), MAX_SOUGHT);
        assert!(is_there("192.0.2.1"), "what is typed is found all the same");
        assert_eq!(said.lookups.borrow().len(), MAX_SOUGHT);
    }
}
