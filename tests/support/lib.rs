//! Helpers that several test crates share, such as the paths of the repository and of the program under test.
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
pub use process::{NoRun, Place, Ran};
pub use program::{NoProgram, built, program};
pub use rabbitmq::{NotPublished, Publisher};
pub use running::Running;
pub use sample::finding;
pub use tree::{files, root};
