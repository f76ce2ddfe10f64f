//! Defines the configuration: compiled-in defaults, then a file, then the environment.
//!
//! `config.default.toml` holds the defaults and documents them. An unknown key is refused with the nearest known one.
//! Nothing here opens a database or a register.

mod blobs;
mod canary;
mod destination;
mod digest;
mod environment;
mod feed;
mod feed_names;
mod load;
mod mute;
mod otel;
mod profile;
mod retention;
mod schema;
mod secret;
mod source;
mod traces;

use std::path::{Path, PathBuf};

use nightshift_engine::key::KeyRef;
use nightshift_engine::limits::TriageLimits;
use nightshift_llm::ModelConfig;
use nightshift_pipeline::admission::{AdmissionPolicy, Mute};
use nightshift_pipeline::route::{Route, Routes};
use nightshift_store::StoreUrl;
use nightshift_tools::{ToolSettings, ToolTable};
use nightshift_web::WebConfig;
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use blobs::BlobsConfig;
pub(crate) use destination::DestinationConfig;
pub(crate) use environment::{no_colour, suggest_nearest, user, variable};
pub(crate) use feed::FeedConfig;
pub(crate) use feed_names::{check_feed, known_feeds};
pub(crate) use load::{LoadedConfig, detected_settings, load};
pub(crate) use mute::parse_end;
pub(crate) use profile::{AnalystChoice, ProfileConfig, QuestionModels};
pub(crate) use retention::RetentionConfig;
pub(crate) use schema::schema;
pub(crate) use secret::{secret_file, secret_reader};
pub(crate) use source::{AnySourceConfig, SourceKind, intake_address};
pub(crate) use traces::TracesConfig;

/// The text of the defaults.
pub(crate) const DEFAULTS: &str = include_str!("../config.default.toml");

/// Everything that can be set in `nightshift.toml`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Configuration of Nightshift")]
pub(crate) struct Config {
    /// The store of cases.
    #[serde(default)]
    pub(crate) store: StoreConfig,
    /// The store of large messages as they came.
    #[serde(default)]
    pub(crate) blobs: BlobsConfig,
    /// The number of cases that run at once.
    #[serde(default)]
    pub(crate) worker: WorkerConfig,
    /// The sources from which `nightshift worker` takes messages.
    #[serde(default, rename = "source")]
    pub(crate) sources: Vec<AnySourceConfig>,
    /// The times for which the worker keeps data.
    #[serde(default)]
    pub(crate) retention: RetentionConfig,
    /// The log on standard error, beside the progress.
    #[serde(default)]
    pub(crate) log: LogConfig,
    /// The collector of spans.
    #[serde(default)]
    pub(crate) traces: TracesConfig,
    /// Metrics of this process.
    #[serde(default)]
    pub(crate) metrics: MetricsConfig,
    /// The pages: their addresses, and who may read them.
    #[serde(default)]
    pub(crate) web: WebConfig,
    /// Playbooks in addition to the shipped ones.
    #[serde(default)]
    pub(crate) playbooks: PlaybooksConfig,
    /// Caps of one case. Reaching a cap ends the work, but a report is still written.
    #[serde(default)]
    pub(crate) limits: LimitsConfig,
    /// Tools: registers, lists, logs, intelligence. `indicator_facts`, `watchlist` and `past_cases` exist without a table.
    #[serde(default, rename = "tool")]
    pub(crate) tools: Vec<ToolTable>,
    /// Settings that all declared tools share.
    #[serde(default, rename = "tools")]
    pub(crate) tool_settings: ToolSettings,
    /// Further feeds of the organisation, by JSON pointers.
    #[serde(default, rename = "feed")]
    pub(crate) feeds: Vec<FeedConfig>,
    /// Language models. Alert data is sent to no other models.
    #[serde(default, rename = "model")]
    pub(crate) models: Vec<ModelConfig>,
    /// The named sets of analyst, models, tools and limits. Without any there is `default`, the playbook analyst with
    /// all tools.
    #[serde(default, rename = "profile")]
    pub(crate) profiles: Vec<ProfileConfig>,
    /// The places that reports are delivered to.
    #[serde(default, rename = "destination")]
    pub(crate) destinations: Vec<DestinationConfig>,
    /// The rules that pick a profile and destinations. The first rule that matches counts, for profile and destinations
    /// each.
    #[serde(default, rename = "route")]
    pub(crate) routes: Vec<Route>,
    /// One post a day about the alerts of the day, their verdicts, and the open cases.
    #[serde(default)]
    pub(crate) digest: Option<digest::DigestConfig>,
    /// Nightshift's own alerts, sent regularly, which show whether alerts reach a destination.
    #[serde(default)]
    pub(crate) canary: canary::CanaryConfig,
    /// Alerts that are stored and counted, not triaged; never critical ones.
    #[serde(default, rename = "mute")]
    pub(crate) mutes: Vec<mute::MuteConfig>,
}

/// `[store]`
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StoreConfig {
    /// `sqlite:PATH`, relative to the working directory, or `postgres://USER@HOST/DATABASE`. The file of SQLite and its
    /// folder are created when missing.
    pub(crate) url: String,
    /// Password of a PostgreSQL server: `env:NAME`, `file:PATH`, which is read again for each new connection, or the
    /// text itself. If empty, the password of the address is used.
    pub(crate) password: Option<KeyRef>,
    /// PEM file of the authorities with which a PostgreSQL server is checked. If empty, those of the system are used.
    pub(crate) ca_file: PathBuf,
    /// Whether a pooler lends connections of a PostgreSQL server for one transaction only, such as PgBouncer with
    /// `pool_mode = transaction`.
    pub(crate) pooled: bool,
    /// Address of the PostgreSQL server itself, for notifications past such a pooler. If empty, workers look for work once
    /// a second.
    pub(crate) notify_url: String,
}

impl StoreConfig {
    /// Returns the certificate file for the database server, from this table or from the address.
    pub(crate) fn root_certificate_file(&self) -> Option<PathBuf> {
        if self.ca_file.as_os_str().is_empty() {
            return StoreUrl::parse(&self.url)?.root_certificate_file();
        }
        Some(self.ca_file.clone())
    }
}

/// `[worker]`
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WorkerConfig {
    /// Cases triaged at the same time by one process. The range is 1 to 10000.
    pub(crate) max_cases: usize,
    /// Seconds after which a worker that no longer answers loses its case to another one. The range is 15 to 3600.
    pub(crate) lease_secs: u64,
    /// Number of cases that may wait, 1 or more. Above it no more messages are taken.
    pub(crate) inbox_max: u64,
}

/// `[log]`
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LogConfig {
    /// `error`, `warn`, `info`, `debug`, `trace`, or directives such as `warn,nightshift_tools=debug`.
    pub(crate) level: String,
    /// The format of log lines.
    pub(crate) format: LogFormat,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// `[metrics]`
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MetricsConfig {
    /// File that metrics are written to when a command ends, in the Prometheus text format. If empty, none is written.
    pub(crate) textfile: PathBuf,
}

/// `[playbooks]`
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PlaybooksConfig {
    /// Folder with more playbooks (`*.toml`). A playbook with the name of a shipped one replaces that. If empty, only
    /// the shipped ones are used.
    pub(crate) dir: PathBuf,
}

/// `[limits]`
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitsConfig {
    /// Steps of the first plan.
    pub(crate) first_plan_steps: usize,
    /// Steps in all.
    pub(crate) steps: usize,
    /// Turns of a step.
    pub(crate) turns: u32,
    /// Tool calls of one turn; further ones are refused.
    pub(crate) calls_per_turn: usize,
    /// Model calls.
    pub(crate) calls: u64,
    /// Model tokens, in and out.
    pub(crate) tokens: u64,
    /// Model cost in US dollars.
    pub(crate) usd: f64,
    /// Minutes of active time.
    pub(crate) minutes: u64,
    /// US dollars that all cases of a UTC day may cost, half of it kept for high and critical alerts. With 0 there is
    /// no cap.
    pub(crate) day_usd: f64,
    /// Steps that run together.
    pub(crate) parallel: usize,
    /// Refused calls after which a step has failed.
    pub(crate) strikes: u32,
    /// Seconds that one tool call may take.
    pub(crate) tool_secs: u64,
    /// Seconds that the analyst has for one question, retries included.
    pub(crate) question_secs: u64,
    /// Seconds that high and critical cases wait for models that are down, before the playbooks report.
    pub(crate) models_down_urgent_wait_secs: u64,
    /// Seconds that the other cases do.
    pub(crate) models_down_wait_secs: u64,
    /// Hours (at most 87600) after the end of a case in which a changed alert of the same key is a sighting, not a new triage.
    pub(crate) cooldown_hours: u32,
    /// Times a day that a case is triaged again; a rise in severity always is.
    pub(crate) revisions_per_day: u32,
    /// Hours (at most 720) after which records and logs of a benign case are looked up again, for 30 days after its
    /// last event. With 0 they are never looked up again.
    pub(crate) recheck_hours: u32,
    /// New cases of one feed, type and account within `storm_minutes`, beyond which further ones are members of the first.
    pub(crate) storm_cases: u32,
    /// Minutes in which a storm is counted. The maximum is 525600.
    pub(crate) storm_minutes: u32,
}

impl LimitsConfig {
    /// Returns the limits of one case.
    pub(crate) const fn to_triage_limits(&self) -> TriageLimits {
        TriageLimits {
            first_plan_steps: self.first_plan_steps,
            steps: self.steps,
            turns: self.turns,
            calls_per_turn: self.calls_per_turn,
            calls: self.calls,
            tokens: self.tokens,
            usd: self.usd,
            minutes: self.minutes,
            parallel: self.parallel,
            strikes: self.strikes,
            tool_secs: self.tool_secs,
            question_secs: self.question_secs,
        }
    }
}

impl Config {
    /// Sets the links in messages, which lead to the pages if these are public.
    fn set_links(mut self) -> Self {
        let public_url = Some(self.web.public_url.clone());
        let links = nightshift_render::Links {
            public_url: public_url.filter(|url| !url.is_empty()),
        };
        for destination in &mut self.destinations {
            destination.set_links(&links);
        }
        self
    }

    /// Returns the interval of re-evaluations, or `None` if they are off.
    pub(crate) fn recheck_interval(&self) -> Option<chrono::TimeDelta> {
        let hours = self.limits.recheck_hours;
        (hours > 0).then(|| chrono::TimeDelta::hours(i64::from(hours)))
    }

    /// Returns the rules for repeated alerts, storms and mutes. The error names the invalid mute and the problem.
    pub(crate) fn admission_policy(&self) -> Result<AdmissionPolicy, String> {
        let routes = Routes {
            rules: self.routes.clone(),
            ..Routes::default()
        };
        let mutes = self.mutes.iter().enumerate();
        let mutes = mutes.map(|(index, mute)| mute.to_rule(index));
        Ok(AdmissionPolicy {
            cooldown: chrono::Duration::hours(i64::from(self.limits.cooldown_hours)),
            revisions_per_day: self.limits.revisions_per_day,
            storm_cases: self.limits.storm_cases,
            storm_window: chrono::Duration::minutes(i64::from(self.limits.storm_minutes)),
            mutes: mutes.collect::<Result<Vec<Mute>, String>>()?,
            class_exceptions: routes.class_exceptions(),
        })
    }

    /// Resolves relative paths against the folder of the configuration file.
    fn resolve_paths(mut self, base: &Path) -> Self {
        let from_base = |path: &mut PathBuf| {
            if !path.as_os_str().is_empty() && path.is_relative() {
                *path = base.join(&path);
            }
        };
        let resolved = |source: AnySourceConfig| source.with_base(base);
        self.sources = self.sources.into_iter().map(resolved).collect();
        from_base(&mut self.store.ca_file);
        from_base(&mut self.playbooks.dir);
        self.tool_settings.resolve_paths(base);
        from_base(&mut self.metrics.textfile);
        from_base(&mut self.traces.ca_file);
        for profile in &mut self.profiles {
            from_base(&mut profile.prompts);
            if let profile::ReplanWhen::File(path) = &mut profile.replan_when {
                from_base(path);
            }
        }
        for destination in &mut self.destinations {
            destination.resolve_paths(base);
        }
        self
    }
}
