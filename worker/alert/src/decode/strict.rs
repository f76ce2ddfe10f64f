//! Implements the fast path: `serde_json` with detection of duplicate keys.
//!
//! `serde_json::Value` silently keeps the last of two equal keys. This decoder keeps it too, but flags the key.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{DecodedDocument, JsonLocation, flag};
use crate::ContentFlag;

/// Returns the document, or `None` when `serde_json` refuses it or something in it must be replaced.
pub(super) fn decode(bytes: &[u8]) -> Option<DecodedDocument> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let state = RefCell::new(DecodeState::default());
    let root = ValueVisitor {
        state: &state,
        place: &JsonLocation::Root,
    };
    let value = root.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    let state = state.into_inner();
    (!state.has_nul).then_some(DecodedDocument {
        value,
        flags: state.flags,
    })
}

#[derive(Default)]
struct DecodeState {
    flags: Vec<ContentFlag>,
    /// True if a NUL was seen. The lenient path removes and flags it.
    has_nul: bool,
}

#[derive(Clone, Copy)]
struct ValueVisitor<'a> {
    state: &'a RefCell<DecodeState>,
    place: &'a JsonLocation<'a>,
}

impl ValueVisitor<'_> {
    fn check_nul(self, text: &str) {
        if text.contains('\0') {
            self.state.borrow_mut().has_nul = true;
        }
    }
}

impl<'de> DeserializeSeed<'de> for ValueVisitor<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueVisitor<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        self.check_nul(value);
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        self.check_nul(&value);
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(ValueVisitor {
            place: &JsonLocation::Item(self.place, items.len()),
            ..self
        })? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            self.check_nul(&key);
            let place = &JsonLocation::Key(self.place, &key);
            if map.contains_key(&key) {
                let path = place.path();
                flag(
                    &mut self.state.borrow_mut().flags,
                    ContentFlag::DuplicateKey { path },
                );
            }
            let value = access.next_value_seed(ValueVisitor { place, ..self })?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
