//! The private keys of hiera-eyaml: [`EyamlKeyCache`].

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use hiera::HostError;
use pcore::{Hash, Value};

use crate::LookupFiles;

const KEY: &str = "pkcs7_private_key";
/// The default key path of hiera-eyaml.
const STANDARD_KEY: &str = "./keys/private_key.pkcs7.pem";
const KEY_IN_VARIABLE: &str = "pkcs7_private_key_env_var";

/// Keys by their paths, read at first use. A hierarchy names one or two.
#[derive(Debug, Default)]
pub(crate) struct EyamlKeyCache {
    read: RefCell<HashMap<PathBuf, Rc<eyaml::EyamlKeys>>>,
}

impl EyamlKeyCache {
    /// Decrypts a text, with the options of an entry of a hierarchy.
    pub(crate) fn decrypt(
        &self,
        files: &dyn LookupFiles,
        text: &str,
        options: &Hash,
    ) -> Result<String, HostError> {
        if options.get_str(KEY_IN_VARIABLE).is_some() {
            return Err(HostError::text(format!(
                "the option {KEY_IN_VARIABLE} is not supported: name a file with {KEY}"
            )));
        }
        let path = match options.get_str(KEY) {
            Some(Value::Str(path)) => PathBuf::from(&**path),
            _ => PathBuf::from(STANDARD_KEY),
        };
        let keys = self.of(files, path)?;
        keys.decrypt(text).map_err(|error| HostError(error.into()))
    }

    fn of(
        &self,
        files: &dyn LookupFiles,
        path: PathBuf,
    ) -> Result<Rc<eyaml::EyamlKeys>, HostError> {
        if let Some(known) = self.read.borrow().get(&path) {
            return Ok(Rc::clone(known));
        }
        let text = files.key(&path)?;
        let mut keys = eyaml::EyamlKeys::default();
        keys.add_pem(&text).map_err(|error| {
            HostError::text(format!(
                "the private key {} cannot be used: {error}",
                path.display()
            ))
        })?;
        let keys = Rc::new(keys);
        self.read.borrow_mut().insert(path, Rc::clone(&keys));
        Ok(keys)
    }
}
