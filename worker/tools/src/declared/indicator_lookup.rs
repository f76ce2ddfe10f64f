//! Implements the tool `indicator_lookup`: asks all configured intelligence about up to 20 indicators at once.
//!
//! The answer tells apart what is known, what a source does not know, what is partial, what failed and what was not
//! sent. A source that fails takes nothing away from the others.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::IndicatorKind;
use nightshift_engine::tool::{
    Argument, ArgumentKind, CallContext, Reach, ToolError, ToolOutput, ToolSpec,
};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::lookup::{DeclaredTool, read_indicator};
use crate::arguments::Arguments;
use crate::config::ToolConfigError;
use crate::declared_config::{DeclaredToolConfig, INDICATOR_LOOKUP};
use crate::register::RegisterReport;
use crate::tool::{Tool, unavailable};

/// Most indicators of one call.
const MAX_INDICATORS: usize = 20;
/// Name of the argument.
const INDICATORS: &str = "indicators";
/// Most look-ups at the same time.
const MAX_CONCURRENT: usize = 16;
/// The time after which the answer is given with what is there. It is below the default of `[limits] tool_secs`.
pub(super) const DEADLINE: Duration = Duration::from_secs(25);

/// Most indicators of a call whose answers keep their `detail`: the answer has at most 64 KiB.
const MAX_WITH_DETAIL: usize = 5;

/// Fields of an answer that are repeated here.
const KEPT_FIELDS: [&str; 8] = [
    "source",
    "verdict_hint",
    "score",
    "first_seen",
    "last_seen",
    "tags",
    "link",
    "detail",
];

pub(super) struct IndicatorLookup {
    spec: ToolSpec,
    tools: Vec<Arc<DeclaredTool>>,
    pub(super) deadline: Duration,
}

/// One answer or error, and what it is about.
struct SourceAnswer {
    indicator: usize,
    tool: usize,
    result: Result<ToolOutput, ToolError>,
}

impl IndicatorLookup {
    pub(super) fn new(
        config: &DeclaredToolConfig,
        declared: &[Arc<DeclaredTool>],
    ) -> Result<Self, ToolConfigError> {
        let has_own_keys = config.api_key.is_some()
            || config.base_url.is_some()
            || config.allow_private
            || !config.secrets.is_empty()
            || [config.per_minute, config.per_day, config.cache_secs] != [None; 3];
        if has_own_keys {
            let problem =
                "indicator_lookup has only `tools`: other keys belong to the tools that it asks";
            return Err(config.invalid("kind", problem));
        }
        let named = |tool: &Arc<DeclaredTool>| {
            config.tools.is_empty() || config.tools.contains(&tool.spec.name)
        };
        let tools: Vec<_> = declared
            .iter()
            .filter(|tool| tool.is_intelligence() && named(tool))
            .cloned()
            .collect();
        let is_known = |name: &&String| tools.iter().any(|tool| tool.spec.name == **name);
        if let Some(unknown) = config.tools.iter().find(|name| !is_known(name)) {
            let problem = format!("{unknown:?} is no configured intelligence tool");
            return Err(config.invalid("tools", problem));
        }
        if tools.is_empty() {
            let problem = "there is no intelligence to ask: configure a tool such as kind = \"abuseipdb\" first";
            return Err(config.invalid("kind", problem));
        }
        Ok(Self {
            spec: write_spec(&config.name, &tools),
            tools,
            deadline: DEADLINE,
        })
    }

    /// Starts a look-up for each indicator and each source that takes its type, and collects the answers.
    async fn ask_all(
        &self,
        indicators: &[(IndicatorKind, String)],
        now: DateTime<Utc>,
    ) -> Vec<SourceAnswer> {
        let room = Arc::new(Semaphore::new(MAX_CONCURRENT));
        let mut running = JoinSet::new();
        let mut waiting = Vec::new();
        for (index, (kind, value)) in indicators.iter().enumerate() {
            for (number, tool) in self.tools.iter().enumerate() {
                if !tool.types().contains(kind) {
                    continue;
                }
                waiting.push((index, number));
                let (tool, room) = (Arc::clone(tool), Arc::clone(&room));
                let (kind, value) = (*kind, value.clone());
                running.spawn(async move {
                    let _permit = room.acquire().await;
                    SourceAnswer {
                        indicator: index,
                        tool: number,
                        result: tool.ask_about(kind, &value, now).await,
                    }
                });
            }
        }
        let mut answers = Vec::new();
        let collect = async {
            while let Some(answer) = running.join_next().await {
                answers.extend(answer);
            }
        };
        // What is late is an error of that source, and the rest is used.
        let _ = tokio::time::timeout(self.deadline, collect).await;
        running.abort_all();
        for (indicator, tool) in waiting {
            let is_same = |one: &SourceAnswer| (one.indicator, one.tool) == (indicator, tool);
            if !answers.iter().any(is_same) {
                let secs = self.deadline.as_secs();
                answers.push(SourceAnswer {
                    indicator,
                    tool,
                    result: Err(ToolError::Timeout { secs }),
                });
            }
        }
        answers.sort_by_key(|one| (one.indicator, one.tool));
        answers
    }
}

#[async_trait]
impl Tool for IndicatorLookup {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(
        &self,
        arguments: Arguments<'_>,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let types = all_types(&self.tools);
        let mut indicators: Vec<(IndicatorKind, String)> = Vec::new();
        for value in read_values(arguments.map)? {
            let indicator = read_indicator(value, &types, arguments.alert)?;
            if !indicators.contains(&indicator) {
                indicators.push(indicator);
            }
        }
        let answers = self.ask_all(&indicators, context.now).await;
        summarise(&indicators, &self.tools, &answers)
    }

    fn reports(&self) -> Vec<RegisterReport> {
        Vec::new()
    }
}

fn all_types(tools: &[Arc<DeclaredTool>]) -> Vec<IndicatorKind> {
    let mut types: Vec<IndicatorKind> = tools
        .iter()
        .flat_map(|tool| tool.types())
        .copied()
        .collect();
    types.sort();
    types.dedup();
    types
}

fn read_values(map: &Map<String, Value>) -> Result<Vec<&str>, ToolError> {
    let refused = || ToolError::Argument {
        argument: INDICATORS.to_owned(),
        problem: format!("is a list of 1 to {MAX_INDICATORS} texts"),
    };
    let values = map
        .get(INDICATORS)
        .and_then(Value::as_array)
        .ok_or_else(refused)?;
    if !(1..=MAX_INDICATORS).contains(&values.len()) {
        return Err(refused());
    }
    values
        .iter()
        .map(|value| value.as_str().ok_or_else(refused))
        .collect()
}

/// Writes the answer.
///
/// # Errors
///
/// Returns an error if every source failed for every indicator: that is no answer.
fn summarise(
    indicators: &[(IndicatorKind, String)],
    tools: &[Arc<DeclaredTool>],
    answers: &[SourceAnswer],
) -> Result<ToolOutput, ToolError> {
    let is_answer =
        |one: &SourceAnswer| matches!(one.result, Ok(_) | Err(ToolError::NotAllowed { .. }));
    if let Some(Err(error)) = answers.first().map(|one| &one.result)
        && !answers.iter().any(is_answer)
    {
        let sources = tools.len();
        return Err(unavailable(format!(
            "none of {sources} sources answered; the first said: {error}"
        )));
    }
    let mut failed_sources: Vec<&str> = Vec::new();
    let mut known = 0_u64;
    let mut is_partial = false;
    let mut entries = Vec::new();
    for (index, (kind, value)) in indicators.iter().enumerate() {
        let mut entry = IndicatorEntry::default();
        for one in answers.iter().filter(|one| one.indicator == index) {
            let Some(tool) = tools.get(one.tool) else {
                continue;
            };
            let title = tool.manifest.title.as_str();
            entry.add(title, &one.result, indicators.len() <= MAX_WITH_DETAIL);
            let has_failed = !is_answer(one) && !is_unfit(&one.result);
            if has_failed && !failed_sources.contains(&title) {
                failed_sources.push(title);
            }
        }
        known += u64::from(!entry.known.is_empty());
        is_partial |= !entry.partial.is_empty();
        entries.push(entry.write(*kind, value));
    }
    let sources: Vec<&str> = tools
        .iter()
        .map(|tool| tool.manifest.title.as_str())
        .collect();
    let is_whole = failed_sources.is_empty() && !is_partial;
    let body = json!({
        "asked": indicators.len(),
        "found": known,
        "sources": sources,
        "failed_sources": failed_sources,
        "indicators": entries,
    });
    Ok(ToolOutput {
        rows: Some(known),
        truncated: !is_whole,
        ..ToolOutput::from_body(body)
    })
}

/// Returns whether a source does not take this value, which is no fault of it.
const fn is_unfit(result: &Result<ToolOutput, ToolError>) -> bool {
    matches!(result, Err(ToolError::Argument { .. }))
}

/// Answers of the sources about one indicator.
#[derive(Default)]
struct IndicatorEntry {
    known: Vec<Value>,
    unknown_to: Vec<String>,
    partial: Vec<Value>,
    failed: Vec<Value>,
    not_asked: Vec<Value>,
}

impl IndicatorEntry {
    fn add(&mut self, title: &str, result: &Result<ToolOutput, ToolError>, has_detail: bool) {
        match result {
            Ok(output) if output.body.get("found") == Some(&Value::Bool(true)) => {
                let fields = KEPT_FIELDS.iter();
                let fields = fields.filter(|name| has_detail || **name != "detail");
                let kept = fields.filter_map(|name| {
                    let value = output.body.get(name)?;
                    (!value.is_null()).then(|| ((*name).to_owned(), value.clone()))
                });
                self.known.push(Value::Object(kept.collect()));
                if output.truncated {
                    let gaps = output.body.get("gaps");
                    self.partial.push(json!({"source": title, "gaps": gaps}));
                }
            }
            Ok(_) => self.unknown_to.push(title.to_owned()),
            Err(error @ (ToolError::NotAllowed { .. } | ToolError::Argument { .. })) => {
                let why = error.to_string();
                self.not_asked.push(json!({"source": title, "why": why}));
            }
            Err(error) => {
                let error = error.to_string();
                self.failed.push(json!({"source": title, "error": error}));
            }
        }
    }

    fn write(self, kind: IndicatorKind, value: &str) -> Value {
        let hints: Vec<&str> = self
            .known
            .iter()
            .filter_map(|one| one.get("verdict_hint")?.as_str())
            .collect();
        let worst = ["malicious", "suspicious", "harmless"];
        let worst = worst.iter().find(|hint| hints.contains(hint));
        let scores = self
            .known
            .iter()
            .filter_map(|one| one.get("score")?.as_u64());
        json!({
            "indicator": value,
            "type": kind.as_str(),
            "found": !self.known.is_empty(),
            "verdict_hint": worst,
            "score": scores.max(),
            "known": self.known,
            "unknown_to": self.unknown_to,
            "partial": self.partial,
            "failed": self.failed,
            "not_asked": self.not_asked,
        })
    }
}

fn write_spec(name: &str, tools: &[Arc<DeclaredTool>]) -> ToolSpec {
    let titles: Vec<&str> = tools
        .iter()
        .map(|tool| tool.manifest.title.as_str())
        .collect();
    let mut families: Vec<String> = Vec::new();
    for family in tools.iter().flat_map(|tool| &tool.spec.families) {
        if !families.contains(family) {
            families.push(family.clone());
        }
    }
    let is_outside = tools
        .iter()
        .any(|tool| tool.spec.reach == Reach::ThirdParty);
    ToolSpec {
        name: name.to_owned(),
        kind: INDICATOR_LOOKUP.to_owned(),
        description: format!(
            "The reputation of up to {MAX_INDICATORS} indicators at once, by {}. Says for each which sources know it, which do not, which are partial and which failed. What no source knows is not clean.",
            titles.join(", ")
        ),
        arguments: vec![Argument {
            name: INDICATORS.to_owned(),
            description: "the values to look up".to_owned(),
            kind: ArgumentKind::Indicators {
                types: all_types(tools),
                max: MAX_INDICATORS,
            },
            required: true,
        }],
        reach: if is_outside {
            Reach::ThirdParty
        } else {
            Reach::Internal
        },
        trust: Vec::new(),
        needs: None,
        families,
    }
}
