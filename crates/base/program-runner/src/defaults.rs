//! Limits of this crate, with their reasons.

/// Most bytes of a message that is shown in one line.
pub const LINE_BYTES: usize = 2_048;

/// Most bytes of a program's message that are kept: four times the size shown, since removing
/// credentials shortens addresses.
pub const OUTPUT_BYTES: usize = 8_192;
