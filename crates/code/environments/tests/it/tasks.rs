//! Tasks: their executable files, their supporting files, and refusals.

use crate::tree::{Tree, filenames};

#[test]
fn a_task_is_its_file_with_or_without_metadata() {
    let tree = Tree::new(&[
        ("modules/a/tasks/init.sh", "abc"),
        ("modules/a/tasks/plain", "x"),
        (
            "modules/a/tasks/init.json",
            r#"{"description":"d","supports_noop":true}"#,
        ),
        ("modules/a/tasks/README.md", ""),
        ("modules/a/tasks/init.sh~", ""),
    ]);
    let task = tree.task("a").unwrap();
    assert_eq!(filenames(&task), ["init.sh"]);
    assert!(task.metadata.supports_noop);
    let file = &task.files[0];
    assert_eq!(
        file.sha256.to_string(),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    assert_eq!(
        (file.size_bytes, &*file.uri_path),
        (3, "/puppet/v3/file_content/tasks/a/init.sh")
    );
    assert_eq!(filenames(&tree.task("a::plain").unwrap()), ["plain"]);
    assert!(tree.task("a::other").unwrap_err().is_not_found());
    assert!(tree.task("b").unwrap_err().is_not_found());
}

#[test]
fn what_is_run_is_never_guessed() {
    let tree = Tree::new(&[
        ("modules/a/tasks/init.sh", ""),
        ("modules/a/tasks/init.py", ""),
        ("modules/a/tasks/only.json", "{}"),
        (
            "modules/a/tasks/gone.json",
            r#"{"implementations":[{"name":"gone.sh"}]}"#,
        ),
        (
            "modules/a/tasks/up.json",
            r#"{"implementations":[{"name":"../x.sh"}]}"#,
        ),
    ]);
    let text = tree.refusal("a");
    assert!(
        text.contains("tasks/init.py, tasks/init.sh could all be run"),
        "{text}"
    );
    let text = tree.refusal("a::only");
    assert!(
        text.contains("no file tasks/only with any extension"),
        "{text}"
    );
    assert!(tree.refusal("a::gone").contains("no file tasks/gone.sh"));
    assert!(
        tree.refusal("a::up")
            .contains("the name of a file in the same directory")
    );
    let problems: Vec<bool> = tree
        .version()
        .tasks()
        .unwrap()
        .iter()
        .map(|task| task.problem.is_some())
        .collect();
    assert_eq!(problems, [true; 4], "lists say it, too");
}

#[test]
fn implementations_come_first_and_bring_their_files() {
    let metadata = r#"{"files":["b/files/","a/lib/x.rb"],"implementations":[
        {"name":"init_sh.sh","requirements":["shell"],"files":["b/files/deep/"]},
        {"name":"init_win.ps1","requirements":["powershell"],"files":["a/tasks/helper.sh"]}]}"#;
    let tree = Tree::new(&[
        ("modules/a/tasks/init.json", metadata),
        ("modules/a/tasks/init_sh.sh", "1"),
        ("modules/a/tasks/init_win.ps1", "2"),
        ("modules/a/tasks/helper.sh", "3"),
        ("modules/a/lib/x.rb", "4"),
        ("modules/b/files/one", "5"),
        ("modules/b/files/deep/two words", "6"),
    ]);
    let task = tree.task("a").unwrap();
    let expected = [
        "init_sh.sh",
        "init_win.ps1",
        "b/files/deep/two words",
        "b/files/one",
        "a/lib/x.rb",
        "a/tasks/helper.sh",
    ];
    assert_eq!(filenames(&task), expected);
    let uris: Vec<&str> = task
        .files
        .iter()
        .map(|file| file.uri_path.as_str())
        .collect();
    assert_eq!(
        uris[2],
        "/puppet/v3/file_content/modules/b/deep/two%20words"
    );
    assert_eq!(uris[4], "/puppet/v3/file_content/plugins/x.rb");
    assert_eq!(uris[5], "/puppet/v3/file_content/tasks/a/helper.sh");
}

#[test]
fn wrong_entries_of_files_are_named() {
    let tree = Tree::new(&[("modules/a/tasks/init.sh", ""), ("modules/a/files/d/x", "")]);
    std::fs::create_dir_all(tree.path("modules/a/files/empty")).unwrap();
    for (entry, problem) in [
        ("a/files/../../x", "`.` or `..`"),
        ("/etc/passwd", "not relative"),
        ("a/files/\\u0000", "a NUL"),
        ("a/manifests/x", "an entry is <module>/files/"),
        ("a", "an entry is <module>/files/"),
        ("b/files/x", "no such module"),
        ("a/files/none", "no such file"),
        ("a/files/d", "end the entry with `/`"),
        ("a/files/d/x/", "end the entry without `/`"),
        ("a/files/empty/", "there is no file in it"),
    ] {
        tree.write(
            "modules/a/tasks/init.json",
            format!(r#"{{"files":["{entry}"]}}"#).as_bytes(),
        );
        let text = tree.refusal("a");
        assert!(text.contains(problem), "{entry}: {text}");
    }
}

#[test]
fn broken_metadata_is_named_and_does_not_hide_other_tasks() {
    let tree = Tree::new(&[
        ("modules/a/tasks/init.sh", ""),
        ("modules/a/tasks/good.sh", ""),
    ]);
    for (metadata, problem) in [
        (b"{".to_vec(), "not JSON: the text ends inside an object"),
        (b"\xff".to_vec(), "UTF-8"),
        (b"{\"private\":1}".to_vec(), "private must be"),
        (vec![b' '; (1 << 20) + 1], "bytes; the limit is"),
    ] {
        tree.write("modules/a/tasks/init.json", &metadata);
        let text = tree.refusal("a");
        assert!(
            text.contains("init.json") && text.contains(problem),
            "{text}"
        );
    }
    let tasks = tree.version().tasks().unwrap();
    assert!(tasks[0].problem.is_some());
    assert_eq!(tasks[1].name.as_str(), "a::good");
    assert!(tasks[1].problem.is_none());
}

#[test]
fn nothing_of_a_module_that_cannot_be_used_disappears_from_the_list() {
    let tree = Tree::new(&[
        ("modules/a/tasks/init.sh", ""),
        ("modules/a/tasks/init.json", r#"{"files":["a/files/gone"]}"#),
        ("modules/b/plans/init.pp", "plan b { }"),
        ("modules/c/tasks/init.sh", ""),
        ("/elsewhere/tasks/init.sh", ""),
    ]);
    tree.link("modules/b/tasks", tree.path("/elsewhere/tasks"));
    let tasks = tree.version().tasks().unwrap();
    let told: Vec<_> = tasks
        .iter()
        .map(|task| {
            (
                task.name.as_str(),
                task.problem.as_ref().map(ToString::to_string),
            )
        })
        .collect();
    let names: Vec<_> = told.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(
        told[0]
            .1
            .as_ref()
            .is_some_and(|why| why.contains("a/files/gone")),
        "{told:?}"
    );
    assert!(
        told[1]
            .1
            .as_ref()
            .is_some_and(|why| why.contains("outside of its module")),
        "{told:?}"
    );
    assert_eq!(told[2].1, None);
}

#[test]
fn links_may_stay_in_the_module_but_not_leave_it() {
    let tree = Tree::new(&[("/secret", "s"), ("modules/a/files/real", "r")]);
    tree.link("modules/a/tasks/init.sh", tree.path("modules/a/files/real"));
    assert_eq!(filenames(&tree.task("a").unwrap()), ["init.sh"]);
    tree.link("modules/a/tasks/out.sh", tree.path("/secret"));
    assert!(tree.refusal("a::out").contains("outside of its module"));
    tree.write("modules/a/tasks/init.json", br#"{"files":["a/files/"]}"#);
    tree.link("modules/a/files/up", "../../../..");
    assert!(tree.refusal("a").contains("outside of its module"));
    std::fs::remove_file(tree.path("modules/a/files/up")).unwrap();
    tree.link("modules/a/files/dangling", "nothing");
    assert!(tree.refusal("a").contains("a link to nothing"));
    std::fs::remove_file(tree.path("modules/a/files/dangling")).unwrap();
    tree.link("modules/a/files/circle", ".");
    assert!(tree.refusal("a").contains("directories deep"));
    // The module itself may be a link, a common setup of developers.
    tree.write("/elsewhere/m/tasks/init.sh", b"x");
    tree.link("modules/m", tree.path("/elsewhere/m"));
    assert_eq!(filenames(&tree.task("m").unwrap()), ["init.sh"]);
}

#[test]
fn a_pipe_is_refused_instead_of_waited_for() {
    let tree = Tree::new(&[("modules/a/tasks/init.json", "{}")]);
    let made = std::process::Command::new("mkfifo")
        .arg(tree.path("modules/a/tasks/init.sh"))
        .status();
    assert!(made.unwrap().success());
    assert!(tree.refusal("a").contains("neither a file nor a directory"));
}

#[test]
fn a_changed_file_has_another_hash_at_once() {
    let tree = Tree::new(&[("modules/a/tasks/init.sh", "one")]);
    let version = tree.version();
    let hash = || version.task(&"a".parse().unwrap()).unwrap().files[0].sha256;
    let before = hash();
    assert_eq!(hash(), before);
    tree.write("modules/a/tasks/init.sh", b"two");
    assert_ne!(hash(), before, "same size, same second");
}
