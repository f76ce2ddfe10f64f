//! One binary for all tests of the whole, so that it links once. A module per matter.

#![cfg(test)]

mod cases;
mod cli;
mod demo;
mod deploy;
mod digest;
mod docs;
mod doctor;
mod fake;
mod hostile;
mod house;
mod models;
mod slack_types;
mod traces;
mod vendors;
mod verdicts;
mod worker;
