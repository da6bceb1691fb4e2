//! What an entry of a hierarchy has for a key: files, functions, encrypted values.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcore::{Hash, Value};

use crate::config::Kind;
use crate::data::Format;
use crate::host::FunctionCall;
use crate::interpolate::Methods;
use crate::key::{self, LookupKey};
use crate::location::{At, Place, Resolved};
use crate::run::Run;
use crate::{Error, Session};

impl Session {
    pub(crate) fn search_place(
        &mut self,
        run: &mut Run<'_>,
        resolved: &Resolved,
        place: Option<&Place>,
        module: Option<&str>,
        key: &LookupKey,
    ) -> Result<Option<Value>, Error> {
        let mut options = resolved.entry.options.clone();
        let mut path = None;
        match place.map(|place| &place.at) {
            Some(At::Path { exists: false, .. }) => {
                run.explain(crate::Explainer::location_not_found);
                return Ok(None);
            }
            Some(At::Path { path: at, .. }) => {
                options.insert("path", at.to_string_lossy().into_owned());
                path = Some(at.as_path());
            }
            Some(At::Uri(uri)) => {
                options.insert("uri", uri.as_str());
            }
            None => {}
        }
        let call = FunctionCall {
            function: &resolved.entry.function,
            options: &options,
            module,
        };
        let found = match resolved.entry.kind {
            Kind::DataHash => {
                let data = self.data_hash(run, &call, path)?;
                match data.get_str(&key.root) {
                    Some(value) => Some(self.interpolate(run, value, Methods::Allowed)?),
                    None => None,
                }
            }
            Kind::LookupKey => self.lookup_key(run, &call, path, &key.root)?,
            Kind::DataDig => {
                let mut segments = vec![Value::from(key.root.as_str())];
                segments.extend(key.segments.iter().cloned());
                let found = run.host.data_dig(&call, &segments);
                let found = found.ok_or_else(|| no_function(&call, "data_dig"))??;
                found.map(|value| key::wrapped(&key.segments, value))
            }
        };
        match &found {
            Some(value) => run.found(&key.root, value),
            None => run.not_found(&key.root),
        }
        Ok(found)
    }

    fn data_hash(
        &mut self,
        run: &mut Run<'_>,
        call: &FunctionCall<'_>,
        path: Option<&Path>,
    ) -> Result<Arc<Hash>, Error> {
        let format = match call.function {
            "yaml_data" => Format::Yaml,
            "json_data" => Format::Json,
            "hocon_data" => Format::Hocon,
            _ => {
                let data = run.host.data_hash(call);
                let data = data.ok_or_else(|| no_function(call, Kind::DataHash.name()))??;
                return self.as_hash(run, call, path, data);
            }
        };
        let path = path.ok_or_else(|| {
            Error::data(
                "one of 'path', 'paths' 'glob', 'globs' or 'mapped_paths' must be declared in \
                 hiera.yaml when using this data_hash function",
            )
        })?;
        if let Some(data) = self.files.get(&(path.to_owned(), format)) {
            return Ok(data.clone());
        }
        let data = self.cache.load(run.host, path, format)?;
        let data = self.as_hash(run, call, Some(path), data)?;
        self.files.insert((path.to_owned(), format), data.clone());
        Ok(data)
    }

    /// What is not a hash is a mistake; YAML with nothing in it is an empty one.
    fn as_hash(
        &self,
        run: &mut Run<'_>,
        call: &FunctionCall<'_>,
        path: Option<&Path>,
        data: Value,
    ) -> Result<Arc<Hash>, Error> {
        let place = path
            .map(|path| path.display().to_string())
            .unwrap_or_default();
        match data {
            Value::Hash(hash) => Ok(hash),
            other if call.function == "yaml_data" || call.function == "eyaml_lookup_key" => {
                let text = format!("{place}: file does not contain a valid yaml hash");
                if self.settings.strict && other != Value::Undef {
                    return Err(Error::data(text));
                }
                run.host.warn(&text);
                Ok(Arc::default())
            }
            other => Err(Error::data(format!(
                "Value returned from data_hash function '{}', when using location '{place}', has \
                 wrong type, expects a Hash value, got {}",
                call.function,
                pcore::Type::infer(&other).generalize()
            ))),
        }
    }

    fn lookup_key(
        &mut self,
        run: &mut Run<'_>,
        call: &FunctionCall<'_>,
        path: Option<&Path>,
        key: &str,
    ) -> Result<Option<Value>, Error> {
        if call.function != "eyaml_lookup_key" {
            let found = run.host.lookup_key(call, key);
            return Ok(found.ok_or_else(|| no_function(call, Kind::LookupKey.name()))??);
        }
        let path: PathBuf = path.map(Path::to_owned).ok_or_else(|| {
            Error::data(
                "'eyaml_lookup_key': one of 'path', 'paths' 'glob', 'globs' or 'mapped_paths' \
                 must be declared in hiera.yaml when using this lookup_key function",
            )
        })?;
        let file = (path.clone(), Format::Yaml);
        let data = match self.files.get(&file) {
            Some(data) => data.clone(),
            None => {
                let data = self.cache.load(run.host, &path, Format::Yaml)?;
                let data = self.as_hash(run, call, Some(&path), data)?;
                self.files.insert(file, data.clone());
                data
            }
        };
        match data.get_str(key) {
            Some(value) => Ok(Some(self.decrypted(run, call.options, value)?)),
            None => Ok(None),
        }
    }

    fn decrypted(
        &mut self,
        run: &mut Run<'_>,
        options: &Hash,
        value: &Value,
    ) -> Result<Value, Error> {
        match value {
            Value::Str(text) if is_encrypted(text) => {
                let text = run.host.decrypt(text, options)?;
                self.interpolate(run, &Value::from(text), Methods::Allowed)
            }
            Value::Array(items) => {
                let items: Result<Vec<Value>, Error> = items
                    .iter()
                    .map(|item| self.decrypted(run, options, item))
                    .collect();
                Ok(Value::array(items?))
            }
            Value::Hash(hash) => {
                let mut clear = Hash::with_capacity(hash.len());
                for (key, value) in hash.iter() {
                    let key = self.interpolate(run, key, Methods::Allowed)?;
                    clear.insert(key, self.decrypted(run, options, value)?);
                }
                Ok(Value::Hash(Arc::new(clear)))
            }
            other => self.interpolate(run, other, Methods::Allowed),
        }
    }
}

fn is_encrypted(text: &str) -> bool {
    text.split_once("ENC[")
        .is_some_and(|(_, rest)| rest.contains(']'))
}

fn no_function(call: &FunctionCall<'_>, kind: &str) -> Error {
    Error::data(format!(
        "Unable to find '{kind}' function named '{}'",
        call.function
    ))
}
