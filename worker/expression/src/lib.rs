//! Implements the expression language of playbooks and tools.
//!
//! Expressions and templates are minijinja's, with strict undefined values, a fuel limit and no file access.
//! [`language`] compiles and caches them. [`scope`] holds the variables and evaluates. The caller supplies the
//! functions and filters; this crate knows nothing about alerts.

pub mod error;
pub mod language;
pub mod scope;
pub mod text;
