//! What an entry of a register or list stands for: an address or network, a domain, a name, or a name with `*`.
//!
//! Matching is whole-value. In lists a domain also means what is below it; in registers, which may clear an alert, it
//! means only itself unless it is written `*.example.com`.

use std::net::IpAddr;

use globset::{GlobBuilder, GlobMatcher};
use ipnet::IpNet;
use nightshift_alert::IndicatorKind;

use crate::arguments::Subject;

/// Widest networks that a register may name: a row about half the internet is a slip of the pen.
const WIDEST_V4: u8 = 8;
const WIDEST_V6: u8 = 16;

/// One entry of a register.
#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    Net(IpNet),
    /// Below this domain, without the domain itself.
    Below(String),
    Wild(Box<GlobMatcher>),
    Exact(String),
}

impl Pattern {
    /// Reads an entry of a register.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words for the person who keeps the register.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("is empty".to_owned());
        }
        if let Some(net) = network(text) {
            let widest = if net.addr().is_ipv4() {
                WIDEST_V4
            } else {
                WIDEST_V6
            };
            if net.prefix_len() < widest {
                return Err(format!("{text} is wider than /{widest}: name the networks"));
            }
            return Ok(Self::Net(net));
        }
        if let Some(domain) = text.strip_prefix("*.")
            && !domain.contains('*')
        {
            return Ok(Self::Below(domain.to_ascii_lowercase()));
        }
        if text.contains('*') {
            return wild(text).map(|matcher| Self::Wild(Box::new(matcher)));
        }
        Ok(Self::Exact(text.to_ascii_lowercase()))
    }

    /// Whether the entry stands for this value.
    pub(crate) fn matches(&self, subject: &Subject) -> bool {
        match self {
            Self::Net(net) => subject.ip.is_some_and(|ip| net.contains(&ip)),
            Self::Below(domain) => {
                subject.kind == IndicatorKind::Domain && below(&subject.value, domain)
            }
            Self::Wild(matcher) => matcher.is_match(&subject.value),
            Self::Exact(text) => subject.ip.is_none() && subject.name == *text,
        }
    }
}

/// An address as a network of one, or a network; host bits are dropped.
pub(crate) fn network(text: &str) -> Option<IpNet> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(IpNet::from(ip.to_canonical()));
    }
    text.parse::<IpNet>().ok().map(|net| net.trunc())
}

/// Whether `name` lies below `domain`, label by label: `evilminexmr.com` is not below `minexmr.com`.
pub(crate) fn below(name: &str, domain: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name.strip_suffix(domain)
        .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

/// A name with `*` for any run of characters but `/`; nothing else is special.
fn wild(text: &str) -> Result<GlobMatcher, String> {
    if text.chars().filter(|c| c.is_alphanumeric()).count() < 3 {
        return Err(format!(
            "{text} stands for nearly everything: name what is meant"
        ));
    }
    let escaped: Vec<String> = text.split('*').map(globset::escape).collect();
    GlobBuilder::new(&escaped.join("*"))
        .case_insensitive(true)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| format!("{text} is no pattern: {error}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn subject(kind: IndicatorKind, value: &str) -> Subject {
        Subject::new(kind, value)
    }

    fn hits(pattern: &str, kind: IndicatorKind, value: &str) -> bool {
        Pattern::parse(pattern)
            .unwrap()
            .matches(&subject(kind, value))
    }

    #[test]
    fn entries_mean_networks_names_and_what_is_below_them() {
        use IndicatorKind::{Domain, Ip, Principal};
        assert!(hits("10.0.0.7/8", Ip, "10.255.0.1"));
        assert!(hits("2001:DB8::1", Ip, "2001:db8::1"));
        assert!(hits("::ffff:192.0.2.1", Ip, "192.0.2.1"));
        assert!(!hits("192.0.2.0/24", Ip, "192.0.3.0"));
        assert!(hits("Scan.Example.com", Domain, "scan.example.com"));
        assert!(!hits("example.com", Domain, "scan.example.com"));
        assert!(hits("*.example.com", Domain, "a.b.example.com"));
        assert!(!hits("*.example.com", Domain, "example.com"));
        assert!(!hits("*.example.com", Domain, "notexample.com"));
        let role = "arn:aws:sts::444455556666:assumed-role/ci-deploy/*";
        assert!(hits(
            role,
            Principal,
            "arn:aws:sts::444455556666:assumed-role/ci-deploy/run-1"
        ));
        assert!(!hits(
            role,
            Principal,
            "arn:aws:sts::444455556666:assumed-role/ci-deploy/a/b"
        ));
        assert!(!hits(
            role,
            Principal,
            "arn:aws:sts::444455556666:assumed-role/admin/run-1"
        ));
        assert!(hits("[abc]{y}?*", Principal, "[abc]{y}?z"));
        assert!(!hits("[abc]{y}?*", Principal, "ayxz"));
    }

    #[test]
    fn entries_that_stand_for_everything_are_refused() {
        for text in ["", "*", "**", "*@*", "0.0.0.0/0", "::/0", "10.0.0.0/4"] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_domains_have_dots_that_do_not_count_and_only_ascii_has_case() {
        use IndicatorKind::{Bucket, Domain, Email, Principal};
        assert!(hits("scan.example.com", Domain, "scan.example.com."));
        assert!(hits("CI-Inventory", Principal, "ci-inventory"));
        for kind in [Principal, Bucket, Email] {
            for other in [
                "ci-\u{212a}inventory",
                "ci-kinventory.",
                "c\u{130}-kinventory",
            ] {
                assert!(!hits("ci-kinventory", kind, other), "{other}");
            }
            assert!(!hits("ci-k*", kind, "ci-\u{212a}inventory"));
        }
    }

    proptest! {
        #[test]
        fn a_network_matches_exactly_its_addresses(ip: u32, other: u32, prefix in 8_u8..=32) {
            let (ip, other) = (std::net::Ipv4Addr::from(ip), std::net::Ipv4Addr::from(other));
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            let same = u32::from(ip) & mask == u32::from(other) & mask;
            let pattern = format!("{ip}/{prefix}");
            prop_assert_eq!(hits(&pattern, IndicatorKind::Ip, &other.to_string()), same);
            prop_assert!(hits(&pattern, IndicatorKind::Ip, &ip.to_string()));
        }

        #[test]
        fn below_means_whole_labels(name in "[a-z]{1,6}(\\.[a-z]{1,6}){0,3}", domain in "[a-z]{1,4}\\.[a-z]{2,3}") {
            let below_it = format!("{name}.{domain}");
            let beside_it = format!("{name}{domain}");
            prop_assert!(below(&below_it, &domain));
            let dotted = format!(".{domain}");
            prop_assert_eq!(below(&beside_it, &domain), beside_it.ends_with(&dotted));
            prop_assert!(!below(&domain, &domain));
        }

        #[test]
        fn any_text_is_a_pattern_or_an_error(text in ".{0,40}", value in ".{0,40}") {
            if let Ok(pattern) = Pattern::parse(&text) {
                pattern.matches(&subject(IndicatorKind::Principal, &value));
            }
        }
    }
}
