//! Defines `nightshift worker`.

use clap::ValueEnum;

#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArgs {
    /// Run only these parts
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART,…")]
    pub(crate) only: Vec<WorkerPart>,
}

impl WorkerArgs {
    /// Returns whether this process runs a part.
    pub(crate) fn runs(&self, part: WorkerPart) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

/// A part of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkerPart {
    /// Take messages from the sources
    Intake,
    /// Triage cases
    Triage,
    /// Deliver reports to their destinations, and remove old data
    Delivery,
    /// Serve pages, health and metrics
    Web,
}
