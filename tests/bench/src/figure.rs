//! One figure: what it is called, how much, of what, and which limit it should hold.

/// A measured figure.
pub(crate) struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    at_most: Option<f64>,
}

impl Figure {
    /// A figure without a limit.
    pub(crate) fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self {
            name: name.into(),
            value,
            unit,
            at_most: None,
        }
    }

    /// The same with the most that it should be.
    pub(crate) fn at_most(self, limit: f64) -> Self {
        Self {
            at_most: Some(limit),
            ..self
        }
    }

    /// Name, figure, limit, ratio to the limit, and the command that measures it again.
    pub(crate) fn line(&self, group: &str) -> String {
        let value = format!("{} {}", rounded(self.value), self.unit);
        let (limit, ratio) = self
            .at_most
            .map_or(("-".to_owned(), "-".to_owned()), |limit| {
                let ratio = format!("{:.2}", self.value / limit);
                (format!("<= {limit} {}", self.unit), ratio)
            });
        format!(
            "{:<38} {value:>16}  {limit:>12}  {ratio:>5}  cargo run --release -p nightshift-bench -- {group}",
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
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
