//! The fake model is right: official SDKs talk to it and parse what it says, and it refuses what providers refuse.

mod answers;
mod faults;
mod raw;
mod refusals;
mod sdk;
