//! The output format of a verb: [`OutputFormat`].

/// The output format: text for a terminal, or one JSON document.
// The values have no help of their own: it would make every verb's help three times as long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
#[expect(missing_docs, reason = "a doc comment here becomes help text")]
pub enum OutputFormat {
    #[default]
    Human,
    Json,
}
