//! Secrets by where they stand in a JSON tree: `"password": "…"`, and the shapes in which feeds write the same thing,
//! `{"name": "DB_PASSWORD", "val": "…"}` (variables of SCC, ECS, Kubernetes) and `"password": {"value": "…"}`.
//!
//! What is beside a secret and tells of it is evidence and stays: when it was changed, how long it must be, where it is
//! kept, how often it was wrong. So names are taken only whole, and of an object only what is called a value. But of
//! cookies each has a key of its own: `"cookies": {"session": "…"}`.

use serde_json::{Map, Number, Value};

use super::redact::{is_secret_key, words};
use super::strip_hidden;

/// Keys whose value is the name of what stands beside it, in small letters without `_` and `-`.
const NAMES: [&str; 4] = ["name", "key", "parametername", "parameterkey"];
/// Keys of what stands beside a name.
const VALUES: [&str; 8] = [
    "value",
    "val",
    "values",
    "stringvalue",
    "plaintext",
    "parametervalue",
    "oldvalue",
    "newvalue",
];
/// Further keys of a value, below the key of a secret: of DynamoDB, of audit logs that tell what was changed.
const INNER_VALUES: [&str; 8] = ["s", "n", "text", "string", "plain", "data", "old", "new"];
/// Longest of these keys, with room for hidden characters.
const MAX_KEY_BYTES: usize = 64;
/// Fewest digits of a number that may be a secret: PINs have four, counts and flags mostly fewer.
const FEWEST_DIGITS: usize = 4;
/// Words in a key by which its number counts or measures: `failed_password: 1200`.
const COUNTING: [&str; 22] = [
    "age", "attempt", "attempts", "bad", "count", "days", "expired", "failed", "failure",
    "failures", "invalid", "leaked", "length", "max", "min", "num", "number", "rejected", "total",
    "ttl", "weak", "wrong",
];
/// Keys of settings that name cookies and hold none: of CloudFront, of AWS WAF.
const COOKIE_SETTINGS: [&str; 9] = [
    "forward",
    "whitelistednames",
    "quantity",
    "items",
    "matchpattern",
    "matchscope",
    "oversizehandling",
    "includedcookies",
    "excludedcookies",
];
/// What says that there is a secret, and not which.
const STATES: [&str; 6] = ["true", "false", "yes", "no", "null", "none"];

/// The name of an object that names a secret and has a value beside the name.
pub(super) fn named_secret(map: &Map<String, Value>) -> Option<String> {
    let name = map
        .iter()
        .filter(|(key, _)| is_one_of(key, &NAMES))
        .filter_map(|(_, name)| name.as_str().filter(|name| name.len() <= 4 * MAX_KEY_BYTES))
        .find_map(|name| {
            // A parameter's name is a path: `/prod/db/password`.
            let (visible, _) = strip_hidden(name);
            let name = visible.rsplit(['/', ':']).next().unwrap_or_default().trim();
            is_secret_key(name).then(|| name.to_owned())
        })?;
    map.keys().any(|key| is_value(key)).then_some(name)
}

/// Whether this key of an object with a name holds what is named.
pub(super) fn is_value(key: &str) -> bool {
    is_one_of(key, &VALUES)
}

/// Whether this key of an object that stands below a secret's key holds the secret.
pub(super) fn is_inner_value(key: &str) -> bool {
    is_value(key) || is_one_of(key, &INNER_VALUES)
}

/// Whether what stands under this name of a secret are cookies.
pub(super) fn is_cookies(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("cookie") || name.ends_with("cookies")
}

/// Whether an object is one cookie, whose value is called so. As the outermost one it has to have a name too, for a
/// cookie of many may be called `value`.
pub(super) fn is_one_cookie(map: &Map<String, Value>, is_outermost: bool) -> bool {
    map.keys().any(|key| is_value(key))
        && (!is_outermost || map.keys().any(|key| is_one_of(key, &NAMES)))
}

/// Whether a key says which cookies are meant, and not what they hold.
pub(super) fn is_cookie_setting(key: &str) -> bool {
    is_one_of(key, &COOKIE_SETTINGS)
}

/// Whether a text under the key of a secret is none: a state, a name by which the secret is kept elsewhere, or the
/// working directory, which shells call `PWD`.
pub(super) fn is_no_secret(key: &str, text: &str) -> bool {
    text.is_empty()
        || text.starts_with("[redacted:")
        || (text.starts_with("arn:") && !text.contains(char::is_whitespace))
        || (key.eq_ignore_ascii_case("pwd")
            && (text.starts_with('/') || text.get(1..3) == Some(":\\")))
        || STATES.iter().any(|state| text.eq_ignore_ascii_case(state))
}

/// Whether a number under the key of a secret is one. Kernels number their cookies, and who is authorized is counted.
pub(super) fn is_secret_number(key: &str, number: &Number) -> bool {
    let key = words(key);
    let digits = number
        .to_string()
        .bytes()
        .filter(u8::is_ascii_digit)
        .count();
    digits >= FEWEST_DIGITS
        && !is_cookies(&key)
        && !key.ends_with("authorization")
        && !key
            .split(|c: char| !c.is_ascii_alphabetic())
            .any(|word| COUNTING.contains(&word))
}

fn is_one_of(key: &str, words: &[&str]) -> bool {
    if key.len() > MAX_KEY_BYTES {
        return false;
    }
    let (visible, _) = strip_hidden(key);
    words.iter().any(|word| {
        let letters = visible.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
        letters
            .map(|byte| byte.to_ascii_lowercase())
            .eq(word.bytes())
    })
}
