//! Defines `nightshift doctor` on the command line.

use clap::ValueEnum;
use serde::Serialize;

use super::JsonFlag;

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Check only these areas
    #[arg(long, value_enum, value_delimiter = ',', value_name = "AREA,…")]
    pub(crate) only: Vec<DoctorArea>,
    /// Treat warnings as errors
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// An area of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DoctorArea {
    /// The configuration as a whole
    Configuration,
    /// Certificate authorities that this system trusts
    Tls,
    /// The host's clock compared with the database and other servers
    Clock,
    /// The database
    Store,
    /// Queues of the sources
    Sources,
    /// Language models; each gets two small questions
    Models,
    /// Registers, lists and logs
    Tools,
    /// Destinations of reports; nothing is posted
    Destinations,
    /// Addresses of the pages, and access to them
    Web,
    /// The collector of traces
    Traces,
    /// Playbooks of your own
    Playbooks,
}

impl DoctorArea {
    /// Returns the prefix of the area's findings.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Tls => "tls",
            Self::Clock => "clock",
            Self::Store => "store",
            Self::Sources => "source",
            Self::Models => "model",
            Self::Tools => "tools",
            Self::Destinations => "destination",
            Self::Web => "web",
            Self::Traces => "traces",
            Self::Playbooks => "playbooks",
        }
    }
}
