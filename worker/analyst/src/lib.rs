//! Who thinks about an alert.
//!
//! [`playbook`] is the analyst that needs no model: TOML files plan the steps, and expressions over what tools found
//! make findings and a verdict. [`model`] asks a language model the same questions, through the port [`ChatModel`](nightshift_llm::chat::ChatModel). Answers
//! are proposals, whoever gives them; the engine checks every one.

pub mod model;
pub mod playbook;
