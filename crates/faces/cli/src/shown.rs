//! How a verb prints what it got. Main type: [`Shown`].

use crate::Format;

/// The option that every showing verb has.
#[derive(Debug, clap::Args)]
pub struct Shown {
    /// How to print
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// Prints one JSON document.
pub(crate) fn json(document: &impl serde::Serialize) {
    say!(
        "{}",
        serde_json::to_string_pretty(document).unwrap_or_default()
    );
}
