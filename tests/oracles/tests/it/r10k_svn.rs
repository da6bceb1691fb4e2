//! Modules from Subversion, as r10k deploys them. Its sources of the type svn cannot be compared: those of r10k 3.15
//! refuse options that it gives them itself.

use std::os::unix::fs::PermissionsExt as _;

use super::r10k::{commit, compare, run};

#[tokio::test]
async fn modules_of_subversion_are_file_for_file_those_of_r10k() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    run(root, "svnadmin", &["create", "svn"]);
    let url = format!("file://{}/svn", root.display());
    run(root, "svn", &["checkout", "--quiet", &url, "tree"]);
    let tree = root.join("tree");
    for (path, text) in [
        ("trunk/VERSION", "1"),
        ("trunk/files/x", "$Id$ $Revision$ $HeadURL$\n"),
        ("trunk/scripts/version.sh", "#!/bin/sh\n"),
        ("trunk/spec/x", "x"),
    ] {
        let path = tree.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let script = tree.join("trunk/scripts/version.sh");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("files/x", tree.join("trunk/link")).unwrap();
    let svn = |arguments: &[&str]| run(&tree, "svn", arguments);
    svn(&["add", "--quiet", "--force", "."]);
    let keywords = "Id Revision HeadURL";
    svn(&[
        "propset",
        "--quiet",
        "svn:keywords",
        keywords,
        "trunk/files/x",
    ]);
    svn(&["commit", "--quiet", "-mx"]);
    svn(&["update", "--quiet"]);
    std::fs::write(tree.join("trunk/VERSION"), "2").unwrap();
    svn(&["commit", "--quiet", "-mx"]);
    svn(&["update", "--quiet"]);
    // What is now at another place had its revision at the old one.
    svn(&["move", "--quiet", "trunk", "moved"]);
    svn(&["commit", "--quiet", "-mx"]);
    let puppetfile = format!(
        "mod 'newest', svn: '{url}/moved'\nmod 'first', svn: '{url}/moved', rev: '1'\n\
         mod 'typed', type: 'svn', source: '{url}/moved', version: '2'\n"
    );
    let control = root.join("control");
    std::fs::create_dir(&control).unwrap();
    std::fs::write(control.join("Puppetfile"), puppetfile).unwrap();
    commit(&control, "production");
    let source = format!("remote: {}", control.display());
    assert_eq!(compare(root, &source, 13).await, ["production"]);
}
