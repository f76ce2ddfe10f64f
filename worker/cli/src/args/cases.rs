//! Defines `nightshift cases` on the command line.

use std::path::PathBuf;

use clap::Subcommand;
use nightshift_alert::Severity;
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::CaseStatus;
use nightshift_pipeline::case_workflow::WorkflowStatus;

use super::JsonFlag;

#[derive(Debug, Subcommand)]
pub(crate) enum CasesCommand {
    /// List the newest cases
    #[command(after_help = "Examples:\n  \
        nightshift cases list --verdict true_positive\n  \
        nightshift cases list --text 203.0.113.42      alerts that name it\n  \
        nightshift cases list --desk open --severity high      what nobody has taken\n  \
        nightshift cases list --disagreed\n  \
        nightshift cases list --status queued --json")]
    List(CasesListArgs),
    /// Show the report of a case, its trace and its deliveries
    #[command(after_help = "Examples:\n  \
        nightshift cases show k3f9             the beginning of an id is enough\n  \
        nightshift cases show k3f9 --json | jq .report.findings\n  \
        nightshift cases show k3f9 --events    what happened, in order")]
    Show(CasesShowArgs),
    /// Agree with the verdict of a case
    #[command(after_help = "Example:\n  nightshift cases agree k3f9 --by ana@example.com")]
    Agree(CaseActionArgs),
    /// Disagree with the verdict of a case, and record the right one
    #[command(after_help = "Example:\n  \
        nightshift cases disagree k3f9 --verdict benign_true_positive --note 'the yearly pen test'\n\n\
        The newest verdict of a person over a case counts. A benign one clears findings of the same type by the same \
        actors in the same account for 90 days; another verdict of a person takes that back.")]
    Disagree(CasesDisagreeArgs),
    /// Acknowledge a case, so that others know that you work on it
    #[command(after_help = "Example:\n  nightshift cases ack k3f9 --by ana@example.com")]
    Ack(CaseActionArgs),
    /// Assign a case to a person
    #[command(
        after_help = "Example:\n  nightshift cases assign k3f9 --to bo@example.com --note 'your team owns the host'"
    )]
    Assign(CasesAssignArgs),
    /// Close a case
    #[command(
        after_help = "Example:\n  nightshift cases close k3f9 --note 'the instance was rebuilt'\n\n\
        Messages and tickets about it show that; a page about it is resolved."
    )]
    Close(CaseActionArgs),
    /// Triage a case again, for example one that failed, was cancelled, or has a doubtful verdict
    #[command(
        after_help = "Example:\n  nightshift cases retry k3f9      a worker triages it as a new revision"
    )]
    Retry(CasesRetryArgs),
    /// Cancel the triage of a waiting or running case
    #[command(
        after_help = "Example:\n  nightshift cases cancel k3f9 --by ana@example.com\n\n\
        A worker that runs it stops within ten seconds. `nightshift cases retry` triages it all the same."
    )]
    Cancel(CasesCancelArgs),
    /// Remove cases and all data about them, such as personal data
    #[command(after_help = "Examples:\n  \
        nightshift cases purge --account 444455556666\n  \
        nightshift cases purge --before 2026-01-01 --yes\n\n\
        Cases with their journals, reports and deliveries, and the messages that they came in. With --account also those \
        that run; with --before alone only what is over and did not come again since, and what was muted or set aside. What destinations show is not taken \
        back. Both conditions together: only what fits both, whatever its state.")]
    Purge(CasesPurgeArgs),
    /// Export the journal of a case to a file that can be checked on any machine
    #[command(after_help = "Examples:\n  \
        nightshift cases export k3f9 --out k3f9.jsonl\n  \
        nightshift cases export k3f9 | nightshift cases verify -\n\n\
        A line per event, each chained to the one before by its hash; secrets were redacted before anything was \
        written, and raw messages are never in it. All revisions, or the one that is named.")]
    Export(CasesExportArgs),
    /// Check an exported journal: its hash chain, verdict, quotes and exonerations
    #[command(after_help = "Examples:\n  \
        nightshift cases verify k3f9.jsonl\n  \
        nightshift cases verify k3f9.jsonl --json | jq '.revisions[].violations'\n\n\
        Needs the file and nothing else: no store, no network, no model.\n\
        Exit codes: 0 sound, 1 something is wrong with it, 2 it cannot be read.")]
    Verify(CasesVerifyArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct CasesListArgs {
    /// Only this status
    #[arg(long, value_parser = status, value_name = "STATUS")]
    pub(crate) status: Option<CaseStatus>,
    /// Only this verdict
    #[arg(long, value_parser = verdict, value_name = "VERDICT")]
    pub(crate) verdict: Option<Verdict>,
    /// Only cases with this workflow status: open, acknowledged or closed
    #[arg(long, value_parser = desk, value_name = "STATUS")]
    pub(crate) desk: Option<WorkflowStatus>,
    /// Only cases whose verdict a person disputes
    #[arg(long)]
    pub(crate) disagreed: bool,
    /// Only this severity and above, as the list shows it
    #[arg(long, value_name = "SEVERITY")]
    pub(crate) severity: Option<Severity>,
    /// Only this feed
    #[arg(long)]
    pub(crate) feed: Option<String>,
    /// Only this account or project
    #[arg(long, value_name = "ID")]
    pub(crate) account: Option<String>,
    /// Only cases with this text in title, type, key or id, or with exactly this address, host or name in the alert
    #[arg(long)]
    pub(crate) text: Option<String>,
    /// Maximum number of cases
    #[arg(long, default_value_t = 50)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CasesShowArgs {
    /// Id of the case, or its first characters
    pub(crate) id: String,
    /// Show the journal instead of the report, one event per line; with --json the stored events
    #[arg(long)]
    pub(crate) events: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CaseActionArgs {
    /// Id of the case, or its first characters
    pub(crate) id: String,
    /// Reason
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(crate) note: String,
    /// Your name [default: the user of the operating system]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CasesAssignArgs {
    /// Name of the person
    #[arg(long, value_name = "NAME")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) act: CaseActionArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CasesDisagreeArgs {
    /// Id of the case, or its first characters
    pub(crate) id: String,
    /// The right verdict
    #[arg(long, value_parser = verdict, value_name = "VERDICT")]
    pub(crate) verdict: Verdict,
    /// Reason
    #[arg(long)]
    pub(crate) note: String,
    /// Your name [default: the user of the operating system]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CasesRetryArgs {
    /// Id of the case, or its first characters
    pub(crate) id: String,
    /// Your name [default: the user of the operating system]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CasesCancelArgs {
    /// Id of the case, or its first characters
    pub(crate) id: String,
    /// Your name [default: the user of the operating system]
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true)))]
pub(crate) struct CasesPurgeArgs {
    /// Alerts from before this day whose case has ended; with --account, only alerts that match both
    #[arg(long, group = "what", value_name = "YYYY-MM-DD")]
    pub(crate) before: Option<chrono::NaiveDate>,
    /// Alerts of this account or project
    #[arg(long, group = "what", value_name = "ID")]
    pub(crate) account: Option<String>,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CasesExportArgs {
    /// Id of the case, or its first characters
    pub(crate) id: String,
    /// Only this triage of the case, counted from 1
    #[arg(long, value_name = "N")]
    pub(crate) revision: Option<u32>,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CasesVerifyArgs {
    /// An exported journal, or `-` for standard input
    #[arg(value_name = "FILE|-")]
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

fn status(word: &str) -> Result<CaseStatus, String> {
    CaseStatus::parse(word)
        .ok_or_else(|| "use queued, running, concluded, failed or cancelled".to_owned())
}

fn desk(word: &str) -> Result<WorkflowStatus, String> {
    WorkflowStatus::parse(word).ok_or_else(|| "use open, acknowledged or closed".to_owned())
}

fn verdict(word: &str) -> Result<Verdict, String> {
    Verdict::ALL
        .into_iter()
        .find(|verdict| verdict.as_str() == word)
        .ok_or_else(|| {
            "use true_positive, benign_true_positive, false_positive or inconclusive".to_owned()
        })
}
