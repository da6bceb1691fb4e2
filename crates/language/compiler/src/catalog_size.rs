//! Size of a catalog: attributes, references and tags together.
//!
//! Values share their parts, so a small program can build one that is huge when it is written out.
//! Invariant: every value is charged with its written size before a resource gets it.

use evaluator::{EvalResult, raise};
use pcore::Value;

use crate::defaults::{CATALOG_UNITS_MAX, UNIT_BYTES};
use crate::state::CompileState;

impl CompileState {
    /// Charges the written size of a value.
    pub(crate) fn charge_value(&mut self, value: &Value) -> EvalResult<()> {
        let mut left = self.units_left;
        if !spend(value, &mut left) {
            return self.charge(self.units_left + 1);
        }
        self.units_left = left;
        Ok(())
    }

    /// Charges elements or tags.
    pub(crate) fn charge(&mut self, units: u64) -> EvalResult<()> {
        match self.units_left.checked_sub(units) {
            Some(left) => {
                self.units_left = left;
                Ok(())
            }
            None => raise(format!(
                "the catalog is too large: its attributes, references and tags have more than {} MiB; look for a loop that declares resources, or for a list that contains itself many times",
                (CATALOG_UNITS_MAX * UNIT_BYTES) >> 20
            )),
        }
    }
}

/// Takes the units of a value; false if there are too few.
fn spend(value: &Value, left: &mut u64) -> bool {
    let own = match value {
        Value::Str(text) => 1 + text.len() as u64 / UNIT_BYTES,
        Value::Binary(bytes) => 1 + bytes.bytes().len() as u64 / UNIT_BYTES,
        _ => 1,
    };
    match left.checked_sub(own) {
        Some(rest) => *left = rest,
        None => return false,
    }
    match value {
        Value::Array(values) => values.iter().all(|value| spend(value, left)),
        Value::Hash(entries) => entries
            .iter()
            .all(|(key, value)| spend(key, left) && spend(value, left)),
        Value::Sensitive(inner) => spend(inner, left),
        _ => true,
    }
}
