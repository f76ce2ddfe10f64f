//! Groups text in the data that addresses the analyst, so that each text is shown once.

use std::collections::BTreeSet;

use nightshift_engine::evidence::EvidenceId;

use super::{Report, Signal};

/// One text with its places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told<'a> {
    /// First place of the text.
    pub first: &'a Signal,
    /// Number of places.
    pub places: usize,
    /// Evidence that contains the text.
    pub evidence: BTreeSet<EvidenceId>,
}

impl Report {
    /// Returns the texts that address the analyst, each once, in order.
    #[must_use]
    pub fn told_signals(&self) -> Vec<Told<'_>> {
        let mut told: Vec<Told<'_>> = Vec::new();
        for signal in &self.signals {
            let text = signal.text.trim();
            match told.iter_mut().find(|one| one.first.text.trim() == text) {
                Some(one) => {
                    one.places += 1;
                    one.evidence.insert(signal.evidence);
                }
                None => told.push(Told {
                    first: signal,
                    places: 1,
                    evidence: BTreeSet::from([signal.evidence]),
                }),
            }
        }
        told
    }
}
