//! Trees of Subversion's revisions.

use std::path::PathBuf;

use super::{FetchingTrees, TreeFetchError, TreeFetcher};
use crate::archive::ArchiveTree;
use crate::manifest_syntax::verify;
use crate::svn::{self, SvnAddress};
use code_store::content::{ContentError, TreeId, TreeManifest};
use code_store::notes::{read_note, write_note};
use code_store::tree_notes::revision_note_name;

impl TreeFetcher {
    pub(super) fn fetch_revision(
        &self,
        taking: &mut FetchingTrees,
        directory: &str,
        name: &str,
        address: SvnAddress,
        revision: u64,
    ) {
        let trees = self.clone();
        let of = self.svn_note(&address, revision).display().to_string();
        self.fetch_shared(taking, directory, name, of, async move {
            Ok(ArchiveTree {
                manifest: trees.find_or_take_revision(&address, revision).await?,
                skipped: Vec::new(),
            })
        });
    }

    /// The tree of a revision, which is exported and checked if it is not stored.
    pub async fn find_or_take_revision(
        &self,
        address: &SvnAddress,
        revision: u64,
    ) -> Result<TreeManifest, TreeFetchError> {
        let note = self.svn_note(address, revision);
        let (content, known) = (self.content.clone(), note.clone());
        let noted = tokio::task::spawn_blocking(move || {
            let id = read_note(&known).and_then(|text| text.parse::<TreeId>().ok());
            let manifest = id.map_or(Ok(None), |id| content.read_tree(id))?;
            Ok::<_, ContentError>(manifest.filter(|it| content.has_all_contents(it)))
        });
        if let Some(manifest) = noted.await.map_err(|_| TreeFetchError::Internal)?? {
            return Ok(manifest);
        }
        let taken = svn::store_export(&self.svn, address, revision, &self.content);
        let (id, manifest) = Box::pin(taken).await?;
        let content = self.content.clone();
        let looked = tokio::task::spawn_blocking(move || {
            if let Some(unparsed) = verify(&content, &manifest)? {
                return Err(TreeFetchError::Unparsed(unparsed));
            }
            write_note(&content, &note, &id.to_string());
            Ok(manifest)
        });
        looked.await.map_err(|_| TreeFetchError::Internal)?
    }

    /// Path of the note with the tree of a revision.
    fn svn_note(&self, address: &SvnAddress, revision: u64) -> PathBuf {
        let url = address.to_public_url();
        self.svn_notes.join(revision_note_name(&url, revision))
    }
}
