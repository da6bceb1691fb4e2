//! Room on the disk, for whoever deploys: [`Deployer::collect`].
//!
//! The rule that must hold: while room is made, nothing is built or switched; whoever calls it sees to that.

use super::Deployer;
use crate::archive;
use crate::content::ContentError;
use crate::gc::{self, Beside, Collected, Keep, Kept};
use crate::svn;

// === impl Deployer ===

impl Deployer {
    /// Makes room on the disk. Nothing may be built or switched meanwhile. `beside`: of notes and copies of
    /// repositories, too. Blocks.
    pub fn collect(&self, kept: &Kept, beside: bool) -> Result<Collected, ContentError> {
        let (versions, settings) = (&self.shared.versions, &self.shared.settings);
        let mut collected = gc::collect(versions, kept)?;
        if beside {
            let sources = settings.sources.iter();
            let beside = Beside {
                mirrors: &self.shared.mirrors,
                archives: &archive::directory(&settings.directory),
                svn: &svn::notes(&settings.directory),
                sources: sources.map(|it| it.remote.clone()).collect(),
            };
            gc::collect_beside(versions, beside, kept, &mut collected)?;
        }
        Ok(collected)
    }

    /// Which versions stay that nobody uses.
    pub fn keep(&self) -> Keep {
        self.shared.settings.keep
    }

    /// From now on only a server removes versions here: it knows what plans need.
    pub(crate) fn claim(&self) -> Result<(), ContentError> {
        gc::claim(&self.shared.settings.directory)
    }

    /// Whether a server deployed here, too.
    pub fn is_of_a_server(&self) -> bool {
        gc::is_claimed(&self.shared.settings.directory)
    }

    /// Packs copies of repositories that need it. Deployments may go on beside it.
    pub async fn repack(&self) {
        self.shared.mirrors.repack().await;
    }
}
