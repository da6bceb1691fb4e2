//! Modules from a Forge.

use code_settings::DeploymentSettings;
use code_store::version_lock::ModuleOrigin;
use tar::EntryType;

use crate::world::World;
use testkit::forge_server::{ForgeServer, Tar, md5, sha256};

/// Creates a world that uses this Forge.
fn world(forge: &ForgeServer) -> World {
    let address = forge.address.clone();
    World::with(move |settings: &mut DeploymentSettings| {
        settings.forge.baseurl.clone_from(&address);
        settings.forge.authorization_token = Some("Bearer token-of-forge".into());
        // The proxy of the test machine's environment is not used.
        settings.forge.proxy = Some(String::new());
    })
}

fn version(world: &World) -> String {
    world.files("production")["modules/apache/VERSION"].clone()
}

#[tokio::test]
async fn a_release_is_brought_once_and_then_nobody_is_asked() {
    let forge = ForgeServer::start().await;
    let archive = Tar::module("puppetlabs-apache", "1.2.3")
        .raw(
            "puppetlabs-apache-1.2.3/files/run.sh",
            EntryType::Regular,
            0o755,
            "",
            b"#!/bin/sh\n",
        )
        .file("puppetlabs-apache-1.2.3/spec/x_spec.rb", "x")
        .file("beside", "is not in the module")
        .gz();
    forge.publish("puppetlabs-apache", "1.2.3", &archive);
    let mut world = world(&forge);
    world.puppetfile("mod 'puppetlabs/apache', '1.2.3'");
    let built = world.deploy("production").await.unwrap();
    let files = world.files("production");
    let paths: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        paths,
        [
            "Puppetfile",
            "modules/apache/VERSION",
            "modules/apache/files/run.sh",
            "modules/apache/metadata.json"
        ]
    );
    let expected = ModuleOrigin::Forge {
        forge: format!("{}/", forge.address),
        version: "1.2.3".to_owned(),
        sha256: sha256(&archive),
    };
    assert_eq!(built.lock.modules[0].origin, expected);
    let path = "/v3/files/puppetlabs-apache-1.2.3.tar.gz";
    assert_eq!(
        forge.asked(),
        ["/v3/releases/puppetlabs-apache-1.2.3", path]
    );
    assert!(
        forge
            .header(path, "user-agent")
            .unwrap()
            .starts_with("tutti/")
    );
    assert_eq!(
        forge.header(path, "authorization").as_deref(),
        Some("Bearer token-of-forge")
    );
    // After a restart, another environment needs no request, since everything is stored.
    world.control().git(&["branch", "other"]);
    world.restart();
    world.deploy("other").await.unwrap();
    assert!(world.deploy("production").await.unwrap().existed_before);
    assert_eq!(forge.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn latest_follows_and_what_names_no_version_stays() {
    let forge = ForgeServer::start().await;
    let publish = |version: &str| {
        let archive = Tar::module("puppetlabs-apache", version).gz();
        forge.publish("puppetlabs-apache", version, &archive);
    };
    publish("1.0.0");
    let world = world(&forge);
    world.puppetfile("mod 'puppetlabs-apache'");
    world.deploy("production").await.unwrap();
    assert_eq!(version(&world), "1.0.0");
    publish("2.0.0");
    world.deploy("production").await.unwrap();
    assert_eq!(
        version(&world),
        "1.0.0",
        "it stays as it was installed first"
    );
    world.puppetfile("mod 'puppetlabs/apache', :latest");
    world.deploy("production").await.unwrap();
    assert_eq!(version(&world), "2.0.0");
    world.puppetfile("mod 'puppetlabs/apache', '1.0.0'");
    world.deploy("production").await.unwrap();
    assert_eq!(version(&world), "1.0.0");
}

#[tokio::test]
async fn a_release_that_is_something_else_is_refused() {
    let forge = ForgeServer::start().await;
    let world = world(&forge);
    world.control().write("VERSION", "1").commit();
    world.deploy("production").await.unwrap();
    let archive = Tar::module("a-b", "1.0.0").gz();
    world.puppetfile("mod 'a/b', '1.0.0'");
    for (checksum, said) in [
        (r#""file_sha256": "00""#.to_owned(), "not 00"),
        (r#""file_md5": "00""#.to_owned(), "not 00"),
        (r#""file_md5": """#.to_owned(), "no checksum of a-b-1.0.0"),
    ] {
        forge.publish_with("a-b", "1.0.0", &archive, &checksum);
        let error = world.deploy("production").await.unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
        assert!(!world.live("production").join("modules").exists());
    }
    let checksum = format!(r#""file_sha256": null, "file_md5": "{}""#, md5(&archive));
    forge.publish_with("a-b", "1.0.0", &archive, &checksum);
    // A wrong checksum is not cached, so the release is requested again.
    let built = world.deploy("production").await.unwrap();
    let ModuleOrigin::Forge { sha256: found, .. } = &built.lock.modules[0].origin else {
        panic!("{built:?}");
    };
    assert_eq!(*found, sha256(&archive));
    forge.asked();
    world.control().git(&["branch", "other"]);
    world.deploy("other").await.unwrap();
    assert_eq!(forge.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn what_passes_is_asked_again_and_what_does_not_is_told() {
    let forge = ForgeServer::start().await;
    forge.publish("a-b", "1.0.0", &Tar::module("a-b", "1.0.0").gz());
    forge.fail("/v3/releases/a-b-1.0.0", 1, 503);
    forge.fail("/v3/files/a-b-1.0.0.tar.gz", 1, 429);
    let world = world(&forge);
    world.puppetfile("mod 'a/b', '1.0.0'");
    world.deploy("production").await.unwrap();
    let asked = forge.asked();
    assert_eq!(asked.len(), 4, "{asked:?}");
    forge.fail("/v3/releases/a-c-1.0.0", 9, 403);
    world.puppetfile("mod 'a/c', '1.0.0'\nmod 'a/d', '2.0.0'\nmod 'a/e', :latest");
    let error = world.deploy("production").await.unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    let address = &forge.address;
    assert_eq!(
        lines,
        [
            format!("module a/c: {address}/v3/releases/a-c-1.0.0 answered 403 Forbidden: not now"),
            format!("module a/d: {address}/ has no a-d-2.0.0"),
            format!("module a/e: {address}/ has no a-e"),
        ]
    );
    assert_eq!(forge.asked().len(), 3, "what is refused is not asked again");
}

#[tokio::test]
async fn links_are_left_out_and_it_is_said() {
    let forge = ForgeServer::start().await;
    let archive = Tar::module("a-b", "1.0.0")
        .entry("a-b-1.0.0/link", EntryType::Symlink, "/etc/passwd")
        .file("a-b-1.0.0/.git/config", "x");
    forge.publish("a-b", "1.0.0", &archive.gz());
    let world = world(&forge);
    world.puppetfile("mod 'a/b', '1.0.0'");
    let built = world.deploy("production").await.unwrap();
    assert!(!world.files("production").contains_key("modules/b/link"));
    assert_eq!(
        built.notes,
        [
            "a/b: .git/config of its archive is left out",
            "a/b: link of its archive is left out"
        ]
    );
}

#[tokio::test]
async fn the_puppetfiles_forge_counts_if_it_may() {
    let (own, other) = (ForgeServer::start().await, ForgeServer::start().await);
    own.publish(
        "a-b",
        "1.0.0",
        &Tar::module("a-b", "1.0.0").file("a-b-1.0.0/own", "").gz(),
    );
    other.publish(
        "a-b",
        "1.0.0",
        &Tar::module("a-b", "1.0.0").file("a-b-1.0.0/other", "").gz(),
    );
    let text = format!("forge '{}'\nmod 'a/b', '1.0.0'", other.address);
    let strict = world(&own);
    strict.puppetfile(&text);
    strict.deploy("production").await.unwrap();
    assert!(strict.files("production").contains_key("modules/b/own"));
    let address = own.address.clone();
    let open = World::with(move |settings| {
        settings.forge.baseurl.clone_from(&address);
        settings.forge.allow_puppetfile_override = true;
    });
    open.puppetfile(&text);
    open.deploy("production").await.unwrap();
    assert!(open.files("production").contains_key("modules/b/other"));
}
