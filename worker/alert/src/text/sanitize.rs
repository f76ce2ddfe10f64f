//! Converts foreign text for display; no other path leads into reports.
//!
//! An attacker may have written alerts, tool answers and analysts' sentences. The result is one line of bounded
//! length, without hidden characters and escapes, with defanged addresses, and without words that notify people in a
//! chat or ticket system (attacks.md, "What code enforces" 6). Markdown is not escaped here, because only the
//! renderer knows its syntax.

use unicode_segmentation::UnicodeSegmentation;

use super::{defang, defang_value, strip_hidden, truncate};
use crate::IndicatorKind;

/// Bytes of a text that are examined for each character that may be shown. The bound makes a megabyte cheap. Text
/// hidden behind blanks beyond it is lost.
const BYTES_PER_CHAR: usize = 16;
/// Maximum length of a grapheme, in code points. A letter with a thousand accents would overprint other lines.
const MAX_GRAPHEME_CHARS: usize = 6;
/// Schemes that may stay: defanged ones, and object names that no program opens on a click.
const HARMLESS_SCHEMES: [&str; 8] = ["hxxp", "hxxps", "fxp", "fxps", "fxxp", "fxxps", "s3", "gs"];
/// Names that notify everybody.
const EVERYBODY: [&str; 6] = ["everyone", "here", "channel", "group", "all", "room"];
/// Schemes that work without `//`.
const OPAQUE_SCHEMES: [&str; 5] = ["mailto", "xmpp", "javascript", "vbscript", "tel"];

/// Returns one harmless line of at most `max_chars` graphemes.
#[must_use]
pub fn sanitize(text: &str, max_chars: usize) -> String {
    let line = normalize_line(text, max_chars.saturating_mul(BYTES_PER_CHAR) + 256);
    let short = truncate(&line, max_chars);
    if !short.contains("arn:aws") {
        return truncate(&neutralize(&defang(&short)), max_chars).into_owned();
    }
    let safe: Vec<String> = short
        .split(' ')
        .map(|word| {
            if is_arn(word) {
                neutralize(word)
            } else {
                neutralize(&defang(word))
            }
        })
        .collect();
    truncate(&safe.join(" "), max_chars).into_owned()
}

/// Returns a typed value like [`sanitize`]; a domain, URL, mail or IP address is always defanged.
#[must_use]
pub fn sanitize_value(kind: IndicatorKind, value: &str, max_chars: usize) -> String {
    let has_host = matches!(
        kind,
        IndicatorKind::Domain | IndicatorKind::Url | IndicatorKind::Email | IndicatorKind::Ip
    );
    if !has_host {
        return sanitize(value, max_chars);
    }
    let line = normalize_line(value, max_chars.saturating_mul(BYTES_PER_CHAR) + 256);
    let short = truncate(&line, max_chars);
    // A value that is not of its kind is treated as text.
    let safe = defang(&defang_value(kind, &short));
    truncate(&neutralize(&safe), max_chars).into_owned()
}

/// Returns whether this is an Amazon resource name. No program links it, and a bucket's dots belong to its name.
fn is_arn(word: &str) -> bool {
    word.starts_with("arn:aws") && word.matches(':').count() >= 5 && !word.contains("//")
}

/// Returns a command of the catalogue, ready to paste. It is neither defanged nor cut, because a cut command does
/// something else. Returns `None` where it is empty or longer than `max_chars`.
#[must_use]
pub fn command_lines(text: &str, max_chars: usize) -> Option<Vec<String>> {
    let (visible, _) = strip_hidden(text);
    let lines: Vec<String> = visible
        .lines()
        .map(|line| line.replace('\t', " ").trim_end().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    let chars: usize = lines.iter().map(|line| line.chars().count()).sum();
    (chars > 0 && chars <= max_chars && lines.len() <= 12).then_some(lines)
}

/// Removes hidden characters, turns white space into single spaces, and bounds each grapheme.
fn normalize_line(text: &str, max_bytes: usize) -> String {
    let head = text
        .get(..text.floor_char_boundary(max_bytes))
        .unwrap_or_default();
    let (visible, _) = strip_hidden(head);
    let mut line = String::with_capacity(visible.len());
    for word in visible.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        if word.is_ascii() {
            line.push_str(word);
        } else {
            let graphemes = word.graphemes(true);
            line.extend(graphemes.flat_map(|one| one.chars().take(MAX_GRAPHEME_CHARS)));
        }
    }
    if head.len() < text.len() {
        line.push('…');
    }
    line
}

/// Neutralises text that chats, tickets and terminals interpret: mentions, special tokens, schemes, `www.`.
fn neutralize(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let next = rest.as_str();
        match c {
            '@' if mentions_everybody(next)
                || !out.ends_with(|c: char| c.is_alphanumeric() || "_.-+".contains(c)) =>
            {
                out.push_str("(at)");
            }
            '!' | '#' if out.ends_with('<') => out.extend(['(', c, ')']),
            '~' if out.ends_with('[') => out.push_str("(~)"),
            ':' if next.starts_with("//") && !ends_with_scheme(&out, &HARMLESS_SCHEMES) => {
                out.push_str("[://]");
                rest = next.get(2..).unwrap_or_default().chars();
            }
            ':' if ends_with_scheme(&out, &OPAQUE_SCHEMES) => out.push_str("[:]"),
            '.' if ends_with_scheme(&out, &["www"]) => out.push_str("[.]"),
            _ => out.push(c),
        }
    }
    out
}

/// Returns whether these are the names that notify everybody in a chat, with any character before the `@`.
fn mentions_everybody(name: &str) -> bool {
    let end = name
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(name.len());
    let name = name.get(..end).unwrap_or_default();
    EVERYBODY.iter().any(|all| name.eq_ignore_ascii_case(all))
}

fn ends_with_scheme(text: &str, schemes: &[&str]) -> bool {
    let word = text
        .rsplit(|c: char| !(c.is_alphanumeric() || "+-".contains(c)))
        .next()
        .unwrap_or_default();
    schemes
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a06_mentions_and_tokens_call_nobody() {
        for (text, safe) in [
            ("<!channel> wake up", "<(!)channel> wake up"),
            (
                "<@U1> hi @everyone, @here",
                "<(at)U1> hi (at)everyone, (at)here",
            ),
            ("<#C1|general>", "<(#)C1|general>"),
            ("[~admin] see", "[(~)admin] see"),
            (
                "bob@corp and alice@example.com",
                "bob@corp and alice@example[.]com",
            ),
            ("image@sha256:12", "image@sha256:12"),
            ("x@Everyone", "x(at)Everyone"),
        ] {
            assert_eq!(sanitize(text, 100), safe);
        }
    }

    #[test]
    fn a04_no_scheme_stays_that_something_opens() {
        for (text, safe) in [
            ("https://evil.com/?d=1", "hxxps://evil[.]com/?d=1"),
            ("www.evil.com", "www[.]evil[.]com"),
            ("smb://host/x ms-msdt://a", "smb[://]host/x ms-msdt[://]a"),
            (
                "mailto:a@b JavaScript:alert(1)",
                "mailto[:]a@b JavaScript[:]alert(1)",
            ),
            ("s3://bucket/key", "s3://bucket/key"),
            ("xhttp://evil.com", "xhttp[://]evil[.]com"),
        ] {
            assert_eq!(sanitize(text, 100), safe);
        }
    }

    #[test]
    fn a04_a_typed_value_is_defanged_whatever_it_looks_like() {
        for (kind, value, safe) in [
            (IndicatorKind::Domain, "login.app", "login[.]app"),
            (IndicatorKind::Domain, "a\u{200b}.zip", "a[.]zip"),
            (IndicatorKind::Url, "smb://a.sh/b", "smb[://]a[.]sh/b"),
            (IndicatorKind::Ip, "203.0.113.0", "203.0.113[.]0"),
            (IndicatorKind::File, "/tmp/setup.sh", "/tmp/setup.sh"),
            (
                IndicatorKind::Arn,
                "arn:aws:s3:::my.bucket.com/key",
                "arn:aws:s3:::my.bucket.com/key",
            ),
        ] {
            assert_eq!(sanitize_value(kind, value, 100), safe);
        }
        let long = format!("{}.login.app", "a.".repeat(60));
        let cut = sanitize_value(IndicatorKind::Domain, &long, 40);
        assert!(cut.chars().count() <= 40 && !cut.contains("login.app"));
    }

    #[test]
    fn a22_a_text_is_one_line_without_escapes() {
        assert_eq!(
            sanitize("a\n\n## b\r\n\u{1b}[31mred\u{1b}[0m\tc\u{202e}d   e", 100),
            "a ## b red cd e"
        );
        let zalgo = format!("a{}b", "\u{301}".repeat(5000));
        assert_eq!(
            sanitize(&zalgo, 10).chars().count(),
            7,
            "a letter, five accents, …"
        );
        assert!(sanitize(&"x".repeat(1_000_000), 80).chars().count() <= 80);
    }

    #[test]
    fn names_that_are_no_addresses_stay_as_they_are() {
        for name in [
            "arn:aws:s3:::my.bucket.com/key",
            "v1.compute.instances.start",
            "google.compute.Instance",
            "//compute.googleapis.com/projects/p/zones/z/instances/i",
            "/var/log/app.log run.sh",
            "aws-cli/2.15.0 Python/3.11.8",
            "2026-11-20T03:14:00.123Z",
            "123456789012",
            "CryptoCurrency:EC2/BitcoinTool.B!DNS",
        ] {
            assert_eq!(sanitize(name, 100), name);
        }
    }

    #[test]
    fn a_command_is_whole_or_not_at_all() {
        let curl = "aws s3api put-bucket-acl --bucket x.example.com\n  --acl private";
        assert_eq!(
            command_lines(curl, 200)
                .map(|lines| lines.join("\n"))
                .as_deref(),
            Some(curl)
        );
        assert_eq!(command_lines(curl, 20), None);
        assert_eq!(command_lines(" \u{200b}", 20), None);
    }
}
