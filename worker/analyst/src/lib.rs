//! Who thinks about an alert.
//!
//! [`playbook`] is the analyst that needs no model: TOML files plan the steps, and expressions over what tools found
//! make findings and a verdict. [`model`] asks a language model the same questions, through the port [`chat`]. Answers
//! are proposals, whoever gives them; the engine checks every one.

pub mod chat;
pub mod model;
pub mod playbook;
