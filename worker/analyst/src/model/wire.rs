//! Parts that several answers share, as models write them, and their conversion for the engine.
//!
//! Texts are bounded and put on one line. Quotes and arguments stay unchanged, because they are compared with stored
//! values. The content of strings is checked here, and errors have the form of schema errors.

use nightshift_alert::text::{cut, single_line, strip_hidden};
use nightshift_engine::evidence::EvidenceId;
use nightshift_engine::finding::{FindingDraft, QuoteDraft, Stance};
use nightshift_engine::plan::{StepDraft, StepOutcome};
use nightshift_engine::tool::ToolCall;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::tools::ToolNames;

/// Maximum length of a model's sentence, in characters.
pub(super) const SENTENCE: usize = 600;

/// Maximum length of a summary, in characters.
pub(super) const SUMMARY: usize = 1_500;

/// Maximum number of entries in a model's list.
pub(super) const MOST_ENTRIES: usize = 40;

/// Returns a model's text on one line, bounded and without hidden characters.
pub(super) fn line(text: &str, most_chars: usize) -> String {
    let visible = strip_hidden(text).0;
    cut(&single_line(&visible), most_chars).into_owned()
}

/// Cleans several texts and removes the empty ones.
pub(super) fn lines(texts: Vec<String>) -> Vec<String> {
    texts
        .iter()
        .map(|text| line(text, SENTENCE))
        .filter(|text| !text.is_empty())
        .take(MOST_ENTRIES)
        .collect()
}

#[derive(Debug, Deserialize)]
pub(super) struct Call {
    tool: String,
    arguments: Vec<Pair>,
}

#[derive(Debug, Deserialize)]
struct Pair {
    name: String,
    value: Value,
}

impl Call {
    pub(super) fn draft(self, names: &ToolNames) -> ToolCall {
        let arguments: Map<String, Value> = self
            .arguments
            .into_iter()
            .map(|pair| (pair.name, pair.value))
            .collect();
        names.call(&self.tool, arguments)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Step {
    pub(super) id: String,
    pub(super) description: String,
    pub(super) expected: String,
    tools: Vec<String>,
    calls: Vec<Call>,
    depends_on: Vec<String>,
    key: bool,
}

impl Step {
    /// Returns the step, or `None` when it is empty.
    pub(super) fn draft(self, names: &ToolNames) -> Option<StepDraft> {
        let description = line(&self.description, SENTENCE);
        if description.is_empty() {
            return None;
        }
        Some(StepDraft {
            id: line(&self.id, 40),
            description,
            tools: self
                .tools
                .iter()
                .take(MOST_ENTRIES)
                .map(|tool| names.engine(tool))
                .collect(),
            expected: line(&self.expected, SENTENCE),
            depends_on: self
                .depends_on
                .iter()
                .take(MOST_ENTRIES)
                .map(|id| line(id, 40))
                .collect(),
            calls: self
                .calls
                .into_iter()
                .take(MOST_ENTRIES)
                .map(|call| call.draft(names))
                .collect(),
            key: self.key,
        })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Finding {
    claim: String,
    stance: Stance,
    quotes: Vec<Quote>,
}

#[derive(Debug, Deserialize)]
struct Quote {
    evidence: String,
    quote: String,
}

/// Converts the findings; `at` is their place in the answer.
pub(super) fn findings(all: Vec<Finding>, at: &str) -> Result<Vec<FindingDraft>, Vec<String>> {
    let mut problems = Vec::new();
    let mut drafts = Vec::new();
    for (index, finding) in all.into_iter().take(MOST_ENTRIES).enumerate() {
        let mut quotes = Vec::new();
        for (number, quote) in finding.quotes.into_iter().take(MOST_ENTRIES).enumerate() {
            match evidence_id(&quote.evidence) {
                Some(evidence) => quotes.push(QuoteDraft {
                    evidence,
                    quote: quote.quote,
                }),
                None => problems.push(format!(
                    "{at}/{index}/quotes/{number}/evidence: {:?} is no evidence id such as E3",
                    cut(&quote.evidence, 40)
                )),
            }
        }
        let claim = line(&finding.claim, SENTENCE);
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
pub(super) struct Outcome {
    pub(super) outcome: StepOutcome,
    pub(super) summary: String,
    pub(super) findings: Vec<Finding>,
}
