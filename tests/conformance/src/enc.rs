//! What the site's puppetserver asks for each node's classes. Main type: [`Enc`].
//!
//! The rule: one script that does what files beside it say, because another script would need
//! another start of puppetserver.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use anyhow::Result;
use testkit::installation::Installation;

use crate::cli;

/// An external node classifier that says nothing unless it is told to.
#[derive(Clone, Debug)]
pub struct Enc {
    directory: PathBuf,
}

// === impl Enc ===

impl Enc {
    pub(crate) fn new(installation: &Installation) -> Result<Self> {
        let directory = installation.root().join("enc");
        std::fs::create_dir_all(&directory)?;
        let tutti = installation.tutti().display();
        let connection = cli::connection(installation).join(" ");
        let here = directory.display();
        let text = format!(
            "#!/bin/sh\n[ -e '{here}/says' ] && exec cat '{here}/says'\n[ -e '{here}/tutti' ] && \
             exec '{tutti}' enc \"$1\" {connection}\necho 'classes: {{}}'\n"
        );
        let enc = Self { directory };
        std::fs::write(enc.program(), text)?;
        std::fs::set_permissions(enc.program(), std::fs::Permissions::from_mode(0o755))?;
        Ok(enc)
    }

    /// The executable.
    pub fn program(&self) -> PathBuf {
        self.directory.join("enc")
    }

    /// It says this of every node from now on.
    pub fn say(&self, yaml: &str) {
        std::fs::write(self.directory.join("says"), yaml).expect("the site can be written");
    }

    /// It is `tutti enc` from now on.
    pub fn ask_tutti(&self) {
        std::fs::write(self.directory.join("tutti"), "").expect("the site can be written");
    }

    /// It says nothing any more.
    pub fn reset(&self) {
        for name in ["says", "tutti"] {
            // What is not there need not go.
            let _ = std::fs::remove_file(self.directory.join(name));
        }
    }
}
