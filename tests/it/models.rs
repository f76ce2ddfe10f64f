//! Tests the model analyst as a whole against the strict fake: the worked example on every provider's wire, each
//! fault of a model, a model that obeys the attacker, and nonsense that fits the schemas.

mod adapters;
mod attack_corpus;
mod between;
mod compromised;
pub(crate) mod example;
mod fallback;
mod faults;
mod keyless;
mod nonsense;
pub(crate) mod providers;
mod real;
mod servers;
mod thinking;
mod worked;
