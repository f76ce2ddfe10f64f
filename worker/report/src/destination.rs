//! Destinations that need no service: files and the standard output.

mod file;
mod stdout;

pub use file::{FileDestination, Format};
pub use stdout::StdoutDestination;
