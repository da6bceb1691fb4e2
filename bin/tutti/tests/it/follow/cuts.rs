//! A follower whose connection to its server breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::{NAMES, SETTINGS, deploy, environment, home, spec_of, until_version};
use crate::code::start_with;
use crate::world::{logged, until};

/// A connection to the server with a limited number of bytes.
struct Way {
    port: u16,
    /// Number of bytes allowed from the server, over all connections, and true if a connection that
    /// exceeds it is cut.
    allowed: watch::Sender<(u64, bool)>,
    came: Arc<AtomicU64>,
}

// === impl Way ===

impl Way {
    async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let way = Self {
            port: listener.local_addr().unwrap().port(),
            allowed: watch::Sender::new((0, false)),
            came: Arc::default(),
        };
        let (allowed, came) = (way.allowed.subscribe(), Arc::clone(&way.came));
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                let (mut from_near, to_near) = near.into_split();
                let (from_far, mut to_far) = far.into_split();
                let up = async move { tokio::io::copy(&mut from_near, &mut to_far).await };
                let down = Self::down(from_far, to_near, allowed.clone(), Arc::clone(&came));
                // When one direction ends, so does the other.
                tokio::spawn(async {
                    tokio::select! { _ = up => {}, () = down => {} }
                });
            }
        });
        way
    }

    async fn down(
        mut from: tokio::net::tcp::OwnedReadHalf,
        mut to: tokio::net::tcp::OwnedWriteHalf,
        mut allowed: watch::Receiver<(u64, bool)>,
        came: Arc<AtomicU64>,
    ) {
        let mut buffer = [0; 16 << 10];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            let came = came.fetch_add(count as u64, Ordering::Relaxed) + count as u64;
            let mut may = *allowed.borrow_and_update();
            while came > may.0 {
                if may.1 || allowed.changed().await.is_err() {
                    return;
                }
                may = *allowed.borrow_and_update();
            }
            if to.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
    }

    fn came(&self) -> u64 {
        self.came.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn a_large_content_goes_on_where_it_was_after_a_kill_and_a_cut() {
    const MIB: u64 = 1 << 20;
    let (world, control) = start_with(&[], SETTINGS).await;
    world.deploy().await;
    let way = Way::to(world.installation.api_port()).await;
    way.allowed.send_replace((u64::MAX, false));
    let start = || async {
        let spec = spec_of(&world, NAMES[0], way.port);
        spec.start().await.unwrap()
    };
    let first = start().await;
    until_version(&world, NAMES[0], 1).await;
    // It stops in the middle, and the follower is killed there.
    let began = way.came();
    way.allowed.send_replace((began + 8 * MIB, false));
    control.write(
        "modules/site/files/large",
        &"0123456789abcdef".repeat(24 << 16),
    );
    control.commit(2);
    deploy(&world, &json!({"environments": ["production"]})).await;
    let arriving = home(&world, NAMES[0]).join("versions/content/arriving");
    let has = || {
        let files = std::fs::read_dir(&arriving).unwrap();
        let sizes = files.filter_map(|it| it.unwrap().metadata().ok());
        sizes.map(|it| it.len()).max().unwrap_or_default()
    };
    until("a part is there", || async { has() > 6 * MIB }).await;
    first.kill().await.unwrap();
    // Next, the connection is cut.
    way.allowed.send_replace((way.came() + 8 * MIB, true));
    let second = start().await;
    logged(&second, "going on where it broke off").await;
    way.allowed.send_replace((u64::MAX, false));
    until_version(&world, NAMES[0], 2).await;
    let large = environment(&world, NAMES[0], "production").join("modules/site/files/large");
    assert_eq!(large.metadata().unwrap().len(), 24 * MIB);
    assert!(
        way.came() - began < 30 * MIB,
        "nearly nothing came twice: {}",
        way.came() - began
    );
    until("nothing is left there", || async { has() == 0 }).await;
    assert!(second.stop().await.unwrap().success());
    world.stop().await;
}
