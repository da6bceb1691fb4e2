//! What became of Ruby code that was carried out natively and by Ruby: [`NativeOutcome`].

/// Counts of calls, and the native results that differ from those of Ruby.
#[derive(Default)]
pub(crate) struct NativeOutcome {
    pub(crate) native: usize,
    pub(crate) left: usize,
    pub(crate) left_and_failed: usize,
    pub(crate) wrong: Vec<String>,
}

// === impl NativeOutcome ===

impl NativeOutcome {
    pub(crate) fn assert_equal(&self) {
        let shown = self.wrong.len().min(30);
        let count = self.wrong.len();
        let text = self.wrong[..shown].join("\n");
        assert!(self.wrong.is_empty(), "{count} differences:\n{text}");
    }
}
