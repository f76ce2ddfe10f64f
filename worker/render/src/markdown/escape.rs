//! Escapes text for markdown: CommonMark 0.31, section 2.4, and GitHub's extensions.

/// Escapes everything that markdown, HTML or a chat would read as syntax. The input must come from `plain`: one line,
/// defanged.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut previous = None;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        if let Some(reference) = harmless_brackets(rest).filter(|_| previous != Some('!')) {
            out.push_str(reference);
            previous = reference.chars().next_back();
            rest = rest.get(reference.len()..).unwrap_or_default();
            continue;
        }
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '_' if is_inside_word(previous, after) => out.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            // Some parsers read `](` as a link even if the bracket is escaped.
            '(' if previous == Some(']') => out.push_str("\\("),
            '#' | '-' | '+' | '=' | ':' if previous.is_none() => {
                out.push('\\');
                out.push(c);
            }
            '.' | ')' if is_number(&out) => {
                out.push('\\');
                out.push(c);
            }
            '@' => {
                out.push('@');
                rest = domain(after, &mut out);
                previous = Some('@');
                continue;
            }
            _ => out.push(c),
        }
        previous = Some(c);
        rest = after;
    }
    out
}

/// Returns a run of backticks that no line of a command can close.
pub(super) fn fence(lines: &[String]) -> String {
    let longest = lines
        .iter()
        .flat_map(|line| line.split(|c| c != '`'))
        .map(str::len)
        .max()
        .unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// Returns a prefix in brackets that stays readable: `[E3]`, marks of Nightshift, and the brackets of defanging, if
/// what follows cannot make it a link.
fn harmless_brackets(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('[')?;
    let (inner, after) = inner.split_once(']')?;
    let number = inner.strip_prefix('E').unwrap_or_default();
    let known = matches!(inner, "." | ":" | "://" | "SAMPLE" | "PLAYBOOK" | "PARTIAL")
        || (!number.is_empty() && number.len() <= 10 && number.bytes().all(|b| b.is_ascii_digit()));
    let end = inner.len() + 2;
    (known && !after.starts_with(['(', '[', ':']))
        .then(|| text.get(..end))
        .flatten()
}

fn is_inside_word(previous: Option<char>, after: &str) -> bool {
    previous.is_some_and(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric)
}

/// Returns whether the text so far is the number of a list item at the start of a line.
fn is_number(out: &str) -> bool {
    !out.is_empty() && out.len() <= 9 && out.bytes().all(|byte| byte.is_ascii_digit())
}

/// Puts the first dot after an `@` in brackets, because GitHub would make a mail link. Returns the rest of the text.
fn domain<'a>(text: &'a str, out: &mut String) -> &'a str {
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')))
        .unwrap_or(text.len());
    let (label, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    match rest.strip_prefix('.') {
        Some(rest) if !label.is_empty() && !label.contains('_') => {
            out.push_str(label);
            out.push_str("[.]");
            rest
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a04_no_link_image_or_html_is_left() {
        for (text, safe) in [
            ("[x](hxxp://e)", "\\[x\\]\\(hxxp://e)"),
            ("![x](y) ![E3]", "!\\[x\\]\\(y) !\\[E3\\]"),
            (
                "<img src=x> <!-- &lt;",
                "&lt;img src=x&gt; &lt;!-- &amp;lt;",
            ),
            (
                "[E3](x) [E3]: x [E3] [E3x]",
                "\\[E3\\]\\(x) \\[E3\\]: x [E3] \\[E3x\\]",
            ),
            ("evil[.]com [.](x)", "evil[.]com \\[.\\]\\(x)"),
            ("a@corp.internal.net", "a@corp[.]internal.net"),
        ] {
            assert_eq!(escape(text), safe);
        }
    }

    #[test]
    fn syntax_is_text_and_names_stay_readable() {
        for (text, safe) in [
            (
                "log_search by prod_user_ *b* `c` ~d~ $e$ a|b",
                "log_search by prod_user\\_ \\*b\\* \\`c\\` \\~d\\~ \\$e\\$ a\\|b",
            ),
            ("# head", "\\# head"),
            ("- item", "\\- item"),
            ("1. item 2. x", "1\\. item 2. x"),
            ("--- ", "\\--- "),
            ("[PLAYBOOK] — [x]", "[PLAYBOOK] — \\[x\\]"),
        ] {
            assert_eq!(escape(text), safe);
        }
    }

    #[test]
    fn a05_no_command_closes_its_fence() {
        assert_eq!(fence(&["ls".into()]), "```");
        assert_eq!(fence(&["a ``` b".into(), "````".into()]), "`````");
    }
}
