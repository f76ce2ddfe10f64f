//! Finds secrets that span several arguments of a list: `["--password", "…"]`, `["mysql", "-p…"]`.
//!
//! The list is joined to a command line and read by the patterns for text. An argument with spaces is still one
//! argument, so it is redacted whole. Secrets within one string are found where that string is cleaned.

use std::ops::Range;

use serde_json::{Map, Value};

use super::redact::{SecretMatch, find_known_secrets, replace};

/// Length of a joined line, in bytes. Consecutive lines overlap by some arguments.
const LINE_BYTES: usize = 8192;
const OVERLAP: usize = 8;
/// Length of an argument that is read, in bytes. The remainder is redacted together with the end of that part.
const ARGUMENT_BYTES: usize = 512;
/// Separator of arguments. It is white space for every pattern, and a line end for patterns that take the whole line.
const ARGUMENT_SEPARATOR: char = '\r';
/// Replacement of spaces and quotes within an argument.
const WHITESPACE_STAND_IN: char = '\u{1}';

/// Keys of argument lists whose program may be in a neighbouring field.
const ARGUMENTS: [&str; 3] = ["args", "arguments", "argv"];
/// Programs whose short options hold secrets. Where several are beside the same arguments, the first one counts, so
/// programs that run others come last.
const PROGRAMS: [&str; 33] = [
    "mongosh",
    "mongo",
    "mongodump",
    "redis-cli",
    "sqlcmd",
    "osql",
    "bcp",
    "ldapsearch",
    "ldapadd",
    "ldapmodify",
    "smbclient",
    "rpcclient",
    "xfreerdp",
    "net",
    "7z",
    "rar",
    "zip",
    "unzip",
    "mysql",
    "mysqladmin",
    "mysqldump",
    "mariadb",
    "curl",
    "sshpass",
    "docker",
    "podman",
    "nerdctl",
    "buildah",
    "skopeo",
    "oras",
    "helm",
    "az",
    "oc",
];

/// Programs that take a password by position or joined to a name, in addition to such scripts.
const NO_OPTION: [&str; 10] = [
    "net",
    "net1",
    "mysqladmin",
    "redis-cli",
    "secretsdump",
    "psexec",
    "wmiexec",
    "smbexec",
    "atexec",
    "dcomexec",
];
/// Maximum number of wrapper programs before the actual one: `sudo`, `python3`, `proxychains`, `cmd /c`.
const MAX_RUNNERS: usize = 3;

/// Returns whether this key holds arguments.
pub(super) fn is_arguments(key: &str) -> bool {
    ARGUMENTS.iter().any(|one| key.eq_ignore_ascii_case(one))
}

/// Returns the program beside an argument list, from its name, path or command, as Kubernetes and SCC write it. The
/// result is empty where no program's short options matter.
pub(super) fn known_program(map: &Map<String, Value>) -> &'static str {
    if !map.keys().any(|key| is_arguments(key)) {
        return "";
    }
    map.values()
        .flat_map(|value| match value {
            Value::Array(items) => items.as_slice(),
            Value::Object(file) => file
                .get("path")
                .map(std::slice::from_ref)
                .unwrap_or_default(),
            other => std::slice::from_ref(other),
        })
        .filter_map(Value::as_str)
        .filter_map(|path| {
            let name = program_name(path);
            PROGRAMS
                .iter()
                .position(|program| name.eq_ignore_ascii_case(program))
        })
        .min()
        .and_then(|first| PROGRAMS.get(first))
        .copied()
        .unwrap_or_default()
}

/// Returns the name of a program from its path.
fn program_name(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    match name.split_at_checked(name.len().saturating_sub(4)) {
        Some((stem, ending)) if ending.eq_ignore_ascii_case(".exe") => stem,
        _ => name,
    }
}

/// Redacts the secrets in an argument list of `program` and returns their number. Arguments for which `keep` holds
/// stay.
pub(super) fn redact_arguments(
    items: &mut [Value],
    program: &str,
    keep: &dyn Fn(&str) -> bool,
) -> usize {
    // Otherwise each secret is visible in its own string.
    let may_hold = !program.is_empty()
        || items.iter().any(is_option)
        || items.iter().take(MAX_RUNNERS + 1).any(takes_bare_password);
    if !may_hold {
        return 0;
    }
    let (mut first, mut count) = (0, 0);
    while let Some(rest) = items.get_mut(first..).filter(|rest| !rest.is_empty()) {
        let line = ArgumentLine::new(rest, program);
        count += line.redact(rest, keep);
        if line.parts.len() == rest.len() {
            break;
        }
        first += line.parts.len().saturating_sub(OVERLAP).max(1);
    }
    count
}

fn is_option(item: &Value) -> bool {
    item.as_str()
        .is_some_and(|text| text.trim_start_matches('"').starts_with(['-', '/']))
}

/// Prefix of the Impacket scripts as programs, and suffix of all of them.
const IMPACKET: &str = "impacket-";
const SCRIPT: &str = ".py";

/// Returns whether a program accepts a password without an option.
fn takes_bare_password(item: &Value) -> bool {
    let path = item.as_str().unwrap_or_default().trim_matches('"');
    let name = program_name(path);
    let is = |part: Option<&str>, word: &str| part.is_some_and(|it| it.eq_ignore_ascii_case(word));
    NO_OPTION.iter().any(|one| name.eq_ignore_ascii_case(one))
        || is(name.get(..IMPACKET.len()), IMPACKET)
        || is(name.get(name.len().saturating_sub(SCRIPT.len())..), SCRIPT)
}

/// Arguments as one line of text.
struct ArgumentLine {
    text: String,
    /// The range of each argument.
    parts: Vec<Range<usize>>,
}

impl ArgumentLine {
    fn new(items: &[Value], program: &str) -> Self {
        let mut line = Self {
            text: program.to_owned(),
            parts: Vec::new(),
        };
        for item in items {
            if line.text.len() > LINE_BYTES {
                break;
            }
            line.text.push(ARGUMENT_SEPARATOR);
            let start = line.text.len();
            match item {
                Value::String(text) => line.push(text),
                Value::Number(number) => line.push(&number.to_string()),
                _ => {}
            }
            line.parts.push(start..line.text.len());
        }
        line
    }

    /// Appends an argument so that each byte keeps its offset within the argument.
    fn push(&mut self, text: &str) {
        let head = text
            .get(..text.floor_char_boundary(ARGUMENT_BYTES))
            .unwrap_or_default();
        // SCC writes arguments as JSON strings, which may keep their quotes.
        let is_quoted = text.len() == head.len() && text.len() > 1 && text.ends_with('"');
        let last = head.len().saturating_sub(1);
        self.text.extend(head.char_indices().map(|(at, c)| match c {
            '"' if is_quoted && text.starts_with('"') && (at == 0 || at == last) => {
                ARGUMENT_SEPARATOR
            }
            ' ' | '\t' | '\n' | '\r' | '"' | '\'' => WHITESPACE_STAND_IN,
            c => c,
        }));
    }

    fn redact(&self, items: &mut [Value], keep: &dyn Fn(&str) -> bool) -> usize {
        let known = find_known_secrets(&self.text);
        if known.is_empty() {
            return 0;
        }
        let mut count = 0;
        for (item, part) in items.iter_mut().zip(&self.parts) {
            let Some((secret, kind)) = secret_in_argument(&known, part) else {
                continue;
            };
            let text = item
                .as_str()
                .map_or_else(|| item.to_string(), str::to_owned);
            let start = secret.start.saturating_sub(part.start);
            let end = if secret.end >= part.end {
                text.len()
            } else {
                secret.end - part.start
            };
            let is_kept = keep(&text) || text.get(start..end).is_none_or(keep);
            if !is_kept {
                *item = Value::String(replace(&text, &[(start..end, kind)]));
                count += 1;
            }
        }
        count
    }
}

/// Returns the range within the argument at `part` that is a secret because of other arguments.
fn secret_in_argument(
    known: &[SecretMatch],
    part: &Range<usize>,
) -> Option<(Range<usize>, &'static str)> {
    let touches = |one: &&SecretMatch| one.secret.start < part.end && part.start < one.secret.end;
    let is_alone = |one: &&SecretMatch| part.start <= one.whole.start && one.whole.end <= part.end;
    known
        .iter()
        .filter(|one| touches(one) && !is_alone(one))
        .map(|one| (one.secret.clone(), one.kind))
        .reduce(|(all, kind), (next, _)| (all.start.min(next.start)..all.end.max(next.end), kind))
}
