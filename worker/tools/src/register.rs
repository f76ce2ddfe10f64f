//! Registers: tables that the organisation keeps, as CSV with a header line, a JSON array, or JSON lines.
//!
//! A bad row is reported with its line and left out, the rest is used; a table without a column that it cannot do
//! without, or with rows of which none can be used, is no register at all. Columns that we do not know are kept and shown (`more`), unless they look like a slip of
//! the pen in one that we know.

mod fields;
mod parse;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nightshift_engine::{ToolError, ToolOutput};
use serde::Serialize;
use serde_json::{Value, json};

use crate::content::{Cached, Content};
use crate::tool::{blocking, unavailable};
pub(crate) use fields::{Columns, Fields};

/// Most records that are searched on the spot: longer searches are for threads of their own, as is reading.
const FEW_RECORDS: usize = 2_000;

/// What is wrong in a register, list or log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// Line, from 1; none where it concerns the whole.
    pub line: Option<u64>,
    /// What is wrong and how to mend it.
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
    /// The tool that reads it; for a watchlist also the list.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Where it is.
    pub path: String,
    /// Usable records; for logs, records seen.
    pub records: usize,
    /// What is wrong in it.
    pub problems: Vec<Problem>,
}

/// A row of a register.
pub(crate) trait Record: Sized + Send + Sync + 'static {
    /// The columns that it knows.
    const COLUMNS: Columns;
    /// Those that every table must have.
    const REQUIRED: &'static [&'static str];

    /// Reads a row.
    ///
    /// # Errors
    ///
    /// What is wrong with it; the row is then left out.
    fn read(fields: &Fields<'_>) -> Result<Self, String>;

    /// What in a usable row will not do what its writer may think.
    fn doubts(&self) -> Vec<String> {
        Vec::new()
    }

    /// What rows, each with its line, say against each other.
    fn conflicts(_rows: &[(u64, Self)]) -> Vec<Problem> {
        Vec::new()
    }
}

/// A register as read.
#[derive(Debug)]
pub(crate) struct Table<R> {
    pub(crate) records: Vec<R>,
    /// Rows that could not be used: what they say is found by nobody.
    pub(crate) left_out: usize,
    pub(crate) problems: Vec<Problem>,
}

impl<R> Table<R> {
    /// What an answer says was searched.
    pub(crate) fn searched(&self, name: &str) -> Value {
        let mut searched = json!({ "register": name, "records": self.records.len() });
        if let Some(searched) = searched.as_object_mut().filter(|_| self.left_out > 0) {
            searched.insert("left_out".to_owned(), self.left_out.into());
        }
        searched
    }
}

/// A register that follows its file.
#[derive(Debug)]
pub(crate) struct Register<R> {
    cached: Cached<Table<R>>,
}

impl<R: Record> Register<R> {
    pub(crate) const fn new(content: Content) -> Self {
        Self {
            cached: Cached::new(content, parse::table::<R>),
        }
    }

    pub(crate) fn name(&self) -> String {
        self.cached.name()
    }

    /// The register as it stands now. Blocks.
    ///
    /// # Errors
    ///
    /// Why it cannot be read, or that none of its rows can be used.
    pub(crate) fn get(&self) -> Result<Arc<Table<R>>, String> {
        let table = self.cached.get()?;
        match table.problems.first() {
            Some(first) if table.records.is_empty() && table.left_out > 0 => Err(format!(
                "{}: no row of it can be used: {first}",
                self.name()
            )),
            _ => Ok(table),
        }
    }

    /// Searches it; the search is told its name.
    ///
    /// # Errors
    ///
    /// As [`Register::get`].
    pub(crate) async fn search(
        self: &Arc<Self>,
        search: impl FnOnce(&str, &Table<R>) -> ToolOutput + Send + 'static,
    ) -> Result<ToolOutput, ToolError> {
        let at_hand = self.cached.at_hand();
        if let Some(table) =
            at_hand.filter(|table| (1..=FEW_RECORDS).contains(&table.records.len()))
        {
            return Ok(search(&self.name(), &table));
        }
        let own = Arc::clone(self);
        blocking(move || {
            let table = own.get().map_err(unavailable)?;
            Ok(search(&own.name(), &table))
        })
        .await
    }

    pub(crate) fn report(&self, name: &str, kind: &str) -> RegisterReport {
        report(name, kind, self.name(), self.cached.get(), |table| {
            (table.records.len(), table.problems.clone())
        })
    }
}

/// The registers of one kind in a configuration: what one of them says is no more, no other clears.
#[derive(Debug)]
pub(crate) struct Family<R>(Arc<Mutex<Vec<Arc<Register<R>>>>>);

impl<R> Clone for Family<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> Default for Family<R> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<R: Record> Family<R> {
    /// Adds a register.
    pub(crate) fn add(&self, content: Content) -> Arc<Register<R>> {
        let register = Arc::new(Register::new(content));
        self.all().push(Arc::clone(&register));
        register
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Register<R>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Searches a register; the search is told its name, and the other registers as far as they can be read. That one cannot
    /// is told by whoever searches it.
    ///
    /// # Errors
    ///
    /// As [`Register::get`].
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
        blocking(move || {
            let table = own.get().map_err(unavailable)?;
            let others: Vec<_> = others.iter().filter_map(|other| other.get().ok()).collect();
            Ok(search(&own.name(), &table, &others))
        })
        .await
    }
}

/// A report on something that could be read, or not.
pub(crate) fn report<T>(
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
