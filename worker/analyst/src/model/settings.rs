//! What a profile tells its model analyst: prompts, the organisation in words, language, limits of answers.

use std::sync::Arc;

use ipnet::IpNet;
use sha2::{Digest, Sha256};

use super::Prompts;
use nightshift_llm::chat::Asked;

/// One thing per question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerQuestion<T> {
    /// For the plan question.
    pub plan: T,
    /// For turns of steps.
    pub turn: T,
    /// For decisions of adaptive cases.
    pub decide: T,
    /// For reflections.
    pub reflect: T,
    /// For the conclusion.
    pub conclude: T,
}

impl<T> PerQuestion<T> {
    /// The same for every question.
    #[must_use]
    pub fn all(one: T) -> Self
    where
        T: Clone,
    {
        Self {
            plan: one.clone(),
            turn: one.clone(),
            decide: one.clone(),
            reflect: one.clone(),
            conclude: one,
        }
    }

    /// That of this question.
    #[must_use]
    pub const fn of(&self, asked: Asked) -> &T {
        match asked {
            Asked::Plan => &self.plan,
            Asked::Turn => &self.turn,
            Asked::Decide => &self.decide,
            Asked::Reflect => &self.reflect,
            Asked::Conclude => &self.conclude,
        }
    }
}

/// How a profile wants its model asked.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The prompts.
    pub prompts: Arc<Prompts>,
    /// House rules of the profile, in words; may be empty.
    pub instructions: String,
    /// The organisation, in words; may be empty.
    pub environment: String,
    /// Its data sources, in words; may be empty.
    pub data_sources: String,
    /// Language of the report: an ISO 639-1 code or a name.
    pub language: String,
    /// What is hidden from the model; nothing where none.
    pub pseudonyms: Option<PseudonymSettings>,
    /// Tokens that an answer may have, beside what the model is configured to reason; one that is cut off may have twice as
    /// many once.
    pub max_output_tokens: PerQuestion<u32>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            prompts: Prompts::shipped(),
            instructions: String::new(),
            environment: String::new(),
            data_sources: String::new(),
            language: "en".to_owned(),
            pseudonyms: None,
            max_output_tokens: PerQuestion {
                plan: 6_000,
                turn: 4_000,
                decide: 4_000,
                reflect: 4_000,
                conclude: 8_000,
            },
        }
    }
}

impl Settings {
    /// Hash of all words that these settings put into prompts, so that a replay can tell whether they changed.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut digest = Sha256::new();
        for text in [
            self.prompts.hash(),
            &self.instructions,
            &self.environment,
            &self.data_sources,
            &self.language,
        ] {
            digest.update(text.as_bytes());
            digest.update([0]);
        }
        digest.update([u8::from(self.pseudonyms.is_some())]);
        super::hex(&digest.finalize(), 16)
    }

    /// The language as prompts name it.
    pub(super) fn language_name(&self) -> &str {
        match self.language.as_str() {
            "" | "en" => "English",
            "de" => "German",
            "es" => "Spanish",
            "fr" => "French",
            "it" => "Italian",
            "ja" => "Japanese",
            "nl" => "Dutch",
            "pl" => "Polish",
            "pt" => "Portuguese",
            other => other,
        }
    }
}

/// What else is hidden from the model beside account ids, principals, hosts and private addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PseudonymSettings {
    /// Names and domains of the organisation: they alone are hidden in prompts and in what a profile says, too.
    pub names: Vec<String>,
    /// Its public ranges.
    pub ranges: Vec<IpNet>,
}
