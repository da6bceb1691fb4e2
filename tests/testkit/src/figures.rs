//! Summaries of measured values: [`Percentiles`] and [`median`].
//!
//! The rule: every value stands in the unit of its samples; names of fields say which.

use anyhow::{Context as _, Result};
use serde::Serialize;

/// The distribution of some samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentiles {
    /// The smallest sample.
    pub min: f64,
    /// Half of the samples are not larger.
    pub p50: f64,
    /// 99 of 100 samples are not larger; of fewer than 50 samples it is the largest.
    pub p99: f64,
    /// The largest sample.
    pub max: f64,
}

// === impl Percentiles ===

impl Percentiles {
    /// Of at least one sample.
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

/// The sample in the middle.
pub fn median(samples: impl IntoIterator<Item = f64>) -> Result<f64> {
    Ok(Percentiles::of(samples.into_iter().collect())?.p50)
}
