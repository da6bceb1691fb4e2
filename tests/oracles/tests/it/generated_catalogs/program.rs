//! A manifest by statements: [`Program`].
//!
//! A statement is a line, so that a program can be reduced by lines.

/// A class, a defined type, a node block or the statements of the top.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// The text before the brace; empty for the top.
    pub(super) head: String,
    pub(super) statements: Vec<String>,
}

/// A manifest and the classes of a classifier.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) directives: Vec<String>,
    pub(super) blocks: Vec<Block>,
}

impl Program {
    /// The program as a case.
    pub(super) fn case_text(&self) -> String {
        let mut lines = vec!["# generated".to_owned()];
        lines.extend(self.directives.iter().cloned());
        for block in &self.blocks {
            if !block.head.is_empty() {
                lines.push(format!("{} {{", block.head));
            }
            lines.extend(block.statements.iter().cloned());
            if !block.head.is_empty() {
                lines.push("}".to_owned());
            }
        }
        lines.join("\n")
    }

    /// The number of lines.
    pub(super) fn size(&self) -> usize {
        let lines = self.blocks.iter().map(|it| it.statements.len() + 1);
        self.directives.len() + lines.sum::<usize>()
    }

    /// The programs without one directive, one block or one statement.
    pub(super) fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for index in 0..self.directives.len() {
            let mut less = self.clone();
            less.directives.remove(index);
            all.push(less);
        }
        for (index, block) in self.blocks.iter().enumerate() {
            let mut less = self.clone();
            less.blocks.remove(index);
            all.push(less);
            for statement in 0..block.statements.len() {
                let mut less = self.clone();
                less.blocks[index].statements.remove(statement);
                all.push(less);
            }
        }
        all
    }
}
