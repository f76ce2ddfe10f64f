//! `nightshift destinations` and `nightshift feedback` on the command line.

use std::path::PathBuf;

use clap::Subcommand;

/// What to do with destinations.
#[derive(Debug, Subcommand)]
pub(crate) enum Destinations {
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
}

/// What to do with people's verdicts.
#[derive(Debug, Subcommand)]
pub(crate) enum Feedback {
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
