//! `tutti audit export`. Main type: [`Options`].

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use api_types::audit::AuditEntry;
use serde_json::json;

use super::AuditPages;
use crate::{CommandFailure, EXIT_SUCCESS, Result, VerbResult};

/// Arguments of `tutti audit export`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// File to create; standard output when absent. `tutti audit verify --file` checks it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Number of the first entry
    #[arg(long, default_value_t = 1, value_name = "SEQ")]
    start: u32,
}

pub(crate) async fn run(options: &Options, pages: &AuditPages) -> VerbResult {
    let start = i64::from(options.start);
    let Some(path) = &options.out else {
        let print = |entry: &AuditEntry| {
            say!("{}", json!(entry));
            Ok(())
        };
        return for_each_entry(pages, start, print).await;
    };
    let failed = CommandFailure::write(path);
    // Never overwrites a file: an export is evidence.
    let mut file = BufWriter::new(File::create_new(path).map_err(&failed)?);
    let write = |entry: &AuditEntry| writeln!(file, "{}", json!(entry)).map_err(&failed);
    for_each_entry(pages, start, write).await?;
    let file = file.into_inner();
    let file = file.map_err(|error| failed(error.into_error()))?;
    file.sync_all().map_err(failed)?;
    Ok(EXIT_SUCCESS)
}

/// Takes all entries from number `start` on, page by page.
async fn for_each_entry(
    pages: &AuditPages,
    mut start: i64,
    mut take: impl FnMut(&AuditEntry) -> Result<()>,
) -> VerbResult {
    loop {
        let page = pages.next_page(start).await?;
        let Some(last) = page.items.last() else {
            return Ok(EXIT_SUCCESS);
        };
        page.items.iter().try_for_each(&mut take)?;
        start = last.seq + 1;
    }
}
