//! Configuration: the compiled-in defaults, a file, the environment, in this order.
//!
//! `config.default.toml` is defaults and reference in one. A key that it does not know is refused, with the nearest one
//! it does; nothing here opens a database or a register.

mod environment;
mod load;
mod mute;

use std::path::{Path, PathBuf};

use anyhow::Context;
use nightshift_alert::feed::GenericFeed;
use nightshift_engine::{Conduct, History, Limits, ReflectionMode, Strategy};
use nightshift_pipeline::{AdmissionPolicy, Mute, Route, Routes};
use nightshift_tools::ToolConfig;
use serde::{Deserialize, Serialize};

pub(crate) use environment::no_colour;
pub(crate) use load::{Loaded, load, sqlite_path};
pub(crate) use mute::end;

/// The text of the defaults.
pub(crate) const DEFAULTS: &str = include_str!("../config.default.toml");

/// Everything that can be set.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    #[serde(default)]
    pub(crate) store: Store,
    #[serde(default)]
    pub(crate) worker: Worker,
    #[serde(default)]
    pub(crate) log: Log,
    #[serde(default)]
    pub(crate) metrics: Metrics,
    #[serde(default)]
    pub(crate) playbooks: PlaybookFolder,
    #[serde(default)]
    pub(crate) limits: CaseLimits,
    #[serde(default, rename = "tool")]
    pub(crate) tools: Vec<ToolConfig>,
    #[serde(default, rename = "feed")]
    pub(crate) feeds: Vec<Feed>,
    #[serde(default, rename = "profile")]
    pub(crate) profiles: Vec<Profile>,
    #[serde(default, rename = "destination")]
    pub(crate) destinations: Vec<Destination>,
    #[serde(default, rename = "route")]
    pub(crate) routes: Vec<Route>,
    #[serde(default, rename = "mute")]
    pub(crate) mutes: Vec<mute::Mute>,
}

/// `[store]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Store {
    pub(crate) url: String,
}

/// `[worker]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Worker {
    pub(crate) max_cases: usize,
    pub(crate) lease_secs: u64,
}

/// `[log]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Log {
    pub(crate) level: String,
    pub(crate) format: LogFormat,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// `[metrics]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Metrics {
    pub(crate) textfile: PathBuf,
}

/// `[playbooks]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PlaybookFolder {
    pub(crate) dir: PathBuf,
}

/// `[limits]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CaseLimits {
    pub(crate) first_plan_steps: usize,
    pub(crate) steps: usize,
    pub(crate) turns: u32,
    pub(crate) calls_per_turn: usize,
    pub(crate) calls: u64,
    pub(crate) tokens: u64,
    pub(crate) usd: f64,
    pub(crate) minutes: u64,
    pub(crate) parallel: usize,
    pub(crate) strikes: u32,
    pub(crate) tool_secs: u64,
    pub(crate) cooldown_hours: u32,
    pub(crate) revisions_per_day: u32,
    pub(crate) storm_cases: u32,
    pub(crate) storm_minutes: u32,
}

impl CaseLimits {
    /// The caps of a case.
    pub(crate) const fn of_a_case(&self) -> Limits {
        Limits {
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
        }
    }
}

/// `[[feed]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Feed {
    name: String,
    #[serde(rename = "match")]
    matches: String,
    fields: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    product: Option<String>,
}

impl Feed {
    pub(crate) fn to_generic(&self) -> GenericFeed {
        GenericFeed {
            name: self.name.clone(),
            matches: self.matches.clone(),
            fields: self.fields.clone(),
            product: self.product.clone(),
        }
    }
}

/// `[[profile]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) analyst: Analyst,
    #[serde(default = "all_tools")]
    pub(crate) tools: Vec<String>,
    #[serde(default)]
    pub(crate) strategy: Strategy,
    #[serde(default)]
    pub(crate) reflection: ReflectionMode,
    #[serde(default)]
    pub(crate) history: History,
    #[serde(default)]
    pub(crate) replan_when: ReplanWhen,
    #[serde(default)]
    pub(crate) counterfactual: bool,
    #[serde(default)]
    pub(crate) never_send: Vec<String>,
}

/// The texts of `replan_when`, or the JSON file that lists them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum ReplanWhen {
    Texts(Vec<String>),
    File(PathBuf),
}

impl Default for ReplanWhen {
    fn default() -> Self {
        Self::Texts(Conduct::default().replan_when)
    }
}

impl ReplanWhen {
    /// The texts; a file is read once, at the start.
    pub(crate) fn texts(&self) -> anyhow::Result<Vec<String>> {
        match self {
            Self::Texts(texts) => Ok(texts.clone()),
            Self::File(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read replan_when {}", path.display()))?;
                serde_json::from_str(&text).with_context(|| {
                    format!("replan_when {} is no JSON list of texts", path.display())
                })
            }
        }
    }
}

impl Profile {
    /// How its cases are worked on.
    pub(crate) fn conduct(&self) -> anyhow::Result<Conduct> {
        Ok(Conduct {
            strategy: self.strategy,
            reflection: self.reflection,
            history: self.history,
            replan_when: self.replan_when.texts()?,
            counterfactual: self.counterfactual,
            never_send: self.never_send.clone(),
        })
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            analyst: Analyst::default(),
            tools: all_tools(),
            strategy: Strategy::default(),
            reflection: ReflectionMode::default(),
            history: History::default(),
            replan_when: ReplanWhen::default(),
            counterfactual: false,
            never_send: Vec::new(),
        }
    }
}

/// Who thinks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Analyst {
    #[default]
    Playbook,
}

fn all_tools() -> Vec<String> {
    vec!["*".to_owned()]
}

/// `[[destination]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Destination {
    /// One file per case and revision.
    File {
        name: String,
        path: PathBuf,
        #[serde(default)]
        format: FileFormat,
    },
}

impl Destination {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::File { name, .. } => name,
        }
    }
}

/// How a report is written to a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileFormat {
    #[default]
    Markdown,
    Text,
    Json,
}

impl Config {
    /// What becomes of alerts that come again, in storms, or muted. The error says which mute is wrong, and how.
    pub(crate) fn admission(&self) -> Result<AdmissionPolicy, String> {
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
            wanted: routes.wanted(),
        })
    }

    /// Takes relative paths from the folder of the configuration file.
    fn resolve(mut self, base: &Path) -> Self {
        let from_base = |path: &mut PathBuf| {
            if !path.as_os_str().is_empty() && path.is_relative() {
                *path = base.join(&path);
            }
        };
        from_base(&mut self.playbooks.dir);
        from_base(&mut self.metrics.textfile);
        for profile in &mut self.profiles {
            if let ReplanWhen::File(path) = &mut profile.replan_when {
                from_base(path);
            }
        }
        for Destination::File { path, .. } in &mut self.destinations {
            from_base(path);
        }
        self
    }
}
