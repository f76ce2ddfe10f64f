//! Caches schemas in a provider's dialect. A case uses the same schemas again and again, so each is converted once.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::{SchemaDialect, is_strict};

/// Maximum number of cached schemas: those of the questions, and of the tools of several profiles. Beyond it the
/// cache is cleared.
const MAX_CACHED_SCHEMAS: usize = 512;

/// A schema in the dialect of a provider.
#[derive(Debug)]
pub(crate) struct DialectSchema {
    /// The tree, for an SDK that builds its requests itself.
    #[cfg(feature = "bedrock")]
    pub(crate) schema: Value,
    /// The JSON text, for requests.
    written: Box<RawValue>,
    /// True if the schema is strict.
    pub(crate) is_strict: bool,
}

impl Serialize for DialectSchema {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.written.serialize(to)
    }
}

/// Converts schemas and caches the results.
pub(crate) struct SchemaCache {
    dialect: SchemaDialect,
    /// Results by the schema's address in memory. The schema is kept, so that the address is not reused.
    cached: Mutex<HashMap<usize, CachedSchema>>,
}

struct CachedSchema {
    _schema: Arc<Value>,
    fitted: Arc<DialectSchema>,
}

impl SchemaCache {
    pub(crate) fn new(dialect: SchemaDialect) -> Self {
        Self {
            dialect,
            cached: Mutex::default(),
        }
    }

    /// Returns the schema in this dialect.
    pub(crate) fn get(&self, schema: &Arc<Value>) -> Arc<DialectSchema> {
        let mut known = self.cached.lock();
        if known.len() >= MAX_CACHED_SCHEMAS {
            known.clear();
        }
        let place = Arc::as_ptr(schema).addr();
        let one = known.entry(place).or_insert_with(|| {
            let fitted = self.dialect.fit(schema);
            CachedSchema {
                _schema: Arc::clone(schema),
                fitted: Arc::new(DialectSchema {
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
