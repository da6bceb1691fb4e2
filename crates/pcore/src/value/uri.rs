//! URIs as Ruby's `URI` reads and prints them. Main type: [`Uri`].

/// A URI in its parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Uri {
    text: String,
}
