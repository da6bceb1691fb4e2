//! Tests of host keys and logins.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::json;
use ssh::HostKeyCheck;

use crate::world::World;

#[tokio::test]
async fn a_wrong_password_is_refused_and_not_shown() {
    let mut world = World::new().await;
    let connection =
        world.connection(json!({"private-key-content": null, "password": "canary-wrong"}));
    let error = world.command(&connection, "echo x").await.error();
    assert!(error.contains("refused to let"), "{error}");
    assert!(error.contains("by its password"), "{error}");
    assert!(!error.contains("canary"), "{error}");
}

#[tokio::test]
async fn a_key_that_the_host_does_not_know_is_refused() {
    let mut world = World::new().await;
    let other = testkit::peers::Sshd::start().unwrap();
    let key = other.private_key().unwrap();
    let connection = world.connection(json!({"private-key-content": key}));
    let error = world.command(&connection, "echo x").await.error();
    assert!(error.contains("by its private key"), "{error}");
}

#[tokio::test]
async fn rsa_keys_of_every_form_let_in() {
    let mut world = World::new().await;
    for form in ["RFC4716", "PEM", "PKCS8"] {
        let kind = ["-t", "rsa", "-b", "2048", "-m", form];
        let key = world.sshd.other_private_key(&kind).unwrap();
        let connection = world.connection(json!({"private-key-content": key}));
        let result = world.command(&connection, "echo hello").await.result();
        assert_eq!(result.stdout.as_deref(), Some("hello\n"), "{form}");
    }
    let log = world.sshd.log_text();
    assert_eq!(log.matches("ssh2: RSA SHA256:").count(), 3, "{log}");
}

#[tokio::test]
async fn a_key_of_another_curve_lets_in_in_every_form() {
    let mut world = World::new().await;
    for form in ["RFC4716", "PEM", "PKCS8"] {
        let kind = ["-t", "ecdsa", "-b", "384", "-m", form];
        let key = world.sshd.other_private_key(&kind).unwrap();
        let connection = world.connection(json!({"private-key-content": key}));
        let result = world.command(&connection, "echo hello").await.result();
        assert_eq!(result.stdout.as_deref(), Some("hello\n"), "{form}");
    }
}

#[tokio::test]
async fn an_unknown_host_is_refused_before_anything_is_sent() {
    let mut world = World::with(HostKeyCheck::Strict).await;
    let connection = world.connection(json!({}));
    let error = world.command(&connection, "echo x").await.error();
    assert!(error.contains("is not known (SHA256:"), "{error}");
    assert!(error.contains("ssh-keyscan"), "{error}");
    assert!(!world.sshd.log_text().contains("Accepted"));
    assert!(!world.known_hosts().exists());
}

#[tokio::test]
async fn another_host_key_than_the_recorded_one_is_a_clear_error() {
    for check in [HostKeyCheck::Strict, HostKeyCheck::AcceptNew] {
        let mut world = World::with(check).await;
        std::fs::write(world.known_hosts(), world.sshd.known_hosts().unwrap()).unwrap();
        let connection = world.connection(json!({}));
        world.command(&connection, "true").await.result();
        world.sshd.kill();
        world.sshd.change_host_key().unwrap();
        world.sshd.resume().unwrap();
        let before = world.sshd.log_text().matches("Accepted publickey").count();
        let error = world.command(&connection, "true").await.error();
        assert!(error.contains("is not the recorded one"), "{error}");
        assert!(error.contains("another machine may intercept"), "{error}");
        let after = world.sshd.log_text().matches("Accepted publickey").count();
        assert_eq!(before, after, "nobody logged in");
    }
}

#[tokio::test]
async fn a_first_key_is_believed_once_where_that_is_the_setting() {
    let mut world = World::with(HostKeyCheck::AcceptNew).await;
    let connection = world.connection(json!({}));
    let one = world
        .ask(&connection, "command", json!({"command": "true"}))
        .await;
    let two = world
        .ask(&connection, "command", json!({"command": "true"}))
        .await;
    let mut ended = 0;
    while ended < 2 {
        if let pxp::PxpMessageBody::NonBlockingResponse(response) = world.hear().await {
            assert!([&one, &two].contains(&&response.transaction_id));
            ended += 1;
        }
    }
    let text = std::fs::read_to_string(world.known_hosts()).unwrap();
    assert_eq!(text.matches("ssh-ed25519").count(), 1, "{text}");
}

#[tokio::test]
async fn a_revoked_key_and_a_file_that_cannot_be_read_trust_nobody() {
    let mut world = World::with(HostKeyCheck::AcceptNew).await;
    let connection = world.connection(json!({}));
    let line = format!("@revoked {}", world.sshd.known_hosts().unwrap());
    std::fs::write(world.known_hosts(), line).unwrap();
    let error = world.command(&connection, "true").await.error();
    assert!(error.contains("@revoked"), "{error}");
    std::fs::remove_file(world.known_hosts()).unwrap();
    std::fs::create_dir(world.known_hosts()).unwrap();
    let error = world.command(&connection, "true").await.error();
    assert!(error.contains("cannot use"), "{error}");
}

#[tokio::test]
async fn a_host_that_is_down_silent_or_something_else_is_named() {
    let mut world = World::new().await;
    let connection = world.connection(json!({}));
    world.sshd.kill();
    let error = world.command(&connection, "true").await.error();
    assert!(error.contains("cannot connect to 127.0.0.1"), "{error}");

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let connection = world.connection(json!({"port": port, "connect-timeout": 1}));
    let error = world.command(&connection, "true").await.error();
    assert!(error.contains("did not answer within 1 s"), "{error}");

    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = other.accept().unwrap();
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        let _ = stream.read(&mut [0; 1024]);
    });
    let connection = world.connection(json!({"port": port, "connect-timeout": 5}));
    let error = world.command(&connection, "true").await.error();
    assert!(error.contains("127.0.0.1"), "{error}");
    answering.join().unwrap();
}

#[tokio::test]
async fn a_password_is_given_as_such_or_as_the_answer_to_a_question() {
    let mut world = World::with(HostKeyCheck::AcceptNew).await;
    for asks in [false, true] {
        let (port, serving) = doorkeeper::serve(asks).await;
        let connection = |password: &str| {
            let more = json!({"private-key-content": null, "password": password, "port": port});
            world.connection(more)
        };
        let (right, wrong) = (connection(doorkeeper::PASSWORD), connection("wrong"));
        // This host accepts logins and then runs nothing.
        let error = world.command(&right, "true").await.error();
        assert!(error.contains("opened no session"), "asks {asks}: {error}");
        let error = world.command(&wrong, "true").await.error();
        assert!(error.contains("refused to let"), "asks {asks}: {error}");
        serving.abort();
    }
}

/// A host that only accepts logins with the right password.
mod doorkeeper {
    use std::sync::Arc;

    use russh::keys::{Algorithm, PrivateKey};
    use russh::server::{Auth, Config, Handler, Response};
    use russh::{MethodKind, MethodSet};
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;

    pub(super) const PASSWORD: &str = "open";

    struct Door {
        asks: bool,
    }

    impl Handler for Door {
        type Error = russh::Error;

        async fn auth_password(&mut self, _: &str, password: &str) -> Result<Auth, russh::Error> {
            Ok(match !self.asks && password == PASSWORD {
                true => Auth::Accept,
                false => Auth::reject(),
            })
        }

        async fn auth_keyboard_interactive<'a>(
            &'a mut self,
            _: &str,
            _: &str,
            response: Option<Response<'a>>,
        ) -> Result<Auth, russh::Error> {
            let answer = response.and_then(|mut answers| answers.next());
            Ok(match answer {
                None => Auth::Partial {
                    name: "".into(),
                    instructions: "".into(),
                    prompts: vec![("Password: ".into(), false)].into(),
                },
                Some(answer) if &answer[..] == PASSWORD.as_bytes() => Auth::Accept,
                Some(_) => Auth::reject(),
            })
        }
    }

    pub(super) async fn serve(asks: bool) -> (u16, JoinHandle<()>) {
        let method = match asks {
            true => MethodKind::KeyboardInteractive,
            false => MethodKind::Password,
        };
        let key = PrivateKey::random(&mut rand::rng(), Algorithm::Ed25519);
        let config = Arc::new(Config {
            methods: MethodSet::from(&[method][..]),
            keys: vec![key.unwrap()],
            auth_rejection_time: std::time::Duration::ZERO,
            ..Config::default()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let config = Arc::clone(&config);
                let session = russh::server::run_stream(config, stream, Door { asks }).await;
                if let Ok(session) = session {
                    // Errors of clients that disconnect early are ignored.
                    let _ = session.await;
                }
            }
        });
        (port, serving)
    }
}
