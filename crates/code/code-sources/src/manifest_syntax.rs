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

/// The first error of a manifest. A module does not know whether its environments have applications, so a manifest
/// may be one of either kind; of two errors the later one is told, since it is of the kind that was meant.
fn find_syntax_error(path: &TreePath, bytes: &[u8]) -> Option<String> {
    let (source, wrong) = SourceText::decode(Some(&path.to_string()), bytes);
    let source = Arc::new(source);
    let first_error = |applications: bool| {
        let options = SyntaxOptions {
            tasks: is_plan(path),
            applications,
            ..SyntaxOptions::default()
        };
        let parsed = syntax::parse(&source, options);
        let mut mistakes = wrong.iter().chain(&parsed.diagnostics);
        let first = mistakes.find(|one| one.is_error())?;
        Some((first.span.start, first.message.clone()))
    };
    let plain = first_error(false)?;
    let (start, message) = match is_plan(path) {
        true => plain,
        false => first_error(true)?.max(plain),
    };
    let at = source.position(start);
    Some(format!("{path}:{}:{}: {message}", at.line, at.column))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn error(path: &str, text: &str) -> Option<String> {
        find_syntax_error(&TreePath::new(path.as_bytes()).unwrap(), text.as_bytes())
    }

    #[test]
    fn manifests_with_applications_and_those_that_use_their_words_as_names_are_accepted() {
        let site = "site {\n  shop { 'eu': nodes => { Node['a'] => Web['eu'] } }\n}\n";
        assert_eq!(error("manifests/site.pp", site), None);
        let shop =
            "application shop() { web { $name: export => Http[$name] } }\nWeb produces Http { }\n";
        assert_eq!(error("manifests/init.pp", shop), None);
        let names = "class site($application = 1) { $consumes = $application }\n";
        assert_eq!(error("manifests/site.pp", names), None);
    }

    #[test]
    fn an_error_behind_an_application_is_told_at_its_place() {
        let text = "application shop() {\n  web { $name: port => }\n}\n";
        let found = error("manifests/init.pp", text).unwrap();
        assert!(found.starts_with("manifests/init.pp:2:24: "), "{found}");
        let found = error("manifests/init.pp", "class x {\n  file {\n}\n").unwrap();
        assert!(found.starts_with("manifests/init.pp:"), "{found}");
    }

    #[test]
    fn plans_know_no_applications() {
        assert!(error("plans/init.pp", "site { }\n").is_some());
    }
}
