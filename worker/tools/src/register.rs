//! Reads registers: tables that the organisation keeps, as CSV with a header line, a JSON array, or JSON lines.
//!
//! A bad row is reported with its line and left out. A table that lacks a required column or has no usable row is an
//! error. Unknown columns are kept and shown (`more`), unless they look like a misspelt known column.

mod fields;
mod parse;

use std::sync::Arc;

use nightshift_engine::tool::{ToolError, ToolOutput};
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::content::{CachedContent, ContentSource};
use crate::tool::{run_blocking, unavailable};
pub(crate) use fields::{RegisterColumns, RowFields};

/// Maximum number of records that are searched inline. Longer searches and all reading run on blocking threads.
const MAX_INLINE_RECORDS: usize = 2_000;

/// A problem in a register, list or log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// Line, from 1; `None` for the whole file.
    pub line: Option<u64>,
    /// The problem and its correction.
    pub what: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// The state of one register, list or log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RegisterReport {
    /// Name of the tool that reads it, and of the list for a watch list.
    pub name: String,
    pub kind: String,
    pub path: String,
    /// Usable records; for logs, the records read.
    pub records: usize,
    pub problems: Vec<Problem>,
}

/// A row of a register.
pub(crate) trait RegisterRecord: Sized + Send + Sync + 'static {
    /// All columns of this register.
    const COLUMNS: RegisterColumns;
    /// Columns that every table must have.
    const REQUIRED: &'static [&'static str];

    /// Reads a row.
    ///
    /// # Errors
    ///
    /// Returns the problem of the row, which is then left out.
    fn from_fields(fields: &RowFields<'_>) -> Result<Self, String>;

    /// Returns warnings about a usable row that does not have the effect that its writer may expect.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns contradictions between rows, which are given with their lines.
    fn conflicts(_rows: &[(u64, Self)]) -> Vec<Problem> {
        Vec::new()
    }
}

/// The parsed rows of a register.
#[derive(Debug)]
pub(crate) struct Table<R> {
    pub(crate) records: Vec<R>,
    /// Unusable rows, which no search can find.
    pub(crate) left_out: usize,
    pub(crate) problems: Vec<Problem>,
}

impl<R> Table<R> {
    /// Returns the summary of what was searched, for an answer.
    pub(crate) fn search_summary(&self, name: &str) -> Map<String, Value> {
        let mut searched = Map::new();
        searched.insert("register".to_owned(), name.into());
        searched.insert("records".to_owned(), self.records.len().into());
        if self.left_out > 0 {
            searched.insert("left_out".to_owned(), self.left_out.into());
        }
        searched
    }
}

/// A register that follows changes of its file.
#[derive(Debug)]
pub(crate) struct Register<R> {
    cached: CachedContent<Table<R>>,
}

impl<R: RegisterRecord> Register<R> {
    pub(crate) const fn new(content: ContentSource) -> Self {
        Self {
            cached: CachedContent::new(content, parse::parse_table::<R>),
        }
    }

    pub(crate) fn name(&self) -> String {
        self.cached.name()
    }

    /// Returns the current table. The call blocks.
    ///
    /// # Errors
    ///
    /// Fails when the file is unreadable or has no usable row.
    pub(crate) fn get(&self) -> Result<Arc<Table<R>>, String> {
        let table = self.cached.get()?;
        match table.problems.first() {
            Some(first) if table.records.is_empty() && table.left_out > 0 => {
                Err(format!("{} has no usable row: {first}", self.name()))
            }
            _ => Ok(table),
        }
    }

    /// Runs a search, which is given the name of the register.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Register::get`].
    pub(crate) async fn search(
        self: &Arc<Self>,
        search: impl FnOnce(&str, &Table<R>) -> ToolOutput + Send + 'static,
    ) -> Result<ToolOutput, ToolError> {
        let at_hand = self.cached.get_fresh();
        if let Some(table) =
            at_hand.filter(|table| (1..=MAX_INLINE_RECORDS).contains(&table.records.len()))
        {
            return Ok(search(&self.name(), &table));
        }
        let own = Arc::clone(self);
        run_blocking(move || {
            let table = own.get().map_err(unavailable)?;
            Ok(search(&own.name(), &table))
        })
        .await
    }

    pub(crate) fn to_report(&self, name: &str, kind: &str) -> RegisterReport {
        build_report(name, kind, self.name(), self.cached.get(), |table| {
            (table.records.len(), table.problems.clone())
        })
    }
}

/// The registers of one kind in a configuration. A subject that one of them reports as ended is not cleared by the
/// others.
#[derive(Debug)]
pub(crate) struct RegisterGroup<R>(Arc<Mutex<Vec<Arc<Register<R>>>>>);

impl<R> Clone for RegisterGroup<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> Default for RegisterGroup<R> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<R: RegisterRecord> RegisterGroup<R> {
    /// Adds a register.
    pub(crate) fn add(&self, content: ContentSource) -> Arc<Register<R>> {
        let register = Arc::new(Register::new(content));
        self.all().push(Arc::clone(&register));
        register
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Register<R>>>> {
        self.0.lock()
    }

    /// Searches a register. The search is given its name and the other registers that can be read. Unreadable ones are
    /// reported by their own searches.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Register::get`].
    pub(crate) async fn search(
        &self,
        register: &Arc<Register<R>>,
        search: impl FnOnce(&str, &Table<R>, &[Arc<Table<R>>]) -> ToolOutput + Send + 'static,
    ) -> Result<ToolOutput, ToolError> {
        let mut others: Vec<Arc<Register<R>>> = self.all().clone();
        others.retain(|other| !Arc::ptr_eq(other, register));
        if others.is_empty() {
            return register
                .search(|name, table| search(name, table, &[]))
                .await;
        }
        let own = Arc::clone(register);
        run_blocking(move || {
            let table = own.get().map_err(unavailable)?;
            let others: Vec<_> = others.iter().filter_map(|other| other.get().ok()).collect();
            Ok(search(&own.name(), &table, &others))
        })
        .await
    }
}

/// Builds a report from the result of reading.
pub(crate) fn build_report<T>(
    name: &str,
    kind: &str,
    path: String,
    read: Result<Arc<T>, String>,
    count: impl FnOnce(&T) -> (usize, Vec<Problem>),
) -> RegisterReport {
    let (records, problems) = match read {
        Ok(value) => count(&value),
        Err(what) => (0, vec![Problem { line: None, what }]),
    };
    RegisterReport {
        name: name.to_owned(),
        kind: kind.to_owned(),
        path,
        records,
        problems,
    }
}

#[cfg(test)]
mod tests;
