//! Normalises values for patterns: lower case, without the quotes, carets and escapes that only hide a word.

use std::sync::LazyLock;

use regex::Regex;

use super::countries::country_code;

/// Maximum number of characters of a value that are examined.
const MAX_CHARS: usize = 4096;

/// Fields that hold names of operations, factors, results and rights, which each product joins in its own way.
const NAMES: [&str; 11] = [
    "logon_type",
    "auth_result",
    "operation",
    "action",
    "error_code",
    "outcome",
    "protocol",
    "trait",
    "permission",
    "group",
    "application",
];

/// Variables that shells replace with a path or a blank.
const VARIABLES: [(&str, &str); 16] = [
    ("${ifs}", " "),
    ("$ifs", " "),
    ("%comspec%", "cmd"),
    ("%systemroot%", "c:/windows"),
    ("%windir%", "c:/windows"),
    ("$env:systemroot", "c:/windows"),
    ("$env:windir", "c:/windows"),
    ("%temp%", "c:/users/u/appdata/local/temp"),
    ("%tmp%", "c:/users/u/appdata/local/temp"),
    ("$env:temp", "c:/users/u/appdata/local/temp"),
    ("%appdata%", "c:/users/u/appdata/roaming"),
    ("$env:appdata", "c:/users/u/appdata/roaming"),
    ("%public%", "c:/users/public"),
    ("$env:public", "c:/users/public"),
    ("%programdata%", "c:/programdata"),
    ("$env:programdata", "c:/programdata"),
];

/// Joints of strings that PowerShell concatenates, and the ending of a program.
static STRING_CONCATENATION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"["']\s*\+\s*["']"#).ok());
static EXE_SUFFIX: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\.exe\b").ok());

/// Returns the texts that expressions are matched against, normalised for the field.
pub(super) fn normalised_texts(field: &str, written: &str) -> Vec<String> {
    let text: String = written.chars().take(MAX_CHARS).collect();
    let text = text.to_lowercase();
    match field {
        "http_request" => vec![normalise_request(&text)],
        "url" => vec![normalise_request(&text), text],
        "command_line"
        | "decoded_command"
        | "parent_command_line"
        | "persistence"
        | "registry_key" => {
            let mut texts = vec![normalise_command(&text)];
            // A Unix shell removes a backslash, and a Windows shell keeps it.
            if text.contains('\\') && !text.contains(":\\") && !text.contains("\\\\") {
                texts.push(normalise_command(&text.replace('\\', "")));
            }
            texts
        }
        "process" | "executable" | "parent_process" | "parent_executable" | "file"
        | "file_written" => vec![normalise_command(&text)],
        _ if NAMES.contains(&field) => {
            let words = words_of_name(written);
            let plain = single_spaced(&text);
            let differs = words != plain;
            std::iter::once(plain)
                .chain(differs.then_some(words))
                .collect()
        }
        "country" => vec![country_code(&single_spaced(&text)).to_owned()],
        _ => vec![single_spaced(&text)],
    }
}

fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the words of a name in lower case. Underscores, hyphens and capitals separate words like blanks:
/// `OKTA_VERIFY_PUSH`, `PhoneAppNotification` and `phone-app notification` are words alike.
fn words_of_name(written: &str) -> String {
    let mut words = String::with_capacity(written.len() + 8);
    let mut before = ' ';
    let mut chars = written.chars().take(MAX_CHARS).peekable();
    while let Some(c) = chars.next() {
        let begins_word = c.is_uppercase()
            && (before.is_lowercase()
                || before.is_uppercase() && chars.peek().is_some_and(|next| next.is_lowercase()));
        if begins_word {
            words.push(' ');
        }
        if matches!(c, '_' | '-') {
            words.push(' ');
        } else {
            words.extend(c.to_lowercase());
        }
        before = c;
    }
    single_spaced(&words)
}

/// Normalises a command or a path: forward slashes, single blanks, no quotes and no `.exe`.
fn normalise_command(text: &str) -> String {
    let joined = STRING_CONCATENATION
        .as_ref()
        .map_or_else(|| text.into(), |joints| joints.replace_all(text, ""));
    let mut plain = String::with_capacity(joined.len());
    let mut before = ' ';
    for c in joined.chars() {
        let c = match c {
            '"' | '\'' | '^' | '`' | '\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}' => continue,
            '\u{2013}' | '\u{2014}' | '\u{2015}' => '-',
            // JSON that was escaped twice doubles each backslash. At the start of a word, two backslashes are a
            // network share.
            '\\' if before == '\\' && plain.len() > 1 && !starts_share(&plain) => continue,
            '\\' => {
                before = c;
                plain.push('/');
                continue;
            }
            c if c.is_whitespace() => ' ',
            c => c,
        };
        if !(c == ' ' && before == ' ') {
            plain.push(c);
        }
        before = c;
    }
    for (variable, value) in VARIABLES {
        if plain.contains(['%', '$']) {
            plain = plain.replace(variable, value);
        }
    }
    match EXE_SUFFIX.as_ref() {
        Some(ending) => ending.replace_all(&plain, "").into_owned(),
        None => plain,
    }
}

/// Returns whether the last slash is at the start of a word.
fn starts_share(plain: &str) -> bool {
    let mut back = plain.chars().rev().skip(1);
    back.next()
        .is_none_or(|c| matches!(c, ' ' | '=' | ',' | '('))
}

/// Normalises a request: percent signs decoded twice, comments and plus signs as blanks.
fn normalise_request(text: &str) -> String {
    let once = percent_decoded(text);
    let twice = percent_decoded(&once);
    let spaced = twice.replace("/**/", " ").replace('+', " ").to_lowercase();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        rest = tail;
        let byte = match (first, tail) {
            (b'%', [high, low, after @ ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| {
                rest = after;
                high * 16 + low
            }),
            _ => None,
        };
        out.push(byte.unwrap_or(*first));
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

/// Returns the program at the front of a command line.
pub(super) fn first_word(command: &str) -> &str {
    let command = command.trim();
    match command.chars().next() {
        Some(quote @ ('"' | '\'')) => command.split(quote).nth(1).unwrap_or_default(),
        _ => command.split_whitespace().next().unwrap_or_default(),
    }
}

/// Returns the number at the start of a value, scaled by its unit of bytes or time: `1,500`, `2.5 GB`, `60s`.
pub(super) fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim().replace([',', '_', '\''], "");
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(end)?;
    let number: f64 = digits.parse().ok()?;
    let scale = match unit.trim().to_ascii_lowercase().as_str() {
        "k" | "kb" | "kib" => 1e3,
        "m" | "mb" | "mib" => 1e6,
        "g" | "gb" | "gib" => 1e9,
        "t" | "tb" | "tib" => 1e12,
        "min" | "mins" | "minutes" | "minute" => 60.0,
        "h" | "hours" | "hour" => 3600.0,
        _ => 1.0,
    };
    Some(number * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain_command(text: &str) -> String {
        normalised_texts("command_line", text).remove(0)
    }

    #[test]
    fn command_loses_what_only_hides_its_words() {
        for (written, plain) in [
            (
                "C:\\Windows\\System32\\cmd.exe /c dir",
                "c:/windows/system32/cmd /c dir",
            ),
            ("c^m^d /c \"who\"ami", "cmd /c whoami"),
            ("power`shell  -e`nc AAAA", "powershell -enc aaaa"),
            ("& ('down'+'load') x", "& (download) x"),
            ("C:\\\\Temp\\\\a.exe -x", "c:/temp/a -x"),
            ("copy a \\\\srv\\admin$\\b.exe", "copy a //srv/admin$/b"),
            (
                "%COMSPEC% /c %TEMP%\\a.bat",
                "cmd /c c:/users/u/appdata/local/temp/a.bat",
            ),
            ("cat${IFS}/etc/shadow", "cat /etc/shadow"),
            ("powershell \u{2013}enc", "powershell -enc"),
        ] {
            assert_eq!(plain_command(written), plain, "{written}");
        }
        assert!(
            normalised_texts("command_line", "w\\get http://a")
                .contains(&"wget http://a".to_owned())
        );
    }

    #[test]
    fn request_is_decoded_twice() {
        assert_eq!(
            normalised_texts("http_request", "GET /a?id=1%2527%20UNION/**/SELECT+1"),
            ["get /a?id=1' union select 1"]
        );
        assert_eq!(normalised_texts("http_request", "100%"), ["100%"]);
    }

    #[test]
    fn name_is_read_as_written_and_as_words() {
        for (written, words) in [
            ("OKTA_VERIFY_PUSH", "okta verify push"),
            ("PhoneAppNotification", "phone app notification"),
            (
                "user.authentication.auth_via_mfa",
                "user.authentication.auth via mfa",
            ),
            ("IDL_DRSGetNCChanges", "idl drs get nc changes"),
        ] {
            let texts = normalised_texts("operation", written);
            assert_eq!(texts, [written.to_lowercase(), words.to_owned()]);
        }
        assert_eq!(normalised_texts("operation", "mfa push"), ["mfa push"]);
    }

    #[test]
    fn number_is_read_with_its_unit() {
        assert_eq!(parse_number("1,500 files"), Some(1500.0));
        assert_eq!(parse_number("2.5 GB"), Some(2.5e9));
        assert_eq!(parse_number("60"), Some(60.0));
        assert_eq!(parse_number("some"), None);
    }
}
