//! Cache of schemas in a provider's dialect. A case uses the same schemas again and again, so each is converted once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::{Dialect, is_strict};

/// Maximum number of cached schemas: those of the questions, and of the tools of several profiles. Beyond it the
/// cache is cleared.
const MOST: usize = 512;

/// A schema in the dialect of a provider.
#[derive(Debug)]
pub(crate) struct Fitted {
    /// The tree, for an SDK that builds its requests itself.
    #[cfg(feature = "bedrock")]
    pub(crate) schema: Value,
    /// The JSON text, for requests.
    written: Box<RawValue>,
    /// Whether the schema is strict.
    pub(crate) is_strict: bool,
}

impl Serialize for Fitted {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.written.serialize(to)
    }
}

/// Converts schemas and caches the results.
pub(crate) struct Fitting {
    dialect: Dialect,
    /// Results by the schema's address in memory. The schema is kept, so that the address is not reused.
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

    /// Returns the schema in this dialect.
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
                    // A tree always serialises to JSON.
                    written: to_raw_value(&fitted).unwrap_or_default(),
                    #[cfg(feature = "bedrock")]
                    schema: fitted,
                }),
            }
        });
        Arc::clone(&one.fitted)
    }
}
