//! One figure: what it is called, how much, of what, and which limit it should hold.

/// A measured figure.
#[derive(Clone)]
pub(crate) struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    limit: Option<Limit>,
}

/// What a figure should hold.
#[derive(Clone, Copy)]
enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Figure {
    /// A figure without a limit.
    pub(crate) fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self {
            name: name.into(),
            value,
            unit,
            limit: None,
        }
    }

    /// The same with the most that it should be.
    pub(crate) fn at_most(self, limit: f64) -> Self {
        Self {
            limit: Some(Limit::AtMost(limit)),
            ..self
        }
    }

    /// The same with the least that it should be.
    pub(crate) fn at_least(self, limit: f64) -> Self {
        Self {
            limit: Some(Limit::AtLeast(limit)),
            ..self
        }
    }

    /// Name, figure, limit, ratio to the limit (above 1 is a miss either way), and the command that measures it again.
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

/// Three digits that matter, and no more.
fn rounded(value: f64) -> String {
    match value.abs() {
        0.0..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// The middle one; 0 where there are none.
pub(crate) fn median(values: Vec<f64>) -> f64 {
    quantile(values, 0.5)
}

/// The one below which this share of them lies; 0 where there are none.
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
