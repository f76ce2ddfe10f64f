//! Reads a vendor's JSON regardless of its spelling.
//!
//! The same finding comes with `camelCase` keys from EventBridge and `PascalCase` keys from the API, with `null` for
//! objects, numbers in strings, and times in four forms. A [`Node`] reads all of them and never fails.

use chrono::{DateTime, Datelike, Utc};
use serde_json::{Map, Value};

/// A location in a finding, which may be empty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node<'a>(Option<&'a Value>, KeyFilter);

impl<'a> Node<'a> {
    const NOTHING: Self = Self(None, KeyFilter(0));

    pub(crate) fn new(value: &'a Value) -> Self {
        let keys = match value {
            Value::Object(map) => KeyFilter::new(map),
            _ => KeyFilter(0),
        };
        Self(Some(value), keys)
    }

    pub(crate) const fn value(self) -> Option<&'a Value> {
        self.0
    }

    /// Returns the child with this name, in any case and with or without `_` between words. An exact spelling has
    /// precedence.
    pub(crate) fn at(self, key: &str) -> Self {
        let Some(Value::Object(map)) = self.0.filter(|_| self.1.may_contain(key)) else {
            return Self::NOTHING;
        };
        let exact = map.get(key).filter(|value| !value.is_null());
        let found = exact.or_else(|| {
            map.iter()
                .find(|(name, value)| is_same_key(name, key) && !value.is_null())
                .map(|(_, value)| value)
        });
        found.map_or(Self::NOTHING, Self::new)
    }

    /// Returns the child with exactly this name.
    pub(crate) fn exactly(self, key: &str) -> Self {
        let Some(Value::Object(map)) = self.0.filter(|_| self.1.may_contain(key)) else {
            return Self::NOTHING;
        };
        map.get(key).map_or(Self::NOTHING, Self::new)
    }

    /// Returns the descendant under these names, separated by `/`.
    pub(crate) fn path(self, path: &str) -> Self {
        match path.split_once('/') {
            _ if self.0.is_none() => self,
            Some((key, rest)) => self.at(key).path(rest),
            None => self.at(path),
        }
    }

    /// Returns whether the node has a value other than `null`.
    pub(crate) fn exists(self) -> bool {
        self.0.is_some_and(|value| !value.is_null())
    }

    pub(crate) fn is_object(self) -> bool {
        self.0.is_some_and(Value::is_object)
    }

    /// Returns the elements of a list; an object or a scalar counts as a list with one element.
    pub(crate) fn items(self) -> impl Iterator<Item = Self> + use<'a> {
        let items: &'a [Value] = match self.0 {
            Some(Value::Array(items)) => items,
            Some(Value::Null) | None => &[],
            Some(single) => std::slice::from_ref(single),
        };
        items.iter().map(Self::new)
    }

    /// Returns the descendants under these names, separated by `/`; lists on the way are opened.
    pub(crate) fn descendants(self, path: &str) -> Vec<Self> {
        path.split('/').fold(vec![self], |places, key| {
            let inner = places.into_iter().map(|place| place.at(key));
            inner.flat_map(Self::items).collect()
        })
    }

    /// Returns the members of an object.
    pub(crate) fn members(self) -> impl Iterator<Item = (&'a str, Self)> + use<'a> {
        let map = match self.0 {
            Some(Value::Object(map)) => Some(map),
            _ => None,
        };
        map.into_iter().flat_map(|map| {
            map.iter()
                .map(|(key, value)| (key.as_str(), Self::new(value)))
        })
    }

    /// Returns a string that is not empty.
    pub(crate) fn str(self) -> Option<&'a str> {
        self.0
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|text| !text.is_empty())
    }

    /// Returns a string that is not empty, or a number or boolean as text.
    pub(crate) fn text(self) -> Option<String> {
        match self.0? {
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => self.str().map(str::to_owned),
        }
    }

    /// Returns a number, which may be in a string.
    pub(crate) fn number(self) -> Option<f64> {
        match self.0? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Returns a whole number that is not negative.
    pub(crate) fn count(self) -> Option<u64> {
        match self.0? {
            Value::Number(number) => number
                .as_u64()
                .or_else(|| number.as_f64().filter(|n| *n >= 0.0).map(|n| n as u64)),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Returns whether the value is `true`, which may be in a string.
    pub(crate) fn is_true(self) -> bool {
        match self.0 {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => text.trim().eq_ignore_ascii_case("true"),
            _ => false,
        }
    }

    /// Returns whether the value is this string, ignoring case.
    pub(crate) fn is(self, word: &str) -> bool {
        self.str()
            .is_some_and(|text| text.eq_ignore_ascii_case(word))
    }

    /// Returns a time: RFC 3339 and its variants in logs, or seconds, milli-, micro- or nanoseconds since 1970, with
    /// or without fraction.
    ///
    /// Times before 1970 are refused, because no event is older. Years after 9999 are refused, because RFC 3339
    /// cannot hold them and a stored one could not be read again.
    pub(crate) fn time(self) -> Option<DateTime<Utc>> {
        self.any_time()
            .filter(|time| (1970..=9999).contains(&time.year()))
    }

    fn any_time(self) -> Option<DateTime<Utc>> {
        if let Some(text) = self.str()
            && let Some(time) = parse_time(text)
        {
            return Some(time);
        }
        // Protocol buffers in JSON: `{"seconds": …, "nanos": …}`.
        let number = self.number().or_else(|| self.at("seconds").number())?;
        parse_epoch(number)
    }
}

/// A filter for the keys of an object, by three of their letters. Most requested names are in no finding, and the
/// filter rules them out without a comparison of keys.
#[derive(Debug, Clone, Copy)]
struct KeyFilter(u128);

impl KeyFilter {
    fn new(map: &Map<String, Value>) -> Self {
        let bits = map.keys().map(|key| Self::key_bit(key));
        Self(bits.fold(0, std::ops::BitOr::bitor))
    }

    fn may_contain(self, key: &str) -> bool {
        self.0 & Self::key_bit(key) != 0
    }

    /// Returns one bit, the same for all keys that [`is_same_key`] treats as equal.
    fn key_bit(key: &str) -> u128 {
        let [first, second, last] = match *key.as_bytes() {
            [first, second, .., last] if first != b'_' && second != b'_' && last != b'_' => {
                [first, second, last]
            }
            _ => {
                let mut letters = key.bytes().filter(|byte| *byte != b'_');
                let first = letters.next().unwrap_or_default();
                let second = letters.next().unwrap_or(first);
                [first, second, letters.next_back().unwrap_or(second)]
            }
        };
        let [first, second, last] = [first, second, last].map(|letter| u32::from(letter | 0x20));
        // These factors separate the most names of feeds and readers among those that were tried.
        1 << ((first * 11 + second * 41 + last * 31) % u128::BITS)
    }
}

/// Returns whether two keys differ only in case and `_`: `resourceName`, `ResourceName` and `resource_name`.
pub(crate) fn is_same_key(one: &str, other: &str) -> bool {
    fn letters(key: &str) -> impl Iterator<Item = u8> + '_ {
        key.bytes()
            .filter(|byte| *byte != b'_')
            .map(|byte| byte.to_ascii_lowercase())
    }
    // Nearly all pairs differ in their first letter, and every field of a finding is compared with many names.
    let differ_at_once = match (one.as_bytes(), other.as_bytes()) {
        ([b'_', ..], _) | (_, [b'_', ..]) => false,
        ([one, ..], [other, ..]) => !one.eq_ignore_ascii_case(other),
        _ => false,
    };
    !differ_at_once && letters(one).eq(letters(other))
}

/// Returns a key in the form that [`is_same_key`] compares.
pub(crate) fn fold_key(key: &str) -> String {
    let mut folded = key.replace('_', "");
    folded.make_ascii_lowercase();
    folded
}

fn parse_time(text: &str) -> Option<DateTime<Utc>> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.to_utc());
    }
    // Python and Java log a comma before the fraction, and the zone's name after an offset or alone.
    let text = text.replacen(',', ".", 1);
    let text = text
        .trim_end_matches("UTC")
        .trim_end_matches("GMT")
        .trim_end();
    let with_offset = [
        "%Y-%m-%dT%H:%M:%S%.f%z",
        "%Y-%m-%d %H:%M:%S%.f%z",
        "%Y-%m-%d %H:%M:%S%.f %z",
        // The Common Log Format of web servers.
        "%d/%b/%Y:%H:%M:%S %z",
    ];
    let told = with_offset
        .iter()
        .find_map(|format| DateTime::parse_from_str(text, format).ok());
    if let Some(time) = told {
        return Some(time.to_utc());
    }
    // A time without an offset is UTC, with `T` or a space.
    let naive = text.trim_end_matches('Z');
    ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"]
        .iter()
        .find_map(|format| chrono::NaiveDateTime::parse_from_str(naive, format).ok())
        .map(|time| time.and_utc())
}

/// Reads a time since 1970. The size gives the unit: seconds exceed 10^11 only in the year 5138.
fn parse_epoch(number: f64) -> Option<DateTime<Utc>> {
    let micros = match number.abs() {
        size if size < 1e11 => number * 1e6,
        size if size < 1e14 => number * 1e3,
        size if size < 1e17 => number,
        _ => number / 1e3,
    };
    if !micros.is_finite() || number == 0.0 {
        return None;
    }
    DateTime::from_timestamp_micros(micros.round() as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r1_keys_are_found_in_any_case_and_null_is_nothing() {
        let value = json!({"Service": {"ACTION": null, "count": "6"}, "service": null});
        let node = Node::new(&value);
        assert_eq!(node.path("service/count").count(), Some(6));
        assert!(!node.path("service/action").exists());
        assert!(!node.path("service/action/api").exists());
    }

    #[test]
    fn keys_are_found_in_every_spelling() {
        let key = "sourceIp";
        for spelled in [
            "sourceIp",
            "SourceIP",
            "source_ip",
            "_source_ip",
            "SOURCE_IP_",
            "sourceip",
            "s_ourceip",
            "sourcei_p",
        ] {
            let value = json!({spelled: "x", "a": 1});
            assert_eq!(Node::new(&value).at(key).str(), Some("x"), "{spelled}");
        }
        for (key, spelled) in [("id", "i_d"), ("id", "ID_"), ("arn", "a_rn"), ("a", "__A")] {
            let value = json!({spelled: 1});
            assert!(Node::new(&value).at(key).exists(), "{spelled}");
        }
        let short = json!({"_x_": 1});
        assert!(Node::new(&short).at("X").exists());
        assert!(!Node::new(&short).exactly("x").exists());
        assert!(Node::new(&json!({"": 1})).at("_").exists());
    }

    #[test]
    fn keys_of_snake_and_camel_case_are_one() {
        let value = json!({"resource_name": "r", "Process_Args": ["a"], "type_": "t", "project_id": 1, "projectId": 2});
        let node = Node::new(&value);
        assert_eq!(node.at("resourceName").str(), Some("r"));
        assert_eq!(node.at("processArgs").items().count(), 1);
        assert_eq!(node.at("type").str(), Some("t"));
        assert_eq!(node.at("projectId").count(), Some(2));
        assert_eq!(node.at("project_id").count(), Some(1));
        assert!(!node.at("resource").exists());
    }

    #[test]
    fn times_come_in_many_forms() {
        let at = |value: Value| Node::new(&value).time().map(|time| time.to_rfc3339());
        let second = Some("2026-03-02T02:41:12+00:00".to_owned());
        let milli = Some("2026-03-02T02:41:12.500+00:00".to_owned());
        assert_eq!(at(json!("2026-03-02T02:41:12Z")), second);
        assert_eq!(at(json!("2026-03-02T03:41:12+01:00")), second);
        assert_eq!(at(json!("2026-03-02 02:41:12")), second);
        for written in [
            "2026-03-02T02:41:12+0000",
            "2026-03-02T03:41:12.000+0100",
            "2026-03-02 02:41:12 UTC",
            "2026-03-02T02:41:12 GMT",
            "2026-03-02 02:41:12 +0000 UTC",
            "2026-03-02 04:41:12+02:00",
            "02/Mar/2026:02:41:12 +0000",
            "02/Mar/2026:01:41:12 -0100",
        ] {
            assert_eq!(at(json!(written)), second, "{written}");
        }
        for written in ["2026-03-02 02:41:12,500", "2026-03-02T02:41:12,500+0000"] {
            assert_eq!(at(json!(written)), milli, "{written}");
        }
        assert_eq!(at(json!(1_772_419_272)), second);
        assert_eq!(at(json!(1_772_419_272.5)), milli);
        assert_eq!(at(json!("1772419272.5")), milli);
        assert_eq!(at(json!(1_772_419_272_500_u64)), milli);
        assert_eq!(at(json!({"seconds": "1772419272", "nanos": 0})), second);
        assert_eq!(at(json!("1e400")), None);
        assert_eq!(at(json!("yesterday")), None);
        for out_of_range in [
            json!("+99999-01-01T00:00:00"),
            json!("0001-01-01T00:00:00Z"),
            json!("9999-12-31T23:59:59-01:00"),
            json!(1e21),
            json!(-1),
        ] {
            assert_eq!(at(out_of_range.clone()), None, "{out_of_range}");
        }
        assert_eq!(at(json!(null)), None);
    }
}
