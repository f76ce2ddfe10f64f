//! Text in the data that talks to the analyst, told once however often it stands there.

use std::collections::BTreeSet;

use nightshift_engine::EvidenceId;

use super::{Report, Signal};

/// One text, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told<'a> {
    /// Its first place.
    pub first: &'a Signal,
    /// How many places there are.
    pub places: usize,
    /// The evidence that holds it.
    pub evidence: BTreeSet<EvidenceId>,
}

impl Report {
    /// The texts that talk to the analyst, each once, in their order.
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
