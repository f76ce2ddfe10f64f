//! Determines the parts of a domain, by the Public Suffix List, and whether its labels look random.

use serde_json::{Value, json};

/// Reserved names that never resolve publicly.
const SPECIAL_USE: [(&str, &str); 13] = [
    ("test", "RFC 2606"),
    ("example", "RFC 2606"),
    ("invalid", "RFC 2606"),
    ("localhost", "RFC 2606"),
    ("example.com", "RFC 2606"),
    ("example.net", "RFC 2606"),
    ("example.org", "RFC 2606"),
    ("local", "RFC 6762"),
    ("onion", "RFC 7686"),
    ("home.arpa", "RFC 8375"),
    ("alt", "RFC 9476"),
    ("in-addr.arpa", "RFC 1035"),
    ("ip6.arpa", "RFC 3596"),
];

pub(super) fn facts(name: &str) -> Value {
    let name = name.trim_end_matches('.');
    let suffix = psl::suffix(name.as_bytes());
    let section = suffix.and_then(|suffix| suffix.typ());
    let public_suffix = suffix.and_then(|suffix| std::str::from_utf8(suffix.as_bytes()).ok());
    let registrable = psl::domain_str(name);
    let subdomain = registrable
        .and_then(|domain| name.strip_suffix(domain))
        .map(|rest| rest.trim_end_matches('.'))
        .filter(|rest| !rest.is_empty());
    let below_suffix = public_suffix
        .and_then(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name);
    let longest = below_suffix
        .split('.')
        .max_by_key(|label| label.len())
        .unwrap_or_default();
    json!({
        "registrable_domain": registrable,
        "public_suffix": public_suffix,
        "suffix_known": section.is_some(),
        "subdomain": subdomain,
        "labels": name.split('.').count(),
        "punycode": name.split('.').any(|label| label.starts_with("xn--")),
        "dynamic_dns": section == Some(psl::Type::Private),
        "special_use": special_use(name),
        "longest_label": longest.len(),
        "looks_random": below_suffix.split('.').any(looks_random),
    })
}

fn special_use(name: &str) -> Option<String> {
    SPECIAL_USE
        .iter()
        .find(|(special, _)| name == *special || crate::pattern::is_subdomain(name, special))
        .map(|(special, document)| format!("{document} (.{special})"))
}

/// Returns whether a label looks generated: long, with many digits among letters, with long runs of consonants, or
/// without vowels. This is a hint and no proof, since content networks have such names too.
fn looks_random(label: &str) -> bool {
    if label.len() < 10 || label.starts_with("xn--") {
        return false;
    }
    let letters = label.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = label.bytes().filter(u8::is_ascii_digit).count();
    let vowels = label.bytes().filter(|b| b"aeiouy".contains(b)).count();
    let turns = label
        .as_bytes()
        .windows(2)
        .filter(|pair| {
            matches!(pair, [a, b] if a.is_ascii_digit() && b.is_ascii_alphabetic() || a.is_ascii_alphabetic() && b.is_ascii_digit())
        })
        .count();
    let longest_run = label
        .split(|c: char| !c.is_ascii_alphabetic() || "aeiouy".contains(c))
        .map(str::len)
        .max()
        .unwrap_or_default();
    let few_vowels = letters >= 10 && vowels * 5 < letters;
    (digits >= 3 && turns >= 4) || longest_run >= 6 || few_vowels
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_follow_the_public_suffix_list() {
        let body = facts("pool.minexmr.co.uk");
        assert_eq!(body["registrable_domain"], "minexmr.co.uk");
        assert_eq!(body["public_suffix"], "co.uk");
        assert_eq!(body["subdomain"], "pool");
        assert_eq!(body["labels"], 4);
        assert_eq!(body["dynamic_dns"], false);
        assert_eq!(body["special_use"], Value::Null);
        let dynamic = facts("c2.duckdns.org");
        assert_eq!(dynamic["dynamic_dns"], true);
        assert_eq!(dynamic["public_suffix"], "duckdns.org");
        let suffix = facts("co.uk");
        assert_eq!(suffix["registrable_domain"], Value::Null);
        let special = facts("host.example.com");
        assert_eq!(special["special_use"], "RFC 2606 (.example.com)");
        assert_eq!(facts("xn--bcher-kva.example")["punycode"], true);
    }

    #[test]
    fn machine_made_labels_look_random_and_words_do_not() {
        for name in ["x7k2q9v4m1z8.com", "xkqzvbnmwrt.net", "a1b2c3d4e5f6.info"] {
            assert_eq!(facts(name)["looks_random"], true, "{name}");
        }
        for name in [
            "pool.minexmr.com",
            "payments-worker-7.example.com",
            "production-database.internal",
            "supportxmr.com",
        ] {
            assert_eq!(facts(name)["looks_random"], false, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_facts(name in ".{0,60}") {
            prop_assert!(facts(&name).is_object());
        }

        #[test]
        fn the_registrable_domain_is_a_whole_label_suffix(name in "([a-z]{1,8}\\.){1,4}(com|co\\.uk|duckdns\\.org)") {
            let body = facts(&name);
            if let Some(domain) = body["registrable_domain"].as_str() {
                prop_assert!(name == domain || crate::pattern::is_subdomain(&name, domain));
            }
        }
    }
}
