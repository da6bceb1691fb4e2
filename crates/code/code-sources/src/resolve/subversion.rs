//! Queries of Subversion: branches, and the numbers of revisions.

use super::{ModuleError, ResolveQuery, ResolveRound};
use crate::svn::{self, SvnAddress, SvnError};

/// Directories of the newest version and of the branches, by Subversion's convention; `trunk` is
/// also the name of the newest version's environment.
const TRUNK: &str = "trunk";
const BRANCHES: &str = "branches";
const PRODUCTION: &str = "production";

impl ResolveRound {
    /// The branches of a source in Subversion, including trunk, with their addresses.
    pub async fn svn_branches(
        &self,
        remote: &SvnAddress,
    ) -> Result<Vec<(String, SvnAddress)>, ModuleError> {
        let has = self.svn.list_directories(remote).await?;
        let has = |name: &str| has.iter().any(|it| it == name);
        if !has(TRUNK) && !has(BRANCHES) {
            return Err(SvnError::NoBranches(remote.to_public_url()).into());
        }
        let mut branches = Vec::new();
        if has(TRUNK) {
            branches.push((PRODUCTION.to_owned(), remote.join(TRUNK)));
        }
        if has(BRANCHES) {
            let below = remote.join(BRANCHES);
            for name in self.svn.list_directories(&below).await? {
                let address = below.join(&svn::escape_path_segment(&name));
                branches.push((name, address));
            }
        }
        Ok(branches)
    }

    /// The number of a revision. One that is already a number needs no query.
    pub(super) async fn query_revision(
        &self,
        address: &SvnAddress,
        named: Option<&str>,
    ) -> Result<u64, ModuleError> {
        svn::check_url(&address.url)?;
        let wanted = match svn::parse_revision(&address.url, named)? {
            svn::SvnRevision::Number(number) => return Ok(number),
            svn::SvnRevision::Keyword(wanted) => wanted,
        };
        let question = ResolveQuery::Revision {
            url: address.url.clone(),
            username: address.login.as_ref().map(|it| it.username.clone()),
            wanted: wanted.clone(),
        };
        let ask = async { Ok(self.svn.query_revision(address, &wanted).await?.to_string()) };
        let number = Box::pin(self.query_once(question, ask)).await?;
        number.parse().map_err(|_| SvnError::Internal.into())
    }
}
