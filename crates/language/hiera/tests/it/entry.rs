//! Invariants for fuzzing and property tests with arbitrary text: a `hiera.yaml`, a file of data
//! and keys, with NUL between them. No panic; a lookup ends within its limits; a second lookup
//! returns the same result.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hiera::{
    DataFileCache, DirectoryEntry, FileIdentity, HieraSettings, HostError, LookupExplainer,
    LookupHost, LookupRequest, LookupSession, LookupTrail,
};
use pcore::Value;

/// Number of keys of one input that are looked up.
const KEYS_MAX: usize = 8;

struct Given<'t> {
    config: &'t str,
    data: &'t str,
}

impl Given<'_> {
    fn text(&self, path: &Path) -> Option<&str> {
        match path.to_str()? {
            "/env/hiera.yaml" | "/global/hiera.yaml" | "/env/modules/m/hiera.yaml" => {
                Some(self.config)
            }
            path if path.ends_with(".yaml") || path.ends_with(".json") => Some(self.data),
            _ => None,
        }
    }
}

impl LookupHost for Given<'_> {
    fn variable(&mut self, name: &str) -> Result<Option<Value>, HostError> {
        Ok(match name.trim_start_matches("::") {
            "a" => Some(Value::from("x")),
            "facts" => {
                Value::parse_literal("{os => {family => 'Debian'}, list => [1, 2]}", &|_| None).ok()
            }
            _ => None,
        })
    }

    fn module_root(&mut self, module: &str) -> Option<PathBuf> {
        (module == "m").then(|| PathBuf::from("/env/modules/m"))
    }

    fn identity(&mut self, path: &Path) -> Option<FileIdentity> {
        let text = self.text(path)?;
        Some(FileIdentity {
            device: 0,
            inode: 0,
            size: text.len() as u64,
            changed_nanoseconds: 0,
        })
    }

    fn read(&mut self, path: &Path) -> Result<String, HostError> {
        let text = self.text(path).map(str::to_owned);
        text.ok_or_else(|| HostError::text("no such file"))
    }

    fn entries(&mut self, directory: &Path) -> Vec<DirectoryEntry> {
        let entry = |(name, is_directory): (&str, bool)| DirectoryEntry {
            name: name.to_owned(),
            is_directory,
        };
        match directory.to_str() {
            Some("/env") => [("data", true), ("modules", true)].map(entry).into(),
            Some("/env/data") => [("a.yaml", false), ("b.yaml", false)].map(entry).into(),
            _ => Vec::new(),
        }
    }

    fn warn(&mut self, _: &str) {}

    fn type_of(&mut self, text: &str) -> Result<Value, HostError> {
        let ty = pcore::Type::parse(text).map(Value::Type);
        ty.map_err(|error| HostError::text(error.to_string()))
    }

    fn convert(&mut self, value: Value, convert_to: &[Value]) -> Result<Value, HostError> {
        match convert_to {
            [Value::Type(ty)] => pcore::new_instance(ty, &[value])
                .map_err(|error| HostError::text(error.to_string())),
            _ => Err(HostError::text("no type")),
        }
    }
}

pub(crate) fn site(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.splitn(3, '\0');
    let mut part = || parts.next().unwrap_or_default();
    let mut given = Given {
        config: part(),
        data: part(),
    };
    let asked = part();
    let mut keys: Vec<String> = asked.split('\n').map(str::to_owned).collect();
    keys.truncate(KEYS_MAX);
    for key in keys {
        let first = looked_up(&mut given, &key);
        assert_eq!(first, looked_up(&mut given, &key), "{key}");
    }
}

fn looked_up(given: &mut Given<'_>, key: &str) -> Vec<String> {
    let settings = HieraSettings {
        has_classifier_data: false,
        global_config: Some(PathBuf::from("/global/hiera.yaml")),
        environment_root: Some(PathBuf::from("/env")),
        plan: key.len().is_multiple_of(2),
        strict: true,
    };
    let session = LookupSession::new(settings, Arc::<DataFileCache>::default());
    let names = [key.to_owned()];
    let merges = ["first", "unique", "hash", "deep"].map(Value::from);
    let mut answer = |merge: Value| {
        let request = LookupRequest {
            names: &names,
            merge,
            ..LookupRequest::default()
        };
        let trail = LookupTrail::with_explainer(LookupExplainer::default());
        let found = session.lookup(given, &request, &trail);
        let found = match found {
            Ok(value) => format!("{value:?}"),
            Err(error) => error.to_string(),
        };
        let _ = trail.explanation_data();
        found + &trail.explanation()
    };
    [Value::Undef]
        .into_iter()
        .chain(merges)
        .map(&mut answer)
        .collect()
}
