//! Mount, module and path of a requested file: [`RequestedFile`].
//!
//! Invariant: a path of a request is checked where it is resolved, in `environments`; here it is only
//! split.

use environments::{EnvironmentName, FileMount};

use crate::failure::PuppetApiFailure;

/// A file that a request names.
#[derive(Debug, Clone)]
pub(crate) struct RequestedFile {
    pub(crate) mount: FileMount,
    /// The module; `None` where [`FileMount::has_modules`] is false.
    pub(crate) module: Option<String>,
    /// Path below the module's directory of the mount; may be empty.
    pub(crate) path: String,
}

impl RequestedFile {
    pub(crate) fn parse(mount: &str, path: &str) -> Result<Self, PuppetApiFailure> {
        let mount: FileMount = mount.parse().map_err(|error: environments::UnknownMount| {
            PuppetApiFailure::not_found(error.to_string())
        })?;
        let path = path.trim_end_matches('/');
        if !mount.has_modules() {
            return Ok(Self {
                mount,
                module: None,
                path: path.to_owned(),
            });
        }
        let (module, path) = path.split_once('/').unwrap_or((path, ""));
        if module.is_empty() {
            return Err(PuppetApiFailure::bad_request(
                "the path must begin with the name of a module",
            ));
        }
        Ok(Self {
            mount,
            module: Some(module.to_owned()),
            path: path.to_owned(),
        })
    }
}

/// The environment that a request names.
pub(crate) fn parse_environment(name: Option<&str>) -> Result<EnvironmentName, PuppetApiFailure> {
    let name =
        name.ok_or_else(|| PuppetApiFailure::bad_request("the parameter environment is missing"))?;
    name.parse()
        .map_err(|error: environments::EnvironmentNameError| {
            PuppetApiFailure::bad_request(error.to_string())
        })
}
