//! Removes the arguments that programs only read from a command: a word given to `grep`, an editor or a browser was not
//! run.

use std::sync::LazyLock;

use regex::Regex;

use super::fragments;

/// Maximum depth of nested shells that are examined.
const MAX_DEPTH: usize = 3;

static READERS: LazyLock<Option<Regex>> = LazyLock::new(|| program_regex("readers"));
static WRAPPERS: LazyLock<Option<Regex>> = LazyLock::new(|| program_regex("wrappers"));
static SHELLS: LazyLock<Option<Regex>> = LazyLock::new(|| program_regex("shells"));
static READER_RUNS_COMMAND: LazyLock<Option<Regex>> =
    LazyLock::new(|| compile_regex("<reader_runs>"));
static REFERENCE_PAGES: LazyLock<Option<Regex>> =
    LazyLock::new(|| compile_regex(r"\bhttps?://(?:www\.)?<reference_sites>/[^\s'\x22|;&]*"));

fn program_regex(name: &str) -> Option<Regex> {
    compile_regex(&format!("^(?:<program_places>)?<{name}>(?:\\.exe)?$"))
}

fn compile_regex(expression: &str) -> Option<Regex> {
    Regex::new(&fragments::expand(expression)).ok()
}

fn matches(regex: &LazyLock<Option<Regex>>, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Returns the command without the arguments of programs that only read. Returns `None` when that changes nothing or
/// when the command cannot be divided reliably.
pub(super) fn without_reader_arguments(command: &str) -> Option<String> {
    let lower = command.to_lowercase();
    let told = REFERENCE_PAGES.as_ref().map_or_else(
        || lower.as_str().into(),
        |pages| pages.replace_all(&lower, "page"),
    );
    let reduced = reduce_command(&told, 0).unwrap_or_else(|| told.clone().into_owned());
    (reduced != lower).then_some(reduced)
}

/// Returns `None` when a quote is not closed.
fn reduce_command(command: &str, depth: usize) -> Option<String> {
    let mut out = String::with_capacity(command.len());
    for (part, separator) in split_commands(command)? {
        out.push_str(&reduce_part(part, depth));
        out.push_str(separator);
    }
    Some(out)
}

/// Divides a command line at the separators outside of quotes. Returns `None` when a quote is not closed.
fn split_commands(command: &str) -> Option<Vec<(&str, &str)>> {
    let mut parts = Vec::new();
    let mut quote = None;
    let (mut start, mut before) = (0, ' ');
    for (at, c) in command.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if matches!(c, ';' | '|' | '\n') || (c == '&' && !matches!(before, '>' | '<')) => {
                let end = at + c.len_utf8();
                parts.push((command.get(start..at)?, command.get(at..end)?));
                start = end;
            }
            None => {}
        }
        before = c;
    }
    parts.push((command.get(start..)?, ""));
    quote.is_none().then_some(parts)
}

/// Reduces one command. Of a reader, the program and its output remain; in a shell, its own command is reduced.
fn reduce_part(part: &str, depth: usize) -> String {
    let mut words = command_words(part);
    let mut is_wrapped = false;
    let program = words.find(|word| {
        let is_wrapper = matches(&WRAPPERS, word.bare()) || word.bare().contains('=');
        let is_option = is_wrapped && word.bare().starts_with('-');
        is_wrapped |= is_wrapper;
        !(is_wrapper || is_option)
    });
    let Some(program) = program else {
        return part.to_owned();
    };
    let runs_more = || part.contains(['`']) || part.contains("$(") || part.contains("<(");
    if matches(&READERS, program.bare()) && !runs_more() && !matches(&READER_RUNS_COMMAND, part) {
        let kept = words.find(|word| word.text.contains('>') && word.bare() == word.text);
        let written = kept
            .and_then(|word| part.get(word.at..))
            .unwrap_or_default();
        return format!("{} {written}", part.get(..program.end()).unwrap_or(part));
    }
    if depth < MAX_DEPTH && matches(&SHELLS, program.bare()) {
        let is_command = |word: &CommandWord<'_>| {
            matches!(
                word.bare(),
                "-c" | "/c" | "/k" | "-command" | "/s/c" | "-lc"
            )
        };
        if words.any(|word| is_command(&word))
            && let Some(inner) = words.next()
        {
            let (head, rest) = part.split_at_checked(inner.at).unwrap_or((part, ""));
            let (own, after) = match inner.text == inner.bare() {
                true => (rest, ""),
                false => (
                    inner.bare(),
                    rest.get(inner.text.len()..).unwrap_or_default(),
                ),
            };
            if let Some(own) = reduce_command(own, depth + 1) {
                return format!("{head}{own}{after}");
            }
        }
    }
    part.to_owned()
}

/// A word of a command, with its quotes and its position.
struct CommandWord<'a> {
    at: usize,
    text: &'a str,
}

impl<'a> CommandWord<'a> {
    /// Returns the word without the quotes around it.
    fn bare(&self) -> &'a str {
        let inner = |quote: char| self.text.strip_prefix(quote)?.strip_suffix(quote);
        inner('"').or_else(|| inner('\'')).unwrap_or(self.text)
    }

    const fn end(&self) -> usize {
        self.at + self.text.len()
    }
}

fn command_words(part: &str) -> impl Iterator<Item = CommandWord<'_>> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let tail = part.get(rest..)?;
        let at = rest + (tail.len() - tail.trim_start().len());
        let mut quote = None;
        let end = part.get(at..)?.char_indices().find(|(_, c)| match quote {
            Some(open) => {
                if *c == open {
                    quote = None;
                }
                false
            }
            None if matches!(c, '"' | '\'') => {
                quote = Some(*c);
                false
            }
            None => c.is_whitespace(),
        });
        let end = end.map_or(part.len(), |(offset, _)| at + offset);
        rest = end;
        let text = part.get(at..end)?;
        (!text.is_empty()).then_some(CommandWord { at, text })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_readers_are_left_out() {
        for (written, acts) in [
            ("grep -ri 'a; rm -rf /' ./sigma", "grep "),
            ("sudo -E grep -r xmrig /etc | sh -x", "sudo -E grep | sh -x"),
            (
                "bash -c 'cat x.so > /etc/y; ./run'",
                "bash -c cat > /etc/y; ./run",
            ),
            ("notepad.exe C:\\docs\\mimikatz.txt", "notepad.exe "),
            (
                "\"C:\\Program Files\\G\\chrome.exe\" http://a/b",
                "\"C:\\Program Files\\G\\chrome.exe\" ",
            ),
            (
                "curl https://attack.mitre.org/software/S0002/ -o x",
                "curl page -o x",
            ),
            ("find . | xargs grep xmrig", "find . | xargs grep "),
        ] {
            let kept = without_reader_arguments(written).unwrap();
            assert_eq!(kept, acts.to_lowercase(), "{written}");
        }
    }

    #[test]
    fn command_that_runs_something_is_kept_whole() {
        for written in [
            "cat $(curl http://203.0.113.9/a)",
            "vim -c ':!/bin/sh' x",
            "git clone 'ext::sh -c id' x",
            "grep 'open quote; mimikatz",
            "/tmp/grep sekurlsa::logonpasswords",
            "curl https://attack.mitre.org.bad.example/mimikatz",
            "rm -rf /var/log/auth.log",
        ] {
            assert_eq!(without_reader_arguments(written), None, "{written}");
        }
    }
}
