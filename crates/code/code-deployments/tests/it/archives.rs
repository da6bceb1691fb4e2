//! Modules from valid and malicious archives.

use code_deployments::DeploymentError;
use tar::EntryType;

use crate::world::World;
use testkit::forge_server::{ForgeServer, Tar, sha256};

/// Creates a world with an archive as its module `m`, and returns the result of its deployment.
async fn deploy(
    archive: &[u8],
) -> (
    World,
    Result<code_deployments::BuiltVersion, DeploymentError>,
) {
    let world = World::new();
    std::fs::write(world.path().join("m.tar.gz"), archive).unwrap();
    let sha256 = sha256(archive);
    world.puppetfile(&format!(
        "mod 'm', type: 'tarball', source: 'file://DIR/m.tar.gz', version: '{sha256}'"
    ));
    let built = world.deploy("production").await;
    (world, built)
}

async fn refused(archive: &[u8]) -> String {
    let (world, built) = deploy(archive).await;
    assert!(!world.live("production").exists());
    let left = std::fs::read_dir(world.path().join("deploys/content/incoming")).unwrap();
    assert_eq!(left.count(), 0);
    built.unwrap_err().to_string()
}

fn paths(world: &World) -> Vec<String> {
    let files = world.files("production").into_keys();
    files.filter(|path| path.starts_with("modules/")).collect()
}

#[tokio::test]
async fn an_archive_is_taken_as_it_is_or_as_a_release() {
    let plain = Tar::new()
        .entry("./manifests/", EntryType::Directory, "")
        .file("./manifests/", "")
        .file("./manifests/init.pp", "class m { }\n")
        .entry("./link", EntryType::Symlink, "manifests/init.pp");
    let (world, built) = deploy(&plain.gz()).await;
    built.unwrap();
    assert_eq!(
        paths(&world),
        ["modules/m/link", "modules/m/manifests/init.pp"]
    );
    let (world, built) = deploy(&Tar::module("a-m", "1.0.0").gz()).await;
    built.unwrap();
    assert_eq!(
        paths(&world),
        ["modules/m/VERSION", "modules/m/metadata.json"]
    );
}

#[tokio::test]
async fn names_that_extensions_give() {
    let long = format!("{}/x", "d".repeat(150));
    let pax = |key: &str, value: &str| {
        let body = format!(" {key}={value}\n");
        let mut length = body.len() + 1;
        while format!("{length}{body}").len() != length {
            length += 1;
        }
        format!("{length}{body}")
    };
    let archive = Tar::new()
        .raw(
            "pax_global_header",
            EntryType::XGlobalHeader,
            0o644,
            "",
            pax("comment", "x").as_bytes(),
        )
        .raw(
            "././@LongLink",
            EntryType::GNULongName,
            0o644,
            "",
            format!("{long}\0").as_bytes(),
        )
        .file("short", "gnu")
        .raw(
            "pax",
            EntryType::XHeader,
            0o644,
            "",
            pax("path", "pax/ä").as_bytes(),
        )
        .file("short", "pax");
    let (world, built) = deploy(&archive.gz()).await;
    built.unwrap();
    assert_eq!(
        paths(&world),
        [format!("modules/m/{long}"), "modules/m/pax/ä".to_owned()]
    );
    let hidden = Tar::new()
        .raw(
            "pax",
            EntryType::XHeader,
            0o644,
            "",
            pax("path", "../x").as_bytes(),
        )
        .file("short", "pax");
    assert!(refused(&hidden.gz()).await.contains("no name"));
    let huge = vec![b'x'; 100_000];
    let huge = Tar::new().raw("l", EntryType::GNULongName, 0o644, "", &huge);
    assert!(
        refused(&huge.file("x", "").gz())
            .await
            .contains("cannot be unpacked")
    );
    let sized = Tar::new()
        .raw(
            "pax",
            EntryType::XHeader,
            0o644,
            "",
            pax("size", "9999").as_bytes(),
        )
        .file("short", "pax");
    assert!(refused(&sized.gz()).await.contains("cannot be unpacked"));
}

#[tokio::test]
async fn entries_that_mean_harm() {
    let deep = format!("{}x", "d/".repeat(40));
    let deep = Tar::new()
        .raw(
            "l",
            EntryType::GNULongName,
            0o644,
            "",
            format!("{deep}{deep}").as_bytes(),
        )
        .file("x", "");
    for (archive, said) in [
        (Tar::new().file("../x", ""), "no name"),
        (Tar::new().file("a/../../x", ""), "no name"),
        (Tar::new().file("/etc/x", ""), "absolute"),
        (Tar::new().entry("x", EntryType::Char, ""), "a device"),
        (Tar::new().entry("x", EntryType::Block, ""), "a device"),
        (Tar::new().entry("x", EntryType::Fifo, ""), "a pipe"),
        (
            Tar::new().file("a", "").entry("x", EntryType::Link, "a"),
            "a hard link",
        ),
        (
            Tar::new().entry("x", EntryType::GNUSparse, ""),
            "a kind that is not known",
        ),
        (
            Tar::new().entry("x", EntryType::Symlink, "/etc/passwd"),
            "leaves its tree",
        ),
        (
            Tar::new().entry("x", EntryType::Symlink, "../y"),
            "leaves its tree",
        ),
        (
            Tar::new().file("x", "1").file("./x", "2"),
            "stands in the tree twice",
        ),
        (
            Tar::new().file("x", "1").file("x/y", "2"),
            "stands in the tree twice",
        ),
        (
            Tar::new()
                .entry("x", EntryType::Symlink, "y")
                .file("x/y", "2"),
            "stands in the tree twice",
        ),
        (deep, "in more than 64 directories"),
        (
            Tar::new().file("manifests/init.pp", "class {"),
            "do not parse",
        ),
    ] {
        let error = refused(&archive.gz()).await;
        assert!(error.contains(said), "{said}: {error}");
    }
}

#[tokio::test]
async fn archives_that_are_none() {
    let whole = Tar::module("a-m", "1.0.0")
        .file("a-m-1.0.0/x", &"text ".repeat(9_999))
        .gz();
    for archive in [
        &b""[..],
        b"no archive",
        &whole[..whole.len() / 2],
        &whole[..whole.len() - 4],
    ] {
        let error = refused(archive).await;
        assert!(
            error.contains("cannot be unpacked") || error.contains("holds nothing"),
            "{error}"
        );
    }
    // A file shorter than its header states, and a truncated one: the tar is damaged, but its gzip
    // is not.
    let mut header = tar::Header::new_gnu();
    header.set_path("x").unwrap();
    header.set_size(1 << 40);
    header.set_mode(0o644);
    header.set_cksum();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, header.as_bytes()).unwrap();
    let error = refused(&gz.finish().unwrap()).await;
    assert!(
        error.contains("cannot be unpacked") || error.contains("bytes"),
        "{error}"
    );
}

#[tokio::test]
async fn from_an_address_and_with_a_wrong_checksum() {
    let server = ForgeServer::start().await;
    let archive = Tar::new().file("x", "1").gz();
    server.answer("/files/m.tar.gz", archive.clone());
    let world = World::new();
    let address = server.address.replace("http://", "http://me:secret@");
    let module = |sha256: &str| {
        format!("mod 'm', type: 'tarball', source: '{address}/files/m.tar.gz', version: '{sha256}'")
    };
    world.puppetfile(&module(&"0".repeat(64)));
    let error = world.deploy("production").await.unwrap_err().to_string();
    assert!(
        error.contains("has the checksum") && !error.contains("secret"),
        "{error}"
    );
    assert!(!world.live("production").exists());
    world.puppetfile(&module(&sha256(&archive)));
    let built = world.deploy("production").await.unwrap();
    assert!(!format!("{:?}", built.lock).contains("secret"));
    server.asked();
    // Without a checksum, the archive of the first download stays.
    world.puppetfile(&format!(
        "mod 'm', type: 'tarball', source: '{address}/files/m.tar.gz'"
    ));
    world.deploy("production").await.unwrap();
    server.answer("/files/m.tar.gz", Tar::new().file("x", "2").gz());
    world.puppetfile(&format!(
        "# again\nmod 'm', type: 'tarball', source: '{address}/files/m.tar.gz'"
    ));
    world.deploy("production").await.unwrap();
    assert_eq!(world.files("production")["modules/m/x"], "1");
    assert_eq!(server.asked(), ["/files/m.tar.gz"]);
    world.puppetfile("mod 'm', type: 'tarball', source: 'ftp://example.com/x.tar.gz'");
    let error = world.deploy("production").await.unwrap_err().to_string();
    assert!(
        error.contains("no address of a Forge or an archive"),
        "{error}"
    );
}
