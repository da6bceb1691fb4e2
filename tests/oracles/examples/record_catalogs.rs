//! Records the answers of real Puppet to the cases of catalogs: `cargo run -p oracles --example
//! record_catalogs [NAME..]`. Names are those of files in `cases/catalogs`, without `.txt`.

use anyhow::Result;
use oracles::catalog_cases::{CatalogRecording, catalog_case_files, read_catalog_cases};

fn main() -> Result<()> {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        names = catalog_case_files()?;
    }
    for name in names {
        let cases = read_catalog_cases(&name)?;
        CatalogRecording::ask(&cases)?.write(&name)?;
    }
    Ok(())
}
