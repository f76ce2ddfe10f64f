//! Finds secrets by their position in a JSON tree: `"password": "…"`, and the equivalent shapes `{"name":
//! "DB_PASSWORD", "val": "…"}` (variables of SCC, ECS, Kubernetes) and `"password": {"value": "…"}`.
//!
//! Fields about a secret are evidence and stay: change time, required length, storage location, number of failures.
//! So names match only whole, and of an object only its value fields. Cookies are an exception, because each has its
//! own key: `"cookies": {"session": "…"}`.

use serde_json::{Map, Number, Value};

use super::redact::{is_secret_key, snake_case};
use super::strip_hidden;

/// Keys whose value names a sibling field's value, in lower case without `_` and `-`.
const NAMES: [&str; 4] = ["name", "key", "parametername", "parameterkey"];
/// Keys of the value beside a name.
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
/// Further value keys below the key of a secret: of DynamoDB, and of audit logs of changes.
const INNER_VALUES: [&str; 8] = ["s", "n", "text", "string", "plain", "data", "old", "new"];
/// Maximum length of these keys, with room for hidden characters.
const MAX_KEY_BYTES: usize = 64;
/// Minimum number of digits of a number that may be a secret. PINs have four; counts and flags mostly have fewer.
const MIN_SECRET_DIGITS: usize = 4;
/// Words in a key whose number is a count or measure: `failed_password: 1200`.
const COUNTING: [&str; 22] = [
    "age", "attempt", "attempts", "bad", "count", "days", "expired", "failed", "failure",
    "failures", "invalid", "leaked", "length", "max", "min", "num", "number", "rejected", "total",
    "ttl", "weak", "wrong",
];
/// Keys of settings that name cookies and do not hold them: CloudFront, AWS WAF.
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
/// Values that say that a secret exists, without revealing it.
const STATES: [&str; 6] = ["true", "false", "yes", "no", "null", "none"];

/// Returns the name of an object that names a secret and has the value in a sibling field.
pub(super) fn secret_name(map: &Map<String, Value>) -> Option<String> {
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
    map.keys().any(|key| is_value_key(key)).then_some(name)
}

/// Returns whether this key of a named object holds the value.
pub(super) fn is_value_key(key: &str) -> bool {
    is_one_of(key, &VALUES)
}

/// Returns whether this key of an object below a secret's key holds the secret.
pub(super) fn is_inner_value_key(key: &str) -> bool {
    is_value_key(key) || is_one_of(key, &INNER_VALUES)
}

/// Returns whether the value under this secret name holds cookies.
pub(super) fn is_cookie_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("cookie") || name.ends_with("cookies")
}

/// Returns whether an object is one cookie with a value field. The outermost object must have a name too, because one
/// of many cookies may be called `value`.
pub(super) fn is_one_cookie(map: &Map<String, Value>, is_outermost: bool) -> bool {
    map.keys().any(|key| is_value_key(key))
        && (!is_outermost || map.keys().any(|key| is_one_of(key, &NAMES)))
}

/// Returns whether a key says which cookies are meant, not what they hold.
pub(super) fn is_cookie_setting(key: &str) -> bool {
    is_one_of(key, &COOKIE_SETTINGS)
}

/// Returns whether a text under the key of a secret is not one: a state, a reference to a secret store, or the
/// working directory, which shells call `PWD`.
pub(super) fn is_no_secret(key: &str, text: &str) -> bool {
    text.is_empty()
        || text.starts_with("[redacted:")
        || (text.starts_with("arn:") && !text.contains(char::is_whitespace))
        || (key.eq_ignore_ascii_case("pwd")
            && (text.starts_with('/') || text.get(1..3) == Some(":\\")))
        || STATES.iter().any(|state| text.eq_ignore_ascii_case(state))
}

/// Returns whether a number under the key of a secret is one. Kernels number their cookies, and authorised users are
/// counted.
pub(super) fn is_secret_number(key: &str, number: &Number) -> bool {
    let key = snake_case(key);
    let digits = number
        .to_string()
        .bytes()
        .filter(u8::is_ascii_digit)
        .count();
    digits >= MIN_SECRET_DIGITS
        && !is_cookie_name(&key)
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
