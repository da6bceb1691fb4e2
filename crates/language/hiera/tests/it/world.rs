//! Files and variables in memory: [`World`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hiera::{
    DataFileCache, DirectoryEntry, Error, FileIdentity, FunctionCall, HieraSettings, HostError,
    LookupHost, LookupRequest, LookupSession, LookupTrail,
};
use pcore::{Hash, Value};

#[derive(Default)]
pub(crate) struct World {
    pub(crate) files: BTreeMap<PathBuf, String>,
    pub(crate) variables: BTreeMap<String, Value>,
    pub(crate) plan: bool,
    pub(crate) reads: usize,
    pub(crate) warnings: Vec<String>,
    pub(crate) cache: Arc<DataFileCache>,
}

impl World {
    /// An environment at `/env` with these files, and no global layer.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut world = Self::default();
        for (path, text) in files {
            world.write(path, text);
        }
        world
    }

    pub(crate) fn write(&mut self, path: &str, text: &str) {
        self.files
            .insert(Path::new("/env").join(path), text.to_owned());
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.variables.insert(name.to_owned(), value.into());
    }

    pub(crate) fn session(&self) -> LookupSession {
        let global = Path::new("/global/hiera.yaml");
        let settings = HieraSettings {
            has_classifier_data: false,
            global_config: self.files.contains_key(global).then(|| global.to_owned()),
            environment_root: Some(PathBuf::from("/env")),
            plan: self.plan,
            strict: true,
        };
        LookupSession::new(settings, self.cache.clone())
    }

    pub(crate) fn lookup(&mut self, name: &str) -> Result<Option<Value>, Error> {
        self.merged(name, Value::Undef)
    }

    pub(crate) fn merged(
        &mut self,
        name: &str,
        merge: impl Into<Value>,
    ) -> Result<Option<Value>, Error> {
        let names = [name.to_owned()];
        let request = LookupRequest {
            names: &names,
            merge: merge.into(),
            ..LookupRequest::default()
        };
        self.session().lookup(self, &request, &LookupTrail::new())
    }

    /// The text of a value that must be found.
    pub(crate) fn text(&mut self, name: &str) -> String {
        match self.lookup(name).unwrap().unwrap() {
            Value::Str(text) => text.to_string(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn fault(&mut self, name: &str) -> String {
        self.lookup(name).unwrap_err().to_string()
    }
}

impl LookupHost for World {
    fn variable(&mut self, name: &str) -> Result<Option<Value>, HostError> {
        Ok(self.variables.get(name.trim_start_matches("::")).cloned())
    }

    fn module_root(&mut self, module: &str) -> Option<PathBuf> {
        let root = Path::new("/env/modules").join(module);
        self.files
            .keys()
            .any(|file| file.starts_with(&root))
            .then_some(root)
    }

    fn identity(&mut self, path: &Path) -> Option<FileIdentity> {
        let text = self.files.get(path)?;
        Some(FileIdentity {
            device: 0,
            inode: 0,
            size: text.len() as u64,
            changed_nanoseconds: text.bytes().map(i128::from).sum(),
        })
    }

    fn read(&mut self, path: &Path) -> Result<String, HostError> {
        self.reads += 1;
        let text = self.files.get(path).cloned();
        text.ok_or_else(|| HostError::text("no such file"))
    }

    fn entries(&mut self, directory: &Path) -> Vec<DirectoryEntry> {
        let mut entries = BTreeMap::new();
        for file in self.files.keys() {
            let Ok(below) = file.strip_prefix(directory) else {
                continue;
            };
            let mut parts = below.iter();
            if let Some(name) = parts.next() {
                let name = name.to_string_lossy().into_owned();
                entries.insert(name, parts.next().is_some());
            }
        }
        let entry = |(name, is_directory)| DirectoryEntry { name, is_directory };
        entries.into_iter().map(entry).collect()
    }

    fn warn(&mut self, message: &str) {
        self.warnings.push(message.to_owned());
    }

    fn data_hash(&mut self, call: &FunctionCall<'_>) -> Option<Result<Value, HostError>> {
        match call.function {
            "all" => {
                let data: Hash = [("from", "%{where}")].into_iter().collect();
                Some(Ok(data.into()))
            }
            "list" => Some(Ok(Value::array(Vec::new()))),
            "failing" => Some(Err(HostError::text("out of order"))),
            _ => None,
        }
    }

    fn lookup_key(
        &mut self,
        call: &FunctionCall<'_>,
        key: &str,
    ) -> Option<Result<Option<Value>, HostError>> {
        (call.function == "by_key").then(|| {
            let uri = call.options.get_str("uri").cloned();
            Ok((key == "known").then(|| uri.unwrap_or_else(|| Value::from("no place"))))
        })
    }

    fn data_dig(
        &mut self,
        call: &FunctionCall<'_>,
        segments: &[Value],
    ) -> Option<Result<Option<Value>, HostError>> {
        (call.function == "digging").then(|| {
            let found = segments.len() == 3 && segments[2] == Value::Int(1);
            Ok(found.then(|| Value::from("dug")))
        })
    }

    fn decrypt(&mut self, text: &str, options: &Hash) -> Result<String, HostError> {
        let key = options.get_str("pkcs7_private_key");
        match key {
            Some(Value::Str(_)) => Ok(text.replace("ENC[", "").replace(']', "")),
            _ => Err(HostError::text("no key")),
        }
    }

    fn type_of(&mut self, text: &str) -> Result<Value, HostError> {
        Ok(Value::from(text))
    }

    fn convert(&mut self, value: Value, convert_to: &[Value]) -> Result<Value, HostError> {
        match convert_to {
            [Value::Str(name), Value::Int(base)] if &**name == "Integer" => {
                let Value::Str(text) = &value else {
                    return Err(HostError::text("no text"));
                };
                i64::from_str_radix(text, u32::try_from(*base).unwrap())
                    .map(Value::Int)
                    .map_err(|error| HostError(error.into()))
            }
            other => Err(HostError::text(format!("{other:?}"))),
        }
    }
}
