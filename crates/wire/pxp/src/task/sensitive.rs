//! The part of a task's standard output that is not shown: [`SensitiveScan`].
//!
//! A task tells a secret under the key [`SENSITIVE_KEY`] of its result, an object in JSON on its standard
//! output. The rule: whatever follows that key is not shown to people, whether or not the rest is a result that
//! can be read, because output that was cut off or mixed with other words has the same secret in it.

/// The key of a task's result whose value is secret.
pub const SENSITIVE_KEY: &str = "_sensitive";

/// The end of the key as it is written in JSON. The quote before it may have words between.
const MARK: &[u8] = b"_sensitive\"";

/// Looks for the key in standard output that comes in pieces of any size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SensitiveScan {
    /// Bytes of the mark that were met at the end of what came.
    matched: usize,
}

impl SensitiveScan {
    /// True if the key was found: the rest of the output is not shown.
    pub fn is_found(self) -> bool {
        self.matched == MARK.len()
    }

    /// Takes the next piece; the number of its bytes that may be shown.
    pub fn pass(&mut self, piece: &[u8]) -> usize {
        for (index, byte) in piece.iter().enumerate() {
            if self.is_found() {
                return index;
            }
            self.matched = match MARK.get(self.matched) {
                Some(wanted) if wanted == byte => self.matched + 1,
                // No other part of the mark begins as the mark does.
                _ => usize::from(MARK.first() == Some(byte)),
            };
        }
        piece.len()
    }

    /// The number of bytes of a whole output that may be shown; `None`: all.
    pub fn end_of_shown(output: &[u8]) -> Option<usize> {
        let mut scan = Self::default();
        let shown = scan.pass(output);
        scan.is_found().then_some(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_after_the_key_passes_however_it_is_cut() {
        let output = br#"{"user":"x","__sensitive_sensitive":{"pw":"hunter2"}}"#;
        let end = SensitiveScan::end_of_shown(output).unwrap();
        assert_eq!(&output[end - 3..end + 2], br#"ve":{"#);
        for size in 1..output.len() {
            let mut scan = SensitiveScan::default();
            let shown: usize = output.chunks(size).map(|piece| scan.pass(piece)).sum();
            assert_eq!(shown, end, "in pieces of {size}");
            assert!(scan.is_found());
        }
    }

    #[test]
    fn output_without_the_key_passes() {
        for output in ["", "_sensitive", "sensitive\"", "{\"_sensitiv\": 1}"] {
            assert_eq!(SensitiveScan::end_of_shown(output.as_bytes()), None);
        }
    }
}
