//! Defines `nightshift destinations` and `nightshift feedback` on the command line.

use std::path::PathBuf;

use clap::Subcommand;

use super::JsonFlag;

/// Commands for destinations.
#[derive(Debug, Subcommand)]
pub(crate) enum DestinationsCommand {
    /// Send a report that is marked as a sample, and print the result
    #[command(after_help = "Example:\n  nightshift destinations test soc\n\n\
        It is sent now and is no case; tickets and pages are opened too, so close them afterwards.")]
    Test {
        /// Name of the destination in the configuration
        name: String,
    },
    /// Print what would be sent for a case, without sending it
    #[command(after_help = "Example:\n  nightshift destinations preview soc k3f9 | jq .blocks")]
    Preview {
        /// Name of the destination in the configuration
        name: String,
        /// Id of the case, or its first characters
        case: String,
    },
    /// Give up pending reports to a destination that is no longer configured
    #[command(after_help = "Example:\n  nightshift destinations drop old-soc\n\n\
        For one that was removed or renamed: nobody delivers what it is owed, and NightshiftOutboxStuck\n\
        pages until that is given up. What the `otherwise` of a route takes over goes there; the cases stay\n\
        in `nightshift cases list` and on the pages. A destination that is configured is left alone, and so\n\
        is one that a worker of an earlier configuration still serves.")]
    Drop {
        /// Name that the destination had in the configuration
        name: String,
        #[command(flatten)]
        json: JsonFlag,
    },
}

/// Commands for verdicts of people.
#[derive(Debug, Subcommand)]
pub(crate) enum FeedbackCommand {
    /// Export all verdicts of people as JSON lines: case, its verdict, their verdict, name, time and reason
    #[command(after_help = "Examples:\n  \
        nightshift feedback export --out feedback.jsonl\n  \
        nightshift feedback export | jq 'select(.agreed == false)'")]
    Export {
        /// Write to this file instead of standard output
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}
