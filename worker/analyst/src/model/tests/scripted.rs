//! Provides a model that answers as a test says, and refuses what every provider would refuse.

use std::collections::BTreeSet;
use std::sync::Mutex;

use async_trait::async_trait;
use serde_json::{Value, json};

use nightshift_llm::chat::{
    CallArguments, ChatAnswer, ChatError, ChatModel, ChatPart, ChatRequest, ChatRole, ChatTraits,
    StopReason, TokenPrice, ToolCallPart, Usage,
};

type ModelScript = dyn Fn(&ChatRequest) -> Result<ChatAnswer, ChatError> + Send + Sync;

pub(in crate::model) struct ScriptedChatModel {
    traits: ChatTraits,
    script: Box<ModelScript>,
    pub(in crate::model) requests_seen: Mutex<Vec<ChatRequest>>,
}

impl ScriptedChatModel {
    pub(in crate::model) fn new(
        script: impl Fn(&ChatRequest) -> Result<ChatAnswer, ChatError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            traits: ChatTraits {
                name: "fake/model".into(),
                window_tokens: 200_000,
                max_output_tokens: 16_000,
                reasoning_tokens: 0,
                tools: true,
                tools_always: true,
                price: TokenPrice::default(),
            },
            script: Box::new(script),
            requests_seen: Mutex::default(),
        }
    }

    pub(in crate::model) fn without_tools(mut self) -> Self {
        self.traits.tools = false;
        self.with_few_tools()
    }

    pub(in crate::model) fn with_few_tools(mut self) -> Self {
        self.traits.tools_always = false;
        self
    }

    pub(in crate::model) fn with_window(mut self, tokens: u64) -> Self {
        self.traits.window_tokens = tokens;
        self
    }

    pub(in crate::model) fn requests(&self) -> Vec<ChatRequest> {
        self.requests_seen.lock().unwrap().clone()
    }
}

#[async_trait]
impl ChatModel for ScriptedChatModel {
    fn traits(&self) -> &ChatTraits {
        &self.traits
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        well_formed(request);
        self.requests_seen.lock().unwrap().push(request.clone());
        (self.script)(request)
    }
}

/// Checks what every provider demands of a conversation.
fn well_formed(request: &ChatRequest) {
    assert!(!request.system.trim().is_empty());
    assert!(request.max_output_tokens > 0);
    assert!(!request.may_call || !request.tools.is_empty());
    let mut names = BTreeSet::new();
    for tool in request.tools.iter() {
        assert!(names.insert(&tool.name), "{} twice", tool.name);
        assert!(!tool.description.is_empty(), "{}", tool.name);
        assert!(tool.name.len() <= 64);
    }
    let mut ids = BTreeSet::new();
    let mut open: Vec<String> = Vec::new();
    for (index, message) in request.messages.iter().enumerate() {
        let wanted = if index % 2 == 0 {
            ChatRole::User
        } else {
            ChatRole::Assistant
        };
        assert_eq!(message.role, wanted, "message {index}");
        assert!(!message.parts.is_empty(), "message {index} is empty");
        let mut texts = 0;
        let mut answered = Vec::new();
        let mut made = Vec::new();
        for part in &message.parts {
            match part {
                ChatPart::Text { text, .. } => {
                    assert!(!text.trim().is_empty(), "an empty text in message {index}");
                    texts += 1;
                }
                ChatPart::Call(call) => {
                    assert_eq!(message.role, ChatRole::Assistant);
                    assert!(ids.insert(call.id.clone()), "call {} twice", call.id);
                    made.push(call.id.clone());
                }
                ChatPart::Result { id, .. } => {
                    assert_eq!(message.role, ChatRole::User);
                    assert_eq!(texts, 0, "results come before text");
                    answered.push(id.clone());
                }
                ChatPart::Opaque(_) => assert_eq!(message.role, ChatRole::Assistant),
            }
        }
        assert_eq!(
            answered, open,
            "every call of message {index} has its result"
        );
        open = made;
    }
    assert!(open.is_empty());
    assert_eq!(request.messages.len() % 2, 1, "we speak last");
    let marks = request.messages.iter().flat_map(|message| &message.parts);
    let marks = marks.filter(|part| matches!(part, ChatPart::Text { keep: true, .. }));
    assert!(marks.count() <= 4, "no provider keeps more");
}

/// Returns all text of a request except its system text, in order.
pub(in crate::model) fn request_text(request: &ChatRequest) -> String {
    let mut out = String::new();
    for part in request.messages.iter().flat_map(|message| &message.parts) {
        match part {
            ChatPart::Text { text, .. } | ChatPart::Result { text, .. } => out.push_str(text),
            ChatPart::Call(call) => {
                out.push_str(&format!("[call {} {:?}]\n", call.name, call.arguments))
            }
            ChatPart::Opaque(opaque) => out.push_str(&opaque.value.to_string()),
        }
    }
    out
}

pub(in crate::model) fn answer(parts: Vec<ChatPart>) -> ChatAnswer {
    let calls = parts.iter().any(|part| matches!(part, ChatPart::Call(_)));
    ChatAnswer {
        parts,
        structured: None,
        stop: if calls {
            StopReason::Calls
        } else {
            StopReason::Done
        },
        usage: Usage {
            input_tokens: 1_000,
            cache_write_tokens: 0,
            cached_tokens: 700,
            output_tokens: 100,
            reasoning_tokens: 0,
        },
        usd: 0.01,
        requests: 1,
        model: "fake/model".into(),
        id: None,
    }
}

/// Returns an answer in JSON.
pub(in crate::model) fn says(value: &Value) -> ChatAnswer {
    answer(vec![ChatPart::text(value.to_string())])
}

/// Returns an answer that makes calls.
pub(in crate::model) fn makes(calls: &[(&str, Value)]) -> ChatAnswer {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
    let parts = calls
        .iter()
        .map(|(name, arguments)| {
            let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            ChatPart::Call(ToolCallPart {
                id: format!("call_{number}"),
                name: (*name).to_owned(),
                arguments: match arguments {
                    Value::Object(map) => CallArguments::Object(map.clone()),
                    other => CallArguments::Unreadable(other.to_string()),
                },
                opaque: None,
            })
        })
        .collect();
    answer(parts)
}

pub(in crate::model) fn step(id: &str, description: &str, tools: &[&str]) -> Value {
    json!({"id": id, "description": description, "expected": "a hit", "tools": tools, "calls": [],
        "depends_on": [], "key": false})
}

pub(in crate::model) fn plan(objective: &str, steps: Vec<Value>) -> ChatAnswer {
    says(&json!({"reasoning": "", "mode": "planned", "objective": objective, "steps": steps}))
}

pub(in crate::model) fn result(outcome: &str, summary: &str) -> ChatAnswer {
    says(&json!({"outcome": outcome, "summary": summary, "findings": []}))
}

/// Returns a conclusion with one finding.
pub(in crate::model) fn conclusion(verdict: &str, evidence: &str, quote: &str) -> ChatAnswer {
    says(&json!({
        "findings": [{"claim": "The pool is on a list", "stance": "for",
            "quotes": [{"evidence": evidence, "quote": quote}]}],
        "reasoning": "", "verdict": verdict, "leaning": "malicious", "reason": "suspicious_activity",
        "severity": "critical", "gaps": [], "would_decide": [], "techniques": ["T1496"], "meaning": "A miner.",
        "actions": [{"id": "isolate-instance", "values": ["web-server-prod-01"]}]}))
}
