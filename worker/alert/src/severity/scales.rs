//! Maps the severity words and numbers of products to the five levels.
//!
//! A number has no meaning without its scale: 10 is the worst of 0–10 and among the lowest of 0–100. So a scale
//! belongs to a product or is named in the configuration. A value is never used to guess its scale.

mod table;

use super::Severity;

pub(crate) use table::DEFAULT;
pub use table::SCALES;
use table::{PRODUCTS, WORDS, WORDS_ONLY};

/// The severity scale of one product or convention.
#[derive(Debug, PartialEq)]
pub struct SeverityScale {
    /// Name in `[[feed]]`.
    pub name: &'static str,
    /// Description for the documentation.
    pub about: &'static str,
    /// Lowest number of each severity, ascending.
    thresholds: &'static [(f64, Severity)],
    /// Highest number of the scale.
    max: f64,
    /// Words that are missing in [`WORDS`] or mean something else here.
    words: &'static [(&'static str, Severity)],
}

impl SeverityScale {
    /// Returns the scale with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<&'static Self> {
        SCALES.iter().copied().find(|scale| scale.name == name)
    }

    /// Returns the scale of a product, by the words of its name.
    #[must_use]
    pub fn for_product(product: &str) -> Option<&'static Self> {
        let lower = product.to_lowercase();
        let words: Vec<&str> = lower
            .split(|character: char| !character.is_alphanumeric())
            .collect();
        PRODUCTS
            .iter()
            .find(|(name, _)| name.iter().all(|word| words.contains(word)))
            .map(|(_, scale)| *scale)
    }

    /// Returns the severity of a word or number on this scale.
    #[must_use]
    pub fn severity(&self, sent: &str) -> Option<Severity> {
        match sent.trim().parse::<f64>() {
            Ok(number) => self.number(number),
            Err(_) => severity_from_word(sent, self.words),
        }
    }

    fn number(&self, number: f64) -> Option<Severity> {
        let mut reached = self.thresholds.iter().rev();
        reached
            .find(|(from, _)| number >= *from && number <= self.max)
            .map(|(_, severity)| *severity)
    }
}

/// Returns the severity of a product's value: a known word, or a number on the product's scale.
///
/// A number without a known scale has no severity, and neither has a number outside the scale.
#[must_use]
pub fn severity_from_product(product: &str, sent: &str) -> Option<Severity> {
    SeverityScale::for_product(product)
        .unwrap_or(&WORDS_ONLY)
        .severity(sent)
}

/// Returns the severity of a built-in feed's value, and whether it is assumed. A number on an unknown scale is read
/// on the default one, but counts as medium at least, as does an unknown word.
pub(crate) fn severity_or_default(product: &str, sent: &str) -> (Severity, bool) {
    if let Some(known) = severity_from_product(product, sent) {
        return (known, false);
    }
    let by_default = match SeverityScale::for_product(product) {
        Some(_) => None,
        None => DEFAULT.severity(sent),
    };
    let assumed = by_default.unwrap_or_default().max(Severity::Medium);
    (assumed, !sent.trim().is_empty())
}

/// Finds a word of a scale or a common word, also after its rank (`1 - Critical`) or after `SEVERITY_`.
fn severity_from_word(sent: &str, own: &[(&str, Severity)]) -> Option<Severity> {
    let word: String = sent
        .chars()
        .take(64)
        .filter(|character| character.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    let find = |word: &str| {
        let mut known = own.iter().chain(WORDS);
        known
            .find(|(name, _)| *name == word)
            .map(|(_, found)| *found)
    };
    let bare = word.trim_start_matches(|character: char| character.is_ascii_digit());
    find(&word)
        .or_else(|| find(bare))
        .or_else(|| find(bare.strip_prefix("severity")?))
        .or_else(|| find(&format!("sev{}", bare.strip_prefix("severity")?)))
        .or_else(|| find(&format!("p{}", bare.strip_prefix("priority")?)))
}

#[cfg(test)]
mod tests {
    use super::super::Severity::{Critical, High, Informational, Low, Medium};
    use super::*;

    #[test]
    fn numbers_are_read_on_the_scale_of_their_product() {
        for (product, sent, severity) in [
            ("falcon", "10", Informational),
            ("CrowdStrike Falcon", "30", Low),
            ("falcon", "70", High),
            ("falcon", "80", Critical),
            ("Wazuh", "3", Informational),
            ("wazuh", "7", Medium),
            ("wazuh", "12", High),
            ("wazuh", "15", Critical),
            ("suricata", "1", High),
            ("suricata", "3", Low),
            ("GuardDuty", "8.5", High),
            ("securityhub", "20", Low),
            ("snort3", "1", High),
            ("CarbonBlack", "9", Critical),
            ("elastic-siem", "47", Medium),
            ("elastic", "99", Critical),
            ("qualys", "5", Critical),
            ("Tenable.io", "4", Critical),
            ("opsgenie", "1", Critical),
            ("cisco-asa", "2", Critical),
        ] {
            assert_eq!(
                severity_from_product(product, sent),
                Some(severity),
                "{product} {sent}"
            );
        }
    }

    #[test]
    fn words_of_products_are_known() {
        for (product, sent, severity) in [
            ("falco", "Alert", Critical),
            ("falco", "Emergency", Critical),
            ("falco", "Error", High),
            ("falco", "Warning", Medium),
            ("falco", "Notice", Low),
            ("falco", "Debug", Informational),
            ("Microsoft Sentinel", "Informational", Informational),
            ("alertmanager", "page", Critical),
            ("alertmanager", "none", Informational),
            ("azure monitor", "Sev1", High),
            ("pager", "SEV-1", Critical),
            ("pager", "P3", Medium),
            ("servicenow", "1 - Critical", Critical),
            ("google", "SEVERITY_HIGH", High),
            ("google", "Severity 2", High),
            ("cortex xdr", "SEV_020_LOW", Low),
            ("zabbix", "Disaster", Critical),
            ("arcsight", "Very-High", Critical),
        ] {
            assert_eq!(
                severity_from_product(product, sent),
                Some(severity),
                "{product} {sent}"
            );
        }
    }

    #[test]
    fn numbers_without_or_beyond_a_scale_mean_nothing() {
        for (product, sent) in [
            ("acme", "10"),
            ("acme", "85"),
            ("wazuh", "85"),
            ("falcon", "-1"),
            ("falcon", "NaN"),
            ("suricata", "0"),
            ("defender", "3"),
            ("acme", "urgent-ish"),
            ("acme", ""),
            ("falcons nest", "10"),
        ] {
            assert_eq!(
                severity_from_product(product, sent),
                None,
                "{product} {sent}"
            );
        }
    }

    #[test]
    fn scales_ascend_and_have_names_of_their_own() {
        for scale in SCALES {
            assert!(
                scale.thresholds.is_sorted_by(|a, b| a.0 < b.0),
                "{}",
                scale.name
            );
            assert_eq!(SeverityScale::parse(scale.name), Some(*scale));
        }
    }
}
