use std::time::Duration;

use super::*;

struct World {
    directory: tempfile::TempDir,
    content: ContentStore,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let content = ContentStore::open(directory.path().join("content")).unwrap();
        Self { directory, content }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("content/arriving").join(name)
    }

    /// Creates a download of this age and size.
    fn came(&self, name: &str, age: Duration, bytes: u64) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(self.path("")).unwrap();
        let file = fs::File::create(&path).unwrap();
        file.set_len(bytes).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        path
    }
}

fn wanted(text: &str, executable: bool) -> MissingContent {
    MissingContent {
        sha256: ContentHash::of(text.as_bytes()),
        executable,
        size_bytes: text.len() as u64,
    }
}

fn name(text: &str) -> String {
    ContentHash::of(text.as_bytes()).to_string()
}

const HOUR: Duration = Duration::from_secs(60 * 60);

#[test]
fn what_nobody_waits_for_is_bounded() {
    let world = World::new();
    let fresh = world.came(&name("fresh"), HOUR, 7);
    let script = world.came(&format!("{}-x", name("script")), HOUR, 7);
    let ahead = world.came(&name("of a clock that was wrong"), Duration::ZERO, 7);
    let file = fs::File::open(&ahead).unwrap();
    file.set_modified(SystemTime::now() + HOUR).unwrap();
    let kept = name("kept");
    fs::write(
        world.content.object_path(kept.parse().unwrap(), false),
        "kept",
    )
    .unwrap();
    let gone = [
        world.came(&name("old"), FOLLOWER_LEFT + HOUR, 7),
        world.came(&kept, HOUR, 4),
        world.came("else", HOUR, 7),
        world.came(&"A".repeat(64), HOUR, 7),
        world.path(&name("a directory")),
        world.path(&name("a link")),
    ];
    fs::create_dir(&gone[4]).unwrap();
    fs::write(gone[4].join("file"), "").unwrap();
    std::os::unix::fs::symlink(world.directory.path(), &gone[5]).unwrap();
    let arriving = IncomingContents::open(&world.content).unwrap();
    assert!([&fresh, &script, &ahead].iter().all(|it| it.exists()));
    assert!(!gone.iter().any(|it| fs::symlink_metadata(it).is_ok()));
    assert!(world.directory.path().exists());

    // The newest stay, and awaited ones do, however old and large.
    let large = world.came(&name("large"), 2 * HOUR, FOLLOWER_LEFT_BYTES);
    let awaited = world.came(&name("awaited"), 2 * FOLLOWER_LEFT, FOLLOWER_LEFT_BYTES);
    let all = arriving
        .await_contents(&[wanted("awaited", false)])
        .unwrap();
    assert!(!large.exists() && fresh.exists() && awaited.exists());
    drop(all);
    arriving.await_contents(&[]).unwrap();
    assert!(!awaited.exists() && fresh.exists());
}

#[test]
fn contents_get_their_names_in_the_store_and_what_is_not_here_does_not() {
    let world = World::new();
    let arriving = IncomingContents::open(&world.content).unwrap();
    let all = [wanted("a", false), wanted("a", true), wanted("b", false)];
    fs::write(arriving.path(&all[0]), "a").unwrap();
    fs::write(arriving.path(&all[1]), "a").unwrap();
    arriving.move_into_store(&all).unwrap_err();
    fs::write(arriving.path(&all[2]), "b").unwrap();
    arriving.move_into_store(&all).unwrap();
    for (it, mode) in all.iter().zip([0o444, 0o555, 0o444]) {
        let object = world.content.object_path(it.sha256, it.executable);
        let metadata = fs::metadata(object).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, mode);
        assert!(!arriving.path(it).exists());
    }
    // Another version has fetched them meanwhile.
    arriving.move_into_store(&all).unwrap();

    // The disk is full: its downloads are removed.
    let more = [wanted("c", false), wanted("d", false)];
    fs::write(arriving.path(&more[0]), "c").unwrap();
    let awaited = arriving.await_contents(&more).unwrap();
    arriving.stop_waiting(&awaited);
    assert!(!arriving.path(&more[0]).exists());
}
