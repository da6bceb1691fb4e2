//! Directories that are sent to nodes, and files of nodes that are stored.

use serde_json::{Value, json};

use crate::world::{World, failure, value, write};

#[tokio::test]
async fn a_directory_is_sent_whole_as_it_was_when_it_was_read() {
    let plan = "plan m::p() {\n\
                $u = upload_file('m/app', '/opt/app', 'a')\n\
                $again = upload_file('m/files/app/', '/opt/app', 'a')\n\
                $as = catch_errors() || { upload_file('m/app', '/x', 'a', _run_as => 'web') }\n\
                run_task('m::hold', 'a')\n\
                return [$u.first.value, $again.first.message, $as.message]\n}";
    let files = [
        ("m/files/app/bin/run", "#!/bin/sh\n"),
        ("m/files/app/etc/deep/conf", "x = 1\n"),
        ("m/plans/p.pp", plan),
    ];
    let mut world = World::new(&files).await;
    let run = world.module_file("m/files/app/bin/run");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&run, executable).unwrap();
    let job = world.launch("m::p", json!({})).await;
    let held = async || {
        world
            .nodes
            .ran()
            .contains(&"a m::hold".to_owned())
            .then_some(())
    };
    world.until("the task to run", held).await;
    // The plan continues with the files that were sent, even if they have changed.
    world.stop().await;
    std::fs::remove_dir_all(world.module_file("m/files/app")).unwrap();
    world.start().await;
    world.nodes.let_go();
    let given = value(world.over(job).await);
    let uploaded = json!({"_output": "Uploaded 'm/app' to 'a:/opt/app'"});
    assert_eq!(given[0], uploaded);
    assert_eq!(given[1], "Uploaded 'm/files/app/' to 'a:/opt/app'");
    let words = given[2].as_str().unwrap();
    assert!(words.contains("is a directory"), "{words}");
    let asked = world.nodes.asked("file download");
    let told = |item: &Value| json!([item["destination"], item["mode"]]);
    let told: Vec<Value> = asked[0]["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(told)
        .collect();
    let expected = json!([
        ["/opt/app", 0o755],
        ["/opt/app/bin", 0o755],
        ["/opt/app/etc", 0o755],
        ["/opt/app/bin/run", 0o755],
        ["/opt/app/etc/deep", 0o755],
        ["/opt/app/etc/deep/conf", null],
    ]);
    assert_eq!(json!(told), expected);
    assert_eq!(asked.len(), 2);
}

#[tokio::test]
async fn a_directory_that_leads_out_of_its_module_or_is_too_large_is_not_sent() {
    let plan = "plan m::p(String $what) {\n\
                return catch_errors() || { upload_file($what, '/opt/app', 'a') }.message\n}";
    let world = World::new(&[("m/files/out/a", "x"), ("m/plans/p.pp", plan)]).await;
    let link = |to: &std::path::Path, at: &str| {
        std::os::unix::fs::symlink(to, world.module_file(at)).unwrap();
    };
    link(std::path::Path::new("/etc/passwd"), "m/files/out/passwd");
    write(&world.module_file("m/files/round/a"), "x");
    link(&world.module_file("m/files/round"), "m/files/round/again");
    for number in 0..=1000 {
        write(&world.module_file(&format!("m/files/many/{number}")), "x");
    }
    for (what, why) in [
        ("m/out", "a link to outside of its module"),
        ("m/round", "cannot read"),
        ("m/many", "more than 1000 files and directories"),
    ] {
        let words = value(world.run("m::p", json!({"what": what})).await);
        let words = words.as_str().unwrap();
        assert!(words.contains(why), "{words}");
    }
    assert!(world.nodes.ran().is_empty());
}

#[tokio::test]
async fn files_of_nodes_are_kept_for_the_plan_job_and_read_again_by_nobody() {
    let plan = "plan m::p() {\n\
                $f = download_file('/etc/motd', 'motds', ['a', 'b', 'old'])\n\
                $d = download_file('/etc/app/', 'deep/app', 'a', 'the app', _run_as => 'web')\n\
                $no = download_file('/gone', 'x', 'a', _catch_errors => true)\n\
                run_task('m::hold', 'a')\n\
                return [$f.map |$r| { $r['path'] }, $f.first.message, $d.first.value, $no.first.error.message]\n}";
    let mut world = World::new(&[("m/plans/p.pp", plan)]).await;
    let job = world.launch("m::p", json!({})).await;
    let held = async || {
        world
            .nodes
            .ran()
            .contains(&"a m::hold".to_owned())
            .then_some(())
    };
    world.until("the task to run", held).await;
    world.stop().await;
    world.start().await;
    world.nodes.let_go();
    let given = value(world.over(job).await);
    let top = world.downloads().join(job.to_string());
    let motd = |node: &str| top.join("motds").join(node).join("motd");
    assert_eq!(given[0], json!([motd("a"), motd("b"), motd("old")]));
    for node in ["a", "b", "old"] {
        assert_eq!(std::fs::read_to_string(motd(node)).unwrap(), "/etc/motd");
    }
    let directory = top.join("motds/a").display().to_string();
    assert_eq!(
        given[1],
        format!("Downloaded 'a:/etc/motd' to '{directory}'")
    );
    let app = top.join("deep/app/a/app");
    assert_eq!(given[2]["path"], json!(app));
    assert_eq!(
        std::fs::read_to_string(app.join("d/f")).unwrap(),
        "/etc/app/"
    );
    assert_eq!(given[3], "cannot read /gone");
    let asked = world.nodes.asked("file collect");
    assert_eq!(asked.len(), 4);
    assert!(asked.contains(&json!({"path": "/etc/app/", "run_as": "web"})));
}

#[tokio::test]
async fn downloads_go_nowhere_else() {
    let plan = "plan m::p(String $from, String $to) {\n\
                return download_file($from, $to, 'a', _catch_errors => true).first.error.message\n}";
    let world = World::new(&[("m/plans/p.pp", plan)]).await;
    for (from, to, why) in [
        (
            "/etc/motd",
            "../out",
            "Destination must not include path traversal",
        ),
        ("/etc/motd", "/out", "Destination must be a relative path"),
        ("motd", "x", "the source of a download"),
        ("/etc/..", "x", "the source of a download"),
    ] {
        let params = json!({"from": from, "to": to});
        let (_, words) = failure(world.run("m::p", params).await);
        assert!(words.contains(why), "{words}");
    }
    assert!(world.nodes.ran().is_empty());
    let params = json!({"from": "/hostile", "to": "x"});
    let words = value(world.run("m::p", params).await);
    assert!(
        words.as_str().unwrap().contains("no path in a directory"),
        "{words}"
    );
    assert!(!world.downloads().join("5/escaped").exists());
}
