//! Environments and modules from Subversion, as r10k deploys them.

use std::os::unix::fs::PermissionsExt as _;

use super::r10k::{compare, run};

#[tokio::test]
async fn trunk_and_branches_are_file_for_file_those_of_r10k() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    run(root, "svnadmin", &["create", "svn"]);
    let url = format!("file://{}/svn", root.display());
    run(root, "svn", &["checkout", "--quiet", &url, "tree"]);
    let tree = root.join("tree");
    let puppetfile = format!(
        "mod 'newest', svn: '{url}/tags/own'\nmod 'own', svn: '{url}/tags/own', rev: '1'\n\
         mod 'typed', type: 'svn', source: '{url}/tags/own', version: '1'\n"
    );
    for (path, text) in [
        ("trunk/Puppetfile", puppetfile.as_str()),
        ("trunk/site/x", "$Id$ $Revision$ $HeadURL$\n"),
        ("trunk/scripts/version.sh", "#!/bin/sh\n"),
        ("tags/own/VERSION", "1"),
        ("tags/own/spec/x", "x"),
    ] {
        let path = tree.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    std::fs::create_dir(tree.join("branches")).unwrap();
    let script = tree.join("trunk/scripts/version.sh");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("site/x", tree.join("trunk/link")).unwrap();
    run(&tree, "svn", &["add", "--quiet", "--force", "."]);
    let keywords = [
        "propset",
        "--quiet",
        "svn:keywords",
        "Id Revision HeadURL",
        "trunk/site/x",
    ];
    run(&tree, "svn", &keywords);
    run(&tree, "svn", &["commit", "--quiet", "-mx"]);
    run(&tree, "svn", &["update", "--quiet"]);
    std::fs::write(tree.join("tags/own/VERSION"), "2").unwrap();
    run(
        &tree,
        "svn",
        &["copy", "--quiet", "trunk", "branches/feature_x"],
    );
    run(
        &tree,
        "svn",
        &["copy", "--quiet", "trunk", "branches/draft"],
    );
    run(&tree, "svn", &["commit", "--quiet", "-mx"]);
    let source = format!("type: svn\n    ignore_branch_prefixes: [draft]\n    remote: {url}");
    let names = compare(root, &source, 6).await;
    assert_eq!(names, ["feature_x", "production"]);
}
