//! The note of a deployment about functions in Ruby that plans cannot call.

use environments::EnvironmentDir;

use super::{BuiltVersion, Deployer, run_in_background};
use crate::error::DeploymentError;

impl Deployer {
    /// Returns the note about Ruby functions of the version's modules that plans replace by
    /// built-in ones; `None` if there are none.
    pub(crate) async fn replaced_functions_note(
        &self,
        built: &BuiltVersion,
    ) -> Result<Option<String>, DeploymentError> {
        let versions = self.versions();
        let directory = versions.path(&built.environment, &built.signature);
        let link = versions.link(&built.environment);
        let environment = built.environment.clone();
        run_in_background(move || {
            let codedir = link.parent().and_then(std::path::Path::parent);
            let code = EnvironmentDir::new(codedir.unwrap_or(&link));
            let found = code
                .open(&environment, directory)
                .and_then(|version| environments::replaced_functions(&*version));
            // A file that cannot be read is no reason to keep old code live.
            Ok(match found {
                Ok(functions) => environments::replaced_functions_note(&functions),
                Err(error) => Some(format!(
                    "it is not known whether modules have functions in Ruby that plans do not call: {error}"
                )),
            })
        })
        .await
    }
}
