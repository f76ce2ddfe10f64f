//! Who thinks about an alert.
//!
//! [`playbook`] is the analyst that needs no model: TOML files plan the steps, and expressions over what tools found
//! make findings and a verdict. Its answers are proposals like any analyst's; the engine checks every one of them.

pub mod playbook;
