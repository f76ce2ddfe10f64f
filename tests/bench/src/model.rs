//! Measures the model analyst with real adapters against the strict fake: the CPU and number of its calls, and how
//! much of each prompt was sent before.

pub(crate) mod fake;
mod prefix;
mod question_cost;
mod recording;
pub(crate) mod script;

use crate::figure::Figure;

/// Measures CPU per call, calls per case and repeated prefixes.
pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let mut figures = question_cost::measure()?;
    figures.extend(prefix::measure()?);
    Ok(figures)
}
