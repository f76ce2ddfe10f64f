//! The expression language of playbooks and tools.
//!
//! Expressions and templates are minijinja's, with strict undefined values, a fuel limit and no files. [`language`]
//! compiles them and keeps what it compiled. [`scope`] holds the variables and evaluates. The functions and filters come
//! from the caller; this crate knows nothing of alerts.

pub mod error;
pub mod language;
pub mod scope;
pub mod text;
