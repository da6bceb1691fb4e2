//! Why a catalog was compiled: [`CompileCause`], kept with each compilation as [`CatalogCompilation`].

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::CatalogInput;
use crate::defaults::CAUSE_NAMES_MAX;

/// A reason that the kept catalog of a node was not given again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CompileCause {
    /// There was none.
    NoCatalog,
    /// The environment has no versions, so that its files may change at any time.
    NoVersion,
    /// The kept catalog depends on data that change without notice.
    Volatile {
        /// The data, in a sentence that begins with "it".
        cause: String,
    },
    /// Something differs from which the catalog was compiled.
    Input {
        input: CatalogInput,
        /// Environment or code id of the kept catalog; `None` for other inputs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
    },
    /// Facts that were read have other values.
    Facts { paths: NameList },
    /// Files outside of the version have changed.
    OutsideFiles { paths: NameList },
    /// Queries of the data of other nodes have other results.
    Queries { queries: NameList },
    /// A query has no result now.
    QueryFailed { query: String, error: String },
    /// The states of files outside of the version could not be compared: there are too many, or one had
    /// just changed when the kept catalog was compiled.
    UnknownOutsideFiles,
}

/// The first names of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameList {
    pub names: Vec<String>,
    /// Number of further ones.
    #[serde(default)]
    pub further: usize,
}

/// A compilation of a node's catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogCompilation {
    /// Puppet's id of the catalog, which reports of its runs name.
    pub catalog_uuid: String,
    pub environment: String,
    /// Code id of the version; `None` if the environment has none.
    pub code_id: Option<String>,
    /// Time of the compilation in milliseconds, without the wait for a slot.
    pub milliseconds: u64,
    /// Bytes of the document.
    pub bytes: u64,
    /// Reason that the catalog is compiled for each request, in a sentence that begins with "it"; `None` if
    /// it is not.
    pub volatile: Option<String>,
    /// True if it was compiled in advance, after a deployment.
    #[serde(default)]
    pub ahead: bool,
    pub causes: Vec<CompileCause>,
}

impl CompileCause {
    /// Name of the kind of cause, as in the API.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoCatalog => "no_catalog",
            Self::NoVersion => "no_version",
            Self::Volatile { .. } => "volatile",
            Self::Input { input, .. } => input.kind(),
            Self::Facts { .. } => "facts",
            Self::OutsideFiles { .. } => "outside_files",
            Self::UnknownOutsideFiles => "unknown_outside_files",
            Self::Queries { .. } => "queries",
            Self::QueryFailed { .. } => "query_failed",
        }
    }

    /// The facts, files or queries that differ.
    #[must_use]
    pub fn names(&self) -> NameList {
        match self {
            Self::Facts { paths } | Self::OutsideFiles { paths } => paths.clone(),
            Self::Queries { queries } => queries.clone(),
            Self::QueryFailed { query, .. } => NameList::new(vec![query.clone()]),
            _ => NameList::default(),
        }
    }
}

/// The cause in a sentence, without the names.
impl fmt::Display for CompileCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCatalog => f.write_str("no catalog of the node was kept"),
            Self::NoVersion => f.write_str(
                "the environment has no versions, so that its files may change at any time",
            ),
            Self::Volatile { cause } => {
                write!(f, "the catalog is compiled for each request: {cause}")
            }
            Self::Input { input, before } => {
                write!(f, "{} changed", input.description())?;
                match before {
                    Some(before) => write!(f, "; before: {before}"),
                    None => Ok(()),
                }
            }
            Self::Facts { .. } => f.write_str("facts that the code reads changed"),
            Self::OutsideFiles { .. } => f.write_str("files outside of the version changed"),
            Self::UnknownOutsideFiles => f.write_str(
                "changes of files outside of the version could not be ruled out: there are too many files, or one \
                 had just changed",
            ),
            Self::Queries { .. } => f.write_str("queries have other results"),
            Self::QueryFailed { error, .. } => write!(f, "a query failed: {error}"),
        }
    }
}

impl NameList {
    pub(crate) fn new(names: Vec<String>) -> Self {
        let further = names.len().saturating_sub(CAUSE_NAMES_MAX);
        let mut names = names;
        names.truncate(CAUSE_NAMES_MAX);
        Self { names, further }
    }
}
