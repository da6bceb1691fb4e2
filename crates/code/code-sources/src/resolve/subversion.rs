//! Queries of Subversion: branches, and the numbers of revisions.

use super::{ModuleError, Question, ResolveRound};
use crate::svn::{self, Address, SvnError};

/// Directories of the newest version and of the branches, by Subversion's convention; `trunk` is
/// also the name of the newest version's environment.
const TRUNK: &str = "trunk";
const BRANCHES: &str = "branches";
const PRODUCTION: &str = "production";

impl ResolveRound {
    /// The branches of a source in Subversion, including trunk, with their addresses.
    pub async fn svn_branches(
        &self,
        remote: &Address,
    ) -> Result<Vec<(String, Address)>, ModuleError> {
        let has = self.svn.directories(remote).await?;
        let has = |name: &str| has.iter().any(|it| it == name);
        if !has(TRUNK) && !has(BRANCHES) {
            return Err(SvnError::NoBranches(remote.shown()).into());
        }
        let mut branches = Vec::new();
        if has(TRUNK) {
            branches.push((PRODUCTION.to_owned(), remote.below(TRUNK)));
        }
        if has(BRANCHES) {
            let below = remote.below(BRANCHES);
            for name in self.svn.directories(&below).await? {
                let address = below.below(&svn::escaped(&name));
                branches.push((name, address));
            }
        }
        Ok(branches)
    }

    /// The number of a revision. One that is already a number needs no query.
    pub(super) async fn revision(
        &self,
        address: &Address,
        named: Option<&str>,
    ) -> Result<u64, ModuleError> {
        svn::checked(&address.url)?;
        let wanted = match svn::wanted(&address.url, named)? {
            svn::Wanted::Number(number) => return Ok(number),
            svn::Wanted::Asked(wanted) => wanted,
        };
        let question = Question::Revision {
            url: address.url.clone(),
            username: address.login.as_ref().map(|it| it.username.clone()),
            wanted: wanted.clone(),
        };
        let ask = async { Ok(self.svn.revision(address, &wanted).await?.to_string()) };
        let number = Box::pin(self.once(question, ask)).await?;
        number.parse().map_err(|_| SvnError::Broken.into())
    }
}
