//! Files from a primary server over mutual TLS.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use actions::DownloadConfig;
use pxp::PxpMessageBody;
use serde_json::{Value, json};

use super::fake::{Node, PATIENCE, request};
use super::primary::{Answer, Certificates, Primary};
use super::tasks::sha256;

const TASK: &[u8] = b"#!/bin/sh\necho downloaded and run\n";

struct Site {
    node: Node,
    primary: Primary,
    _certificates: tempfile::TempDir,
}

async fn site(answers: &[Answer]) -> Site {
    site_with(answers, |_| {}).await
}

/// A site with changed download settings.
async fn site_with(answers: &[Answer], change: impl FnOnce(&mut DownloadConfig)) -> Site {
    let directory = tempfile::tempdir().unwrap();
    let certificates = Certificates::make(directory.path());
    let primary = Primary::start(certificates.server, answers).await;
    let uri = primary.uri();
    let node = Node::start_with(|config, _| {
        config.downloads.tls = Some(certificates.agent);
        config.downloads.primary_uris = vec![uri];
        change(&mut config.downloads);
    })
    .await;
    Site {
        node,
        primary,
        _certificates: directory,
    }
}

fn task(content: &[u8]) -> Value {
    json!({"task": "m", "input": {}, "files": [{
        "filename": "init.sh",
        "sha256": sha256(content).to_uppercase(),
        "uri": {
            "path": "/puppet/v3/file_content/tasks/m/init.sh",
            "params": {"environment": "production"},
        },
    }]})
}

#[tokio::test]
async fn a_task_is_fetched_once_and_kept() {
    let site = site(&[Answer::ok(TASK)]).await;
    for _ in 0..2 {
        site.node.blocking("task", "run", &task(TASK));
        let result = site.node.broker.result().await;
        assert_eq!(result.stdout.as_deref(), Some("downloaded and run\n"));
    }
    let asked = "GET /puppet/v3/file_content/tasks/m/init.sh?environment=production HTTP/1.1";
    assert_eq!(site.primary.requests(), [asked]);
    let directory = site.node.config.task_cache_dir.join(sha256(TASK));
    for path in [&directory, &directory.join("init.sh")] {
        let mode = std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode & !0o750, mode & 0o500), (0, 0o500), "{mode:o}");
    }
    assert_eq!(
        std::fs::read_dir(directory).unwrap().count(),
        1,
        "no temporary file is left"
    );
}

#[tokio::test]
async fn many_actions_that_want_one_file_fetch_it_once() {
    let site = site(&[Answer::ok(TASK)]).await;
    for _ in 0..5 {
        site.node.blocking("task", "run", &task(TASK));
    }
    for _ in 0..5 {
        assert_eq!(site.node.broker.result().await.exitcode, 0);
    }
    assert_eq!(site.primary.requests().len(), 1);
}

#[tokio::test]
async fn a_damaged_file_in_the_cache_is_fetched_again() {
    let site = site(&[Answer::ok(TASK)]).await;
    let directory = site.node.config.task_cache_dir.join(sha256(TASK));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("init.sh"), "#!/bin/sh\necho evil\n").unwrap();
    site.node.blocking("task", "run", &task(TASK));
    let result = site.node.broker.result().await;
    assert_eq!(result.stdout.as_deref(), Some("downloaded and run\n"));
}

#[tokio::test]
async fn permanent_failures_are_told_after_one_attempt() {
    for (answer, expected) in [
        (Answer::status("HTTP/1.1 404 Not Found"), "404 Not Found"),
        (Answer::status("HTTP/1.1 403 Forbidden"), "403 Forbidden"),
        (Answer::ok(b"something else"), "but the request expects"),
    ] {
        let site = site(&[answer]).await;
        site.node.blocking("task", "run", &task(TASK));
        let error = site.node.broker.error().await;
        assert!(error.contains(expected), "{error}");
        assert!(
            error.contains("/puppet/v3/file_content/tasks/m/init.sh"),
            "{error}"
        );
        assert_eq!(site.primary.requests().len(), 1);
    }
}

#[tokio::test]
async fn temporary_failures_are_tried_again() {
    let busy = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1";
    let site = site(&[Answer::status(busy), Answer::ok(TASK)]).await;
    site.node.blocking("task", "run", &task(TASK));
    assert_eq!(site.node.broker.result().await.exitcode, 0);
    assert_eq!(site.primary.requests().len(), 2);
}

/// A site whose downloads wait for milliseconds between their attempts.
async fn impatient(answers: &[Answer], total: Duration) -> Site {
    let change = |downloads: &mut DownloadConfig| {
        downloads.backoff_max = Duration::from_millis(2);
        downloads.total_timeout = total;
    };
    site_with(answers, change).await
}

#[tokio::test]
async fn a_server_that_is_away_is_tried_for_the_whole_download_timeout() {
    let away = Answer::status("HTTP/1.1 503 Service Unavailable");
    let mut answers = vec![away.clone(); 20];
    answers.push(Answer::ok(TASK));
    let site = impatient(&answers, PATIENCE).await;
    site.node.blocking("task", "run", &task(TASK));
    assert_eq!(site.node.broker.result().await.exitcode, 0);
    assert_eq!(site.primary.requests().len(), 21);

    let site = impatient(&[away], Duration::from_millis(500)).await;
    site.node.blocking("task", "run", &task(TASK));
    let error = site.node.broker.error().await;
    assert!(error.contains("task-download-timeout"), "{error}");
    assert!(error.contains("503 Service Unavailable"), "{error}");
}

#[tokio::test]
async fn a_server_that_fails_at_a_file_is_not_tried_for_ever() {
    let broken = Answer::status("HTTP/1.1 500 Internal Server Error");
    let site = impatient(&[broken], PATIENCE).await;
    site.node.blocking("task", "run", &task(TASK));
    let error = site.node.broker.error().await;
    assert!(error.contains("500 Internal"), "{error}");
    assert_eq!(site.primary.requests().len(), 5);
}

#[tokio::test]
async fn every_primary_is_tried_in_turn() {
    let directory = tempfile::tempdir().unwrap();
    let certificates = Certificates::make(directory.path());
    let lacks = [Answer::status("HTTP/1.1 404 Not Found")];
    let first = Primary::start(certificates.server.clone(), &lacks).await;
    let second = Primary::start(certificates.server, &[Answer::ok(TASK)]).await;
    let uris = vec![first.uri(), second.uri()];
    let node = Node::start_with(|config, _| {
        config.downloads.tls = Some(certificates.agent);
        config.downloads.primary_uris = uris;
    })
    .await;
    node.blocking("task", "run", &task(TASK));
    assert_eq!(node.broker.result().await.exitcode, 0);
    assert_eq!((first.requests().len(), second.requests().len()), (1, 1));
}

#[tokio::test]
async fn a_primary_with_another_ca_is_not_trusted() {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let stranger = Certificates::make(theirs.path());
    let primary = Primary::start(stranger.server, &[Answer::ok(TASK)]).await;
    let uri = primary.uri();
    let node = Node::start_with(|config, _| {
        config.downloads.tls = Some(Certificates::make(ours.path()).agent);
        config.downloads.primary_uris = vec![uri];
    })
    .await;
    node.blocking("task", "run", &task(TASK));
    let error = node.broker.error().await;
    assert!(error.contains("certificate"), "{error}");
    assert_eq!(primary.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_cancel_ends_a_download() {
    let hangs = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 60";
    let site = site(&[Answer::status(hangs)]).await;
    let request = request("task", "run", &task(TASK), Some(true));
    let id = request.transaction_id.clone();
    site.node
        .handle(PxpMessageBody::NonBlockingRequest(request));
    site.node.broker.provisional().await;
    super::fake::until("the download is tried", || {
        !site.primary.requests().is_empty()
    })
    .await;
    site.node.handle(PxpMessageBody::Cancel {
        transaction_id: id,
        force: false,
    });
    assert!(site.node.broker.result().await.cancelled);
}

#[tokio::test]
async fn files_directories_and_links_are_put_in_place() {
    let site = site(&[Answer::ok(TASK)]).await;
    let target = site.node.dir.path().join("target");
    let at = |name: &str| target.join(name).to_str().unwrap().to_owned();
    let uri = json!({"path": "/puppet/v3/file_content/modules/m/x", "params": {}});
    let params = json!({"files": [
        {"destination": at("dir"), "kind": "directory", "link_source": "", "sha256": "", "uri": uri},
        {"destination": at("dir/file"), "kind": "file", "link_source": "", "sha256": sha256(TASK), "uri": uri},
        {"destination": at("dir/link"), "kind": "symlink", "link_source": "file", "sha256": "", "uri": uri},
    ]});
    for _ in 0..2 {
        let id = site.node.non_blocking("file", "download", &params);
        assert_eq!(site.node.broker.provisional().await, id);
        let result = site.node.broker.result().await;
        assert_eq!(
            (result.exitcode, result.stdout.as_deref()),
            (0, Some("downloaded"))
        );
    }
    assert_eq!(std::fs::read(target.join("dir/link")).unwrap(), TASK);
    assert_eq!(site.primary.requests().len(), 1);

    let mut relative = params;
    relative["files"][1]["destination"] = json!("etc/passwd");
    site.node.blocking("file", "download", &relative);
    assert!(site.node.broker.error().await.contains("no absolute path"));
}

/// A request that names servers of its files.
fn asking(node: &Node, servers: &[String], params: &Value) {
    let mut request = request("task", "run", params, None);
    request.file_servers = servers.to_vec();
    node.handle(PxpMessageBody::BlockingRequest(request));
}

#[tokio::test]
async fn the_server_that_a_request_names_comes_before_those_of_the_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let certificates = Certificates::make(directory.path());
    let named = Primary::start(certificates.server.clone(), &[Answer::ok(TASK)]).await;
    let lacks = [Answer::status("HTTP/1.1 404 Not Found")];
    let puppetserver = Primary::start(certificates.server, &lacks).await;
    for primary_uris in [vec![puppetserver.uri()], Vec::new()] {
        let agent = certificates.agent.clone();
        let node = Node::start_with(|config, _| {
            config.downloads.tls = Some(agent);
            config.downloads.primary_uris = primary_uris;
        })
        .await;
        asking(&node, &[named.uri()], &task(TASK));
        assert_eq!(node.broker.result().await.exitcode, 0);
        // The form used for agents that do not know this key, which a broker in between hides.
        let mut params = task(b"another");
        params["files"][0]["sha256"] = json!(sha256(TASK));
        let authority = named.uri().replacen("https://", "@", 1);
        params["files"][0]["filename"] = json!("other.sh");
        params["files"][0]["uri"]["path"] = json!(format!("{authority}/x/y"));
        node.blocking("task", "run", &params);
        assert_eq!(node.broker.result().await.exitcode, 0);
    }
    assert_eq!(puppetserver.requests(), Vec::<String>::new());
    assert_eq!(named.requests().len(), 4);
    assert_eq!(
        named.requests()[1],
        "GET /x/y?environment=production HTTP/1.1"
    );
}

#[tokio::test]
async fn a_failed_download_names_every_address_and_what_to_change() {
    let directory = tempfile::tempdir().unwrap();
    let certificates = Certificates::make(directory.path());
    let lacks = [Answer::status("HTTP/1.1 404 Not Found")];
    let own = Primary::start(certificates.server.clone(), &lacks).await;
    let refuses = [Answer::status("HTTP/1.1 403 Forbidden")];
    let named = Primary::start(certificates.server, &refuses).await;
    let uri = own.uri();
    let node = Node::start_with(|config, _| {
        config.downloads.tls = Some(certificates.agent);
        config.downloads.primary_uris = vec![uri];
    })
    .await;
    node.blocking("task", "run", &task(TASK));
    let error = node.broker.error().await;
    for part in [&own.uri(), "404 Not Found", "`primary-uris`"] {
        assert!(error.contains(part), "{error}");
    }
    asking(&node, &[named.uri()], &task(TASK));
    let error = node.broker.error().await;
    for part in [&own.uri(), &named.uri(), "404 Not Found", "403 Forbidden"] {
        assert!(error.contains(part), "{error}");
    }
    assert!(!error.contains("`primary-uris`"), "{error}");
}
