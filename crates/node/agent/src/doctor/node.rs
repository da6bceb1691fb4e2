//! Checks of a node's files and disks. Main functions: [`check_files`], [`check_disks`].

use std::path::{Path, PathBuf};

use doctor::files::{CheckedService, CheckedTree, PathExpectation, examine_path, judge};
use doctor::{DiagnosisFinding, disk};

use super::{CheckedNode, UNIT};
use crate::config::Config;

/// Checks every file that the agent writes or that is configured.
pub(super) fn check_files(node: &CheckedNode) -> Vec<DiagnosisFinding> {
    let service = CheckedService {
        account: node.account(),
        unit: UNIT.to_owned(),
    };
    let looked: Vec<_> = expected(&node.config, &node.config_file)
        .into_iter()
        .map(|expected| {
            let facts = examine_path(&expected.path);
            (expected, facts)
        })
        .collect();
    judge(&looked, &service, &node.accounts)
}

fn expected(config: &Config, config_file: &Path) -> Vec<PathExpectation> {
    let of = |path: &Path| {
        let directory = path.parent().unwrap_or(Path::new("/"));
        CheckedTree::foreign(directory).read(path)
    };
    let tls = &config.connection.tls;
    let actions = &config.actions;
    let mut expected = vec![
        of(config_file),
        of(&tls.key).secret(),
        of(&tls.cert),
        of(&tls.ca),
        CheckedTree::own(&actions.spool_dir).write(""),
        CheckedTree::own(&actions.cache_dir).write(""),
    ];
    expected.extend(tls.crl.as_deref().map(of));
    expected.extend(actions.modules_dir.as_deref().map(of));
    expected
}

/// Checks the disks of the spool and of the task files.
pub(super) fn check_disks(node: &CheckedNode) -> Vec<DiagnosisFinding> {
    let actions = &node.config.actions;
    let directories: [&PathBuf; 2] = [&actions.spool_dir, &actions.cache_dir];
    let looked = directories.map(|directory| (directory.clone(), disk::examine(directory)));
    disk::judge(&looked)
}
