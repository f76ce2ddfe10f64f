//! Writing addresses so that nobody clicks on them, and reading them when others did.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::indicator::spans;

static SCHEME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\b(h)tt(ps?)(://)|\b(f)t(ps?://)").ok());

static FANGS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?P<scheme>hxxp|h\*\*p|hxtp|htxp|meow)(?P<s>s?)(?P<sep>\[://\]|\(://\)|\[?:\]?(?://|\[//\]))|\bfxp(?P<fs>s?)://|(?P<colon>\[://\]|\[:\]//|\[:\])|(?P<dot>\s?[\[({](?:\.|dot|punkt)[\])}]\s?|\\\.|\[\.|\.\])|(?P<at>\s?[\[({](?:@|at)[\])}]\s?)",
    )
    .ok()
});

/// The text with its addresses, domains and URLs made unclickable: `185.220.101[.]42`, `pool.minexmr[.]com`, `hxxp://`.
#[must_use]
pub fn defang(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut done = 0;
    for span in spans(text) {
        let Some(dot) = text.get(span.clone()).and_then(|host| host.rfind('.')) else {
            continue;
        };
        let dot = span.start + dot;
        out.push_str(text.get(done..dot).unwrap_or_default());
        out.push_str("[.]");
        done = dot + 1;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    match SCHEME.as_ref() {
        Some(scheme) => scheme
            .replace_all(&out, "${1}${4}xx${2}${5}${3}")
            .into_owned(),
        None => out,
    }
}

/// The text as it was before somebody defanged it.
#[must_use]
pub fn refang(text: &str) -> Cow<'_, str> {
    // Every defanged spelling has one of these.
    if !text.contains(['[', '(', '{', '\\', ']', '*'])
        && !lower_has(text, &["xx", "xtp", "txp", "meow", "fxp"])
    {
        return Cow::Borrowed(text);
    }
    let Some(fangs) = FANGS.as_ref() else {
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

fn lower_has(text: &str, needles: &[&str]) -> bool {
    let lower = text.to_ascii_lowercase();
    needles.iter().any(|needle| lower.contains(needle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        assert!(SCHEME.is_some() && FANGS.is_some());
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
