//! Files of g10k, with keys that r10k does not have: what is deployed of them is what g10k deploys.

use std::path::Path;

use code_deployments::Deployer;
use code_settings::R10kSettings;

use crate::r10k::{commit, run, tree};

/// Settings as a site of g10k has them.
fn settings(root: &Path, basedir: &str) -> String {
    format!(
        "---\n:cachedir: '{root}/cache'\nmaxworker: 4\nmaxextractworker: 4\ntimeout: 30\n\
         retry_git_commands: true\nuse_cache_fallback: false\nforge_base_url: 'https://forge.invalid'\n\
         deploy:\n  purge_levels: ['deployment', 'puppetfile']\n\
         sources:\n  main:\n    remote: '{root}/control'\n    basedir: '{root}/{basedir}/'\n    \
         warn_if_branch_is_missing: true\n    exit_if_unreachable: true\n    invalid_branches: 'correct'\n",
        root = root.display()
    )
}

#[tokio::test]
async fn environments_of_a_file_of_g10k_are_file_for_file_those_of_g10k() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for (path, text) in [
        ("module/manifests/init.pp", "class apt { }\n".to_owned()),
        ("module/VERSION", "1".to_owned()),
        (
            "control/site/role/manifests/init.pp",
            "class role { }\n".to_owned(),
        ),
        (
            "control/Puppetfile",
            format!(
                "mod 'apt',\n  :git => '{}/module',\n  :branch => 'main'\n",
                root.display()
            ),
        ),
    ] {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    commit(&root.join("module"), "main");
    commit(&root.join("control"), "production");
    run(&root.join("control"), "git", &["branch", "feature-x"]);
    let theirs = root.join("g10k.yaml");
    std::fs::write(&theirs, settings(root, "theirs")).unwrap();
    std::fs::create_dir(root.join("theirs")).unwrap();
    run(root, "g10k", &["-config", &theirs.display().to_string()]);

    let read = R10kSettings::parse(&settings(root, "ours")).unwrap();
    let deployer = Deployer::open(read.settings(root.join("deploys")), read.git.clone()).unwrap();
    let round = deployer.start_round();
    let environments = deployer.list_environments(&round).await.unwrap();
    assert_eq!(environments.by_name.len(), 2);
    for found in environments.by_name.values() {
        let built = deployer.build(found, &round).await.unwrap();
        deployer
            .switch(&built.environment, &built.signature)
            .await
            .unwrap();
        let name = found.environment.as_str();
        let theirs = tree(&root.join("theirs").join(name));
        assert!(theirs.len() >= 4, "{name}: {:?}", theirs.keys());
        let ours = tree(&root.join("ours").join(name));
        assert_eq!(ours, theirs, "{name}");
    }
}
