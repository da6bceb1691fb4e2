//! Actions that run as another user, and with their own variables.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pxp::PxpMessageBody;
use pxp::action::ActionResult;
use serde_json::{Value, json};

use super::fake::Node;
use super::tasks::cached;

/// True if the tests run as root. Switching the user requires root; without it, the tests check the
/// refusal.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

async fn told(node: &Node) -> Result<ActionResult, String> {
    match node.broker.next().await {
        PxpMessageBody::BlockingResponse(response) => {
            Ok(serde_json::from_str(response.results.get()).unwrap())
        }
        PxpMessageBody::Error(error) => Err(error.description),
        other => panic!("neither a result nor an error: {other:?}"),
    }
}

/// The result of the action; `None` if the tests may not switch users, which the agent must report.
async fn as_nobody(node: &Node, module: &str, run: &Value) -> Option<ActionResult> {
    let params = json!({"run": run, "run_as": "nobody", "env": {"WHO": "it's me"}});
    node.blocking(module, "run_with", &params);
    match (told(node).await, is_root()) {
        (Ok(result), true) => Some(result),
        (Err(why), false) => {
            assert!(why.contains("only root can become another one"), "{why}");
            None
        }
        (told, _) => panic!("{told:?}"),
    }
}

#[tokio::test]
async fn a_command_runs_as_the_user_with_his_groups_and_home() {
    let node = Node::start().await;
    let command = "id -un; id -G; echo $HOME $USER $LOGNAME; echo $WHO; echo heard > /dev/stderr; \
                   cat /etc/shadow > /dev/null 2>&1 || echo kept out; exit 3";
    let Some(result) = as_nobody(&node, "command", &json!({"command": command})).await else {
        return;
    };
    let mut id = std::process::Command::new("id");
    let groups = id.args(["-G", "nobody"]).output().unwrap().stdout;
    let home = nix::unistd::User::from_name("nobody").unwrap().unwrap().dir;
    let expected = format!(
        "nobody\n{}{} nobody nobody\nit's me\nkept out\n",
        String::from_utf8(groups).unwrap(),
        home.display()
    );
    assert_eq!(result.stdout.as_deref(), Some(expected.as_str()));
    assert_eq!(result.stderr.as_deref(), Some("heard\n"));
    assert_eq!(result.exitcode, 3);
}

#[tokio::test]
async fn a_script_and_a_task_lie_where_their_user_can_read_them_and_are_gone_afterwards() {
    let node = Node::start().await;
    let text = "#!/bin/sh\nid -un\nstat -c '%U %a' \"$0\" \"$(dirname \"$(dirname \"$0\")\")\"\n\
                echo \"$0\"\necho \"$1$PT_name\"\n";
    let script = json!({"script": cached(&node, "m/say.sh", text), "arguments": ["a b"]});
    let task = json!({
        "task": "m", "input": {"name": "a b"}, "files": [cached(&node, "init.sh", text)],
    });
    for (module, run) in [("script", script), ("task", task)] {
        let Some(result) = as_nobody(&node, module, &run).await else {
            return;
        };
        let stdout = result.stdout.unwrap_or_default();
        let lines: Vec<&str> = stdout.lines().collect();
        assert_eq!(
            lines[..3],
            ["nobody", "nobody 750", "nobody 700"],
            "{stdout}"
        );
        assert_eq!(lines[4], "a b");
        assert!(lines[3].starts_with("/tmp/tutti-"), "{stdout}");
        assert!(!std::path::Path::new(lines[3]).exists(), "{stdout}");
        let directory = std::path::Path::new(lines[3]).ancestors().nth(2).unwrap();
        assert!(!directory.exists(), "{stdout}");
    }
}

#[tokio::test]
async fn somebody_who_is_not_there_runs_nothing() {
    let node = Node::start().await;
    let left = node.dir.path().join("left");
    let command = format!("touch {}", left.display());
    let params = json!({"run": {"command": command}, "run_as": "no-such-user-here"});
    node.blocking("command", "run_with", &params);
    let why = told(&node).await.unwrap_err();
    assert!(
        why.contains("there is no user \"no-such-user-here\" on this node"),
        "{why}"
    );
    assert!(!left.exists());
}

#[tokio::test]
async fn variables_alone_need_no_other_user() {
    let node = Node::start().await;
    let params = json!({"run": {"command": "echo $A"}, "env": {"A": "b c"}});
    node.blocking("command", "run_with", &params);
    let result = told(&node).await.unwrap();
    assert_eq!(result.stdout.as_deref(), Some("b c\n"));
}

#[tokio::test]
async fn files_are_collected_also_as_another_user() {
    let node = Node::start().await;
    let open = node.dir.path().join("open");
    std::fs::write(&open, "for all").unwrap();
    node.blocking("file", "collect", &json!({"path": open}));
    let result = told(&node).await.unwrap();
    let told_of: Value = serde_json::from_str(result.stdout.as_deref().unwrap()).unwrap();
    let item = json!({"path": "", "content": "Zm9yIGFsbA=="});
    let expected = json!({"is_directory": false, "items": [item], "left_out": 0});
    assert_eq!((result.exitcode, told_of), (0, expected));

    node.blocking("file", "collect", &json!({"path": "relative"}));
    assert!(told(&node).await.unwrap_err().contains("no absolute path"));
    let params = json!({"path": "/etc/shadow", "run_as": "nobody"});
    node.blocking("file", "collect", &params);
    match told(&node).await {
        Ok(result) => {
            assert!(is_root());
            assert_eq!(result.exitcode, 1);
            let words = result.stdout.unwrap();
            assert!(words.contains("cannot read /etc/shadow"), "{words}");
        }
        Err(why) => assert!(!is_root() && why.contains("only root"), "{why}"),
    }
}

#[tokio::test]
async fn a_file_in_a_request_is_written_also_as_another_user_and_kept_out_of_the_spool() {
    let node = Node::start().await;
    let (path, canary) = (node.dir.path().join("new/file"), "canary-81c2");
    let content = BASE64.encode(canary);
    let params = json!({"path": path, "content": content, "mode": 0o600});
    node.blocking("file", "place", &params);
    let result = told(&node).await.unwrap();
    assert_eq!((result.exitcode, result.stdout.as_deref()), (0, Some("{}")));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), canary);
    assert_eq!(mode(&path), 0o600);
    for searched in [canary, &content] {
        let mut grep = std::process::Command::new("grep");
        let found = grep.args(["-r", searched]).arg(&node.config.spool_dir);
        assert_eq!(found.output().unwrap().stdout, b"");
    }
    // An existing file keeps its mode.
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    node.blocking("file", "place", &params);
    assert_eq!(told(&node).await.unwrap().exitcode, 0);
    assert_eq!(mode(&path), 0o640);

    let place = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o1777)).unwrap();
    let theirs = place.path().join("theirs");
    let params = json!({"path": theirs, "content": content, "mode": 0o644, "run_as": "nobody"});
    node.blocking("file", "place", &params);
    match told(&node).await {
        Ok(result) => {
            assert!(is_root() && result.exitcode == 0, "{result:?}");
            let owner = std::fs::metadata(&theirs).unwrap().uid();
            let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
            assert_eq!(owner, nobody.uid.as_raw());
        }
        Err(why) => assert!(!is_root() && why.contains("only root"), "{why}"),
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_said_and_nothing_is_changed() {
    let node = Node::start().await;
    let at = |name: &str| node.dir.path().join(name);
    std::fs::write(at("file"), "before").unwrap();
    std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
    std::fs::create_dir(at("directory")).unwrap();
    for (name, why) in [
        ("link", "is not a file"),
        ("directory", "is not a file"),
        ("file/below", "cannot create"),
    ] {
        let params = json!({"path": at(name), "content": "eA==", "mode": 0o644});
        node.blocking("file", "place", &params);
        let result = told(&node).await.unwrap();
        assert_eq!(result.exitcode, 1);
        let words = result.stdout.unwrap();
        assert!(words.contains(why), "{words}");
    }
    assert_eq!(std::fs::read_to_string(at("file")).unwrap(), "before");
    for (path, content, why) in [
        (json!("relative"), "eA==", "no absolute path"),
        (json!("/tmp/"), "eA==", "no absolute path"),
        (json!("/tmp/.."), "eA==", "no absolute path"),
        (json!("/tmp/a\u{0}"), "eA==", "NUL"),
        (json!(at("new")), "no base64", "no Base64"),
    ] {
        let params = json!({"path": path, "content": content, "mode": 0o644});
        node.blocking("file", "place", &params);
        let words = told(&node).await.unwrap_err();
        assert!(words.contains(why), "{words}");
    }
    assert!(!at("new").exists());
}

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// A server sends a line with a secret in this way: in the environment of the shell that runs it.
#[tokio::test]
async fn a_secret_line_and_its_variables_are_in_no_argv() {
    const CANARY: &str = "canary-0c4d";
    let node = Node::start().await;
    let line = format!(
        "pw={CANARY}; for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done 2>/dev/null; \
         echo {CANARY} $A ${{_TUTTI_LINE-gone}} >&2"
    );
    let outer = r#"_line="$_TUTTI_LINE"; unset _TUTTI_LINE; eval "$_line""#;
    let nobody = is_root().then(|| json!("nobody"));
    let users = [Some(Value::Null), nobody];
    for user in users.into_iter().flatten() {
        let mut params = json!({
            "run": {"command": outer}, "env": {"_TUTTI_LINE": line, "A": CANARY},
        });
        if !user.is_null() {
            params["run_as"] = user;
        }
        node.blocking("command", "run_with", &params);
        let result = told(&node).await.unwrap();
        let words = result.stdout.unwrap();
        assert!(
            words.contains("_TUTTI_LINE"),
            "the shell was not seen: {words}"
        );
        assert!(!words.contains(CANARY), "{words}");
        let said = format!("{CANARY} {CANARY} gone\n");
        assert_eq!(result.stderr, Some(said), "it ran as it is");
    }
}
