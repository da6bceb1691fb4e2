//! Compiles every class of Debian's Puppet modules with real Puppet: `cargo run -p oracles --example
//! record_classes`. Writes the documents to `target/oracles/classes`, and `recorded/classes.txt`.

use anyhow::Result;
use oracles::catalog_classes::{compile_classes, write_classes};

fn main() -> Result<()> {
    write_classes(&compile_classes()?)
}
