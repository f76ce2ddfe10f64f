//! Implements the tool `watchlist`: lists of known values, such as bad addresses, mining pools, sinkholes or own
//! networks.
//!
//! A match says only that a list contains the value; one word of the configuration gives the meaning of the list. A
//! match never clears an alert: an `allowed` entry has no window and no approval. Domains match with all their
//! subdomains, addresses by network.

mod entries;
mod entry_values;

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::{ContentFlag, IndicatorKind};
use nightshift_engine::tool::{CallContext, ToolError, ToolOutput, ToolSpec, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::arguments::{self, Arguments, Subject};
use crate::config::ToolConfigError;
use crate::content::{CachedContent, ContentSource};
use crate::register::{RegisterReport, build_report};
use crate::tool::{Tool, run_blocking, spec, unavailable};
use entries::WatchlistEntries;

/// Kinds that can be looked up, the strictest first: a value from a result gets the first type that fits.
const SUPPORTED_KINDS: [IndicatorKind; 9] = [
    IndicatorKind::Ip,
    IndicatorKind::Url,
    IndicatorKind::Hash,
    IndicatorKind::Email,
    IndicatorKind::AccessKey,
    IndicatorKind::Wallet,
    IndicatorKind::Domain,
    IndicatorKind::Principal,
    IndicatorKind::Image,
];

const KIND: &str = "watchlist";

/// The built-in list.
const MINING_POOLS: &str = include_str!("watchlist/mining_pools.txt");

/// Maximum number of matches that are listed.
const MAX_MATCHES: usize = 50;

/// Configuration of `watchlist`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Watchlist")]
pub struct WatchlistConfig {
    /// The tool's name.
    pub name: String,
    /// The lists.
    #[serde(default)]
    pub lists: Vec<WatchlistFile>,
    /// True if the built-in list `mining-pools` is searched too.
    #[serde(default = "default_true")]
    pub mining_pools: bool,
}

const fn default_true() -> bool {
    true
}

/// One list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WatchlistFile {
    /// Name of the list, shown in answers.
    pub name: String,
    /// The list: text with one entry per line, or CSV.
    pub path: ContentSource,
    /// Meaning of a match, as one word: `malicious`, `sinkhole`, `tor_exit`, `own`, `vpn`, …
    pub meaning: String,
}

impl WatchlistConfig {
    pub(crate) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            lists: Vec::new(),
            mining_pools: true,
        }
    }

    pub(crate) fn check(&self) -> Result<(), ToolConfigError> {
        let bad = |problem: String| ToolConfigError::InvalidValue {
            name: self.name.clone(),
            key: "lists",
            problem,
        };
        if self.lists.is_empty() && !self.mining_pools {
            return Err(bad("there is no list to search".to_owned()));
        }
        for list in &self.lists {
            let word = |text: &str| {
                !text.is_empty()
                    && text
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
            };
            if !word(&list.meaning) {
                return Err(bad(format!(
                    "the meaning of {:?} is {:?}: use one word such as malicious, sinkhole, own",
                    list.name, list.meaning
                )));
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
struct LoadedList {
    name: String,
    meaning: String,
    entries: CachedContent<WatchlistEntries>,
    /// True if this is a list of threats that the organisation keeps.
    is_threat_list: bool,
}

/// Meanings that are not bad.
const BENIGN_MEANINGS: [&str; 3] = ["own", "vpn", "allowed"];

#[derive(Debug, Serialize)]
struct WatchlistMatch {
    list: String,
    meaning: String,
    entry: String,
    note: Option<String>,
}

pub(crate) struct Watchlist {
    spec: ToolSpec,
    lists: Arc<[LoadedList]>,
}

impl Watchlist {
    pub(crate) fn new(config: WatchlistConfig) -> Self {
        let pools = config.mining_pools.then(|| WatchlistFile {
            name: "mining-pools".to_owned(),
            path: ContentSource::embedded("mining_pools.txt", MINING_POOLS),
            meaning: "mining_pool".to_owned(),
        });
        let kept = config.lists.into_iter().map(|list| {
            let is_of_threats = !BENIGN_MEANINGS.contains(&list.meaning.as_str());
            (list, is_of_threats)
        });
        let shipped = pools.into_iter().map(|list| (list, false));
        let lists: Arc<[LoadedList]> = shipped
            .chain(kept)
            .map(|(list, is_of_threats)| LoadedList {
                name: list.name,
                meaning: list.meaning,
                entries: CachedContent::new(list.path, entries::parse),
                is_threat_list: is_of_threats,
            })
            .collect();
        let known: Vec<String> = lists
            .iter()
            .map(|list| format!("{} ({})", list.name, list.meaning))
            .collect();
        let description = format!(
            "Whether an indicator stands in a list that the organisation keeps or that is shipped. Lists: {}. `listed: false` \
             means only that these lists do not name it. A match tells the list and its meaning.",
            known.join(", ")
        );
        Self {
            spec: spec(
                &config.name,
                KIND,
                &description,
                vec![arguments::indicator_argument(
                    "indicator",
                    "the ip, domain, url, hash, email, principal, access key, wallet or image to look up",
                    &SUPPORTED_KINDS,
                )],
                &[
                    ("/listed", Trust::Register),
                    ("/matches", Trust::Register),
                    ("/lists_searched", Trust::Register),
                    ("/threat_lists_searched", Trust::Register),
                    ("/entries_searched", Trust::Register),
                    ("/entries_left_out", Trust::Register),
                    ("/note", Trust::Register),
                ],
            ),
            lists,
        }
    }
}

#[async_trait]
impl Tool for Watchlist {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(
        &self,
        arguments: Arguments<'_>,
        _context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let subject = arguments.required_indicator("indicator", &SUPPORTED_KINDS)?;
        let lists = Arc::clone(&self.lists);
        let at_hand: Option<Vec<_>> = lists.iter().map(|list| list.entries.get_fresh()).collect();
        if let Some(entries) = at_hand {
            return search(&subject, &lists, &entries);
        }
        run_blocking(move || {
            let entries: Result<Vec<_>, _> = lists.iter().map(|list| list.entries.get()).collect();
            search(&subject, &lists, &entries.map_err(unavailable)?)
        })
        .await
    }

    fn reports(&self) -> Vec<RegisterReport> {
        self.lists
            .iter()
            .map(|list| {
                build_report(
                    &format!("{}/{}", self.spec.name, list.name),
                    KIND,
                    list.entries.name(),
                    list.entries.get(),
                    |entries| (entries.len(), entries.problems.clone()),
                )
            })
            .collect()
    }
}

/// Searches all lists by hash. `entries` are the entries of `lists`, in the same order.
fn search(
    subject: &Subject,
    lists: &[LoadedList],
    entries: &[Arc<WatchlistEntries>],
) -> Result<ToolOutput, ToolError> {
    let mut matches = Vec::new();
    let (mut searched, mut left_out) = (0, 0);
    for (list, entries) in lists.iter().zip(entries) {
        if let Some(what) = entries.unusable_reason() {
            return Err(unavailable(format!("{}: {what}", list.entries.name())));
        }
        searched += entries.len();
        left_out += entries.left_out;
        matches.extend(entries.find(subject).into_iter().map(|entry| {
            WatchlistMatch {
                list: list.name.clone(),
                meaning: entry
                    .meaning
                    .clone()
                    .unwrap_or_else(|| list.meaning.clone()),
                entry: entry.text.clone(),
                note: entry.note.clone(),
            }
        }));
    }
    let found = matches.len();
    matches.truncate(MAX_MATCHES);
    let names = |is_wanted: fn(&LoadedList) -> bool| -> Vec<&str> {
        let wanted = lists.iter().filter(|list| is_wanted(list));
        wanted.map(|list| list.name.as_str()).collect()
    };
    let mut output = ToolOutput::from_body(json!({
        "indicator": subject.value,
        "type": subject.kind.as_str(),
        "listed": found > 0,
        "found": found,
        "matches": matches,
        "lists_searched": names(|_| true),
        // A value that is on none of these lists is on no list of threats that the organisation keeps.
        "threat_lists_searched": names(|list| list.is_threat_list),
        "entries_searched": searched,
    }));
    if let Some(body) = output.body.as_object_mut().filter(|_| left_out > 0) {
        // The lines left out may contain the value.
        output.truncated = true;
        body.insert("entries_left_out".to_owned(), left_out.into());
        let note = format!("unreadable in the lists: {left_out}, which may name it");
        body.insert("note".to_owned(), note.into());
    }
    output.rows = Some(found as u64);
    if found > MAX_MATCHES {
        output.truncated = true;
        output.flags.push(ContentFlag::Truncated {
            path: "/matches".to_owned(),
        });
    }
    Ok(output)
}

#[cfg(test)]
mod tests;
