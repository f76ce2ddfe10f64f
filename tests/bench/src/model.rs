//! Measures the model analyst with real adapters against the strict fake: the CPU and number of its calls, and how
//! much of each prompt was sent before.

pub(crate) mod fake;
mod listening;
mod prefix;
pub(crate) mod script;
mod spent;

use crate::figure::Figure;

/// Measures CPU per call, calls per case and repeated prefixes.
pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let mut figures = spent::measure()?;
    figures.extend(prefix::measure()?);
    Ok(figures)
}
