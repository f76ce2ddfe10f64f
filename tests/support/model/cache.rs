//! Counts tokens and finds cached prefixes of prompts, for the usage that providers report.
//!
//! A prompt is its bytes in the order of caching: tools, system, messages. OpenAI and Gemini cache blocks
//! automatically; Anthropic and Bedrock cache up to marks in the request. Nothing is ever evicted.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use parking_lot::Mutex;
use serde_json::Value;

use super::{Provider, Usage};

/// Approximate bytes of a token.
const TOKEN_BYTES: usize = 4;

/// Providers cache blocks of 128 tokens, and nothing below 1,024.
const BLOCK_BYTES: usize = 128 * TOKEN_BYTES;
const MIN_BYTES: usize = 1024 * TOKEN_BYTES;

/// The bytes of a prompt, and its cache marks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Prompt {
    bytes: Vec<u8>,
    marks: Vec<usize>,
}

/// The prefixes that were sent before.
#[derive(Debug, Default)]
pub(super) struct PromptCache(Mutex<HashSet<u64>>);

impl Prompt {
    /// Adds a part of the body. Marks within the part count at its end.
    pub(super) fn push(&mut self, value: Option<&Value>) {
        let Some(value) = value else { return };
        let mut value = value.clone();
        let marked = remove_marks(&mut value);
        self.bytes.extend_from_slice(value.to_string().as_bytes());
        if marked {
            self.mark();
        }
    }

    /// Adds a list item by item, so that marks count at their items.
    pub(super) fn push_each(&mut self, list: Option<&Value>) {
        match list {
            Some(Value::Array(items)) => items.iter().for_each(|item| self.push(Some(item))),
            other => self.push(other),
        }
    }

    /// Marks the current end.
    pub(super) fn mark(&mut self) {
        self.marks.push(self.bytes.len());
    }
}

/// Removes marks from a value, since they are no part of the prompt. Returns whether there was one.
fn remove_marks(value: &mut Value) -> bool {
    match value {
        Value::Object(map) => {
            let mut marked = map
                .remove("cache_control")
                .is_some_and(|mark| !mark.is_null());
            marked |= map.contains_key("cachePoint");
            for inner in map.values_mut() {
                marked |= remove_marks(inner);
            }
            marked
        }
        Value::Array(items) => {
            let mut marked = false;
            for item in items {
                marked |= remove_marks(item);
            }
            marked
        }
        _ => false,
    }
}

/// Returns the number of tokens for this many bytes.
pub(super) fn tokens_from_bytes(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(TOKEN_BYTES)).unwrap_or(u64::MAX)
}

impl PromptCache {
    /// Returns the usage of a prompt and adds the prompt to the cache.
    pub(super) fn record_prompt(&self, provider: Provider, model: &str, prompt: &Prompt) -> Usage {
        let ends = if provider.caches_by_marks() {
            prompt.marks.clone()
        } else {
            (1..=prompt.bytes.len() / BLOCK_BYTES)
                .map(|block| block * BLOCK_BYTES)
                .collect()
        };
        let keys = keys(provider, model, &prompt.bytes, &ends);
        let mut known = self.0.lock();
        let kept = keys.iter().filter(|(end, _)| *end >= MIN_BYTES);
        let (mut read, mut most) = (0, 0);
        for (end, key) in kept {
            most = *end;
            if !known.insert(*key) {
                read = *end;
            }
        }
        let written = if provider.caches_by_marks() {
            tokens_from_bytes(most - read)
        } else {
            0
        };
        Usage {
            input: tokens_from_bytes(prompt.bytes.len()),
            cached: tokens_from_bytes(read),
            written,
            ..Usage::default()
        }
    }
}

/// Returns a key for the prefix at each end.
fn keys(provider: Provider, model: &str, bytes: &[u8], ends: &[usize]) -> Vec<(usize, u64)> {
    let mut hasher = DefaultHasher::new();
    (provider, model).hash(&mut hasher);
    let mut from = 0;
    let mut keys = Vec::with_capacity(ends.len());
    for end in ends {
        hasher.write(bytes.get(from..*end).unwrap_or_default());
        from = *end;
        keys.push((*end, hasher.finish()));
    }
    keys
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt(parts: &[Value]) -> Prompt {
        let mut prompt = Prompt::default();
        parts.iter().for_each(|part| prompt.push(Some(part)));
        prompt
    }

    #[test]
    fn what_two_prompts_share_is_cached_in_blocks() {
        let cache = PromptCache::default();
        let shared = json!("s".repeat(8000));
        let first = cache.record_prompt(
            Provider::OpenAi,
            "m",
            &prompt(&[shared.clone(), json!("one")]),
        );
        assert_eq!((first.cached, first.input), (0, 2002));
        let second = cache.record_prompt(
            Provider::OpenAi,
            "m",
            &prompt(&[shared.clone(), json!("two")]),
        );
        assert_eq!(second.cached, 1920, "15 whole blocks of 128");
        let other = cache.record_prompt(Provider::OpenAi, "n", &prompt(&[shared]));
        assert_eq!(other.cached, 0, "models share nothing");
    }

    #[test]
    fn anthropic_caches_up_to_marks_and_only_there() {
        let cache = PromptCache::default();
        let text = "s".repeat(8000);
        let marked = json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
        let bare = json!({"type": "text", "text": text});
        let first = cache.record_prompt(
            Provider::Anthropic,
            "m",
            &prompt(std::slice::from_ref(&marked)),
        );
        assert_eq!((first.cached, first.written), (0, first.input));
        let second =
            cache.record_prompt(Provider::Anthropic, "m", &prompt(&[marked, json!("more")]));
        assert_eq!((second.cached, second.written), (first.input, 0));
        let third = cache.record_prompt(Provider::Anthropic, "m", &prompt(&[bare]));
        assert_eq!(
            (third.cached, third.written),
            (0, 0),
            "without marks nothing"
        );
    }
}
