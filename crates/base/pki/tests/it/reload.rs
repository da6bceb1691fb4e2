//! Settings follow their files; a file that cannot be used leaves them unchanged.

use std::sync::Arc;
use std::time::Duration;

use pki::{ClientAuth, ServerTls};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::tls::Site;

/// A generous timeout: the promise of one second is measured outside these tests.
const LONG: Duration = Duration::from_secs(20);

struct Watched {
    server: Arc<ServerTls>,
    reloads: watch::Receiver<u64>,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Watched {
    fn start(server: ServerTls) -> Self {
        let server = Arc::new(server);
        let (stop, reloads) = (CancellationToken::new(), server.subscribe_reloads());
        let task = tokio::spawn(server.clone().watch(stop.clone()));
        Self {
            server,
            reloads,
            stop,
            task,
        }
    }

    async fn reloaded(&mut self) {
        tokio::time::timeout(LONG, self.reloads.changed())
            .await
            .unwrap()
            .unwrap();
    }

    async fn end(self) {
        self.stop.cancel();
        tokio::time::timeout(LONG, self.task)
            .await
            .unwrap()
            .unwrap();
    }
}

#[tokio::test]
async fn a_new_list_is_in_use_and_told_of() {
    let site = Site::new();
    site.files("bad");
    let mut watched = Watched::start(site.server(ClientAuth::Optional));
    // Let the watcher read the initial state.
    tokio::task::yield_now().await;
    site.ca.revoke("bad").unwrap();
    site.update_crl();
    watched.reloaded().await;
    assert_eq!(watched.server.revocations().len(), 1);
    watched.end().await;
}

#[tokio::test]
async fn a_file_behind_a_link_is_followed() {
    let site = Site::new();
    site.files("bad");
    let mut files = site.files("server.test");
    let link = site.path("link.pem");
    std::os::unix::fs::symlink(site.ca.dir().join("ca_crl.pem"), &link).unwrap();
    files.crl = Some(link);
    let mut watched = Watched::start(ServerTls::load(files, ClientAuth::Optional).unwrap());
    tokio::task::yield_now().await;
    site.ca.revoke("bad").unwrap();
    watched.reloaded().await;
    assert_eq!(watched.server.revocations().len(), 1);
    watched.end().await;
}

#[tokio::test]
async fn a_bad_file_leaves_the_old_settings_and_a_good_one_is_taken_later() {
    let site = Site::new();
    site.files("bad");
    let mut watched = Watched::start(site.server(ClientAuth::Optional));
    tokio::task::yield_now().await;
    let before = watched.server.current();
    let good = site.ca.crl().unwrap().0;
    site.write("crl.pem", &good[..good.len() / 2]);
    assert!(watched.server.reload().is_err());
    assert!(Arc::ptr_eq(&before, &watched.server.current()));
    site.ca.revoke("bad").unwrap();
    site.update_crl();
    watched.reloaded().await;
    assert!(!Arc::ptr_eq(&before, &watched.server.current()));
    assert_eq!(watched.server.revocations().len(), 1);
    watched.end().await;
}
