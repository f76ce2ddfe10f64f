//! Calls that a log counts and does not show: of a search that was cut, its summary alone tells of the rest.
//!
//! An answer has room for so many rows, and callers decide how many calls there are. So where a search by the alert's key
//! or identity was cut, each source that its summary counts must stand in one of its rows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Elsewhere, Identities, public};
use crate::{Evidence, EvidenceId};

/// Under which a summary counts what it does not name.
const OTHERS: &str = "(others)";
/// Most sources that a sentence names.
const MOST_NAMED: usize = 3;

/// What an answer counts and does not show.
pub(super) struct Unseen {
    evidence: EvidenceId,
    who: String,
    /// Public sources that stand in no row, with their calls.
    sources: BTreeMap<String, u64>,
    /// Calls from sources that not even the summary names.
    others: u64,
}

impl Unseen {
    /// Of an answer of a log that was cut; nothing where it was not asked for one of them.
    pub(super) fn of(evidence: &Evidence, body: &Value, who: &Identities<'_>) -> Option<Self> {
        let mut asked = evidence.arguments.values().filter_map(Value::as_str);
        let who = asked.find_map(|value| who.named(value))?;
        let counted = body.pointer("/summary/source_ips")?.as_object()?;
        let rows = body.get("rows").and_then(Value::as_array);
        let shown = rows.into_iter().flatten();
        let shown: Vec<&str> = shown
            .filter_map(|row| row.get("source_ip")?.as_str())
            .collect();
        let in_rows: BTreeSet<&str> = shown.iter().copied().collect();
        let hidden = counted
            .iter()
            .filter(|(source, _)| public(source).is_some() && !in_rows.contains(source.as_str()));
        let sources: BTreeMap<String, u64> = hidden
            .map(|(source, calls)| (source.clone(), calls.as_u64().unwrap_or_default()))
            .collect();
        let others = counted.get(OTHERS).and_then(Value::as_u64);
        let unnamed = shown
            .iter()
            .filter(|source| !counted.contains_key(**source));
        let others = others
            .unwrap_or_default()
            .saturating_sub(u64::try_from(unnamed.count()).unwrap_or(u64::MAX));
        (!sources.is_empty() || others > 0).then(|| Self {
            evidence: evidence.id,
            who: who.to_owned(),
            sources,
            others,
        })
    }

    /// What of it is from sources that nobody accounts for.
    pub(super) fn elsewhere(mut self, is_known: &dyn Fn(&str) -> bool) -> Option<Elsewhere> {
        self.sources.retain(|source, _| !is_known(source));
        let (evidence, who) = (self.evidence, &self.who);
        if self.sources.is_empty() {
            return (self.others > 0).then(|| Elsewhere {
                text: format!("{evidence} was cut, and does not tell from where all calls by {who} came"),
                would_decide: format!(
                    "From where {} calls by {who} came that {evidence} counts and does not show: the same search over shorter times [{evidence}]",
                    self.others
                ),
            });
        }
        let named: Vec<&str> = self
            .sources
            .keys()
            .map(String::as_str)
            .take(MOST_NAMED)
            .collect();
        let more = match self.sources.len().saturating_sub(named.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let sources = format!("{}{more}", named.join(", "));
        let calls: u64 = self.sources.values().sum();
        let calls = match calls {
            1 => "1 call".to_owned(),
            calls => format!("{calls} calls"),
        };
        Some(Elsewhere {
            text: format!(
                "{evidence} was cut, and does not show {calls} by {who} from {sources}, which no record covers"
            ),
            would_decide: format!(
                "What {who} did from {sources} ({calls} that {evidence} counts and does not show): a search for that source, or a record that covers it [{evidence}]"
            ),
        })
    }
}
