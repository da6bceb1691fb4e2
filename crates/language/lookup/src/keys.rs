//! The private keys of hiera-eyaml: [`Keys`].

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use hiera::HostError;
use pcore::{Hash, Value};

use crate::Files;

const KEY: &str = "pkcs7_private_key";
/// The default key path of hiera-eyaml.
const STANDARD_KEY: &str = "./keys/private_key.pkcs7.pem";
const KEY_IN_VARIABLE: &str = "pkcs7_private_key_env_var";

/// Keys by their paths, read at first use. A hierarchy names one or two.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    read: RefCell<HashMap<PathBuf, Rc<eyaml::Keys>>>,
}

impl Keys {
    /// Decrypts a text, with the options of an entry of a hierarchy.
    pub(crate) fn clear(
        &self,
        files: &dyn Files,
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
        keys.clear(text).map_err(|error| HostError(error.into()))
    }

    fn of(&self, files: &dyn Files, path: PathBuf) -> Result<Rc<eyaml::Keys>, HostError> {
        if let Some(known) = self.read.borrow().get(&path) {
            return Ok(Rc::clone(known));
        }
        let text = files.key(&path)?;
        let mut keys = eyaml::Keys::default();
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
