//! Defines one figure with its name, value, unit and limit.

/// A measured figure.
#[derive(Clone)]
pub(crate) struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    limit: Option<Limit>,
}

/// The bound that a figure should hold.
#[derive(Clone, Copy)]
enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Figure {
    /// Returns a figure without a limit.
    pub(crate) fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self {
            name: name.into(),
            value,
            unit,
            limit: None,
        }
    }

    /// Sets an upper limit.
    pub(crate) fn at_most(self, limit: f64) -> Self {
        Self {
            limit: Some(Limit::AtMost(limit)),
            ..self
        }
    }

    /// Sets a lower limit.
    pub(crate) fn at_least(self, limit: f64) -> Self {
        Self {
            limit: Some(Limit::AtLeast(limit)),
            ..self
        }
    }

    /// Formats the name, value, limit, ratio to the limit (above 1 is always a miss), and the command that repeats
    /// the measurement.
    pub(crate) fn line(&self, group: &str) -> String {
        let value = format!("{} {}", rounded(self.value), self.unit);
        let (sign, limit, ratio) = match self.limit {
            Some(Limit::AtMost(most)) => ("<=", Some(most), self.value / most),
            Some(Limit::AtLeast(least)) => (">=", Some(least), least / self.value),
            None => ("", None, 0.0),
        };
        let (limit, ratio) = limit.map_or(("-".to_owned(), "-".to_owned()), |limit| {
            (
                format!("{sign} {} {}", (limit * 1e3).round() / 1e3, self.unit),
                format!("{ratio:.2}"),
            )
        });
        format!(
            "{:<44} {value:>16}  {limit:>16}  {ratio:>5}  cargo run --release -p nightshift-bench -- {group}",
            self.name
        )
    }
}

/// Formats a value with three significant digits.
fn rounded(value: f64) -> String {
    match value.abs() {
        0.0..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Returns the median, or 0 without values.
pub(crate) fn median(values: Vec<f64>) -> f64 {
    quantile(values, 0.5)
}

/// Returns the value below which this share of the values lies, or 0 without values.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a share of a few hundred values"
)]
pub(crate) fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let index = (values.len() as f64 * share) as usize;
    values.get(index).copied().unwrap_or_default()
}
