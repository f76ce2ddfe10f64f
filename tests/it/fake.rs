//! The fake model is right: it answers in each provider's form, and refuses what providers refuse.

mod answers;
mod faults;
mod raw;
mod refusals;
