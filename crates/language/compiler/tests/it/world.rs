//! Environments in memory: a site manifest, and files of modules. Main type: [`MemoryCode`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use compiler::{
    CompileRequest, CompilerEnvironment, CompilerSource, DocumentForm, EnvironmentSettings,
};
use evaluator::{CodeModule, CodeOwner, CodeReadError, CodeSource, SourceFile};
use lookup::{DirectoryEntry, FileIdentity, HieraSettings, HostError, LookupFiles};
use zeroize::Zeroizing;

struct MemoryCode {
    manifest: String,
    files: BTreeMap<String, String>,
}

/// An environment with this site manifest.
pub(crate) fn environment(manifest: &str) -> CompilerEnvironment {
    with_settings(manifest, &[], false)
}

/// An environment with applications, and files of modules by `MODULE/PATH`.
pub(crate) fn with_applications(manifest: &str, files: &[(&str, &str)]) -> CompilerEnvironment {
    with_settings(manifest, files, true)
}

fn with_settings(
    manifest: &str,
    files: &[(&str, &str)],
    applications: bool,
) -> CompilerEnvironment {
    let settings = EnvironmentSettings {
        name: "production".to_owned(),
        hiera: HieraSettings::default(),
        settings: Vec::new(),
        storeconfigs: false,
        ruby: None,
        shared_units: None,
        applications,
    };
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    let code = MemoryCode {
        manifest: manifest.to_owned(),
        files: files.collect(),
    };
    CompilerEnvironment::new(settings, Box::new(code))
}

/// The document for a node, or the message of the error.
pub(crate) fn compile(environment: &CompilerEnvironment, node: &str) -> Result<String, String> {
    let request = CompileRequest {
        certname: node.to_owned(),
        ..CompileRequest::default()
    };
    let compiled = compiler::compile(environment, &request).map_err(|it| it.to_string())?;
    let document = compiled.document.to_json(DocumentForm::Rich);
    document
        .map(|it| it.to_string())
        .map_err(|it| it.to_string())
}

/// Compiles the node `bad` of a manifest, between two compilations of the node `good`, whose
/// documents must be equal. Returns the error of `bad`, or its document.
#[track_caller]
pub(crate) fn attack(definitions: &str, body: &str) -> Result<String, String> {
    let environment = environment(&format!(
        "{definitions}\nnode good {{ notify {{ 'good': }} }}\nnode bad {{ {body} }}\n"
    ));
    let before = compile(&environment, "good").unwrap();
    let result = compile(&environment, "bad");
    assert_eq!(compile(&environment, "good").unwrap(), before);
    assert_eq!(compile(&environment, "bad"), result);
    result
}

impl CodeSource for MemoryCode {
    fn module(&self, name: &str) -> Option<CodeModule> {
        let prefix = format!("{name}/");
        let mut paths = self.files.keys();
        paths
            .any(|path| path.starts_with(&prefix))
            .then(|| CodeModule {
                name: name.into(),
                path: format!("/modules/{name}").into(),
                dependencies: None,
            })
    }

    fn modules(&self) -> Vec<Arc<str>> {
        let names = self.files.keys().filter_map(|path| path.split('/').next());
        let mut names: Vec<Arc<str>> = names.map(Into::into).collect();
        names.dedup();
        names
    }

    fn read(&self, owner: CodeOwner<'_>, path: &str) -> Result<Option<SourceFile>, CodeReadError> {
        let CodeOwner::Module(module) = owner else {
            return Ok(None);
        };
        let key = format!("{module}/{path}");
        Ok(self.files.get(&key).map(|text| SourceFile {
            path: format!("/modules/{key}").into(),
            bytes: text.as_bytes().into(),
        }))
    }
}

impl LookupFiles for MemoryCode {
    fn identity(&self, _: &Path) -> Option<FileIdentity> {
        None
    }

    fn read(&self, path: &Path) -> Result<String, HostError> {
        Err(HostError::text(format!("no file {}", path.display())))
    }

    fn entries(&self, directory: &Path) -> Vec<DirectoryEntry> {
        let below = format!("{}/", directory.display());
        let below = below.trim_start_matches("/modules/");
        let names = self
            .files
            .keys()
            .filter_map(|path| path.strip_prefix(below));
        names
            .filter(|name| !name.contains('/'))
            .map(|name| DirectoryEntry {
                name: name.to_owned(),
                is_directory: false,
            })
            .collect()
    }

    fn module_root(&self, name: &str) -> Option<PathBuf> {
        self.module(name).map(|module| PathBuf::from(&*module.path))
    }

    fn key(&self, path: &Path) -> Result<Zeroizing<String>, HostError> {
        LookupFiles::read(self, path).map(Zeroizing::new)
    }
}

impl CompilerSource for MemoryCode {
    fn as_code(&self) -> &dyn CodeSource {
        self
    }

    fn as_files(&self) -> &dyn LookupFiles {
        self
    }

    fn site_manifests(&self) -> Result<Vec<SourceFile>, CodeReadError> {
        Ok(vec![SourceFile {
            path: "site.pp".into(),
            bytes: self.manifest.as_bytes().into(),
        }])
    }

    fn directory(&self) -> String {
        "/env".to_owned()
    }
}
