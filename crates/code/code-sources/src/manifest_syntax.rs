//! Syntax check of manifests before a tree is used: [`verify`].
//!
//! Invariant: a manifest that Puppet's parser would refuse is refused here, before it is live.

use std::fmt;
use std::sync::Arc;

use syntax::{SourceText, SyntaxOptions};

use code_store::content::{ContentError, ContentStore, TreeEntry, TreeManifest, TreePath};

/// Manifests with syntax errors; the first error of each with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestSyntaxErrors {
    errors: Vec<String>,
}

/// Directories of manifests, of a module and of an environment.
const DIRECTORIES: &[&str] = &["manifests", "functions", "types", "plans"];

/// Number of manifests that a message names.
const TOLD: usize = 10;

/// Parses every manifest of a module, or of a control repository.
pub(crate) fn verify(
    content: &ContentStore,
    manifest: &TreeManifest,
) -> Result<Option<ManifestSyntaxErrors>, ContentError> {
    find_syntax_errors(content, manifest, is_manifest)
}

/// Parses every manifest of an environment and of its modules, which are two directories below.
pub fn verify_environment(
    content: &ContentStore,
    manifest: &TreeManifest,
) -> Result<Option<ManifestSyntaxErrors>, ContentError> {
    find_syntax_errors(content, manifest, |path| {
        let parts = path.as_bytes().splitn(3, |b| *b == b'/');
        let within = parts.last().and_then(|rest| TreePath::new(rest).ok());
        is_manifest(path) || within.is_some_and(|within| is_manifest(&within))
    })
}

fn find_syntax_errors(
    content: &ContentStore,
    manifest: &TreeManifest,
    is_wanted: impl Fn(&TreePath) -> bool,
) -> Result<Option<ManifestSyntaxErrors>, ContentError> {
    let mut found = Vec::new();
    for (path, entry) in manifest.entries() {
        let TreeEntry::File {
            sha256, executable, ..
        } = entry
        else {
            continue;
        };
        if !is_wanted(path) {
            continue;
        }
        let bytes = content.read(*sha256, *executable)?;
        if let Some(mistake) = find_syntax_error(path, &bytes) {
            found.push(mistake);
        }
    }
    Ok((!found.is_empty()).then_some(ManifestSyntaxErrors { errors: found }))
}

fn is_manifest(path: &TreePath) -> bool {
    let bytes = path.as_bytes();
    bytes.ends_with(b".pp")
        && DIRECTORIES
            .iter()
            .any(|directory| path.is_below(directory.as_bytes()))
}

/// True if the path is a plan of a module, of an environment, or of a module in an environment.
fn is_plan(path: &TreePath) -> bool {
    let mut parts = path.as_bytes().split(|b| *b == b'/');
    path.is_below(b"plans") || parts.nth(2) == Some(b"plans")
}

fn find_syntax_error(path: &TreePath, bytes: &[u8]) -> Option<String> {
    let (source, wrong) = SourceText::decode(Some(&path.to_string()), bytes);
    let source = Arc::new(source);
    let options = SyntaxOptions {
        tasks: is_plan(path),
        ..SyntaxOptions::default()
    };
    let parsed = syntax::parse(&source, options);
    let mut mistakes = wrong.iter().chain(&parsed.diagnostics);
    let first = mistakes.find(|one| one.is_error())?;
    let at = source.position(first.span.start);
    Some(format!(
        "{path}:{}:{}: {}",
        at.line, at.column, first.message
    ))
}

impl fmt::Display for ManifestSyntaxErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, one) in self.errors.iter().take(TOLD).enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{one}")?;
        }
        match self.errors.len().saturating_sub(TOLD) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}
