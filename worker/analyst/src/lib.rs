//! Implements the analysts, which answer the engine's questions about an alert.
//!
//! [`playbook`] needs no model: TOML files plan the steps, and expressions over tool results make findings and a
//! verdict. [`model`] asks a language model the same questions, through the port
//! [`ChatModel`](nightshift_llm::chat::ChatModel). All answers are proposals; the engine checks every one.

pub mod model;
pub mod playbook;
