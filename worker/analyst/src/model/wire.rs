//! Parts that several answers share, as models write them, and what the engine is given for them.
//!
//! Texts are bounded and made one line; quotes and arguments stay as they are, for they are compared with what is
//! stored. What a string must be is checked here, and told like a complaint of the schema.

use nightshift_alert::text::{cut, single_line, strip_hidden};
use nightshift_engine::{
    EvidenceId, FindingDraft, QuoteDraft, Stance, StepDraft, StepOutcome, ToolCall,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::tools::ToolNames;

/// Longest sentence of a model, in characters.
pub(super) const SENTENCE: usize = 600;

/// Longest summary, in characters.
pub(super) const SUMMARY: usize = 1_500;

/// Most entries of a list of a model.
pub(super) const MOST_ENTRIES: usize = 40;

/// A text of a model on one line, without hidden characters, bounded.
pub(super) fn line(text: &str, most_chars: usize) -> String {
    let visible = strip_hidden(text).0;
    cut(&single_line(&visible), most_chars).into_owned()
}

/// Several of them, the empty ones left out.
pub(super) fn lines(texts: Vec<String>) -> Vec<String> {
    texts
        .iter()
        .map(|text| line(text, SENTENCE))
        .filter(|text| !text.is_empty())
        .take(MOST_ENTRIES)
        .collect()
}

/// A call.
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

/// A step.
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
    /// The step; none where it says nothing.
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

/// A finding.
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

/// The findings; `at` is where they stand in the answer.
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

/// `E3`, also as `[E3]` or `e3`.
fn evidence_id(text: &str) -> Option<EvidenceId> {
    let bare = text
        .trim()
        .trim_matches(['[', ']', '(', ')', '"', '`'])
        .to_ascii_uppercase();
    EvidenceId::try_from(bare).ok()
}

/// What a step came to.
#[derive(Debug, Deserialize)]
pub(super) struct Outcome {
    pub(super) outcome: StepOutcome,
    pub(super) summary: String,
    pub(super) findings: Vec<Finding>,
}
