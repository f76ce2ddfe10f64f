//! Parses arguments of functions.

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

/// Returns one word or a list of words; `None` where the argument is missing.
pub(in crate::playbook) fn words(value: Option<&Value>) -> Result<Option<Vec<String>>, Error> {
    let Some(value) = value.filter(|value| !value.is_none() && !value.is_undefined()) else {
        return Ok(None);
    };
    if let Some(word) = value.as_str() {
        return Ok(Some(vec![word.to_owned()]));
    }
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "expected a string or a list of strings",
        ));
    }
    Ok(Some(
        value.try_iter()?.map(|word| word.to_string()).collect(),
    ))
}
