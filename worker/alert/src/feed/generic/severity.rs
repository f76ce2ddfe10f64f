//! Reads the severities of a `[[feed]]`: its own words first, then the scale that it names or its product's.

use std::collections::BTreeMap;

use crate::Severity;
use crate::severity::scales::{self, SeverityScale};

/// `severity` of a `[[feed]]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeverityRule {
    /// JSON pointer to the severity, where `fields` has none.
    pub pointer: Option<String>,
    /// The scale of words and numbers; by default the product's.
    pub scale: Option<&'static SeverityScale>,
    /// Severities by the words or numbers that are sent, ignoring case.
    pub map: BTreeMap<String, Severity>,
}

impl SeverityRule {
    /// Returns the named scale, else that of the first known product.
    pub(super) fn scale_of(&self, products: &[&str]) -> Option<&'static SeverityScale> {
        let known = || {
            products
                .iter()
                .find_map(|name| SeverityScale::for_product(name))
        };
        self.scale.or_else(known)
    }

    /// Returns the severity, and whether the value is unknown. An unknown word counts as medium, and a number without
    /// a scale is read on the default one.
    pub(super) fn severity_of(
        &self,
        sent: &str,
        scale: Option<&SeverityScale>,
    ) -> (Severity, bool) {
        let sent = sent.trim();
        if sent.is_empty() {
            return (Severity::Medium, false);
        }
        let own = || {
            let mut own = self.map.iter();
            own.find(|(word, _)| word.trim().eq_ignore_ascii_case(sent))
        };
        let mapped = self
            .map
            .get(sent)
            .or_else(|| own().map(|(_, mapped)| mapped));
        let known = mapped.copied().or_else(|| match scale {
            Some(scale) => scale.severity(sent),
            None => scales::severity_from_product("", sent),
        });
        if let Some(known) = known {
            return (known, false);
        }
        let assumed = scales::DEFAULT.severity(sent).filter(|_| scale.is_none());
        (assumed.unwrap_or(Severity::Medium), true)
    }

    /// Returns the fault of the rule, if any; `is_field` says whether `fields` has a pointer to the severity.
    pub(super) fn configuration_fault(&self, is_field: bool) -> Option<String> {
        let has_rule = self.scale.is_some() || !self.map.is_empty();
        match (is_field, self.pointer.is_some()) {
            (true, true) => Some(
                "severity has two pointers: keep fields.severity or severity.pointer".to_owned(),
            ),
            (false, false) if has_rule => Some(
                "severity has no pointer: name it in severity.pointer or fields.severity"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_feed_come_before_its_scale() {
        let rule = SeverityRule {
            map: [
                ("Urgent".to_owned(), Severity::Critical),
                ("1".to_owned(), Severity::Low),
            ]
            .into(),
            ..SeverityRule::default()
        };
        let scale = SeverityScale::parse("p1-p5");
        assert_eq!(
            rule.severity_of("urgent ", scale),
            (Severity::Critical, false)
        );
        assert_eq!(rule.severity_of("1", scale), (Severity::Low, false));
        assert_eq!(rule.severity_of("2", scale), (Severity::High, false));
        assert_eq!(
            rule.severity_of("whenever", scale),
            (Severity::Medium, true)
        );
        assert_eq!(rule.severity_of("", scale), (Severity::Medium, false));
    }

    #[test]
    fn numbers_without_a_scale_share_the_default_one() {
        let rule = SeverityRule::default();
        for (sent, severity) in [
            ("0", Severity::Informational),
            ("10", Severity::Low),
            ("11", Severity::Low),
            ("85", Severity::High),
            ("95", Severity::Critical),
            ("101", Severity::Medium),
        ] {
            assert_eq!(rule.severity_of(sent, None), (severity, true), "{sent}");
        }
        // A known scale has precedence over the default one.
        assert_eq!(
            rule.severity_of("85", SeverityScale::parse("0-10")),
            (Severity::Medium, true)
        );
    }
}
