//! Trees of Subversion's revisions.

use std::path::PathBuf;

use super::{TakeError, Taking, TreeFetcher};
use crate::archive::Taken;
use crate::manifest_syntax::verify;
use crate::svn::{self, Address};
use code_store::content::{ContentError, Manifest, TreeId};
use code_store::notes::{read_note, write_note};
use code_store::tree_notes::revision_note_name;

impl TreeFetcher {
    pub(super) fn take_revision(
        &self,
        taking: &mut Taking,
        directory: &str,
        name: &str,
        address: Address,
        revision: u64,
    ) {
        let trees = self.clone();
        let of = self.svn_note(&address, revision).display().to_string();
        self.share(taking, directory, name, of, async move {
            Ok(Taken {
                manifest: trees.revision_here(&address, revision).await?,
                skipped: Vec::new(),
            })
        });
    }

    /// The tree of a revision, which is exported and checked if it is not stored.
    pub async fn revision_here(
        &self,
        address: &Address,
        revision: u64,
    ) -> Result<Manifest, TakeError> {
        let note = self.svn_note(address, revision);
        let (content, known) = (self.content.clone(), note.clone());
        let noted = tokio::task::spawn_blocking(move || {
            let id = read_note(&known).and_then(|text| text.parse::<TreeId>().ok());
            let manifest = id.map_or(Ok(None), |id| content.tree(id))?;
            Ok::<_, ContentError>(manifest.filter(|it| content.is_whole(it)))
        });
        if let Some(manifest) = noted.await.map_err(|_| TakeError::Broken)?? {
            return Ok(manifest);
        }
        let taken = svn::take_in(&self.svn, address, revision, &self.content);
        let (id, manifest) = Box::pin(taken).await?;
        let content = self.content.clone();
        let looked = tokio::task::spawn_blocking(move || {
            if let Some(unparsed) = verify(&content, &manifest)? {
                return Err(TakeError::Unparsed(unparsed));
            }
            write_note(&content, &note, &id.to_string());
            Ok(manifest)
        });
        looked.await.map_err(|_| TakeError::Broken)?
    }

    /// Path of the note with the tree of a revision.
    fn svn_note(&self, address: &Address, revision: u64) -> PathBuf {
        let url = address.shown();
        self.svn_notes.join(revision_note_name(&url, revision))
    }
}
