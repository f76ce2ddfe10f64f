//! Reads the cells of one row by column, with conversions to the types of columns.
//!
//! CSV knows only text; JSON also has lists, numbers and booleans. Both read alike here. In CSV a list is written with
//! `;` or as JSON. Shared columns have one name here, regardless of their name in the register.

use chrono::{DateTime, Datelike, Utc};
use serde_json::{Map, Value};

use crate::timestamp::{self, DayBoundary};

#[derive(Debug, Clone, Copy)]
pub(crate) struct RegisterColumns {
    /// Columns of this register only.
    pub(crate) own: &'static [&'static str],
    /// Columns that all registers share.
    pub(crate) shared: &'static [&'static str],
    /// Other names of shared columns, each with the shared name.
    pub(crate) aliases: &'static [(&'static str, &'static str)],
}

impl RegisterColumns {
    /// Returns whether a register may have a column of this name.
    pub(crate) fn contains(&self, column: &str) -> bool {
        self.names().any(|name| name == column)
    }

    /// Returns all names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        let aliases = self.aliases.iter().map(|(alias, _)| *alias);
        let (own, shared) = (self.own.iter(), self.shared.iter());
        own.chain(shared).copied().chain(aliases)
    }

    /// Returns the names of this column.
    pub(crate) fn aliases_of(&self, column: &'static str) -> impl Iterator<Item = &'static str> {
        let aliases = self.aliases.iter().filter(move |(_, of)| *of == column);
        std::iter::once(column).chain(aliases.map(|(alias, _)| *alias))
    }
}

/// A row with column names in lower case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowFields<'a> {
    cells: &'a Map<String, Value>,
    columns: &'a RegisterColumns,
    /// Separators of list items.
    separators: &'a [char],
}

impl<'a> RowFields<'a> {
    pub(super) const fn new(
        cells: &'a Map<String, Value>,
        columns: &'a RegisterColumns,
        separators: &'a [char],
    ) -> Self {
        Self {
            cells,
            columns,
            separators,
        }
    }

    /// Returns the name of the column in this register.
    pub(crate) fn column_name(&self, column: &'static str) -> &'static str {
        let mut names = self.columns.aliases_of(column);
        let written = names.find(|name| self.cells.contains_key(*name));
        written.unwrap_or(column)
    }

    fn cell(&self, column: &'static str) -> Option<&'a Value> {
        let mut cells = self
            .columns
            .aliases_of(column)
            .filter_map(|name| self.cells.get(name));
        cells.find(|cell| cell_text(cell).is_some_and(|text| !text.trim().is_empty()))
    }

    /// Checks that a column is not filled in under two names, of which only one could count.
    ///
    /// # Errors
    ///
    /// Names both columns.
    pub(crate) fn check_single_alias(&self, column: &'static str) -> Result<(), String> {
        let is_filled = |name: &&str| {
            let text = self.cells.get(*name).and_then(cell_text);
            text.is_some_and(|text| !text.trim().is_empty())
        };
        let mut filled = self.columns.aliases_of(column).filter(is_filled);
        match (filled.next(), filled.next()) {
            (Some(one), Some(other)) => Err(format!(
                "`{one}` and `{other}` mean the same: leave one of them empty"
            )),
            _ => Ok(()),
        }
    }

    /// Returns the cell as text, or `None` when empty.
    pub(crate) fn text(&self, column: &'static str) -> Option<String> {
        let text = cell_text(self.cell(column)?)?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Returns the cell as text.
    ///
    /// # Errors
    ///
    /// Fails when the cell is empty.
    pub(crate) fn required(&self, column: &'static str) -> Result<String, String> {
        self.text(column)
            .ok_or_else(|| format!("`{}` is empty", self.column_name(column)))
    }

    /// Returns the cell as a list.
    pub(crate) fn list(&self, column: &'static str) -> Vec<String> {
        let written: Option<Value> = match self.cell(column) {
            Some(Value::String(text)) if text.trim_start().starts_with('[') => {
                serde_json::from_str(text).ok()
            }
            _ => None,
        };
        let parts: Vec<String> = match written.as_ref().or_else(|| self.cell(column)) {
            Some(Value::Array(items)) => items.iter().filter_map(cell_text).collect(),
            Some(value) => cell_text(value)
                .map(|text| text.split(self.separators).map(str::to_owned).collect())
                .unwrap_or_default(),
            None => Vec::new(),
        };
        parts
            .iter()
            .map(|part| part.trim().to_owned())
            .filter(|part| !part.is_empty())
            .collect()
    }

    /// Returns the cell as a boolean, or `None` when empty.
    ///
    /// # Errors
    ///
    /// Fails when the cell is not a boolean.
    pub(crate) fn boolean(&self, column: &'static str) -> Result<Option<bool>, String> {
        let Some(text) = self.text(column) else {
            return Ok(None);
        };
        match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" | "1" => Ok(Some(true)),
            "false" | "no" | "n" | "0" => Ok(Some(false)),
            _ => Err(format!("`{column}` is {text:?}: write true or false")),
        }
    }

    /// Returns the cell as a timestamp, or `None` when empty.
    ///
    /// # Errors
    ///
    /// Fails when the cell is not a timestamp.
    pub(crate) fn time(
        &self,
        column: &'static str,
        edge: DayBoundary,
    ) -> Result<Option<DateTime<Utc>>, String> {
        let Some(text) = self.text(column) else {
            return Ok(None);
        };
        let name = self.column_name(column);
        let at = timestamp::parse(&text, edge).ok_or_else(|| {
            format!("`{name}` is {text:?}: write 2026-03-02 or 2026-03-02T02:41:12Z")
        })?;
        if at.year() < 1970 {
            return Err(format!(
                "`{name}` is {text:?}: write the year with four digits"
            ));
        }
        Ok(Some(at))
    }

    /// Returns the unknown columns unchanged.
    pub(crate) fn extra_columns(&self) -> Map<String, Value> {
        self.cells
            .iter()
            .filter(|(column, value)| {
                !self.columns.contains(column) && !value.is_null() && value.as_str() != Some("")
            })
            .map(|(column, value)| (column.clone(), value.clone()))
            .collect()
    }
}

fn cell_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
