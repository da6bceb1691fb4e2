//! Hiera data of an environment, as the lookups of a plan read it. Main type: [`PinnedData`].
//!
//! Invariant: a data file is read once per plan, like code; the text of a key is read each time and
//! never stored.

use std::path::{Path, PathBuf};

use evaluator::{CodeOwner, CodeSource as _};
use lookup::{
    DirectoryEntry, FileIdentity, HieraSettings, HostError, Lookup, LookupFiles, LookupSettings,
};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::code::{DataRoots, PinnedCode};
use crate::run::PlanEvaluation;

/// Data files of the environment, of its modules and of the global layer; reads are steps of the
/// branch.
pub(crate) struct PinnedData<'b> {
    code: &'b PinnedCode<'b>,
    run: &'b PlanEvaluation,
}

/// The owner of a data file, with the path inside the environment or module.
enum DataPathOwner {
    Environment(String),
    Module(String, String),
    Global,
}

impl<'b> PinnedData<'b> {
    pub(crate) fn new(code: &'b PinnedCode<'b>, run: &'b PlanEvaluation) -> Self {
        Self { code, run }
    }

    /// Returns the lookup state of this plan, created at first use.
    pub(crate) fn lookup(&self) -> &'b Lookup {
        self.run.lookup.get_or_init(|| {
            let settings = HieraSettings {
                has_classifier_data: false,
                global_config: self.roots().hiera_config.clone(),
                environment_root: self.roots().environment.clone(),
                plan: true,
                strict: true,
            };
            let options = LookupSettings {
                settings,
                environment: self.run.launch.environment.clone(),
                strict_variables: true,
            };
            Lookup::new(options, self.run.world.data.clone())
        })
    }

    fn roots(&self) -> &'b DataRoots {
        self.run.roots.get_or_init(|| self.code.roots())
    }

    fn place(&self, path: &Path) -> Option<DataPathOwner> {
        let text = |path: &Path| path.to_str().map(str::to_owned);
        let environment = self.roots().environment.as_deref();
        if let Some(below) = environment.and_then(|root| path.strip_prefix(root).ok()) {
            return text(below).map(DataPathOwner::Environment);
        }
        let modules = self.run.modules.borrow();
        let of_module = modules.iter().find_map(|(name, module)| {
            let below = path.strip_prefix(&*module.as_ref()?.path).ok()?;
            text(below).map(|below| DataPathOwner::Module(name.to_string(), below))
        });
        let is_global = || self.run.named_globally.borrow().has(path);
        of_module.or_else(|| is_global().then_some(DataPathOwner::Global))
    }

    fn bytes(&self, path: &Path) -> Result<Option<std::sync::Arc<[u8]>>, HostError> {
        let Some(place) = self.place(path) else {
            return Ok(None);
        };
        let file = match &place {
            DataPathOwner::Global => return self.code.read_global(path).map_err(HostError::text),
            DataPathOwner::Environment(below) => self.code.read(CodeOwner::Environment, below),
            DataPathOwner::Module(module, below) => {
                self.code.read(CodeOwner::Module(module), below)
            }
        };
        let file = file.map_err(|error| HostError::text(error.to_string()))?;
        Ok(file.map(|file| file.bytes))
    }
}

impl LookupFiles for PinnedData<'_> {
    /// Derives the identity from the content, since files are read once and have no metadata here.
    fn identity(&self, path: &Path) -> Option<FileIdentity> {
        if let Some(known) = self.run.identities.borrow().get(path) {
            return *known;
        }
        let identity = self.bytes(path).ok().flatten().map(|bytes| {
            let digest: [u8; 32] = Sha256::digest(&bytes).into();
            let part = |range: std::ops::Range<usize>| {
                let bytes = digest.get(range).unwrap_or_default();
                bytes
                    .iter()
                    .fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
            };
            FileIdentity {
                device: part(0..8),
                inode: part(8..16),
                size: bytes.len() as u64,
                changed_nanoseconds: part(16..24).into(),
            }
        });
        let known = &mut self.run.identities.borrow_mut();
        known.insert(path.to_owned(), identity);
        identity
    }

    fn read(&self, path: &Path) -> Result<String, HostError> {
        let Some(bytes) = self.bytes(path)? else {
            let what = format!(
                "{} is not a file of the environment or of a module",
                path.display()
            );
            return Err(HostError::text(what));
        };
        let text = std::str::from_utf8(&bytes);
        let text = text.map_err(|_| HostError::text(format!("{} is not UTF-8", path.display())))?;
        Ok(text.to_owned())
    }

    fn entries(&self, directory: &Path) -> Vec<DirectoryEntry> {
        let entries = match self.place(directory) {
            Some(DataPathOwner::Environment(below)) => {
                self.code.entries(CodeOwner::Environment, &below)
            }
            Some(DataPathOwner::Module(module, below)) => {
                self.code.entries(CodeOwner::Module(&module), &below)
            }
            Some(DataPathOwner::Global) => self.code.global_entries(directory),
            None => Vec::new(),
        };
        let entry = |(name, is_directory)| DirectoryEntry { name, is_directory };
        entries.into_iter().map(entry).collect()
    }

    fn note_global_path(&self, path: &Path) {
        self.run.named_globally.borrow_mut().add(path);
        // A lookup of this path before it was named has stored that it does not exist.
        let mut known = self.run.identities.borrow_mut();
        known.retain(|asked, identity| identity.is_some() || !asked.starts_with(path));
    }

    fn module_root(&self, module: &str) -> Option<PathBuf> {
        let module = self.code.module(module)?;
        Some(PathBuf::from(&*module.path))
    }

    fn key(&self, path: &Path) -> Result<Zeroizing<String>, HostError> {
        let text = std::fs::read_to_string(path);
        let text = text
            .map_err(|error| HostError::text(format!("cannot read {}: {error}", path.display())))?;
        Ok(Zeroizing::new(text))
    }
}
