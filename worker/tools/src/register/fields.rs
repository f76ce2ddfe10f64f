//! The cells of one row, by column, read as what the column holds.
//!
//! CSV knows only text, JSON also lists, numbers and booleans; both read alike here. In CSV a list is written with `;`.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::moment::{self, Edge};

/// A row: column names in lower case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    cells: &'a Map<String, Value>,
    columns: &'a [&'a str],
}

impl<'a> Fields<'a> {
    pub(super) const fn new(cells: &'a Map<String, Value>, columns: &'a [&'a str]) -> Self {
        Self { cells, columns }
    }

    /// The cell as text; nothing where it is empty.
    pub(crate) fn text(&self, column: &str) -> Option<String> {
        let text = plain(self.cells.get(column)?)?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The cell as text.
    ///
    /// # Errors
    ///
    /// When it is empty.
    pub(crate) fn needed(&self, column: &str) -> Result<String, String> {
        self.text(column)
            .ok_or_else(|| format!("`{column}` is empty"))
    }

    /// The cell as a list.
    pub(crate) fn list(&self, column: &str) -> Vec<String> {
        let parts: Vec<String> = match self.cells.get(column) {
            Some(Value::Array(items)) => items.iter().filter_map(plain).collect(),
            Some(value) => plain(value)
                .map(|text| text.split(';').map(str::to_owned).collect())
                .unwrap_or_default(),
            None => Vec::new(),
        };
        parts
            .iter()
            .map(|part| part.trim().to_owned())
            .filter(|part| !part.is_empty())
            .collect()
    }

    /// The cell as yes or no; nothing where it is empty.
    ///
    /// # Errors
    ///
    /// When it is something else.
    pub(crate) fn flag(&self, column: &str) -> Result<Option<bool>, String> {
        let Some(text) = self.text(column) else {
            return Ok(None);
        };
        match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" | "1" => Ok(Some(true)),
            "false" | "no" | "n" | "0" => Ok(Some(false)),
            _ => Err(format!("`{column}` is {text:?}: write true or false")),
        }
    }

    /// The cell as a moment; nothing where it is empty.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub(crate) fn time(&self, column: &str, edge: Edge) -> Result<Option<DateTime<Utc>>, String> {
        let Some(text) = self.text(column) else {
            return Ok(None);
        };
        moment::parse(&text, edge).map(Some).ok_or_else(|| {
            format!("`{column}` is {text:?}: write 2026-03-02 or 2026-03-02T02:41:12Z")
        })
    }

    /// The columns that we do not know, as they stand.
    pub(crate) fn more(&self) -> Map<String, Value> {
        self.cells
            .iter()
            .filter(|(column, value)| {
                !self.columns.contains(&column.as_str())
                    && !value.is_null()
                    && value.as_str() != Some("")
            })
            .map(|(column, value)| (column.clone(), value.clone()))
            .collect()
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
