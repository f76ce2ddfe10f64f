//! Tests the model analyst with a scripted model that checks every request, alone and with the real engine.

mod adaptive;
pub(super) mod case_fixture;
mod economy;
mod faults;
mod hostile;
mod prompts;
pub(super) mod scripted;
mod table;
mod too_long;
mod worked_example;
