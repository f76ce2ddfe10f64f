//! Provides helpers that several test crates share, such as the paths of the repository and of the program under test.
//!
//! Fakes of models, clouds and destinations have a module each. Helpers of a single test stay beside that test.

mod collector;
pub mod model;
mod process;
mod program;
mod rabbitmq;
mod running;
mod sample;
mod tree;

pub use collector::{Collector, Span};
pub use process::{ProgramOutput, RunError, Sandbox};
pub use program::{ProgramNotFound, build_program, program_path};
pub use rabbitmq::{PublishError, Publisher};
pub use running::RunningProgram;
pub use sample::sample_finding;
pub use tree::{files_below, repository_root};
