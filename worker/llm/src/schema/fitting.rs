//! The schemas of one model's requests in its provider's dialect. A case asks with the same ones again and again: each is
//! put into the dialect once and kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::{Dialect, is_strict};

/// Most schemas that are kept: the questions', and the tools' of several profiles. Then all are made anew.
const MOST: usize = 512;

/// A schema in the dialect of a provider.
#[derive(Debug)]
pub(crate) struct Fitted {
    /// As a tree, for an SDK that builds its requests itself.
    #[cfg(feature = "bedrock")]
    pub(crate) schema: Value,
    /// The same as every request writes it.
    written: Box<RawValue>,
    /// Whether the rules of strict schemas hold.
    pub(crate) is_strict: bool,
}

impl Serialize for Fitted {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.written.serialize(to)
    }
}

/// Fits schemas, and knows those that it has fitted.
pub(crate) struct Fitting {
    dialect: Dialect,
    /// By the place in memory of the schema, which is kept, so that no other one takes that place.
    known: Mutex<HashMap<usize, Known>>,
}

struct Known {
    _schema: Arc<Value>,
    fitted: Arc<Fitted>,
}

impl Fitting {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            known: Mutex::default(),
        }
    }

    /// The schema in this dialect.
    pub(crate) fn of(&self, schema: &Arc<Value>) -> Arc<Fitted> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        let place = Arc::as_ptr(schema).addr();
        let one = known.entry(place).or_insert_with(|| {
            let fitted = self.dialect.fit(schema);
            Known {
                _schema: Arc::clone(schema),
                fitted: Arc::new(Fitted {
                    is_strict: is_strict(&fitted),
                    // A tree is always JSON.
                    written: to_raw_value(&fitted).unwrap_or_default(),
                    #[cfg(feature = "bedrock")]
                    schema: fitted,
                }),
            }
        });
        Arc::clone(&one.fitted)
    }
}
