//! An environment in memory, whose only code is a site manifest. Main type: [`Site`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use compiler::{
    CompileRequest, CompilerEnvironment, CompilerSource, DocumentForm, EnvironmentSettings,
};
use evaluator::{CodeModule, CodeOwner, CodeReadError, CodeSource, SourceFile};
use lookup::{DirectoryEntry, FileIdentity, HieraSettings, HostError, LookupFiles};
use zeroize::Zeroizing;

struct Site(SourceFile);

/// An environment with this site manifest.
pub(crate) fn environment(manifest: &str) -> CompilerEnvironment {
    with_settings(manifest, false)
}

/// An environment whose site manifest may define applications.
pub(crate) fn with_applications(manifest: &str) -> CompilerEnvironment {
    with_settings(manifest, true)
}

fn with_settings(manifest: &str, applications: bool) -> CompilerEnvironment {
    let settings = EnvironmentSettings {
        name: "production".to_owned(),
        hiera: HieraSettings::default(),
        settings: Vec::new(),
        storeconfigs: false,
        ruby: None,
        shared_units: None,
        applications,
    };
    let file = SourceFile {
        path: "site.pp".into(),
        bytes: manifest.as_bytes().into(),
    };
    CompilerEnvironment::new(settings, Box::new(Site(file)))
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

impl CodeSource for Site {
    fn module(&self, _: &str) -> Option<CodeModule> {
        None
    }

    fn modules(&self) -> Vec<Arc<str>> {
        Vec::new()
    }

    fn read(&self, _: CodeOwner<'_>, _: &str) -> Result<Option<SourceFile>, CodeReadError> {
        Ok(None)
    }
}

impl LookupFiles for Site {
    fn identity(&self, _: &Path) -> Option<FileIdentity> {
        None
    }

    fn read(&self, path: &Path) -> Result<String, HostError> {
        Err(HostError::text(format!("no file {}", path.display())))
    }

    fn entries(&self, _: &Path) -> Vec<DirectoryEntry> {
        Vec::new()
    }

    fn module_root(&self, _: &str) -> Option<PathBuf> {
        None
    }

    fn key(&self, path: &Path) -> Result<Zeroizing<String>, HostError> {
        LookupFiles::read(self, path).map(Zeroizing::new)
    }
}

impl CompilerSource for Site {
    fn as_code(&self) -> &dyn CodeSource {
        self
    }

    fn as_files(&self) -> &dyn LookupFiles {
        self
    }

    fn site_manifests(&self) -> Result<Vec<SourceFile>, CodeReadError> {
        Ok(vec![self.0.clone()])
    }

    fn directory(&self) -> String {
        "/env".to_owned()
    }
}
