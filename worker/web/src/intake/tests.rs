//! Tests posts by authenticated and other senders. The store and the called servers are strict fakes with a memory.

mod fixture;
mod plain;
mod pubsub;
mod refused;
mod sns;
