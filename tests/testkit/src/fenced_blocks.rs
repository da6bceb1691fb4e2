//! Blocks of code in documents. Main type: [`FencedBlock`].
//!
//! Invariant: a block ends at the first line that is a bare fence, or with the document.

/// A block between two fences of three backquotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FencedBlock<'d> {
    /// The heading above the block, without its marks.
    pub heading: &'d str,
    /// The text after the opening fence, such as `puppet`.
    pub info: &'d str,
    pub lines: Vec<&'d str>,
}

/// Reads the blocks of a Markdown text, in its order.
#[must_use]
pub fn fenced_blocks(text: &str) -> Vec<FencedBlock<'_>> {
    let mut blocks = Vec::new();
    let mut heading = "";
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            heading = line.trim_start_matches('#').trim();
        }
        if let Some(info) = line.strip_prefix("```") {
            blocks.push(FencedBlock {
                heading,
                info,
                lines: lines.by_ref().take_while(|line| *line != "```").collect(),
            });
        }
    }
    blocks
}

// === impl FencedBlock ===

impl FencedBlock<'_> {
    /// The lines of the block, each with its end.
    #[must_use]
    pub fn text(&self) -> String {
        self.lines.iter().flat_map(|line| [*line, "\n"]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_within_a_block_are_its_lines() {
        let blocks = fenced_blocks("# One\n```sh\n# Two\ntrue\n```\ntext\n```\nopen");
        let block = |info, lines: &[&'static str]| FencedBlock {
            heading: "One",
            info,
            lines: lines.to_vec(),
        };
        assert_eq!(
            blocks,
            [block("sh", &["# Two", "true"]), block("", &["open"])]
        );
        assert_eq!(blocks[0].text(), "# Two\ntrue\n");
    }
}
