//! Whether changes of facts cause a compilation: [`FactsPolicy`].

/// The facts whose changes cause a compilation of a node's catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FactsPolicy {
    /// None. What follows from facts counts nevertheless: node groups, and so environment and classes.
    Ignore,
    /// Those that the last compilation read.
    #[default]
    Read,
    /// All.
    All,
}
