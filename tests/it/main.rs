//! Builds all integration tests in one binary, so that they link once. Each module covers one subject.

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
