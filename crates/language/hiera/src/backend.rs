//! Data of a key from an entry of a hierarchy: files, functions, encrypted values.

use std::path::Path;
use std::sync::Arc;

use pcore::{Hash, Value};

use crate::config::DataFunctionKind;
use crate::data::DataFormat;
use crate::explain::plain_text;
use crate::host::FunctionCall;
use crate::interpolate::MethodUse;
use crate::key::{self, LookupKey};
use crate::layer::LookupLayer;
use crate::location::{DataLocation, DataSource, ResolvedEntry};
use crate::lookup_run::LookupRun;
use crate::{Error, HostError, LookupSession};

impl LookupSession {
    pub(crate) fn search_location(
        &self,
        run: &mut LookupRun<'_>,
        resolved: &ResolvedEntry,
        place: Option<&DataLocation>,
        layer: &LookupLayer,
        key: &LookupKey,
    ) -> Result<Option<Value>, Error> {
        let mut options = resolved.entry.options.clone();
        let mut path = None;
        match place.map(|place| &place.source) {
            Some(DataSource::Path { exists: false, .. }) => {
                run.explain(crate::LookupExplainer::record_missing_location);
                return Ok(None);
            }
            Some(DataSource::Path { path: at, .. }) => {
                options.insert("path", at.to_string_lossy().into_owned());
                path = Some(at.as_path());
            }
            Some(DataSource::Uri(uri)) => {
                options.insert("uri", uri.as_str());
            }
            None => {}
        }
        let call = FunctionCall {
            function: &resolved.entry.function,
            options: &options,
            module: layer.module.as_deref(),
            entry: &resolved.entry.name,
            config: layer.config.path.as_deref(),
        };
        let (name, found) = match resolved.entry.kind {
            DataFunctionKind::DataHash => (
                &key.root,
                self.search_data_hash(run, &call, path, &key.root)?,
            ),
            DataFunctionKind::LookupKey => {
                (&key.root, self.lookup_key(run, &call, path, &key.root)?)
            }
            DataFunctionKind::DataDig => (&key.text, data_dig(run, &call, key)?),
        };
        match &found {
            Some(value) => run.record_found(name, value),
            None => run.record_not_found(name),
        }
        Ok(match resolved.entry.kind {
            DataFunctionKind::DataDig => {
                found.map(|value| key::wrap_in_segments(&key.segments, value))
            }
            _ => found,
        })
    }

    fn search_data_hash(
        &self,
        run: &mut LookupRun<'_>,
        call: &FunctionCall<'_>,
        path: Option<&Path>,
        key: &str,
    ) -> Result<Option<Value>, Error> {
        let data = self.data_hash(run, call, path)?;
        let Some(value) = data.get_str(key) else {
            return Ok(None);
        };
        let subject = || {
            let function = call.function;
            format!("Value for key '{key}', in hash returned from data_hash function '{function}'")
        };
        let value = as_data(call, value.clone(), subject)?;
        self.interpolate(run, &value, MethodUse::Allowed).map(Some)
    }

    fn data_hash(
        &self,
        run: &mut LookupRun<'_>,
        call: &FunctionCall<'_>,
        path: Option<&Path>,
    ) -> Result<Arc<Hash>, Error> {
        let format = match call.function {
            "yaml_data" => DataFormat::Yaml,
            "json_data" => DataFormat::Json,
            "hocon_data" => DataFormat::Hocon,
            _ => {
                let data = run.host.data_hash(call);
                let data =
                    data.ok_or_else(|| missing_function_error(call, DataFunctionKind::DataHash))?;
                return self.as_hash(run, call, data.map_err(host_error)?);
            }
        };
        let path = path.ok_or_else(|| {
            Error::data(
                "one of 'path', 'paths' 'glob', 'globs' or 'mapped_paths' must be declared in \
                 hiera.yaml when using this data_hash function",
            )
        })?;
        self.read_data_file(run, call, path, format)
    }

    /// The data of a file, as this session first read it.
    fn read_data_file(
        &self,
        run: &mut LookupRun<'_>,
        call: &FunctionCall<'_>,
        path: &Path,
        format: DataFormat,
    ) -> Result<Arc<Hash>, Error> {
        let file = (path.to_owned(), format);
        let known = self.data.borrow().files.get(&file).cloned();
        if let Some(data) = known {
            return Ok(data);
        }
        let data = self.cache.load(run.host, path, format)?;
        let data = self.as_hash(run, call, data)?;
        self.data.borrow_mut().files.insert(file, data.clone());
        Ok(data)
    }

    /// A value that is not a hash is an error; empty YAML is an empty hash.
    fn as_hash(
        &self,
        run: &mut LookupRun<'_>,
        call: &FunctionCall<'_>,
        data: Value,
    ) -> Result<Arc<Hash>, Error> {
        match data {
            Value::Hash(hash) => Ok(hash),
            other if call.function == "yaml_data" || call.function == "eyaml_lookup_key" => {
                let place = location_text(call).unwrap_or_default();
                let text = format!("{place}: file does not contain a valid yaml hash");
                if self.settings.strict && other != Value::Undef {
                    return Err(Error::data(text));
                }
                run.host.warn(&text);
                Ok(Arc::default())
            }
            other => {
                let subject = format!("Value returned from data_hash function '{}'", call.function);
                let subject = with_location(call, subject);
                match pcore::assert_instance(&subject, &pcore::Type::hash(), &other) {
                    Ok(()) => Ok(Arc::default()),
                    Err(mismatch) => Err(Error::data(mismatch.to_string())),
                }
            }
        }
    }

    fn lookup_key(
        &self,
        run: &mut LookupRun<'_>,
        call: &FunctionCall<'_>,
        path: Option<&Path>,
        key: &str,
    ) -> Result<Option<Value>, Error> {
        if call.function != "eyaml_lookup_key" {
            let found = run.host.lookup_key(call, key);
            let found =
                found.ok_or_else(|| missing_function_error(call, DataFunctionKind::LookupKey))?;
            return check_result(call, key, "lookup_key", found.map_err(host_error)?);
        }
        let path = path.ok_or_else(|| {
            Error::data(
                "'eyaml_lookup_key': one of 'path', 'paths' 'glob', 'globs' or 'mapped_paths' \
                 must be declared in hiera.yaml when using this lookup_key function",
            )
        })?;
        let data = self.read_data_file(run, call, path, DataFormat::Yaml)?;
        match data.get_str(key) {
            Some(value) => Ok(Some(self.decrypt_value(run, (call.options, key), value)?)),
            None => Ok(None),
        }
    }

    fn decrypt_value(
        &self,
        run: &mut LookupRun<'_>,
        (options, key): (&Hash, &str),
        value: &Value,
    ) -> Result<Value, Error> {
        match value {
            Value::Str(text) if is_encrypted(text) => {
                let clear = run.host.decrypt(text, options);
                let text = clear.map_err(|error| decryption_error((options, key), text, &error))?;
                self.interpolate(run, &Value::from(text), MethodUse::Allowed)
            }
            Value::Array(items) => {
                let items: Result<Vec<Value>, Error> = items
                    .iter()
                    .map(|item| self.decrypt_value(run, (options, key), item))
                    .collect();
                Ok(Value::array(items?))
            }
            Value::Hash(hash) => {
                let mut clear = Hash::with_capacity(hash.len());
                for (name, value) in hash.iter() {
                    let name = self.interpolate(run, name, MethodUse::Allowed)?;
                    clear.insert(name, self.decrypt_value(run, (options, key), value)?);
                }
                Ok(Value::Hash(Arc::new(clear)))
            }
            other => self.interpolate(run, other, MethodUse::Allowed),
        }
    }
}

fn is_encrypted(text: &str) -> bool {
    text.split_once("ENC[")
        .is_some_and(|(_, rest)| rest.contains(']'))
}

fn decryption_error((options, key): (&Hash, &str), text: &str, error: &HostError) -> Error {
    let path = options.get_str("path").map(plain_text).unwrap_or_default();
    Error::data(format!(
        "hiera-eyaml backend error decrypting {text} when looking up {key} in {path}. Error was \
         {error}"
    ))
}

fn data_dig(
    run: &mut LookupRun<'_>,
    call: &FunctionCall<'_>,
    key: &LookupKey,
) -> Result<Option<Value>, Error> {
    let mut segments = vec![Value::from(key.root.as_str())];
    segments.extend(key.segments.iter().cloned());
    let found = run.host.data_dig(call, &segments);
    let found = found.ok_or_else(|| missing_function_error(call, DataFunctionKind::DataDig))?;
    check_result(call, &key.text, "data_dig", found.map_err(host_error)?)
}

fn check_result(
    call: &FunctionCall<'_>,
    key: &str,
    kind: &str,
    found: Option<Value>,
) -> Result<Option<Value>, Error> {
    let subject = || {
        let function = call.function;
        format!("Value for key '{key}', returned from {kind} function '{function}'")
    };
    found.map(|value| as_data(call, value, subject)).transpose()
}

/// Checks that the result of a function is a value that data can contain.
fn as_data(
    call: &FunctionCall<'_>,
    value: Value,
    subject: impl Fn() -> String,
) -> Result<Value, Error> {
    if pcore::Type::rich_data().is_instance(&value) {
        return Ok(value);
    }
    Err(Error::data(format!(
        "{} has wrong type, expects Puppet::LookupValue, got {}",
        with_location(call, subject()),
        pcore::Type::infer(&value)
    )))
}

fn with_location(call: &FunctionCall<'_>, subject: String) -> String {
    match location_text(call) {
        Some(place) => format!("{subject}, when using location '{place}',"),
        None => subject,
    }
}

/// The path or the URI that is passed to a function.
fn location_text(call: &FunctionCall<'_>) -> Option<String> {
    let place = call.options.get_str("path");
    place
        .or_else(|| call.options.get_str("uri"))
        .map(plain_text)
}

/// Converts a function's error to the error of the lookup.
fn host_error(error: HostError) -> Error {
    match error.is_wrong_call() {
        true => Error::Raw(error.to_string()),
        false => Error::data(error.to_string()),
    }
}

fn missing_function_error(call: &FunctionCall<'_>, kind: DataFunctionKind) -> Error {
    let what = format!(
        "Unable to find '{}' function named '{}'",
        kind.name(),
        call.function
    );
    match call.config {
        Some(path) => Error::Config {
            what,
            path: path.display().to_string(),
        },
        None => Error::data(what),
    }
}
