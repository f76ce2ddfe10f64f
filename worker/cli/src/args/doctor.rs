//! Defines `nightshift doctor` on the command line.

use clap::ValueEnum;
use serde::Serialize;

use super::JsonFlag;

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Look at these areas only
    #[arg(long, value_enum, value_delimiter = ',', value_name = "AREA,…")]
    pub(crate) only: Vec<DoctorArea>,
    /// Warnings count as errors
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Of what an installation is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DoctorArea {
    /// What the configuration says, taken together
    Configuration,
    /// Whether this system knows authorities to check certificates with
    Tls,
    /// The host's clock compared with the database and other servers
    Clock,
    /// The database
    Store,
    /// Queues that alerts come from
    Sources,
    /// Language models, each asked two small questions
    Models,
    /// Registers, lists and logs
    Tools,
    /// Where reports go; nothing is posted
    Destinations,
    /// Addresses of the pages, and who could read them
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
