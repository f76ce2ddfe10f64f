//! Posts as they come: from who may, from who may not, and what becomes of them. The store and whoever is called are
//! strict fakes with a memory.

mod plain;
mod pubsub;
mod refused;
mod sns;
mod world;
