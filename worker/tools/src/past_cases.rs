//! Implements the tool `past_cases`: earlier cases of this installation that share the finding or a value, or whose
//! reports use the same words.
//!
//! Only typed fields pass from one case into another, never a sentence of a person (attack A20). A machine's earlier
//! verdict is reported and clears nothing. For verdicts of people see `person_verdict`.

mod person_verdict;

use std::sync::Arc;

use async_trait::async_trait;
use chrono::Duration;
use nightshift_alert::text::distinct_words;
use nightshift_alert::{Indicator, IndicatorRole};
use nightshift_engine::port::{PastCase, PastCases, PastQuery};
use nightshift_engine::tool::{CallContext, ToolError, ToolOutput, ToolSpec, Trust};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::arguments::Arguments;
use crate::config::ToolConfigError;
use crate::register::RegisterReport;
use crate::tool::{Tool, spec, unavailable};

const KIND: &str = "past_cases";

/// Maximum number of values that are compared.
const MAX_INDICATORS: usize = 64;

/// Configuration of `past_cases`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PastCases")]
pub struct PastCasesConfig {
    /// The tool's name: `past_cases`, since every case begins with a call of this name.
    pub name: String,
    /// The number of days to look back.
    #[serde(default = "default_days")]
    pub days: u32,
    /// Maximum number of cases, the newest first.
    #[serde(default = "default_limit")]
    pub limit: usize,
}

const fn default_days() -> u32 {
    90
}

const fn default_limit() -> usize {
    20
}

impl PastCasesConfig {
    pub(crate) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            days: default_days(),
            limit: default_limit(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), ToolConfigError> {
        let bad = |key, problem: &str| ToolConfigError::InvalidValue {
            name: self.name.clone(),
            key,
            problem: problem.to_owned(),
        };
        if self.name != KIND {
            return Err(bad(
                "name",
                "use \"past_cases\": every case begins with a call by that name",
            ));
        }
        if !(1..=3650).contains(&self.days) {
            return Err(bad("days", "use 1 to 3650"));
        }
        if !(1..=100).contains(&self.limit) {
            return Err(bad("limit", "use 1 to 100"));
        }
        Ok(())
    }
}

pub(crate) struct PastCasesTool {
    spec: ToolSpec,
    days: u32,
    limit: usize,
    past_cases: Arc<dyn PastCases>,
}

impl PastCasesTool {
    pub(crate) fn new(config: &PastCasesConfig, past: Arc<dyn PastCases>) -> Self {
        let description = "Earlier cases of the same finding, or that share an actor, target or far end with this alert: \
            their types, verdicts, what people decided, and which tools failed there; besides, cases whose reports have \
            at least half of this alert's words. Takes no arguments. A machine's earlier verdict proves nothing by itself.";
        Self {
            spec: spec(
                &config.name,
                KIND,
                description,
                Vec::new(),
                &[
                    ("/cases", Trust::Platform),
                    ("/found", Trust::Platform),
                    ("/same_key", Trust::Platform),
                    ("/searched", Trust::Platform),
                    ("/similar", Trust::Platform),
                ],
            ),
            days: config.days,
            limit: config.limit,
            past_cases: past,
        }
    }

    fn query(&self, context: &CallContext) -> PastQuery {
        let alert = &context.alert;
        let mut indicators: Vec<Indicator> = alert
            .indicators
            .iter()
            .filter(|indicator| indicator.role != IndicatorRole::Related)
            .cloned()
            .collect();
        indicators.truncate(MAX_INDICATORS);
        PastQuery {
            case_id: context.case_id.clone(),
            key: alert.key.to_string(),
            kind: alert.kind.clone(),
            account: alert.account.clone(),
            indicators,
            actors: {
                let role = match alert.with_role(IndicatorRole::Actor).next() {
                    Some(_) => IndicatorRole::Actor,
                    None => IndicatorRole::Target,
                };
                alert.with_role(role).cloned().collect()
            },
            words: distinct_words(&[&alert.title, &alert.description]),
            since: context
                .now
                .checked_sub_signed(Duration::days(i64::from(self.days))),
            limit: self.limit,
        }
    }
}

#[async_trait]
impl Tool for PastCasesTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(
        &self,
        _arguments: Arguments<'_>,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let query = self.query(context);
        let mut cases = self
            .past_cases
            .similar_cases(&query)
            .await
            .map_err(|error| unavailable(format!("earlier cases cannot be read: {error}")))?;
        cases.truncate(self.limit);
        let similar = self
            .past_cases
            .cases_by_words(&query)
            .await
            .map_err(|error| unavailable(format!("similar cases cannot be read: {error}")))?;
        let decision = self
            .past_cases
            .last_person_decision(&query)
            .await
            .map_err(|error| unavailable(format!("people's verdicts cannot be read: {error}")))?;
        let mut output = build_output(&query, &cases, similar);
        if let Some(decision) = decision {
            output.exonerations = person_verdict::exonerations(&decision, &context.alert);
        }
        Ok(output)
    }

    fn answers_typed_fields(&self) -> bool {
        true
    }

    fn reports(&self) -> Vec<RegisterReport> {
        Vec::new()
    }
}

/// Returns the answer. Similar cases are listed apart, without those that share the finding or a value.
fn build_output(query: &PastQuery, cases: &[PastCase], mut similar: Vec<PastCase>) -> ToolOutput {
    similar.retain(|one| cases.iter().all(|case| case.case_id != one.case_id));
    let same_key = cases.iter().filter(|case| case.same_key).count();
    let mut output = ToolOutput::from_body(json!({
        "cases": cases,
        "found": cases.len(),
        "same_key": same_key,
        "searched": {
            "since": query.since,
            "limit": query.limit,
            "indicators": query.indicators.len(),
        },
    }));
    if !similar.is_empty()
        && let Some(body) = output.body.as_object_mut()
    {
        body.insert("similar".to_owned(), json!(similar));
    }
    output.rows = Some(cases.len() as u64);
    output
}

#[cfg(test)]
mod tests;
