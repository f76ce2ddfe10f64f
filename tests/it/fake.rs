//! Tests the fake model: official SDKs use it and parse its answers, and it refuses what providers refuse.

mod answers;
mod faults;
mod raw;
mod refusals;
mod sdk;
