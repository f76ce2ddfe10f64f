//! Triage of one alert, sans-IO: `state = fold(events)`, `decide(&state) -> commands`.
//!
//! Each file holds one rule. Only `driver` waits for anything; the rest is pure, so that the same journal always
//! gives the same state. The engine knows no models, clouds or stores; it reaches them through `port`.

#![warn(missing_docs)]

pub mod again;
pub mod allowance;
mod arguments;
pub mod audit_event;
mod blank;
pub mod catalogue;
pub mod causes;
pub mod checkup;
mod cloud_name;
pub mod command;
pub mod conclude;
pub mod conclusion;
pub mod decide;
pub mod driver;
pub mod event;
pub mod evidence;
pub mod evidence_read;
pub mod exoneration;
pub mod finding;
pub mod fold;
pub mod journal;
pub mod ledger_row;
pub mod limits;
pub mod measure;
pub mod outward;
pub mod plan;
pub mod port;
pub mod question;
pub mod quote;
pub mod reach;
pub mod recheck;
mod register_row;
pub mod searched;
pub mod state;
pub mod strategy;
pub mod tool;
mod trail;
mod verdict_advice;
pub mod verdict_policy;
pub mod verify;
mod view;
mod watch_list;

#[cfg(test)]
mod fixture;
