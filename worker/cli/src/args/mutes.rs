//! Defines `nightshift mutes` on the command line.

use chrono::{DateTime, Utc};
use clap::Subcommand;
use nightshift_alert::Severity;

use super::JsonFlag;
use crate::config::parse_end;

/// Commands for mutes.
#[derive(Debug, Subcommand)]
pub(crate) enum MutesCommand {
    /// List all mutes, configured and added, with the number of alerts that each has hidden
    List {
        /// Include mutes that ended or were removed
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        json: JsonFlag,
    },
    /// Hide alerts until a time; they are stored and counted
    #[command(after_help = "Example:\n  \
        nightshift mutes add --type 'Recon:EC2/PortProbe*' --account 111122223333 \\\n    \
        --until 2026-12-31 --why 'the honeypot is probed all day' --by ana@example.com\n\n\
        Nothing critical is ever muted, and nothing above --severity.\n\
        What it would have hidden is shown on standard error; `nightshift mutes remove` takes it back.")]
    Add {
        #[command(flatten)]
        rule: MuteRuleArgs,
        /// End of the mute: a date (its first moment in UTC), or a time as 2026-12-31T18:00:00Z
        #[arg(long, value_parser = until, value_name = "TIME")]
        until: DateTime<Utc>,
        /// Reason
        #[arg(long)]
        why: String,
        /// Your name
        #[arg(long, value_name = "NAME")]
        by: String,
        #[command(flatten)]
        json: JsonFlag,
    },
    /// Show the alerts that a rule would have hidden, and the true positives among them
    #[command(after_help = "Example:\n  \
        nightshift mutes preview --feed guardduty --type 'Recon:*' --severity high")]
    Preview {
        #[command(flatten)]
        rule: MuteRuleArgs,
        /// Time to look back
        #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: u32,
        #[command(flatten)]
        json: JsonFlag,
    },
    /// End an added mute; its hidden alerts stay counted
    Remove {
        /// Name of the mute, as `mutes list` shows it
        name: String,
    },
}

/// Conditions for an alert to be hidden.
#[derive(Debug, clap::Args)]
pub(crate) struct MuteRuleArgs {
    /// Only this feed
    #[arg(long)]
    pub(crate) feed: Option<String>,
    /// Only types that match this glob
    #[arg(long = "type", value_name = "GLOB")]
    pub(crate) kind: Option<String>,
    /// Only this account or project; may be given again
    #[arg(long)]
    pub(crate) account: Vec<String>,
    /// Only this region; may be given again
    #[arg(long)]
    pub(crate) region: Vec<String>,
    /// Only this class of Security Command Center; may be given again
    #[arg(long)]
    pub(crate) class: Vec<String>,
    /// The muted severity; alerts above it are not hidden
    #[arg(long, default_value_t = Severity::Medium)]
    pub(crate) severity: Severity,
}

fn until(text: &str) -> Result<DateTime<Utc>, String> {
    parse_end(text).ok_or_else(|| "use a date, or a time as 2026-12-31T18:00:00Z".to_owned())
}
