//! Groups text in the data that addresses the analyst, so that each text is shown once.

use std::collections::BTreeSet;

use nightshift_engine::evidence::EvidenceId;

use super::{InjectionSignal, Report};

/// One text with its places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupedSignal<'a> {
    /// First place of the text.
    pub first: &'a InjectionSignal,
    /// Number of places.
    pub places: usize,
    /// Evidence that contains the text.
    pub evidence: BTreeSet<EvidenceId>,
}

impl Report {
    /// Returns the texts that address the analyst, each once, in order.
    #[must_use]
    pub fn grouped_signals(&self) -> Vec<GroupedSignal<'_>> {
        let mut told: Vec<GroupedSignal<'_>> = Vec::new();
        for signal in &self.signals {
            let text = signal.text.trim();
            match told.iter_mut().find(|one| one.first.text.trim() == text) {
                Some(one) => {
                    one.places += 1;
                    one.evidence.insert(signal.evidence);
                }
                None => told.push(GroupedSignal {
                    first: signal,
                    places: 1,
                    evidence: BTreeSet::from([signal.evidence]),
                }),
            }
        }
        told
    }
}
