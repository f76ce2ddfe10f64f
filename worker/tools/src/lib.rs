//! Implements the toolbox: look-ups over files that the organisation keeps, and over HTTPS as TOML files declare them.
//!
//! Each tool has a file named by its kind; [`ConfiguredToolbox`] holds the tools of a configuration and implements the
//! engine's `Toolbox`. The shared modules: `content` reads files again when they change, `register` reads tables,
//! `approval` reads the meaning of a row (with `pattern`, `canonical_name`, `row_kind` and `approval_status`),
//! `output_guard` bounds and cleans every answer. Nothing here writes, and only `declared` uses a network.

mod approval;
mod approval_status;
mod arguments;
mod asset_lookup;
mod authorised_scanners;
mod canonical_name;
mod change_lookup;
mod config;
mod content;
#[cfg(feature = "declared")]
pub mod declared;
mod declared_config;
mod identity_lookup;
mod indicator_facts;
mod log_search;
mod output_guard;
mod past_cases;
mod pattern;
mod register;
mod register_lookup;
mod row_kind;
mod timestamp;
mod tool;
mod toolbox;
mod watchlist;

pub use approval::SlackMins;
pub use asset_lookup::AssetLookupConfig as AssetLookup;
pub use authorised_scanners::AuthorisedScannersConfig as AuthorisedScanners;
pub use change_lookup::ChangeLookupConfig as ChangeLookup;
pub use config::{ToolConfig, ToolConfigError, ToolTable};
pub use content::ContentSource;
pub use declared_config::{DeclaredToolConfig, INDICATOR_LOOKUP, KeyResolver, ToolSettings};
pub use identity_lookup::IdentityLookupConfig as IdentityLookup;
pub use indicator_facts::IndicatorFactsConfig as IndicatorFacts;
pub use log_search::{LogFormat, LogSearchConfig as LogSearch};
pub use past_cases::PastCasesConfig as PastCasesLookup;
pub use register::{Problem, RegisterReport};
pub use toolbox::ConfiguredToolbox;
pub use watchlist::{WatchlistConfig as Watchlist, WatchlistFile};

#[cfg(test)]
mod property;
#[cfg(test)]
mod testing;
