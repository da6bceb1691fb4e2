//! Errors of times and their formats: [`TimeError`].

/// A text is not a valid time, or a format is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    #[error("Unable to parse '{text}' using format '{format}'")]
    Unparsable { text: String, format: String },
    #[error("Unable to parse '{text}' using any of the formats {formats}")]
    NoFormat { text: String, formats: String },
    #[error("Bad format specifier '{specifier}' in '{format}', at position {position}")]
    BadSpecifier {
        specifier: String,
        format: String,
        position: usize,
    },
    #[error(
        "Format specifiers %L and %N denotes fractions and must be used together with a specifier of higher magnitude"
    )]
    FractionAlone,
    #[error("Illegal timezone '{0}'")]
    BadZone(String),
    #[error(
        "Using a Timezone designator in format specification is mutually exclusive to providing an explicit timezone argument"
    )]
    TwoZones,
    #[error("argument out of range")]
    OutOfRange,
    #[error("{0} out of range")]
    PartOutOfRange(&'static str),
    #[error("the format asks for {0} characters, more than the limit")]
    TooWide(usize),
}
