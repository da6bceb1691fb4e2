//! Repositories that are reached with a token.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use code_manager::git::Access;
use code_manager::source::Source;
use code_manager::{Deployer, Git, Settings};

use crate::forge_server::ForgeServer;

#[tokio::test]
async fn a_token_is_shown_to_its_repository_and_stands_in_no_error() {
    let server = ForgeServer::start().await;
    let directory = tempfile::tempdir().unwrap();
    let token = directory.path().join("token");
    std::fs::write(&token, "t0ken").unwrap();
    let remote = |name: &str| format!("{}/{name}.git", server.address);
    let own = Access {
        oauth_token: Some(token.clone()),
        ..Access::default()
    };
    let git = Git {
        repositories: Arc::new(HashMap::from([(remote("one"), own)])),
        ..Git::default()
    };
    let refused = async |name: &str| {
        let root = directory.path().join("d");
        let mut settings = Settings::new(&root, directory.path().join("environments"));
        settings.sources = vec![Arc::new(Source::new("main", remote(name)))];
        let deployer = Deployer::open(settings, git.clone()).unwrap();
        let refused = deployer.environments(&deployer.round()).await.unwrap_err();
        std::error::Error::source(&refused).map_or_else(|| refused.to_string(), |it| it.to_string())
    };
    for (name, shown) in [("one", Some("x-oauth-token:t0ken")), ("other", None)] {
        let said = refused(name).await;
        assert!(!said.contains("t0ken"), "{said}");
        let header = server.header(&format!("/{name}.git/info/refs"), "authorization");
        let shown = shown.map(|pair| format!("Basic {}", STANDARD.encode(pair)));
        assert_eq!(header, shown, "{said}");
    }
    std::fs::remove_file(&token).unwrap();
    let said = refused("one").await;
    assert!(said.contains("cannot use the token in"), "{said}");
}
