//! Detection of the part of a task's standard output that is not shown: [`SensitiveScan`].
//!
//! A task returns a secret under the key [`SENSITIVE_KEY`] of its result, a JSON object on its
//! standard output. Invariant: everything after that key is hidden from people, even if the output
//! is not a valid result, because output that was truncated or mixed with other text contains the
//! same secret.

/// The key of a task's result whose value is secret.
pub const SENSITIVE_KEY: &str = "_sensitive";

/// The end of the key as it is written in JSON. The text between the opening quote and this mark
/// does not matter.
const MARK: &[u8] = b"_sensitive\"";

/// Searches for the key in standard output that arrives in pieces of any size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SensitiveScan {
    /// Number of the mark's bytes that the output so far ends with.
    matched: usize,
}

impl SensitiveScan {
    /// True if the key was found: the rest of the output is not shown.
    pub fn is_found(self) -> bool {
        self.matched == MARK.len()
    }

    /// Scans the next piece and returns the number of its bytes that may be shown.
    pub fn scan(&mut self, piece: &[u8]) -> usize {
        for (index, byte) in piece.iter().enumerate() {
            if self.is_found() {
                return index;
            }
            self.matched = match MARK.get(self.matched) {
                Some(wanted) if wanted == byte => self.matched + 1,
                // The mark's first byte occurs nowhere else in it.
                _ => usize::from(MARK.first() == Some(byte)),
            };
        }
        piece.len()
    }

    /// The number of bytes of a whole output that may be shown; `None`: all.
    pub fn shown_length(output: &[u8]) -> Option<usize> {
        let mut scan = Self::default();
        let shown = scan.scan(output);
        scan.is_found().then_some(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_after_the_key_passes_however_it_is_cut() {
        let output = br#"{"user":"x","__sensitive_sensitive":{"pw":"hunter2"}}"#;
        let end = SensitiveScan::shown_length(output).unwrap();
        assert_eq!(&output[end - 3..end + 2], br#"ve":{"#);
        for size in 1..output.len() {
            let mut scan = SensitiveScan::default();
            let shown: usize = output.chunks(size).map(|piece| scan.scan(piece)).sum();
            assert_eq!(shown, end, "in pieces of {size}");
            assert!(scan.is_found());
        }
    }

    #[test]
    fn output_without_the_key_passes() {
        for output in ["", "_sensitive", "sensitive\"", "{\"_sensitiv\": 1}"] {
            assert_eq!(SensitiveScan::shown_length(output.as_bytes()), None);
        }
    }
}
