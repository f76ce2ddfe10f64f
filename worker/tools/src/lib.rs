//! The toolbox: look-ups over files that the organisation keeps, without any account.
//!
//! Each tool has a file named by its kind; [`Tools`] holds the tools of a configuration and implements the engine's
//! `Toolbox`. The shared modules: `content` reads files again when they change, `register` reads tables, `approval`
//! reads the meaning of a row (with `pattern`, `canonical`, `row_kind` and `status`), `guard` bounds and cleans every
//! answer. Nothing here writes or uses a network.

mod approval;
mod arguments;
mod asset_lookup;
mod authorised_scanners;
mod canonical;
mod change_lookup;
mod config;
mod content;
mod guard;
mod identity_lookup;
mod indicator_facts;
mod log_search;
mod moment;
mod past_cases;
mod pattern;
mod register;
mod row_kind;
mod status;
mod tool;
mod toolbox;
mod watchlist;

pub use approval::SlackMins;
pub use asset_lookup::Config as AssetLookup;
pub use authorised_scanners::Config as AuthorisedScanners;
pub use change_lookup::Config as ChangeLookup;
pub use config::{ToolConfig, ToolConfigError};
pub use content::Content;
pub use identity_lookup::Config as IdentityLookup;
pub use indicator_facts::Config as IndicatorFacts;
pub use log_search::{Config as LogSearch, LogFormat};
pub use past_cases::Config as PastCasesLookup;
pub use register::{Problem, RegisterReport};
pub use toolbox::Tools;
pub use watchlist::{Config as Watchlist, List as WatchlistFile};

#[cfg(test)]
mod property;
#[cfg(test)]
mod testing;
