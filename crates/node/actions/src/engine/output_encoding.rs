//! Encoding of output of any size and content in a JSON message: [`EncodedOutput`].
//!
//! Invariants: nothing is lost silently (a cut is reported with the true size); text that JSON or a
//! database could not hold is carried in a lossy form together with its exact bytes in base64;
//! [`fit`] keeps both streams within the message.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// The beginning of an output stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CapturedOutput {
    /// Bytes at the start, at most the configured limit.
    pub(super) head: Vec<u8>,
    /// Size of the whole stream in bytes.
    pub(super) total_bytes: u64,
}

/// An output stream in the form used in a result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EncodedOutput {
    pub(super) text: String,
    /// The exact bytes, if `text` differs from them.
    pub(super) base64: Option<String>,
    /// The size of the whole stream, if it was cut.
    pub(super) truncated_from: Option<u64>,
}

/// Cuts both streams so that their JSON forms together fit `budget_bytes`.
pub(super) fn fit(
    mut stdout: CapturedOutput,
    mut stderr: CapturedOutput,
    budget_bytes: usize,
) -> [EncodedOutput; 2] {
    loop {
        let costs = [stdout.cost(), stderr.cost()];
        if costs[0] + costs[1] <= budget_bytes {
            return [stdout.encode(), stderr.encode()];
        }
        // The larger stream is halved: this takes a few rounds, and leaves at least a quarter of
        // what would have fitted.
        let larger = if costs[0] >= costs[1] {
            &mut stdout
        } else {
            &mut stderr
        };
        let half = larger.head.len() / 2;
        larger.head.truncate(half);
    }
}

/// True if both streams fit whole into `budget_bytes`. Output that a full disk lost does not count.
pub(super) fn fits(stdout: &CapturedOutput, stderr: &CapturedOutput, budget_bytes: usize) -> bool {
    let streams = [stdout, stderr];
    let total = streams.iter().map(|stream| stream.total_bytes).sum::<u64>();
    total <= budget_bytes as u64 && stdout.cost() + stderr.cost() <= budget_bytes
}

impl CapturedOutput {
    fn is_cut(&self) -> bool {
        (self.head.len() as u64) < self.total_bytes
    }

    /// The part of `head` that is shown: a character cut by the end of a truncated stream is left
    /// out.
    fn shown_bytes(&self) -> &[u8] {
        match std::str::from_utf8(&self.head) {
            Err(error) if self.is_cut() && error.error_len().is_none() => {
                &self.head[..error.valid_up_to()]
            }
            _ => &self.head,
        }
    }

    /// Size in JSON in bytes, without the quotes.
    fn cost(&self) -> usize {
        let bytes = self.shown_bytes();
        if is_text(bytes) {
            bytes.iter().map(|byte| escaped_bytes(*byte)).sum()
        } else {
            // At worst every byte becomes U+FFFD (three bytes) or an escape.
            let lossy: usize = bytes.iter().map(|byte| escaped_bytes(*byte).max(3)).sum();
            lossy + bytes.len().div_ceil(3) * 4
        }
    }

    fn encode(self) -> EncodedOutput {
        let truncated_from = self.is_cut().then_some(self.total_bytes);
        let kept = self.shown_bytes().len();
        let mut bytes = self.head;
        bytes.truncate(kept);
        if is_text(&bytes) {
            let text = String::from_utf8(bytes).expect("checked right above");
            return EncodedOutput {
                text,
                base64: None,
                truncated_from,
            };
        }
        // NUL is valid in JSON and in UTF-8, but PostgreSQL and C strings
        // cannot hold it.
        let text = String::from_utf8_lossy(&bytes).replace('\0', "\u{fffd}");
        EncodedOutput {
            text,
            base64: Some(BASE64.encode(&bytes)),
            truncated_from,
        }
    }
}

/// True if the bytes can be carried unchanged as text.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

/// Number of bytes that one byte of text takes in JSON.
fn escaped_bytes(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0x00..=0x1f => 6,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(bytes: &[u8]) -> CapturedOutput {
        CapturedOutput {
            head: bytes.to_vec(),
            total_bytes: bytes.len() as u64,
        }
    }

    fn carried(bytes: &[u8]) -> EncodedOutput {
        all(bytes).encode()
    }

    #[test]
    fn text_is_carried_as_it_is() {
        let expected = EncodedOutput {
            text: "é\n\u{1}".into(),
            base64: None,
            truncated_from: None,
        };
        assert_eq!(carried("é\n\u{1}".as_bytes()), expected);
    }

    #[test]
    fn other_bytes_are_carried_twice() {
        let latin1 = carried(b"caf\xe9");
        assert_eq!(latin1.text, "caf\u{fffd}");
        assert_eq!(BASE64.decode(latin1.base64.unwrap()).unwrap(), b"caf\xe9");
        let nul = carried(b"a\0b");
        assert_eq!(nul.text, "a\u{fffd}b");
        assert_eq!(BASE64.decode(nul.base64.unwrap()).unwrap(), b"a\0b");
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        let cut = CapturedOutput {
            head: b"ab\xc3".to_vec(),
            total_bytes: 10,
        };
        let expected = EncodedOutput {
            text: "ab".into(),
            base64: None,
            truncated_from: Some(10),
        };
        assert_eq!(cut.encode(), expected);
    }

    #[test]
    fn the_larger_stream_gives_way() {
        let [stdout, stderr] = fit(all(&[b'x'; 1000]), all(b"why"), 300);
        assert_eq!(stdout.text.len(), 250);
        assert_eq!(stdout.truncated_from, Some(1000));
        assert_eq!(stderr, carried(b"why"));
    }

    proptest! {
        #[test]
        fn what_fits_serialises_within_the_budget(
            stdout in proptest::collection::vec(any::<u8>(), 0..400),
            stderr in "\\PC{0,100}",
            budget in 0usize..2000,
        ) {
            let carried = fit(all(&stdout), all(stderr.as_bytes()), budget);
            let size: usize = carried.iter().map(|stream| {
                // The quotes are counted in the overhead.
                let text = serde_json::to_string(&stream.text).unwrap().len() - 2;
                text + stream.base64.as_ref().map_or(0, String::len)
            }).sum();
            prop_assert!(size <= budget, "{} > {}", size, budget);
        }
    }
}
