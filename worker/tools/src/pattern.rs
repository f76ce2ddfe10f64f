//! Defines the pattern that an entry of a register matches: addresses, a domain with its subdomains, a name, or a name
//! with `*`.
//!
//! The whole value must match. In lists a domain also matches its subdomains. In registers, which can clear an alert, a
//! domain matches only itself unless written as `*.example.com`. This module does not check the kind of the row.

use std::net::IpAddr;

use globset::{GlobBuilder, GlobMatcher};
use ipnet::{IpNet, Ipv4Net, Ipv4Subnets, Ipv6Net, Ipv6Subnets};
use nightshift_alert::IndicatorKind;

use crate::arguments::Subject;
use crate::canonical_name::CanonicalName;

/// Widest networks that a register may name: a row about half the internet is a mistake.
const WIDEST_V4: u8 = 8;
const WIDEST_V6: u8 = 32;

/// Maximum number of networks that a range of addresses may be split into.
const MAX_NETWORKS: usize = 64;

/// One entry of a register.
#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    /// An address, a network, or a range of addresses.
    Addresses(Vec<IpNet>),
    /// Subdomains of this domain, without the domain itself.
    Subdomains(String),
    /// A name, with globs for its parts if it contains `*`.
    Name(Box<NamePattern>),
}

#[derive(Debug, Clone)]
pub(crate) struct NamePattern {
    pub(crate) name: CanonicalName,
    text: Option<GlobMatcher>,
    session: Option<GlobMatcher>,
}

impl Pattern {
    /// Parses an entry of a register.
    ///
    /// # Errors
    ///
    /// Returns the problem of the entry, for the person who keeps the register.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("is empty".to_owned());
        }
        if let Some(networks) = parse_networks(text)? {
            return Ok(Self::Addresses(networks));
        }
        if let Some(domain) = text.strip_prefix("*.")
            && !domain.contains('*')
        {
            let named = CanonicalName::from_entry(domain);
            return Ok(Self::Subdomains(named.text));
        }
        let named = CanonicalName::from_entry(text);
        let any_session = named.session.as_deref() == Some("*");
        let session = named.session.as_deref().filter(|_| !any_session);
        Ok(Self::Name(Box::new(NamePattern {
            text: compile_wildcard(&named.text)?,
            session: session.map(compile_glob).transpose()?,
            name: named,
        })))
    }

    /// Returns the canonical name, or `None` for addresses and domains.
    pub(crate) fn name(&self) -> Option<&CanonicalName> {
        match self {
            Self::Name(name) => Some(&name.name),
            Self::Addresses(_) | Self::Subdomains(_) => None,
        }
    }

    /// Returns the kind by the form of the entry, or `None` for a bare name.
    pub(crate) fn kind(&self) -> Option<IndicatorKind> {
        match self {
            Self::Addresses(_) => Some(IndicatorKind::Ip),
            Self::Subdomains(_) => Some(IndicatorKind::Domain),
            Self::Name(name) => name.name.kind,
        }
    }

    /// Returns whether the entry matches this value of any kind.
    pub(crate) fn matches(&self, subject: &Subject) -> bool {
        match self {
            Self::Addresses(networks) => subject
                .ip
                .is_some_and(|ip| networks.iter().any(|net| net.contains(&ip))),
            Self::Subdomains(domain) => {
                subject.kind == IndicatorKind::Domain && is_subdomain(&subject.value, domain)
            }
            Self::Name(name) => subject.ip.is_none() && name.matches(&subject.name),
        }
    }
}

impl NamePattern {
    fn matches(&self, value: &CanonicalName) -> bool {
        let own = &self.name;
        let agree = |own: &Option<String>, other: &Option<String>| match (own, other) {
            (Some(own), Some(other)) => own == "*" || own == other,
            _ => true,
        };
        let has_name = match &self.text {
            Some(glob) => glob.is_match(&value.text),
            None => own.text == value.text,
        };
        let has_session = self.session.as_ref().is_none_or(|glob| {
            let session = value.session.as_deref();
            session.is_some_and(|session| glob.is_match(session))
        });
        has_name
            && has_session
            && agree(&own.account, &value.account)
            && agree(&own.region, &value.region)
            && agree(&own.zone, &value.zone)
    }
}

/// Parses a network, or an address as a network with one address. Host bits are dropped, and IPv4 in IPv6 becomes IPv4.
pub(crate) fn parse_network(text: &str) -> Option<IpNet> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(IpNet::from(ip.to_canonical()));
    }
    let net = text.parse::<IpNet>().ok()?.trunc();
    let mapped = match net {
        IpNet::V6(net) => net
            .addr()
            .to_ipv4_mapped()
            .zip(net.prefix_len().checked_sub(96)),
        IpNet::V4(_) => None,
    };
    match mapped {
        Some((ip, prefix)) => Ipv4Net::new(ip, prefix).ok().map(IpNet::V4),
        None => Some(net),
    }
}

/// Parses an address, a network or a range (`203.0.113.4-203.0.113.9`) into networks. Returns `None` for other texts.
///
/// # Errors
///
/// Fails when the networks are too wide or malformed.
pub(crate) fn parse_networks(text: &str) -> Result<Option<Vec<IpNet>>, String> {
    let looks_so = |text: &str| {
        text.contains('*')
            && text
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, '.' | '*'))
    };
    if looks_so(text) {
        return Err(format!(
            "{text} is not a network: write it as 203.0.113.0/24"
        ));
    }
    let found = match parse_network(text) {
        Some(net) => vec![net],
        None => match text
            .split_once('-')
            .and_then(|(start, end)| networks_between(start, end))
        {
            Some(networks) => networks,
            None => return Ok(None),
        },
    };
    if found.is_empty() || found.len() > MAX_NETWORKS {
        return Err(format!(
            "{text} is not a range of addresses: list the networks"
        ));
    }
    for net in &found {
        let widest = match net {
            IpNet::V4(_) => WIDEST_V4,
            IpNet::V6(_) => WIDEST_V6,
        };
        if net.prefix_len() < widest {
            return Err(format!("{text} is wider than /{widest}: name the networks"));
        }
    }
    Ok(Some(found))
}

/// Returns the networks between two addresses of one version.
fn networks_between(start: &str, end: &str) -> Option<Vec<IpNet>> {
    let address = |text: &str| text.trim().parse::<IpAddr>().ok();
    let short = || {
        let (front, _) = start.trim().rsplit_once('.')?;
        let last: u8 = end.trim().parse().ok()?;
        address(&format!("{front}.{last}"))
    };
    let end = address(end).or_else(short)?;
    let (start, end) = (address(start)?.to_canonical(), end.to_canonical());
    match (start, end) {
        (IpAddr::V4(start), IpAddr::V4(end)) => {
            let all = Ipv4Subnets::new(start, end, 0).take(MAX_NETWORKS + 1);
            Some(all.map(IpNet::V4).collect())
        }
        (IpAddr::V6(start), IpAddr::V6(end)) => {
            let all = Ipv6Subnets::new(start, end, 0).take(MAX_NETWORKS + 1);
            Some(all.map(|net: Ipv6Net| IpNet::V6(net)).collect())
        }
        _ => None,
    }
}

/// Returns whether `name` is a subdomain of `domain`, label by label: `evilminexmr.com` is not a subdomain of
/// `minexmr.com`.
pub(crate) fn is_subdomain(name: &str, domain: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name.strip_suffix(domain)
        .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

/// Compiles a name with `*`, which matches any run of characters except `/`; nothing else is special. Returns `None`
/// for a name without `*`.
fn compile_wildcard(text: &str) -> Result<Option<GlobMatcher>, String> {
    if !text.contains('*') {
        return Ok(None);
    }
    if text.chars().filter(|c| c.is_alphanumeric()).count() < 3 {
        return Err(format!(
            "{text} matches nearly everything: write a more specific pattern"
        ));
    }
    compile_glob(text).map(Some)
}

fn compile_glob(text: &str) -> Result<GlobMatcher, String> {
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
        for text in [
            "",
            "*",
            "**",
            "*@*",
            "0.0.0.0/0",
            "::/0",
            "10.0.0.0/4",
            "2000::/8",
            "203.*",
            "203.0.113.*",
            "1.0.0.0-200.0.0.0",
            "203.0.113.9-203.0.113.4",
            "203.0.113.9-4",
            "arn:aws:iam::444455556666:role/*",
        ] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn addresses_are_written_in_several_ways() {
        use IndicatorKind::Ip;
        for (pattern, inside, outside) in [
            ("203.0.113.4-203.0.113.9", "203.0.113.9", "203.0.113.10"),
            ("203.0.113.4 - 203.0.113.9", "203.0.113.4", "203.0.113.3"),
            ("203.0.113.4-9", "203.0.113.9", "203.0.113.10"),
            ("2001:db8::1-2001:db8::9", "2001:db8::9", "2001:db8::a"),
            ("::ffff:192.0.2.0/120", "192.0.2.7", "192.0.3.7"),
        ] {
            assert!(hits(pattern, Ip, inside), "{pattern}");
            assert!(!hits(pattern, Ip, outside), "{pattern}");
        }
    }

    #[test]
    fn roles_are_compared_whatever_form_they_are_written_in() {
        use IndicatorKind::Principal;
        let forms = [
            "ci-deploy",
            "arn:aws:iam::444455556666:role/ci-deploy",
            "arn:aws-us-gov:iam::444455556666:role/teams/ci-deploy",
            "arn:aws:sts::444455556666:assumed-role/ci-deploy/*",
        ];
        for entry in forms {
            for value in [
                "CI-deploy",
                "arn:aws:iam::444455556666:role/ci-deploy",
                "arn:aws:sts::444455556666:assumed-role/ci-deploy/run-1",
            ] {
                assert!(hits(entry, Principal, value), "{entry} {value}");
            }
            for value in ["ci-deploy2", "arn:aws:iam::444455556666:role/ci-deploy/x"] {
                assert!(!hits(entry, Principal, value), "{entry} {value}");
            }
        }
        let other = "arn:aws:sts::111122223333:assumed-role/ci-deploy/run-1";
        assert!(!hits(forms[1], Principal, other), "another account's");
        let one_session = "arn:aws:sts::444455556666:assumed-role/ci-deploy/run-1";
        assert!(hits(one_session, Principal, one_session));
        assert!(!hits(one_session, Principal, forms[1]), "any session");
    }

    #[test]
    fn only_domains_ignore_dots_and_only_ascii_ignores_case() {
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
            prop_assert!(is_subdomain(&below_it, &domain));
            let dotted = format!(".{domain}");
            prop_assert_eq!(is_subdomain(&beside_it, &domain), beside_it.ends_with(&dotted));
            prop_assert!(!is_subdomain(&domain, &domain));
        }

        #[test]
        fn any_text_is_a_pattern_or_an_error(text in ".{0,40}", value in ".{0,40}") {
            if let Ok(pattern) = Pattern::parse(&text) {
                pattern.matches(&subject(IndicatorKind::Principal, &value));
            }
        }
    }
}
