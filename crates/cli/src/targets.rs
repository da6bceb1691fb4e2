//! Which nodes a command is for. Main type: [`Targets`].

use std::io::Read as _;
use std::path::Path;

use api_types::InventoryList;

use crate::Failure;
use crate::client::Client;
use crate::defaults::FILE_BYTES;
use crate::settings::read_limited;

/// Exactly one of the two.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Targets {
    /// Certnames, separated by commas; or @FILE with one on each line (@- is stdin)
    #[arg(long, short = 'n', value_name = "NODES")]
    nodes: Option<String>,
    /// Every node that is connected now
    #[arg(long)]
    all: bool,
}

// === impl Targets ===

impl Targets {
    pub(crate) async fn resolve(&self, client: &Client) -> Result<Vec<String>, Failure> {
        if self.all {
            let inventory: InventoryList = client
                .get(&["orchestrator", "v1", "inventory"], &[])
                .await?;
            let connected = inventory.items.into_iter().filter(|item| item.connected);
            return Ok(connected.map(|item| item.name).collect());
        }
        parse(self.nodes.as_deref().unwrap_or_default())
    }
}

/// `a,b` or `@FILE`.
pub(crate) fn parse(text: &str) -> Result<Vec<String>, Failure> {
    let names = match text.strip_prefix('@') {
        Some("-") => split(&read_stdin()?),
        Some(path) => split(&read_limited(Path::new(path))?),
        None => split(text),
    };
    if names.is_empty() {
        return Err(Failure::Usage(format!("`{text}` names no node")));
    }
    Ok(names)
}

fn split(text: &str) -> Vec<String> {
    let names = text.split([',', '\n']).map(str::trim);
    names
        .filter(|name| !name.is_empty() && !name.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

fn read_stdin() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin()
        .lock()
        .take(FILE_BYTES)
        .read_to_string(&mut text);
    read.map_err(|source| Failure::Read {
        path: "standard input".into(),
        source,
    })?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_blanks_lines_and_comments() {
        assert_eq!(split("a, b,\nc\n# no\n\n"), ["a", "b", "c"]);
    }

    #[test]
    fn nothing_is_refused() {
        assert!(
            parse(" , ")
                .unwrap_err()
                .to_string()
                .contains("names no node")
        );
    }

    #[test]
    fn a_file_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nodes");
        std::fs::write(&path, "x\ny\n").unwrap();
        assert_eq!(parse(&format!("@{}", path.display())).unwrap(), ["x", "y"]);
    }
}
