//! Triages one alert, sans-IO: `state = fold(events)`, `decide(&state) -> commands`.
//!
//! Each file holds one rule. Only `driver` waits for anything; the rest is pure, so that the same journal always gives
//! the same state. The engine knows no models, clouds or stores; it reaches them through `port`.

#![warn(missing_docs)]

mod arguments;
pub mod audit_event;
pub mod case_budget;
pub mod catalogue;
mod cloud_name;
pub mod command;
pub mod conclude;
pub mod conclusion;
mod counterfactual;
mod dead_end;
pub mod decide;
pub mod doctor;
pub mod driver;
pub mod error_chain;
pub mod event;
pub mod evidence;
pub mod evidence_read;
pub mod exoneration;
pub mod finding;
pub mod fold;
pub mod hosts;
pub mod journal;
pub mod key;
pub mod ledger_row;
pub mod limits;
pub mod log_time_range;
pub mod measurement;
pub mod outbound;
pub mod plan;
pub mod port;
pub mod previous_run;
pub mod question;
mod question_builder;
pub mod quote;
pub mod recheck;
mod register_row;
pub mod state;
pub mod strategy;
pub mod tool;
mod verdict_advice;
pub mod verdict_policy;
pub mod verify;
mod watch_list;

#[cfg(test)]
mod fixture;
