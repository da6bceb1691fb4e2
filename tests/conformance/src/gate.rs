//! A resource that a run of Puppet stands before until the test lets it through. Main type: [`Gate`].
//!
//! The rule: it opens by itself when the test program is gone, so no run waits for ever.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::site::Site;

/// A gate; every run that comes to it is counted.
#[derive(Debug)]
pub struct Gate {
    directory: PathBuf,
}

/// A run on a busy machine comes here within seconds.
const PATIENCE: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(50);

// === impl Gate ===

impl Gate {
    /// A shut one.
    pub fn new(site: &Site, name: &str) -> Self {
        let directory = site.installation.root().join("gates").join(name);
        std::fs::create_dir_all(&directory).expect("the site's directory can be written");
        Self { directory }
    }

    /// Its own directory, which stands in the command lines of those before it.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The resource.
    pub fn resource(&self) -> String {
        let directory = self.directory.display();
        let test = std::process::id();
        format!(
            "exec {{ 'gate': provider => shell, timeout => 0, command => 'echo here >> \
             {directory}/came; while [ ! -e {directory}/open ] && kill -0 {test}; do sleep 0.1; \
             done' }}\n"
        )
    }

    /// Waits until a run stands before it.
    pub async fn reached(&self) {
        // A shell script can tell by a file only.
        let came = async {
            while self.count() == 0 {
                tokio::time::sleep(LOOK).await;
            }
        };
        let came = tokio::time::timeout(PATIENCE, came).await;
        came.expect("a run of Puppet comes to the gate");
    }

    /// Lets all runs through, also later ones.
    pub fn open(&self) {
        std::fs::write(self.directory.join("open"), "").expect("the gate can be opened");
    }

    /// How many runs came so far.
    pub fn count(&self) -> usize {
        let came = std::fs::read_to_string(self.directory.join("came"));
        came.map_or(0, |text| text.lines().count())
    }
}
