//! Defines the expressions and templates of declared tools: minijinja's, with the functions below.
//!
//! An expression of an answer may also be a JSON pointer. What a pointer does not find is nothing; an expression over
//! what is absent is an error, because the answer is then not what the file's author saw.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use minijinja::Value;
use minijinja::value::ValueKind;
use nightshift_expression::language::Language;
use nightshift_expression::scope::Scope;
use serde_json::Value as Json;

/// Functions that expressions may call, beside minijinja's own.
pub(super) const FUNCTIONS: [&str; 5] = ["at", "registrable", "range", "dict", "namespace"];

pub(super) static LANGUAGE: LazyLock<Language> = LazyLock::new(|| {
    Language::new(|environment| {
        environment.add_function("at", |value: Value, pointer: String| at(&value, &pointer));
        environment.add_function("registrable", |name: String| {
            psl::domain_str(&name).unwrap_or(&name).to_owned()
        });
        environment.add_filter("base64url", |text: String| URL_SAFE_NO_PAD.encode(text));
    })
});

/// Returns the value at a JSON pointer, or nothing.
fn at(value: &Value, pointer: &str) -> Value {
    find(value, pointer).unwrap_or_else(|| Value::from(()))
}

/// Returns the value at a JSON pointer, if there is one.
pub(super) fn find(value: &Value, pointer: &str) -> Option<Value> {
    let mut found = value.clone();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        let next = match (found.kind(), part.parse::<usize>()) {
            (ValueKind::Seq, Ok(index)) => found.get_item_by_index(index),
            (ValueKind::Map, _) => found.get_item(&Value::from(part)),
            _ => return None,
        };
        found = next.ok().filter(|next| !next.is_undefined())?;
    }
    Some(found)
}

/// Returns whether the text is a JSON pointer. No expression begins so.
pub(super) fn is_pointer(text: &str) -> bool {
    text.starts_with('/')
}

/// Returns the first filter of an expression or template that does not exist. Only the use of a filter tells that, not the
/// compilation.
pub(super) fn unknown_filter(text: &str) -> Option<&str> {
    let mut quote = None;
    let mut before = ' ';
    for (at, one) in text.char_indices() {
        match (quote, one) {
            (None, '"' | '\'') => quote = Some(one),
            (Some(open), _) if one == open && before != '\\' => quote = None,
            (None, '|') => {
                let rest = text.get(at + 1..).unwrap_or_default().trim_start();
                let end = rest.find(|one: char| !one.is_ascii_alphanumeric() && one != '_');
                let name = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                if !is_filter(name) {
                    return Some(name);
                }
            }
            _ => {}
        }
        before = one;
    }
    None
}

fn is_filter(name: &str) -> bool {
    let used = Scope::new(&LANGUAGE).evaluate(&format!("'' | {name}"));
    used.map_err(|error| error.to_string())
        .map_or_else(|error| !error.contains("unknown filter"), |_| true)
}

/// Reads a value out of `root`, which is the variable that pointers lead into.
///
/// # Errors
///
/// Returns the problem of the expression.
pub(super) fn read(scope: &Scope, root: &Value, text: &str) -> Result<Json, String> {
    let value = if is_pointer(text) {
        at(root, text)
    } else {
        scope.evaluate(text).map_err(|error| error.to_string())?
    };
    serde_json::to_value(&value).map_err(|error| format!("`{text}`: {error}"))
}

/// Returns whether the expression holds; a failing one does not.
pub(super) fn holds(scope: &Scope, text: &str) -> bool {
    scope.holds(Some(text)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use minijinja::value::Serde;
    use serde_json::json;

    use super::*;

    fn evaluate(text: &str) -> Result<Json, String> {
        let body = Value::from(Serde(json!({"a": {"b": [1, {"c/d": "x"}]}, "n": null})));
        let mut scope = Scope::new(&LANGUAGE);
        scope.set("body", body.clone());
        read(&scope, &body, text)
    }

    #[test]
    fn pointer_finds_a_value_or_nothing() {
        assert_eq!(evaluate("/a/b/0"), Ok(json!(1)));
        assert_eq!(evaluate("/a/b/1/c~1d"), Ok(json!("x")));
        for absent in ["/a/x", "/a/b/7", "/n/x", "/a/b/0/x", "/a/b/-1"] {
            assert_eq!(evaluate(absent), Ok(Json::Null), "{absent}");
        }
    }

    #[test]
    fn expression_over_an_absent_field_is_an_error() {
        assert_eq!(evaluate("body.a.b[0] + 1"), Ok(json!(2)));
        assert_eq!(evaluate("at(body, '/x/y') or 7"), Ok(json!(7)));
        assert!(evaluate("body.x.y").is_err());
        assert!(evaluate("body.x").is_err());
    }

    #[test]
    fn filters_that_do_not_exist_are_found_outside_of_texts() {
        assert_eq!(unknown_filter("body.x | nosuch"), Some("nosuch"));
        assert_eq!(unknown_filter("a | int | unheard > 3"), Some("unheard"));
        for right in [
            "body.x | int > 0",
            "'a | b' ~ \"c | d\"",
            "x | base64url",
            "{{ a | length }}",
            "rows | selectattr('a') | list",
        ] {
            assert_eq!(unknown_filter(right), None, "{right}");
        }
    }

    #[test]
    fn url_id_has_no_padding() {
        assert_eq!(
            evaluate("'http://a.example/?b=c' | base64url"),
            Ok(json!("aHR0cDovL2EuZXhhbXBsZS8_Yj1j"))
        );
        assert_eq!(
            evaluate("registrable('a.b.example.co.uk')"),
            Ok(json!("example.co.uk"))
        );
    }
}
