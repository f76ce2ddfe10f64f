//! Measures how fast messages become alerts, by reading every sample repeatedly.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use nightshift_alert::{ReadOptions, read_message};

use crate::figure::Figure;

/// Time for which each sample is read repeatedly.
const FOR: Duration = Duration::from_millis(500);

/// Returns the directory of the samples.
pub(crate) fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/alerts")
}

/// Measures the time per alert and the alerts per second on one core, for each sample.
pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(samples())?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    paths.sort();
    let options = ReadOptions::default();
    let mut figures = Vec::new();
    for path in paths {
        let name = path.file_stem().context("a sample has a name")?;
        let bytes = std::fs::read(&path)?;
        let began = Instant::now();
        let mut alerts = 0_u32;
        while began.elapsed() < FOR {
            let batch = read_message(black_box(&bytes), &options)?;
            alerts += u32::try_from(black_box(batch.alerts).len())?;
        }
        let secs = began.elapsed().as_secs_f64() / f64::from(alerts.max(1));
        let name = name.to_string_lossy();
        figures.push(Figure::new(format!("{name} time"), secs * 1e6, "us/alert"));
        figures.push(Figure::new(format!("{name} rate"), 1.0 / secs, "alerts/s"));
    }
    Ok(figures)
}
