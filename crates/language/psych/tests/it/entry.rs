//! Invariants for fuzzing and property tests with arbitrary text: no panic; positions are inside
//! the text; the tree is no deeper than allowed; without aliases nothing is shared.

use psych::defaults::MAX_DEPTH;
use psych::{YamlLoadOptions, YamlTreeNode, load};

const EVERYTHING: YamlLoadOptions = YamlLoadOptions {
    aliases: true,
    symbols: true,
    times: true,
};

pub(crate) fn document(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = u32::try_from(text.split(['\n', '\r']).count()).expect("inputs are short");
    for options in [EVERYTHING, YamlLoadOptions::HIERA, YamlLoadOptions::PLAN] {
        match load(&text, options) {
            Ok(document) => {
                if let Some(root) = document.root {
                    look(&root, lines, 0);
                    assert_eq!(root, root.clone());
                }
                for warning in document.warnings {
                    assert!(warning.first_line <= warning.line);
                }
            }
            Err(error) => assert!(error.to_string().chars().count() < 400, "{error}"),
        }
    }
}

fn look(node: &YamlTreeNode, lines: u32, depth: usize) {
    assert!(depth <= MAX_DEPTH);
    assert!((1..=lines + 1).contains(&node.line), "line {}", node.line);
    assert!(node.column >= 1);
    for item in node.as_sequence().unwrap_or_default() {
        look(item, lines, depth + 1);
    }
    for (key, value) in node.as_mapping().into_iter().flatten() {
        look(key, lines, depth + 1);
        look(value, lines, depth + 1);
    }
}
