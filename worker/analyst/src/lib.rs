//! Who thinks about an alert.
//!
//! [`playbook`] is the analyst that needs no model: TOML files plan the steps, and expressions over what tools found
//! make findings and a verdict. [`chat`] is what an analyst with a language model needs of one. Answers are proposals,
//! whoever gives them; the engine checks every one.

pub mod chat;
pub mod playbook;
