//! The classes of all manifests of an environment, with their parameters:
//! [`EnvironmentListing::of_classes`].
//!
//! Consoles and editors show them (`environment_classes` of a puppetserver). Manifests are parsed, never
//! evaluated.
//!
//! Invariant: one manifest with an error, or that cannot be read, hides no other one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evaluator::{CodeReadError, CodeSource as _, manifest_error};
use lookup::LookupFiles as _;
use pcore::Type;
use serde_json::{Map, Value as Json, json};
use syntax::ast::{Ast, DefinitionBody, DefinitionKind, Expr, ExprId, Param};
use syntax::{ModuleLocation, SourceSpan, SourceText, SyntaxOptions};

use super::site_manifests::find_manifests;
use super::{EnvironmentFiles, EnvironmentListing, EnvironmentListingError};
use crate::defaults::{
    LISTING_BYTES_MAX, LITERAL_DEPTH_MAX, MANIFEST_DEPTH_MAX, TYPE_TEXT_BYTES_MAX,
    TYPE_TEXT_DEPTH_MAX,
};

/// A manifest of a module, or of the environment.
pub(super) struct ManifestFile {
    pub(super) path: PathBuf,
    pub(super) location: Option<ModuleLocation>,
}

impl EnvironmentListing {
    /// Reads the classes of all manifests of an environment. Blocks on the disk.
    pub(crate) fn of_classes(files: &EnvironmentFiles) -> Result<Self, EnvironmentListingError> {
        let manifests = files.manifests();
        let manifests = manifests.map_err(EnvironmentListingError::Manifests)?;
        let options = SyntaxOptions {
            applications: files.environment.has_applications(),
            ..SyntaxOptions::default()
        };
        let mut bytes = 0;
        let mut listed = Vec::with_capacity(manifests.len());
        for manifest in &manifests {
            let entry = files.describe(manifest, options).to_string();
            bytes += entry.len();
            if bytes > LISTING_BYTES_MAX {
                return Err(EnvironmentListingError::TooLarge);
            }
            listed.push(entry);
        }
        let name = json!(files.environment.name);
        let files = listed.join(",");
        Ok(Self::new(format!(r#"{{"files":[{files}],"name":{name}}}"#)))
    }
}

impl EnvironmentFiles {
    /// All manifests, sorted by path.
    pub(super) fn manifests(&self) -> Result<Vec<ManifestFile>, CodeReadError> {
        let mut manifests: Vec<ManifestFile> = Vec::new();
        for path in self.site_manifest_paths()? {
            manifests.push(ManifestFile {
                path,
                location: None,
            });
        }
        for name in self.modules() {
            let Some(root) = self.module_root(&name) else {
                continue;
            };
            let mut paths = Vec::new();
            let directory = root.join("manifests");
            if directory.is_dir() && !self.entries(&directory).is_empty() {
                find_manifests(&directory, MANIFEST_DEPTH_MAX, &mut paths)?;
            }
            manifests.extend(paths.into_iter().map(|path| {
                let below = path.strip_prefix(&root).unwrap_or(&path);
                let location = ModuleLocation::in_module(&path, &name, below);
                ManifestFile { path, location }
            }));
        }
        manifests.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        let mut known = BTreeSet::new();
        manifests.retain(|it| known.insert(it.path.clone()));
        Ok(manifests)
    }

    fn describe(&self, manifest: &ManifestFile, options: SyntaxOptions) -> Json {
        let path = manifest.path.to_string_lossy();
        match self.classes(&manifest.path, manifest.location.as_ref(), options) {
            Ok(classes) => json!({"classes": classes, "path": path}),
            Err(error) => json!({"error": error, "path": path}),
        }
    }

    fn classes(
        &self,
        path: &Path,
        location: Option<&ModuleLocation>,
        options: SyntaxOptions,
    ) -> Result<Vec<Json>, String> {
        let text = self.read_text(path).map_err(|error| error.to_string())?;
        let source = Arc::new(SourceText::new(Some(&path.to_string_lossy()), text));
        let parsed = syntax::parse_at(&source, options, location);
        if let Some(error) = manifest_error(&source, &parsed) {
            return Err(error.to_string());
        }
        let ast = &parsed.ast;
        let classes = ast.definitions().iter();
        let classes = classes.filter_map(|definition| match definition.kind {
            DefinitionKind::Class(class) => Some(class_document(ast, &class.body)),
            _ => None,
        });
        Ok(classes.collect())
    }
}

fn class_document(ast: &Ast, class: &DefinitionBody) -> Json {
    let params = ast.get(class.params).iter();
    let params: Vec<Json> = params.map(|param| param_document(ast, param)).collect();
    json!({"name": &**ast.text(class.name), "params": params})
}

/// A parameter, with its keys in the order of puppetserver's answer.
fn param_document(ast: &Ast, param: &Param) -> Json {
    let mut document = Map::new();
    if let Some(default) = param.default {
        let literal = literal(ast, default, 0).filter(|literal| !literal.is_null());
        if let Some(literal) = literal {
            document.insert("default_literal".to_owned(), literal);
        }
        let text = ast.source().slice(param.default_text);
        document.insert("default_source".to_owned(), text.into());
    }
    document.insert("name".to_owned(), (&**ast.text(param.name)).into());
    if param.type_expr.is_some() {
        let text = type_text(ast, param.type_text);
        document.insert("type".to_owned(), text.into());
    }
    Json::Object(document)
}

/// The type as Puppet writes it: names that are no built-in types are type references, and a type that is
/// not made of literals stays as it is in the manifest.
fn type_text(ast: &Ast, span: SourceSpan) -> String {
    let text = ast.source().slice(span);
    if text.len() > TYPE_TEXT_BYTES_MAX || depth(text) > TYPE_TEXT_DEPTH_MAX {
        return text.to_owned();
    }
    let parsed = Type::parse_with(text, &|name| Some(Type::reference(name)));
    parsed.map_or_else(|_| text.to_owned(), |parsed| parsed.to_string())
}

/// Depth of brackets in a text.
fn depth(text: &str) -> usize {
    let mut open = 0_usize;
    let mut deepest = 0;
    for c in text.chars() {
        match c {
            '[' | '{' | '(' => open += 1,
            ']' | '}' | ')' => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest
}

/// The value of an expression that is made of literals; `None` for others, and for those of JSON that a
/// puppetserver leaves out: `default`, types, regular expressions and signed numbers.
fn literal(ast: &Ast, id: ExprId, depth: usize) -> Option<Json> {
    if depth > LITERAL_DEPTH_MAX {
        return None;
    }
    let value = |id| literal(ast, id, depth + 1);
    match ast.expr(id) {
        Expr::Undef => Some(Json::Null),
        Expr::Bool(value) => Some(value.into()),
        Expr::Int { value, .. } => Some(value.into()),
        Expr::Float(value) => serde_json::Number::from_f64(value).map(Json::Number),
        Expr::Str(text) | Expr::QName(text) => Some((&**ast.text(text)).into()),
        Expr::Array(items) => {
            let items = ast.get(items).iter();
            items
                .map(|item| value(*item))
                .collect::<Option<_>>()
                .map(Json::Array)
        }
        Expr::Hash(entries) => {
            let mut pairs = std::collections::BTreeMap::new();
            for entry in ast.get(entries) {
                let Json::String(key) = value(entry.key)? else {
                    return None;
                };
                pairs.insert(key, value(entry.value)?);
            }
            Some(Json::Object(pairs.into_iter().collect()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ruby_workers::HiddenPaths;
    use serde_json::{Value as Json, json};

    use super::super::{EnvironmentFiles, EnvironmentListing, EnvironmentOnDisk};

    /// Parameters of classes, each followed by its line in the answer of puppetserver 7.9.5.
    const PARAMETERS: &str = include_str!("class_parameters.txt");

    fn list(files: &[(&str, &[u8])], hidden: HiddenPaths) -> Json {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let on_disk = EnvironmentOnDisk {
            name: "production".to_owned(),
            root: root.path().to_owned(),
            modulepath: vec![root.path().join("modules")],
            hiera_config: root.path().join("hiera.yaml"),
        };
        let files = EnvironmentFiles::new(on_disk, hidden);
        let listing = EnvironmentListing::of_classes(&files).unwrap();
        let root = format!("{}/", root.path().display());
        serde_json::from_str(&listing.body.replace(&root, "")).unwrap()
    }

    #[test]
    fn parameters_are_those_of_puppetserver() {
        let mut lines = PARAMETERS.lines();
        let mut differences = Vec::new();
        while let (Some(parameter), Some(expected)) = (lines.next(), lines.next()) {
            let class = format!("class demo::one (\n  {parameter},\n) {{ }}\n");
            let listed = list(
                &[("modules/demo/manifests/one.pp", class.as_bytes())],
                HiddenPaths::default(),
            );
            let file = &listed["files"][0];
            let expected: Json = serde_json::from_str(expected).unwrap();
            let found = &file["classes"][0]["params"][0];
            if *found != expected {
                differences.push(format!("{parameter}\n  {found}\n  {expected}\n  {file}"));
            }
        }
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }

    /// Where puppetserver leaves out the last character, or fails for all manifests.
    #[test]
    fn texts_are_complete_and_other_types_are_as_written() {
        let class = "class demo::one ($a = ($b), Integer[$x] $c = if true { 1 } else { 2 }) { }";
        let listed = list(
            &[("modules/demo/manifests/one.pp", class.as_bytes())],
            HiddenPaths::default(),
        );
        let expected = json!([
            {"default_source": "($b)", "name": "a"},
            {"default_source": "if true { 1 } else { 2 }", "name": "c", "type": "Integer[$x]"},
        ]);
        assert_eq!(listed["files"][0]["classes"][0]["params"], expected);
    }

    #[test]
    fn a_manifest_with_an_error_hides_no_other_one() {
        let listed = list(
            &[
                (
                    "manifests/site.pp",
                    b"class in_site { class inner($a) { } } node default { }",
                ),
                ("manifests/.hidden.pp", b"class hidden { }"),
                ("modules/demo/manifests/init.pp", b"class demo { }\n"),
                ("modules/demo/manifests/bad.pp", b"class demo::bad( { \n"),
                (
                    "modules/demo/manifests/end.pp",
                    b"class demo::end { $x = \n",
                ),
                (
                    "modules/demo/manifests/bytes.pp",
                    b"class demo::bytes { $x = \"\xff\" }",
                ),
                ("modules/demo/manifests/empty.pp", b""),
                ("modules/demo/manifests/other.pp", b"class other::name { }"),
                ("modules/demo/files/file.pp", b"class demo::file { }"),
            ],
            HiddenPaths::default(),
        );
        let file = |path: &str| {
            let files = listed["files"].as_array().unwrap();
            let found = files
                .iter()
                .find(|it| it["path"].as_str().unwrap().ends_with(path));
            found
                .unwrap_or_else(|| panic!("{path} in {listed}"))
                .clone()
        };
        let error = |path: &str| file(path)["error"].as_str().unwrap().to_owned();
        assert_eq!(listed["files"].as_array().unwrap().len(), 7, "{listed}");
        let names = json!([{"name": "in_site::inner", "params": [{"name": "a"}]}, {"name": "in_site", "params": []}]);
        assert_eq!(file("site.pp")["classes"], names);
        assert_eq!(
            error("bad.pp"),
            "Syntax error at '{' (file: modules/demo/manifests/bad.pp, line: 1, column: 18)"
        );
        assert_eq!(
            error("end.pp"),
            "Syntax error at end of input (file: modules/demo/manifests/end.pp)"
        );
        assert!(error("bytes.pp").contains("UTF-8"));
        assert_eq!(
            error("other.pp"),
            "Unacceptable location. The name 'other::name' is unacceptable in file \
             'modules/demo/manifests/other.pp' (file: modules/demo/manifests/other.pp, line: 1, column: 1)"
        );
        assert_eq!(file("empty.pp")["classes"], json!([]));
        let paths = listed["files"].as_array().unwrap().iter();
        let paths: Vec<_> = paths.map(|it| it["path"].as_str().unwrap()).collect();
        assert!(paths.is_sorted());
    }

    #[test]
    fn a_file_of_the_server_is_not_read_as_a_manifest() {
        let server = tempfile::tempdir().unwrap();
        let secret = server.path().join("key.pem");
        fs::write(&secret, "abc secret").unwrap();
        let hidden = HiddenPaths {
            hidden: vec![server.path().to_owned()],
            ..HiddenPaths::default()
        };
        let conf = format!("manifest = {}\n", secret.display());
        let listed = list(&[("environment.conf", conf.as_bytes())], hidden);
        let error = listed["files"][0]["error"].as_str().unwrap();
        assert!(error.contains("belongs to this server"), "{error}");
    }
}
