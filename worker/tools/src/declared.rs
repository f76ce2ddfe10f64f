//! Implements declared tools: look-ups over HTTPS that a TOML file describes, run by one engine.
//!
//! `manifest` is the file, `check` finds its mistakes, `catalogue` holds the shipped files and those of the user.
//! A call goes through `lookup`: the argument is checked (`private_names`), the cache is asked (`cache`), the
//! request is written (`request`) and sent within the limits (`rate`, `transport`, `egress`), and the answer is
//! read (`answer`). `indicator_lookup` asks several tools at once.

mod answer;
mod cache;
mod catalogue;
mod check;
mod egress;
mod indicator_lookup;
mod language;
mod lookup;
mod manifest;
mod private_names;
mod rate;
mod request;
mod toolset;
mod transport;

pub use catalogue::{Catalogue, CatalogueError};
pub use check::{ManifestError, ManifestProblem};
pub use manifest::{LimitsTable, Manifest};

pub(crate) use manifest::API_KEY;
pub(crate) use toolset::build_declared;

#[cfg(test)]
mod fake_vendor;
#[cfg(test)]
mod tests;
