//! Defines the command line.

mod cases;
mod destinations;
mod doctor;
mod mutes;
mod worker;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use nightshift_engine::strategy::Strategy;

pub(crate) use cases::{
    CaseActionArgs, CasesAssignArgs, CasesCancelArgs, CasesCommand, CasesDisagreeArgs,
    CasesExportArgs, CasesListArgs, CasesPurgeArgs, CasesRetryArgs, CasesShowArgs, CasesVerifyArgs,
};
pub(crate) use destinations::{DestinationsCommand, FeedbackCommand};
pub(crate) use doctor::{DoctorArea, DoctorArgs};
pub(crate) use mutes::{MuteRuleArgs, MutesCommand};
pub(crate) use worker::{WorkerArgs, WorkerPart};

/// Triages security alerts while nobody is awake: plan, evidence, verdict, report.
#[derive(Debug, Parser)]
#[command(
    name = "nightshift",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  \
        nightshift demo --once           sample alerts through the whole pipe; no key, no server\n  \
        nightshift run finding.json      triage one alert, watch the plan, read the report\n  \
        nightshift worker                take alerts from SQS, RabbitMQ or a directory until it is stopped\n  \
        nightshift cases list            what came, and what it was\n\n\
        Without a configuration everything is kept in ./nightshift-data/ and no model is used.\n\
        Exit codes: 0 done, 1 the run failed, 2 bad usage or input, 64 bad configuration."
)]
pub(crate) struct Args {
    /// Configuration file [default: nightshift.toml, if there is one]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Triage sample alerts through the whole pipeline and print the reports
    #[command(after_help = "Examples:\n  \
        nightshift demo              the reports, then the pages on http://127.0.0.1:8080 until Ctrl-C\n  \
        nightshift demo --once       the reports in short and a closing table\n  \
        nightshift demo --once --full   the whole reports, with commands, evidence and plan\n  \
        nightshift demo --once       again: the same alerts are sightings of the cases there are\n  \
        nightshift cases list        what the demo left in ./nightshift-data/\n\n\
        Everything is made up, the registers too. No configuration counts, nothing is sent anywhere, and cases of \
        other alerts are never touched: where there is a nightshift.toml, the demo keeps its own in \
        nightshift-data/demo.db, and says how to list them.")]
    Demo(DemoArgs),
    /// Triage the alerts of a file or of standard input
    #[command(after_help = "Examples:\n  \
        nightshift run finding.json                      progress on stderr, report in short on stdout\n  \
        nightshift run finding.json --full               all of it: commands, evidence, plan, timeline\n  \
        aws guardduty get-findings … | nightshift run -  straight from the API\n  \
        nightshift run finding.json --plan-only          show the plan, run nothing\n  \
        ANTHROPIC_API_KEY=… nightshift run finding.json --model anthropic/claude-sonnet-4-6\n  \
        nightshift run finding.json --format json --quiet | jq .verdict\n\n\
        A finding that was triaged before is triaged again, as a new revision of its case; one whose triage was \
        interrupted goes on where it was.")]
    Run(RunArgs),
    /// Take alerts from the configured sources, triage them and deliver reports until stopped
    #[command(after_help = "Examples:\n  \
        nightshift worker                          everything in one process\n  \
        nightshift worker --only intake            one process takes messages in …\n  \
        nightshift worker --only triage,delivery   … others triage them\n\n\
        Started any number of times on one PostgreSQL; the sources are [[source]] tables (docs/sources.md).\n\n\
        SIGTERM or Ctrl-C: nothing new is begun, cases are given back at their turn, and it ends within 10 seconds with \
        exit code 0; a second one ends it at once.\n\n\
        SIGHUP, or a changed file: configuration, playbooks and prompts are read again and count for new cases; what is \
        wrong in them changes nothing.\n\n\
        What each failure looks like: docs/operations.md.")]
    Worker(WorkerArgs),
    /// List and show cases, record your opinion, or triage a case again
    #[command(subcommand)]
    Cases(CasesCommand),
    /// Triage a recorded case again with its stored tool results, and show what differs
    #[command(after_help = "Examples:\n  \
        nightshift replay k3f9                          the same profile: did prompts or models change the outcome?\n  \
        nightshift replay k3f9 --profile cheap          another profile on the same evidence\n  \
        nightshift replay k3f9 --model openai/gpt-5     another model for every question\n\n\
        No tool is called and nothing is stored or sent; models are asked, and cost what they cost.\n\
        Exit codes: 0 the same verdict, 1 another verdict or no end.")]
    Replay(ReplayArgs),
    /// List, show and read again messages that could not be read (dead letters)
    #[command(
        subcommand,
        after_help = "Examples:\n  \
        nightshift dead-letters list\n  \
        nightshift dead-letters show 1 --raw > message.bin   its bytes, as they came"
    )]
    DeadLetters(DeadLettersCommand),
    /// Test destinations, preview a report, drop reports to a removed destination
    #[command(subcommand)]
    Destinations(DestinationsCommand),
    /// Export the verdicts of people
    #[command(subcommand)]
    Feedback(FeedbackCommand),
    /// List, add, test and remove mutes
    #[command(subcommand)]
    Mutes(MutesCommand),
    /// List and check playbooks, and explain which one an alert gets
    #[command(subcommand)]
    Playbooks(PlaybooksCommand),
    /// List and show tools, check them and their registers, and call one
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Show which rows of the registers cover the subjects of an alert
    #[command(subcommand)]
    Registers(RegistersCommand),
    /// Show and check the configuration, and print its schema for editors
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check everything that the configuration names, and print each problem with its fix
    #[command(after_help = "Examples:\n  \
        nightshift doctor                            before a start, after a change\n  \
        nightshift doctor --only store,sources       these alone\n  \
        nightshift doctor --json | jq '.findings[] | select(.severity == \"error\")'\n\n\
        Nothing is stored, taken from a queue or posted. Each [[model]] is asked two questions of a few dozen tokens.\n\n\
        What each finding means: docs/doctor.md.\n\
        Exit codes: 0 no errors, 1 errors, 64 the file cannot be read.")]
    Doctor(DoctorArgs),
    /// Migrate the database, and print its migrations
    #[command(after_help = "Example:\n  nightshift migrate --json")]
    Migrate(JsonFlag),
}

#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Exit after the reports
    #[arg(long)]
    pub(crate) once: bool,
    /// Print whole reports instead of their short form
    #[arg(long)]
    pub(crate) full: bool,
    /// Port of the pages on 127.0.0.1; 0 takes a free port
    #[arg(long, default_value_t = 8080, conflicts_with = "once")]
    pub(crate) port: u16,
    /// Print no progress on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// A message as a feed delivers it, or `-` for standard input
    #[arg(value_name = "FILE|-")]
    pub(crate) file: String,
    /// Format of the report on standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) format: OutputFormat,
    /// Print the whole report instead of its short form; JSON is always whole
    #[arg(long)]
    pub(crate) full: bool,
    /// Profile for the triage, instead of that of the route
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Strategy of the triage, instead of that of the profile
    #[arg(long, value_enum, value_name = "STRATEGY")]
    pub(crate) strategy: Option<StrategyArg>,
    /// Model for every question: the name of a configured model, or openai/…, anthropic/…, gemini/…, bedrock/… with the
    /// key from that provider's usual environment variable
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// Show the plan and stop before any tool is called or anything is stored
    #[arg(long)]
    pub(crate) plan_only: bool,
    /// Print no progress on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// Id of the case, or its first characters
    #[arg(value_name = "CASE")]
    pub(crate) id: String,
    /// Number of the triage, counted from 1 [default: the newest]
    #[arg(long, value_name = "N")]
    pub(crate) revision: Option<u32>,
    /// Profile for the triage, instead of the recorded one
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Strategy of the triage, instead of that of the profile
    #[arg(long, value_enum, value_name = "STRATEGY")]
    pub(crate) strategy: Option<StrategyArg>,
    /// Model for every question, as in `nightshift run`
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// Print no progress on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StrategyArg {
    /// The analyst chooses
    Auto,
    /// A plan first, reflected on after each wave
    Planned,
    /// One step after the other, each decided from the results so far
    Adaptive,
    /// One implicit step
    Direct,
}

impl StrategyArg {
    /// Returns the engine's strategy.
    pub(crate) const fn strategy(self) -> Strategy {
        match self {
            Self::Auto => Strategy::Auto,
            Self::Planned => Strategy::Planned,
            Self::Adaptive => Strategy::Adaptive,
            Self::Direct => Strategy::Direct,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text for a terminal
    Text,
    /// Markdown for a ticket or a file
    Markdown,
    /// One JSON object per alert, each on a line
    Json,
}

#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct JsonFlag {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeadLettersCommand {
    /// List the newest dead letters
    List {
        /// Maximum number of dead letters
        #[arg(long, default_value_t = 50)]
        limit: usize,
        #[command(flatten)]
        json: JsonFlag,
    },
    /// Show why a dead letter could not be read, and its bytes, escaped
    Show {
        /// Number of the dead letter
        id: i64,
        /// Write the received bytes to standard output
        #[arg(long)]
        raw: bool,
        #[command(flatten)]
        json: JsonFlag,
    },
    /// Read dead letters again, for example after a feed was configured; readable alerts are triaged
    #[command(after_help = "Examples:\n  \
        nightshift dead-letters retry 7\n  \
        nightshift dead-letters retry --all --per-second 20\n\n\
        One that was read is marked, and not read again; the same alert twice is a sighting. Its source says\n\
        which feeds it may carry; one of a source that the configuration has no more is read with --feeds alone.\n\
        Exit codes: 0 all of them could be read, 1 some still cannot.")]
    Retry {
        /// Number of the dead letter
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<i64>,
        /// All dead letters that were not read again yet
        #[arg(long)]
        all: bool,
        /// Maximum number per second
        #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
        per_second: u32,
        /// Allowed feeds for dead letters whose source was removed
        #[arg(long, value_name = "FEED,…", value_delimiter = ',')]
        feeds: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlaybooksCommand {
    /// List all playbooks in the order in which they are tried
    List(JsonFlag),
    /// Check playbook files: unknown tools and fields, rules that are never reached
    #[command(after_help = "Example:\n  nightshift playbooks check playbooks/*.toml")]
    Check {
        /// The files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        json: JsonFlag,
    },
    /// Show the playbook and plan of each alert of a message, and why, without calling tools
    #[command(after_help = "Examples:\n  \
        nightshift playbooks explain finding.json\n  \
        nightshift playbooks explain finding.json --json | jq .playbook.name\n\n\
        Conditions and rules are shown in their author's words: docs/playbooks.md explains them.")]
    Explain {
        /// A message as a feed delivers it, or `-` for standard input
        #[arg(value_name = "FILE|-")]
        file: String,
        #[command(flatten)]
        json: JsonFlag,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the configured tools with their arguments
    #[command(after_help = "Examples:\n  \
        nightshift tools list          what a case may use\n  \
        nightshift tools list --all    what can be configured beside it")]
    List {
        /// List the declared tools that can be configured, too
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        json: JsonFlag,
    },
    /// Show one tool: arguments, limits, key, the vendor's page, and how to configure it
    #[command(after_help = "Examples:\n  \
        nightshift tools show virustotal    one that can be configured\n  \
        nightshift tools show assets        one that is")]
    Show {
        /// Name of a configured tool, or of a declared one
        name: String,
        #[command(flatten)]
        json: JsonFlag,
    },
    /// Check all configured tools with their registers, lists, logs and keys, or the file of a declared tool
    #[command(after_help = "Examples:\n  \
        nightshift tools check                       all that is configured\n  \
        nightshift tools check tools/blocklist.toml  one file, with line and column of each mistake")]
    Check {
        /// File of a declared tool
        file: Option<PathBuf>,
        #[command(flatten)]
        json: JsonFlag,
    },
    /// Call a tool
    #[command(after_help = "Example:\n  \
        nightshift tools call indicator_facts '{\"indicator\": \"185.220.101.42\"}'")]
    Call {
        /// Name of the tool
        name: String,
        /// Arguments as a JSON object
        #[arg(value_name = "JSON")]
        arguments: String,
        /// Alert for which the tool is called; times and identity are taken from it
        #[arg(long, value_name = "FILE")]
        alert: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum RegistersCommand {
    /// Show for each subject of an alert the row that covers it, or the nearest row and why it does not
    #[command(after_help = "Examples:\n  \
        nightshift registers explain finding.json\n  \
        nightshift registers explain finding.json --json | jq '.[] | select(.missing)'\n\n\
        Nothing is triaged and nothing is stored. What clears an alert: docs/tools.md.")]
    Explain {
        /// The alert as its feed delivers it
        #[arg(value_name = "FILE|-")]
        file: String,
        #[command(flatten)]
        json: JsonFlag,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the settings in effect, and their origin
    Show(JsonFlag),
    /// Check the configuration, its playbooks and its registers
    Check,
    /// Print a JSON Schema of the configuration file, for editors
    #[command(after_help = "Example, for editors that use taplo:\n  \
        nightshift config schema > nightshift.schema.json\n  \
        and as first line of nightshift.toml: #:schema ./nightshift.schema.json")]
    Schema,
}
