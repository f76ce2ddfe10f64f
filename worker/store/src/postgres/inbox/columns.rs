//! Converts rows to columns. A statement takes all rows of a table at once, as one array per column.

use std::borrow::Cow;

use chrono::{DateTime, Utc};

/// Defines structs of columns.
macro_rules! columns {
    ($(#[$about:meta] $table:ident { $($column:ident: $of:ty),+ $(,)? })+) => {$(
        #[$about]
        #[derive(Default)]
        pub(super) struct $table<'a> { $(pub(super) $column: Vec<$of>),+ }
    )+};
}

columns! {
    /// Messages as they were received.
    Raw {
        ids: i64, sources: Cow<'a, str>, at: DateTime<Utc>, sizes: i64, digests: String, bytes: &'a [u8],
        blobs: Option<String>,
    }
    /// New cases.
    Cases {
        ids: String, keys: String, feeds: Cow<'a, str>, kinds: Cow<'a, str>, titles: Cow<'a, str>,
        accounts: Option<Cow<'a, str>>, severities: &'static str, contents: Cow<'a, str>, at: DateTime<Utc>,
        updated: Option<DateTime<Utc>>, samples: bool,
    }
    /// The first alerts of new cases.
    Alerts { ids: String, raw_ids: i64, sources: Cow<'a, str>, at: DateTime<Utc>, alerts: String }
    /// The indicators of new cases.
    Indicators { kinds: &'static str, values: Cow<'a, str>, ids: String, roles: &'static str }
    /// Sightings.
    Sightings {
        ids: String, raw_ids: i64, sources: Cow<'a, str>, at: DateTime<Utc>, counts: i64, contents: Cow<'a, str>,
        notes: Option<String>, first: Option<DateTime<Utc>>, last: Option<DateTime<Utc>>,
        events_until: Option<DateTime<Utc>>,
    }
    /// Dead letters.
    Letters {
        ids: i64, sources: Cow<'a, str>, at: DateTime<Utc>, errors: Cow<'a, str>, sizes: i64, digests: String,
        raw_ids: i64, case_ids: Option<String>,
    }
    /// The rows of the ledger.
    Arrivals {
        raw_ids: i64, sources: Cow<'a, str>, at: DateTime<Utc>, keys: String, feeds: Cow<'a, str>, kinds: Cow<'a, str>,
        titles: Cow<'a, str>, accounts: Option<Cow<'a, str>>, severities: &'static str, outcomes: &'static str,
        why: Option<String>, case_ids: Option<String>, letters: Option<i64>, alerts: Option<String>,
    }
}
