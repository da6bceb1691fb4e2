//! Summaries of measured values: [`Percentiles`] and [`median`].
//!
//! Invariant: every value has the unit of its samples, which the names of fields contain.

use anyhow::{Context as _, Result};
use serde::Serialize;

/// The distribution of samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentiles {
    /// The smallest of the samples.
    pub min: f64,
    /// The median of the samples.
    pub p50: f64,
    /// The 99th percentile; for fewer than 50 samples it is the largest.
    pub p99: f64,
    /// The largest of the samples.
    pub max: f64,
}

// === impl Percentiles ===

impl Percentiles {
    /// The percentiles of at least one sample.
    pub fn of(mut samples: Vec<f64>) -> Result<Self> {
        samples.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let index = (share * (samples.len().saturating_sub(1)) as f64).round() as usize;
            samples.get(index).copied().context("nothing was measured")
        };
        Ok(Self {
            min: at(0.0)?,
            p50: at(0.5)?,
            p99: at(0.99)?,
            max: at(1.0)?,
        })
    }
}

/// The median of samples.
pub fn median(samples: impl IntoIterator<Item = f64>) -> Result<f64> {
    Ok(Percentiles::of(samples.into_iter().collect())?.p50)
}
