//! The output format of a verb. Main type: [`OutputOptions`].

use crate::OutputFormat;

/// The output option of every verb that shows something.
#[derive(Debug, clap::Args)]
pub struct OutputOptions {
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: OutputFormat,
}

/// Prints one JSON document.
pub fn json(document: &impl serde::Serialize) {
    say!(
        "{}",
        serde_json::to_string_pretty(document).unwrap_or_default()
    );
}
