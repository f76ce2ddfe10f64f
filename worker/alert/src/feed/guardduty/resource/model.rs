//! Reads models and guardrails of Bedrock.
//!
//! <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_BedrockGuardrailDetails.html>

use std::collections::BTreeMap;

use super::add_by_arn;
use crate::feed::{Draft, Node};
use crate::{DetailKind, IndicatorKind, IndicatorRole};

pub(super) fn guardrails(draft: &mut Draft, node: Node<'_>) {
    let listed = node.at("guardrails").items().map(|one| one.at("arn"));
    for arn in listed.chain([node.at("guardrailArn")]) {
        add_by_arn(draft, "BedrockGuardrail", arn, None);
    }
    read_guardrail_action(draft, node, node.at("guardrailArn").str());
}

/// Reads the action of a guardrail, its inputs, and the filters that matched.
pub(in super::super) fn read_guardrail_action(
    draft: &mut Draft,
    node: Node<'_>,
    guardrail: Option<&str>,
) {
    let action = [node.at("guardrailAction"), node.at("guardrailSource")];
    let action: Vec<&str> = action.into_iter().filter_map(Node::str).collect();
    draft.add_detail_text(DetailKind::AiModel, &action.join(" "), guardrail);
    for filter in node.at("contentPolicyFilters").items().take(32) {
        let confidence = filter.at("confidence").str();
        let confidence = confidence.map(|word| format!("confidence {word}"));
        let words = [filter.at("type").str(), filter.at("action").str()];
        let words = words.into_iter().flatten().chain(confidence.as_deref());
        let text = words.collect::<Vec<_>>().join(" ");
        draft.add_detail_text(DetailKind::AiModel, &text, guardrail);
    }
}

pub(super) fn models(draft: &mut Draft, node: Node<'_>) {
    for model in node.items() {
        let id = model.at("modelId");
        draft.add(IndicatorKind::Arn, IndicatorRole::Related, id);
        draft.add_detail(DetailKind::AiModel, id);
        if let Some(id) = id.str() {
            draft.add_resource("BedrockModel", id, None, BTreeMap::new());
        }
    }
}
