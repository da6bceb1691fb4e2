//! A server that is frozen, or whose machine is gone, does not keep the database from the next one.
//!
//! The child process (the program of this test) is the server that is stopped by a signal or cut
//! off.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use store::{OpenStoreError, Store, StoreConfig, StoreError};
use testkit::door::Door;
use testkit::postgres::{Postgres, PostgresSetup};

use crate::engine::job;

const CHILD: &str = "TUTTI_STORE_FROZEN_TEST";
/// Environment variable that makes the child write all the time.
const BUSY: &str = "TUTTI_STORE_FROZEN_TEST_BUSY";

#[tokio::test]
async fn child() {
    // Not a test of its own: the server process that is stopped.
    let Ok(url) = std::env::var(CHILD) else {
        return;
    };
    let store = Store::open(&StoreConfig::new(url)).await.unwrap();
    let busy = std::env::var(BUSY).is_ok();
    println!("open");
    let mut line = String::new();
    loop {
        if !busy {
            line.clear();
            std::io::stdin().read_line(&mut line).unwrap();
        }
        match store.insert_job(job(&["a"])).await {
            Err(error) if error.is_final() => return println!("ended {error:?}"),
            // The outcome of a commit that was in progress is not known; the next one is refused.
            Ok(_) | Err(_) => {}
        }
    }
}

/// The child process and its output lines.
struct Server {
    process: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Server {
    fn start(program: &mut Command, url: &str, busy: bool) -> Self {
        program
            .args(["--exact", "frozen::child", "--nocapture"])
            .env(CHILD, url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if busy {
            program.env(BUSY, "1");
        }
        let mut process = program.spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        wait_for(&mut lines, "open");
        Self { process, lines }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.process.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Lets the child write once more, and returns the result.
    fn last_words(&mut self) -> String {
        self.signal(Signal::CONT);
        use std::io::Write as _;
        // A busy child does not read its input.
        let _ = writeln!(self.process.stdin.take().unwrap());
        wait_for(&mut self.lines, "ended")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn wait_for(lines: &mut impl Iterator<Item = std::io::Result<String>>, word: &str) -> String {
    lines
        .map(Result::unwrap)
        .find(|line| line.contains(word))
        .unwrap()
}

fn own_program() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

/// States of the server's sessions in this database.
fn states(server: &Postgres, url: &str) -> String {
    let database = url.rsplit('/').next().unwrap();
    let sql = format!("SELECT state FROM pg_stat_activity WHERE datname = '{database}'");
    server.psql("postgres", &sql).unwrap()
}

/// P3: the frozen server holds the lock of the ledger's row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_frozen_inside_a_transaction_does_not_block_its_successor() {
    let server = Postgres::shared().unwrap();
    let url = server.create_database().unwrap();
    let mut frozen = Server::start(&mut own_program(), &url, true);
    loop {
        frozen.signal(Signal::STOP);
        if states(&server, &url).contains("idle in transaction") {
            break;
        }
        frozen.signal(Signal::CONT);
    }
    taken_over(&url, &mut frozen).await;
}

/// The frozen server holds only the advisory lock, which no timeout of PostgreSQL ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_frozen_between_transactions_does_not_block_its_successor() {
    let server = Postgres::shared().unwrap();
    let url = server.create_database().unwrap();
    let mut frozen = Server::start(&mut own_program(), &url, false);
    frozen.signal(Signal::STOP);
    taken_over(&url, &mut frozen).await;
}

/// The successor opens and writes; the frozen server can neither write nor reconnect.
async fn taken_over(url: &str, frozen: &mut Server) {
    let store = Store::open(&StoreConfig::new(url)).await.unwrap();
    let number = store.insert_job(job(&["a"])).await.unwrap().get();
    let words = frozen.last_words();
    assert!(words.contains("Superseded"), "{words}");
    let next = store.insert_job(job(&["a"])).await.unwrap().get();
    assert_eq!(next, number + 1, "nothing was written in between");
    store.close().await;
}

/// An administrator's transaction holds the lock of the ledger's row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_another_session_holds_is_not_waited_for_without_end() {
    let server = Postgres::shared().unwrap();
    let config = StoreConfig::new(server.create_database().unwrap());
    let store = Store::open(&config).await.unwrap();
    let tls = tokio_postgres::NoTls;
    let (other, connection) = tokio_postgres::connect(&config.url, tls).await.unwrap();
    let connection = tokio::spawn(connection);
    other
        .batch_execute("BEGIN; UPDATE ledger SET commits = commits")
        .await
        .unwrap();
    let error = store.insert_job(job(&["a"])).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    store.close().await;
    let error = Store::open(&config).await.unwrap_err();
    assert!(matches!(error, OpenStoreError::Engine { .. }), "{error:?}");
    drop(other);
    connection.await.unwrap().unwrap();
    Store::open(&config).await.unwrap().close().await;
}

/// P2: the network drops all packets, and PostgreSQL still has the former session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_leads_nowhere_is_replaced() {
    let server = Postgres::shared().unwrap();
    let door = Door::to(&server).unwrap();
    let url = server.create_database().unwrap();
    let config = StoreConfig {
        // Longer than the silence that the test waits for.
        patience: Duration::from_secs(120),
        ..StoreConfig::new(door.url(&url))
    };
    let store = Store::open(&config).await.unwrap();
    assert_eq!(store.insert_job(job(&["a"])).await.unwrap().get(), 1);
    door.swallow();
    assert_eq!(store.insert_job(job(&["a"])).await.unwrap().get(), 2);
    store.close().await;
}

/// P2: the machine of the server is gone, and its connections were not closed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sessions_of_a_machine_that_is_gone_end() {
    let Some(network) = Network::make() else {
        eprintln!("skipped: this account may not make network namespaces");
        return;
    };
    let server = Postgres::start_as(PostgresSetup {
        address: Some(Network::OUTSIDE.to_owned()),
        hba: vec![format!("host all all {}/32 trust", Network::INSIDE)],
        ..PostgresSetup::default()
    })
    .unwrap();
    let url = server.create_database().unwrap();
    let mut inside = network.command();
    inside.arg(std::env::current_exe().unwrap());
    // Unencrypted connections to another machine must be requested in the URL.
    let clear = format!("{url}?sslmode=disable");
    let _gone = Server::start(&mut inside, &clear, false);
    assert!(!states(&server, &url).is_empty());
    network.cut();
    while !states(&server, &url).is_empty() {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let local = server.local_url(&url);
    Store::open(&StoreConfig::new(local))
        .await
        .unwrap()
        .close()
        .await;
}

/// A network namespace with one virtual cable to this one, removed with its handle.
struct Network {
    name: String,
}

impl Network {
    const OUTSIDE: &str = "10.213.77.1";
    const INSIDE: &str = "10.213.77.2";

    fn make() -> Option<Self> {
        let name = format!("tutti{}", std::process::id());
        let network = Self { name };
        let name = &network.name;
        if !ip(&format!("netns add {name}")) {
            return None;
        }
        let (out, inn) = (network.cable(), "eth0");
        let made = [
            format!("link add {out} type veth peer name {inn} netns {name}"),
            format!("addr add {}/30 dev {out}", Self::OUTSIDE),
            format!("link set {out} up"),
            format!("-n {name} addr add {}/30 dev {inn}", Self::INSIDE),
            format!("-n {name} link set {inn} up"),
            format!("-n {name} link set lo up"),
        ];
        made.iter().all(|command| ip(command)).then_some(network)
    }

    fn cable(&self) -> String {
        format!("v{}", &self.name)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]);
        command
    }

    /// Drops all packets from now on, without notice to either end.
    fn cut(&self) {
        assert!(ip(&format!("-n {} link set eth0 down", self.name)));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // The cable is removed with one of its ends.
        ip(&format!("link del {}", self.cable()));
        ip(&format!("netns del {}", self.name));
    }
}

fn ip(arguments: &str) -> bool {
    let status = Command::new("ip")
        .args(arguments.split(' '))
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}
