//! Implements the tool `log_search`: search in CloudTrail, VPC flow logs, Cloud Audit Logs, and any log of JSON lines.
//!
//! Files are read as streams, with limits on files, bytes, rows and output, and the answer says what was not read. No
//! match is an answer with a count. A log that is unreadable or has no record of its format is an error, so that a
//! missing log never looks like a quiet one.

mod cloudtrail;
mod decompression;
mod envelope;
mod files;
mod filter;
mod gcp_audit;
mod json_lines;
mod json_splitter;
mod log_record;
mod output;
mod records;
mod row_selection;
mod scan;
mod vpc_flow;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use nightshift_alert::IndicatorKind;
use nightshift_engine::tool::{
    Argument, ArgumentKind, CallContext, ToolError, ToolOutput, ToolSpec, Trust,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arguments::{self, Arguments};
use crate::config::ToolConfigError;
use crate::content::ContentSource;
use crate::output_guard::MAX_ROWS;
use crate::register::{Problem, RegisterReport};
use crate::tool::{Tool, run_blocking, spec};
use filter::{LogFilters, LogQuery};

/// Default number of rows of an answer.
const DEFAULT_ROWS: usize = 50;

/// Longest `action` filter, in characters.
const MAX_ACTION_CHARS: usize = 128;

const RESOURCE_KINDS: [IndicatorKind; 10] = [
    IndicatorKind::Arn,
    IndicatorKind::Domain,
    IndicatorKind::Bucket,
    IndicatorKind::Cluster,
    IndicatorKind::Container,
    IndicatorKind::Function,
    IndicatorKind::Database,
    IndicatorKind::Image,
    IndicatorKind::Instance,
    IndicatorKind::Principal,
];

/// The format of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "LogFiles")]
pub enum LogFormat {
    /// AWS CloudTrail: files with `Records`, or one record per line.
    Cloudtrail,
    /// VPC flow logs as text: version 2, or any fields named in a header line.
    VpcFlow,
    /// Cloud Audit Logs: one `LogEntry` per line, an array of them, or an API answer with `entries`.
    GcpAudit,
    /// Any log with one JSON object per line.
    JsonLines,
}

impl LogFormat {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Cloudtrail => "cloudtrail",
            Self::VpcFlow => "vpc_flow",
            Self::GcpAudit => "gcp_audit",
            Self::JsonLines => "json_lines",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Cloudtrail => {
                "Search AWS CloudTrail: which API calls a principal, access key or address made, or which calls \
                 concerned a resource; with errors, regions and user agents. `action` matches the event name, e.g. \
                 ListBuckets, Describe* or iam:*."
            }
            Self::VpcFlow => {
                "Search VPC flow logs: who talked to an address or interface, on which port, how many bytes, accepted or \
                 rejected. `action` is ACCEPT or REJECT."
            }
            Self::GcpAudit => {
                "Search Google Cloud audit logs: which methods a principal or address called, or which calls concerned a \
                 resource; with permissions denied and user agents. `action` matches the method name, e.g. \
                 *instances.insert."
            }
            Self::JsonLines => {
                "Search application or system logs of JSON lines for an address, principal, host or resource."
            }
        }
    }

    /// Returns the filters of this format, each with the indicator kinds that it accepts.
    const fn filters(self) -> &'static [(&'static str, &'static [IndicatorKind])] {
        match self {
            Self::VpcFlow => &[
                ("ip", &[IndicatorKind::Ip]),
                ("instance", &[IndicatorKind::Instance]),
            ],
            _ => &[
                ("ip", &[IndicatorKind::Ip]),
                (
                    "principal",
                    &[IndicatorKind::Principal, IndicatorKind::Email],
                ),
                ("access_key", &[IndicatorKind::AccessKey]),
                ("instance", &[IndicatorKind::Instance]),
                ("resource", &RESOURCE_KINDS),
            ],
        }
    }

    /// Returns the paths that the platform writes. Values chosen by callers (user agents, resource names, messages)
    /// stay external.
    const fn trusted_paths(self) -> &'static [&'static str] {
        match self {
            Self::Cloudtrail | Self::GcpAudit => &[
                "/rows/*/at",
                "/rows/*/action",
                "/rows/*/service",
                "/rows/*/principal",
                "/rows/*/access_key",
                "/rows/*/source_ip",
                "/rows/*/region",
                "/rows/*/error",
                "/rows/*/outcome",
                "/rows/*/read_only",
                "/rows/*/mfa",
                "/summary",
            ],
            Self::VpcFlow => &["/rows", "/summary"],
            Self::JsonLines => &[],
        }
    }
}

/// Configuration of `log_search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LogSearch")]
pub struct LogSearchConfig {
    /// The tool's name.
    pub name: String,
    /// The format of the log.
    pub format: LogFormat,
    /// A file, a folder (with its subfolders), or a glob.
    pub path: ContentSource,
    /// For `json_lines`: JSON pointers to `at`, `action`, `principal`, `source_ip`, … where the log uses other names.
    #[serde(default)]
    pub fields: BTreeMap<String, String>,
    /// Maximum number of bytes that one search reads.
    #[serde(default = "default_scan_bytes")]
    pub max_scan_bytes: u64,
}

const fn default_scan_bytes() -> u64 {
    256 * 1024 * 1024
}

impl LogSearchConfig {
    pub(crate) fn check(&self) -> Result<(), ToolConfigError> {
        let bad = |key, problem: String| ToolConfigError::InvalidValue {
            name: self.name.clone(),
            key,
            problem,
        };
        if self.format != LogFormat::JsonLines && !self.fields.is_empty() {
            return Err(bad(
                "fields",
                "allowed only with format = \"json_lines\"".to_owned(),
            ));
        }
        for (field, pointer) in &self.fields {
            let known: Vec<&str> = json_lines::FIELDS.iter().map(|(name, _)| *name).collect();
            if !known.contains(&field.as_str()) {
                let problem = format!("unknown field {field:?}: use {}", known.join(", "));
                return Err(bad("fields", problem));
            }
            if !pointer.starts_with('/') {
                return Err(bad(
                    "fields",
                    format!("{field} = {pointer:?} is no JSON pointer: write \"/{pointer}\""),
                ));
            }
        }
        if self.max_scan_bytes == 0 {
            return Err(bad("max_scan_bytes", "use 1 or more".to_owned()));
        }
        Ok(())
    }
}

pub(crate) struct LogSearch {
    spec: ToolSpec,
    config: Arc<LogSearchConfig>,
}

impl LogSearch {
    pub(crate) fn new(config: LogSearchConfig) -> Self {
        let format = config.format;
        let description = format!(
            "{} Needs at least one of {}. Searches a day around the alert's events unless `since` and `until` say otherwise \
             (at most 30 days before the first event). The answer counts all matching records; `rows` holds one of each \
             caller, address and action, then those nearest to the events. 0 rows is an answer only where `searched` \
             covers the time in question.",
            format.description(),
            filter_names(format).join(", ")
        );
        let mut trust = vec![
            ("/source", Trust::Platform),
            ("/searched", Trust::Platform),
            ("/searched/filters", Trust::External),
            ("/rows_scanned", Trust::Platform),
            ("/rows_matched", Trust::Platform),
            ("/left_out", Trust::Platform),
            ("/note", Trust::Platform),
        ];
        trust.extend(
            format
                .trusted_paths()
                .iter()
                .map(|path| (*path, Trust::Platform)),
        );
        Self {
            spec: spec(
                &config.name,
                &format!("log_search.{}", format.as_str()),
                &description,
                all_arguments(format),
                &trust,
            ),
            config: Arc::new(config),
        }
    }

    fn filters(&self, arguments: &Arguments<'_>) -> Result<LogFilters, ToolError> {
        let format = self.config.format;
        let mut filters = LogFilters {
            searches_texts: format == LogFormat::JsonLines,
            ..LogFilters::default()
        };
        for (name, types) in format.filters() {
            if let Some(subject) = arguments.optional_indicator(name, types)? {
                filters.indicators.push((name, subject));
            }
        }
        if filters.indicators.is_empty() {
            let problem = format!(
                "at least one of {} is needed",
                filter_names(format).join(", ")
            );
            return Err(ToolError::Argument {
                argument: "ip".to_owned(),
                problem,
            });
        }
        if let Some(action) = arguments.text("action")? {
            filters.set_action(&action);
        }
        Ok(filters)
    }
}

fn filter_names(format: LogFormat) -> Vec<&'static str> {
    format.filters().iter().map(|(name, _)| *name).collect()
}

fn all_arguments(format: LogFormat) -> Vec<Argument> {
    let mut all: Vec<Argument> = format
        .filters()
        .iter()
        .map(|(name, types)| Argument {
            name: (*name).to_owned(),
            description: format!("only records that name this {name}"),
            kind: ArgumentKind::Indicator {
                types: types.to_vec(),
            },
            required: false,
        })
        .collect();
    all.push(Argument {
        name: "action".to_owned(),
        description: "only this action; `*` stands for anything".to_owned(),
        kind: ArgumentKind::Text {
            max_chars: MAX_ACTION_CHARS,
        },
        required: false,
    });
    all.push(arguments::time_argument(
        "since",
        "start; a day before the first event if left out",
    ));
    all.push(arguments::time_argument(
        "until",
        "end; a day after the last event if left out",
    ));
    all.push(Argument {
        name: "limit".to_owned(),
        description: format!("how many rows to show; {DEFAULT_ROWS} if left out"),
        kind: ArgumentKind::Number {
            min: 1,
            max: i64::try_from(MAX_ROWS).unwrap_or(i64::MAX),
        },
        required: false,
    });
    all
}

/// Stops a search when its caller is dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[async_trait]
impl Tool for LogSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(
        &self,
        arguments: Arguments<'_>,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let search = LogQuery {
            filters: self.filters(&arguments)?,
            range: arguments.range(context.now)?,
            now: context.now,
            events: context.alert.times.window(),
            limit: arguments.number("limit", DEFAULT_ROWS, MAX_ROWS)?,
        };
        let config = Arc::clone(&self.config);
        let stop = Arc::new(AtomicBool::new(false));
        let _stop_on_drop = StopOnDrop(Arc::clone(&stop));
        run_blocking(move || {
            let seen = scan::run(&config, &search, &stop)?;
            Ok(output::build_output(&config, &search, seen))
        })
        .await
    }

    fn reports(&self) -> Vec<RegisterReport> {
        let (records, problems) = match scan::check(&self.config) {
            Ok((records, problems)) => (records, problems),
            Err(what) => (0, vec![what]),
        };
        vec![RegisterReport {
            name: self.spec.name.clone(),
            kind: self.spec.kind.clone(),
            path: self.config.path.name(),
            records,
            problems: problems
                .into_iter()
                .map(|what| Problem { line: None, what })
                .collect(),
        }]
    }
}

#[cfg(test)]
mod tests;
