//! `tutti audit export`. Main type: [`ConfigFileKeys`].

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::AuditPages;
use crate::{CommandFailure, EXIT_SUCCESS};

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

pub(crate) async fn run(options: &Options, pages: &AuditPages) -> Result<u8, CommandFailure> {
    let mut start = i64::from(options.start);
    let Some(path) = &options.out else {
        loop {
            let page = pages.next_page(start).await?;
            let Some(last) = page.items.last() else {
                return Ok(EXIT_SUCCESS);
            };
            start = last.seq + 1;
            for entry in &page.items {
                say!("{}", serde_json::json!(entry));
            }
        }
    };
    let mut file = BufWriter::new(create(path)?);
    let failed = |source| CommandFailure::Write {
        path: path.clone(),
        source,
    };
    loop {
        let page = pages.next_page(start).await?;
        let Some(last) = page.items.last() else {
            break;
        };
        start = last.seq + 1;
        for entry in &page.items {
            writeln!(file, "{}", serde_json::json!(entry)).map_err(failed)?;
        }
    }
    let file = file
        .into_inner()
        .map_err(|error| failed(error.into_error()))?;
    file.sync_all().map_err(failed)?;
    Ok(EXIT_SUCCESS)
}

/// Creates the file and never overwrites one: an export is evidence.
fn create(path: &Path) -> Result<File, CommandFailure> {
    File::create_new(path).map_err(|source| CommandFailure::Write {
        path: path.to_owned(),
        source,
    })
}
