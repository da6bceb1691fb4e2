//! Languages of source texts, which differ in their definitions and scopes: [`SourceLanguage`].

/// Language of a source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SourceLanguage {
    /// A manifest of a catalog: resources and classes, no plans.
    Manifest,
    /// A file of a plan, or a function or type for one.
    Plan,
    /// An EPP template of a catalog, which may declare resources.
    CatalogTemplate,
    /// An EPP template of a plan.
    Template,
}

/// Storage of the variables that a file's top-level statements assign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileScope {
    /// In the top scope.
    Top,
    /// In a frame of their own: for templates, and for texts evaluated inside other code.
    Local,
}

impl SourceLanguage {
    pub(crate) fn file_scope(self) -> FileScope {
        match self {
            Self::Manifest | Self::Plan => FileScope::Top,
            Self::CatalogTemplate | Self::Template => FileScope::Local,
        }
    }

    /// Language of the templates that code in this language renders.
    pub(crate) fn of_templates(self) -> Self {
        match self {
            Self::Manifest | Self::CatalogTemplate => Self::CatalogTemplate,
            Self::Plan | Self::Template => Self::Template,
        }
    }
}
