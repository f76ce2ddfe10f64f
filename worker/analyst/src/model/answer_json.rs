//! Defines parts that several answers share, as models write them, and their conversion for the engine.
//!
//! Texts are bounded and put on one line. Quotes and arguments stay unchanged, because they are compared with stored
//! values. The content of strings is checked here, and errors have the form of schema errors.

use nightshift_alert::text::{single_line, strip_hidden, truncate};
use nightshift_engine::evidence::EvidenceId;
use nightshift_engine::finding::{FindingDraft, FindingStance, QuoteDraft};
use nightshift_engine::plan::{StepDraft, StepOutcome};
use nightshift_engine::tool::ToolCall;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::tools::ToolNames;

/// Maximum length of a model's sentence, in characters.
pub(super) const MAX_SENTENCE_CHARS: usize = 600;

/// Maximum length of a summary, in characters.
pub(super) const MAX_SUMMARY_CHARS: usize = 1_500;

/// Maximum number of entries in a model's list.
pub(super) const MAX_ENTRIES: usize = 40;

/// Returns a model's text on one line, bounded and without hidden characters.
pub(super) fn clean_line(text: &str, most_chars: usize) -> String {
    let visible = strip_hidden(text).0;
    truncate(&single_line(&visible), most_chars).into_owned()
}

/// Cleans several texts and removes the empty ones.
pub(super) fn clean_lines(texts: Vec<String>) -> Vec<String> {
    texts
        .iter()
        .map(|text| clean_line(text, MAX_SENTENCE_CHARS))
        .filter(|text| !text.is_empty())
        .take(MAX_ENTRIES)
        .collect()
}

#[derive(Debug, Deserialize)]
pub(super) struct CallJson {
    tool: String,
    arguments: Vec<ArgumentJson>,
}

#[derive(Debug, Deserialize)]
struct ArgumentJson {
    name: String,
    value: Value,
}

impl CallJson {
    pub(super) fn draft(self, names: &ToolNames) -> ToolCall {
        let arguments: Map<String, Value> = self
            .arguments
            .into_iter()
            .map(|pair| (pair.name, pair.value))
            .collect();
        names.tool_call(&self.tool, arguments)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct StepJson {
    pub(super) id: String,
    pub(super) description: String,
    pub(super) expected: String,
    tools: Vec<String>,
    calls: Vec<CallJson>,
    depends_on: Vec<String>,
    key: bool,
}

impl StepJson {
    /// Returns the step, or `None` when it is empty.
    pub(super) fn draft(self, names: &ToolNames) -> Option<StepDraft> {
        let description = clean_line(&self.description, MAX_SENTENCE_CHARS);
        if description.is_empty() {
            return None;
        }
        Some(StepDraft {
            id: clean_line(&self.id, 40),
            description,
            tools: self
                .tools
                .iter()
                .take(MAX_ENTRIES)
                .map(|tool| names.engine_name(tool))
                .collect(),
            expected: clean_line(&self.expected, MAX_SENTENCE_CHARS),
            depends_on: self
                .depends_on
                .iter()
                .take(MAX_ENTRIES)
                .map(|id| clean_line(id, 40))
                .collect(),
            calls: self
                .calls
                .into_iter()
                .take(MAX_ENTRIES)
                .map(|call| call.draft(names))
                .collect(),
            key: self.key,
        })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct FindingJson {
    claim: String,
    stance: FindingStance,
    quotes: Vec<QuoteJson>,
}

#[derive(Debug, Deserialize)]
struct QuoteJson {
    evidence: String,
    quote: String,
}

/// Converts the findings; `at` is their place in the answer.
pub(super) fn findings(all: Vec<FindingJson>, at: &str) -> Result<Vec<FindingDraft>, Vec<String>> {
    let mut problems = Vec::new();
    let mut drafts = Vec::new();
    for (index, finding) in all.into_iter().take(MAX_ENTRIES).enumerate() {
        let mut quotes = Vec::new();
        for (number, quote) in finding.quotes.into_iter().take(MAX_ENTRIES).enumerate() {
            match evidence_id(&quote.evidence) {
                Some(evidence) => quotes.push(QuoteDraft {
                    evidence,
                    quote: quote.quote,
                }),
                None => problems.push(format!(
                    "{at}/{index}/quotes/{number}/evidence: {:?} is no evidence id such as E3",
                    truncate(&quote.evidence, 40)
                )),
            }
        }
        let claim = clean_line(&finding.claim, MAX_SENTENCE_CHARS);
        if !claim.is_empty() {
            drafts.push(FindingDraft {
                claim,
                quotes,
                stance: finding.stance,
            });
        }
    }
    if problems.is_empty() {
        Ok(drafts)
    } else {
        problems.truncate(8);
        Err(problems)
    }
}

/// Parses an evidence id: `E3`, also as `[E3]` or `e3`.
fn evidence_id(text: &str) -> Option<EvidenceId> {
    let bare = text
        .trim()
        .trim_matches(['[', ']', '(', ')', '"', '`'])
        .to_ascii_uppercase();
    EvidenceId::try_from(bare).ok()
}

/// Outcome of a step.
#[derive(Debug, Deserialize)]
pub(super) struct StepResultJson {
    pub(super) outcome: StepOutcome,
    pub(super) summary: String,
    pub(super) findings: Vec<FindingJson>,
}
