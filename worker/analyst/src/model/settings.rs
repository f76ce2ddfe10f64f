//! Defines settings of a profile's model analyst: prompts, descriptions of the organisation, language, limits of
//! answers.

use std::sync::Arc;

use ipnet::IpNet;
use sha2::{Digest, Sha256};

use super::Prompts;
use nightshift_llm::chat::QuestionKind;

/// One value per question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerQuestion<T> {
    pub plan: T,
    pub turn: T,
    pub decide: T,
    pub reflect: T,
    pub conclude: T,
}

impl<T> PerQuestion<T> {
    /// Creates a set with the same value for every question.
    #[must_use]
    pub fn same_for_all(one: T) -> Self
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

    /// Returns the value for this question.
    #[must_use]
    pub const fn get(&self, asked: QuestionKind) -> &T {
        match asked {
            QuestionKind::Plan => &self.plan,
            QuestionKind::Turn => &self.turn,
            QuestionKind::Decide => &self.decide,
            QuestionKind::Reflect => &self.reflect,
            QuestionKind::Conclude => &self.conclude,
        }
    }
}

/// Settings of a profile for its model.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    pub prompts: Arc<Prompts>,
    /// Rules of the organisation in the profile; may be empty.
    pub instructions: String,
    /// Description of the organisation; may be empty.
    pub environment: String,
    /// Description of its data sources; may be empty.
    pub data_sources: String,
    /// Language of the report: an ISO 639-1 code or a name.
    pub language: String,
    /// Values hidden from the model; `None` hides nothing.
    pub pseudonyms: Option<PseudonymSettings>,
    /// Maximum tokens of an answer, without the configured reasoning. A truncated answer gets twice as many once.
    pub max_output_tokens: PerQuestion<u32>,
}

impl Default for ModelSettings {
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

impl ModelSettings {
    /// Returns the hash of all text that these settings put into prompts, by which a replay detects changes.
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

    /// Returns the language as prompts name it.
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

/// Values hidden from the model besides account ids, principals, hosts and private addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PseudonymSettings {
    /// Names and domains of the organisation. Only these are also hidden in prompts and in texts of a profile.
    pub names: Vec<String>,
    /// Public ranges of the organisation.
    pub ranges: Vec<IpNet>,
}
