//! Defines `nightshift destinations` and `nightshift feedback` on the command line.

use std::path::PathBuf;

use clap::Subcommand;

use super::JsonFlag;

/// What to do with destinations.
#[derive(Debug, Subcommand)]
pub(crate) enum DestinationsCommand {
    /// Send a sample report, marked as such, and say how that went
    #[command(after_help = "Example:\n  nightshift destinations test soc\n\n\
        It is sent now and is no case; tickets and pages are opened too, so close them afterwards.")]
    Test {
        /// Its name in the configuration
        name: String,
    },
    /// Print what would be sent for a case, without sending it
    #[command(after_help = "Example:\n  nightshift destinations preview soc k3f9 | jq .blocks")]
    Preview {
        /// Its name in the configuration
        name: String,
        /// The case's id, or a beginning of it
        case: String,
    },
    /// Give up pending reports to a destination that is no longer configured
    #[command(after_help = "Example:\n  nightshift destinations drop old-soc\n\n\
        For one that was removed or renamed: nobody delivers what it is owed, and NightshiftOutboxStuck\n\
        pages until that is given up. What the `otherwise` of a route takes over goes there; the cases stay\n\
        in `nightshift cases list` and on the pages. A destination that is configured is left alone, and so\n\
        is one that a worker of an earlier configuration still serves.")]
    Drop {
        /// Its name, as the configuration had it
        name: String,
        #[command(flatten)]
        json: JsonFlag,
    },
}

/// What to do with people's verdicts.
#[derive(Debug, Subcommand)]
pub(crate) enum FeedbackCommand {
    /// Write all of them as JSON lines: the case, its verdict, theirs, who, when and why
    #[command(after_help = "Examples:\n  \
        nightshift feedback export --out feedback.jsonl\n  \
        nightshift feedback export | jq 'select(.agreed == false)'")]
    Export {
        /// File to write; standard output without it
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}
