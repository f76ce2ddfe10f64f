//! Implements the playbook analyst, which is deterministic, costs nothing, and gives the reason of each verdict.
//!
//! A [`Playbook`] is a TOML file (see `docs/playbooks.md`). The file says which alerts it is for, which steps to make,
//! which findings follow from their results, and which verdict follows from the findings. Only [`PlaybookSet::load`]
//! does IO: it reads a directory at start.
//!
//! `nightshift-expression` evaluates the expressions. `functions` offers functions over values alone. `facts` holds the
//! facts of an alert and of the answers, with the functions that read them. `language` registers both, and `scope` sets
//! the variables. Each uses only those named before it.

mod analyst;
mod calls;
mod catalogue;
mod check;
mod completeness;
mod conclude;
mod decide;
mod exonerate;
mod explain;
mod facts;
mod findings;
mod functions;
mod key_steps;
mod language;
mod patterns;
mod plan;
mod playbook_file;
mod playbook_set;
mod quote;
mod reflect;
mod scope;
mod tool_kinds;
mod turn;

#[cfg(test)]
mod tests;

pub use analyst::PlaybookAnalyst;
pub use catalogue::catalogue;
pub use check::{Level, Problem, check_playbook};
pub use explain::{
    BenignRule, ClearingSources, ConditionalStep, Explanation, PlannedStep, PlaybookCandidate,
    RegisterLookup, VerdictRule, explain,
};
pub use playbook_file::{MatchFit, MatchedBy, Playbook, PlaybookMatch};
pub use playbook_set::{PlaybookLoadError, PlaybookSet};
