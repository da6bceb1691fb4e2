//! Strict reading of query parameters.
//!
//! Invariant: a parameter that the route does not know, that is given twice or has an invalid value
//! is a validation error that names it. `token` is skipped, since it belongs to the authentication.

use std::str::FromStr;

use crate::order::Order;
use crate::{ApiError, Timestamp};

/// Query parameters of one request that have not been read yet.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    left: Vec<(String, String)>,
}

impl Parameters {
    /// Takes decoded names and values.
    ///
    /// # Errors
    /// A validation error if a name is given twice.
    pub fn new(pairs: Vec<(String, String)>) -> Result<Self, ApiError> {
        let left: Vec<_> = pairs
            .into_iter()
            .filter(|(name, _)| name != "token")
            .collect();
        for (i, (name, _)) in left.iter().enumerate() {
            if left.iter().take(i).any(|(earlier, _)| earlier == name) {
                return Err(ApiError::invalid(
                    name,
                    "this query parameter is given twice",
                ));
            }
        }
        Ok(Self { left })
    }

    /// Ends reading.
    ///
    /// # Errors
    /// A validation error if a parameter was not read.
    pub fn finish(self) -> Result<(), ApiError> {
        match self.left.into_iter().next() {
            Some((name, _)) => Err(ApiError::invalid(&name, "unknown query parameter")),
            None => Ok(()),
        }
    }

    /// Takes the text of a parameter; `None` if the request does not have it.
    pub fn text(&mut self, name: &str) -> Option<String> {
        let at = self.left.iter().position(|(given, _)| given == name)?;
        Some(self.left.swap_remove(at).1)
    }

    pub(crate) fn number(&mut self, name: &str) -> Result<Option<u64>, ApiError> {
        // An i64 in the store; a larger one would be no mistake that deserves a 500.
        const MAX: u64 = i64::MAX as u64;
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        match text.parse::<u64>() {
            Ok(number) if number <= MAX && text.bytes().all(|b| b.is_ascii_digit()) => {
                Ok(Some(number))
            }
            _ => Err(ApiError::invalid(
                name,
                format!("{text:?} is not a whole number from 0"),
            )),
        }
    }

    pub(crate) fn time(&mut self, name: &str) -> Result<Option<Timestamp>, ApiError> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let what = || format!("{text:?} is not a time like 2026-11-21T08:30:00Z");
        let time = jiff::Timestamp::from_str(&text);
        time.map(|time| Some(Timestamp(time)))
            .map_err(|_| ApiError::invalid(name, what()))
    }

    pub(crate) fn order(&mut self) -> Result<Order, ApiError> {
        let orders = [("asc", Order::Asc), ("desc", Order::Desc)];
        Ok(self.one_of("order", &orders)?.unwrap_or_default())
    }

    pub(crate) fn one_of<T: Copy>(
        &mut self,
        name: &str,
        values: &[(&str, T)],
    ) -> Result<Option<T>, ApiError> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let found = values
            .iter()
            .find(|(value, _)| *value == text)
            .map(|(_, meaning)| *meaning);
        found.map(Some).ok_or_else(|| {
            let values: Vec<_> = values.iter().map(|(value, _)| *value).collect();
            ApiError::invalid(name, format!("{text:?} is none of {}", values.join(", ")))
        })
    }
}
