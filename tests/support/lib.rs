//! What the tests of the whole share: where the repository is, and where the program under test is.
//!
//! Fakes of models, clouds and destinations get a module each here. What only one test needs stays beside that test.

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
