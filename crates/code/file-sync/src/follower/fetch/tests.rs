//! Downloads from servers that cut connections, ignore ranges or send wrong contents.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pki::ca::{GenerateOptions, InitOptions};
use pki::{CertificateAuthority, KeyType, ServerCertnames, TlsFiles};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;
use code_store::content::{ContentHash, ContentStore};

const BYTES: usize = 300_000;

/// A server that gives these answers, one for each connection, and closes it whatever it promised.
struct Server {
    url: reqwest::Url,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

struct World {
    directory: tempfile::TempDir,
    bytes: Vec<u8>,
    wanted: MissingContent,
    arriving: IncomingContents,
    tls: TlsFiles,
}

/// An HTTP answer; its body may be shorter than `length`.
fn answer(status: &str, headers: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// An answer without a length.
fn endless(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}connection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

// === impl Server ===

impl Server {
    async fn start(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    request.push(stream.read_u8().await.unwrap());
                }
                noted
                    .lock()
                    .unwrap()
                    .push(String::from_utf8(request).unwrap());
                stream.write_all(&answer).await.unwrap();
                stream.shutdown().await.unwrap();
            }
        });
        Self {
            url: url.parse().unwrap(),
            asked,
            task,
        }
    }

    /// The `Range` headers of the requests.
    fn ranges(&self) -> Vec<Option<String>> {
        let asked = self.asked.lock().unwrap();
        let header = |request: &String, name: &str| {
            let lines = request.lines().filter_map(|line| line.split_once(": "));
            let mut found = lines.filter(|(it, _)| *it == name);
            found.next().map(|(_, value)| value.to_owned())
        };
        let range = |request: &String| {
            let range = header(request, "range");
            assert_eq!(range.is_some(), header(request, "if-range").is_some());
            range
        };
        asked.iter().map(range).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

// === impl World ===

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let content = ContentStore::open(directory.path().join("content")).unwrap();
        let bytes: Vec<u8> = (0..BYTES).map(|it| (it * 7 % 251) as u8).collect();
        Self {
            wanted: MissingContent {
                sha256: ContentHash::of(&bytes),
                executable: false,
                size_bytes: BYTES as u64,
            },
            arriving: IncomingContents::open(&content).unwrap(),
            tls: certificate(&directory),
            bytes,
            directory,
        }
    }

    /// Path of the download.
    fn file(&self) -> PathBuf {
        let directory = self.directory.path().join("content/arriving");
        directory.join(self.wanted.sha256.to_string())
    }

    fn has(&self, bytes: &[u8]) {
        fs::write(self.file(), bytes).unwrap();
    }

    fn etag(&self) -> String {
        format!("etag: \"{}\"\r\n", self.wanted.sha256)
    }

    /// The whole content, cut after this number of bytes.
    fn whole(&self, until: usize) -> Vec<u8> {
        answer("200 OK", &self.etag(), BYTES, &self.bytes[..until])
    }

    /// The answer to a request for the rest, cut at `until`.
    fn rest(&self, first: usize, until: usize) -> Vec<u8> {
        let headers = format!("{}{}", self.etag(), range(first, BYTES - 1, BYTES));
        let body = &self.bytes[first..until];
        answer("206 Partial Content", &headers, BYTES - first, body)
    }

    async fn fetch(&self, server: &Server) -> Result<(), ContentFetchError> {
        let remote = RemoteServer::new(server.url.clone(), self.tls.clone(), ServerCertnames::Host);
        fetch(&remote, &self.arriving, &self.wanted).await
    }

    /// The fetch succeeds with these answers; `ranges` are the expected requests.
    async fn comes(&self, answers: Vec<Vec<u8>>, ranges: &[Option<usize>]) {
        let server = Server::start(answers).await;
        self.fetch(&server).await.unwrap();
        self.asked(&server, ranges);
        assert!(fs::read(self.file()).unwrap() == self.bytes);
    }

    /// The fetch fails with these answers; returns the error.
    async fn fails(&self, answers: Vec<Vec<u8>>, ranges: &[Option<usize>]) -> String {
        let server = Server::start(answers).await;
        let error = self.fetch(&server).await.unwrap_err();
        self.asked(&server, ranges);
        error.to_string()
    }

    fn asked(&self, server: &Server, ranges: &[Option<usize>]) {
        let expected = ranges.iter().map(|it| it.map(|it| format!("bytes={it}-")));
        assert_eq!(server.ranges(), expected.collect::<Vec<_>>());
    }
}

fn range(first: usize, last: usize, of: usize) -> String {
    format!("content-range: bytes {first}-{last}/{of}\r\n")
}

fn certificate(directory: &tempfile::TempDir) -> TlsFiles {
    let path = |name: &str| directory.path().join(name);
    let options = InitOptions {
        common_name: "Puppet CA: test".into(),
        key_type: KeyType::EcP256,
    };
    let ca = CertificateAuthority::init(&path("ca"), &options).unwrap();
    let made = ca.generate("compiler", &GenerateOptions::default());
    let made = made.unwrap();
    fs::write(path("ca.pem"), ca.ca_bundle().unwrap()).unwrap();
    fs::write(path("cert.pem"), made.cert_pem).unwrap();
    fs::write(path("key.pem"), made.key_pem).unwrap();
    TlsFiles {
        cert: path("cert.pem"),
        key: path("key.pem"),
        ca: path("ca.pem"),
        crl: None,
    }
}

#[tokio::test]
async fn what_broke_off_goes_on_where_it_was_and_so_does_a_follower_that_was_killed() {
    let mut world = World::new();
    let (one, two) = (100_000, 200_000);
    let cuts = vec![
        world.whole(one),
        world.rest(one, two),
        world.rest(two, BYTES),
    ];
    world.comes(cuts, &[None, Some(one), Some(two)]).await;
    // A complete content is not requested again, even after a restart of the follower.
    let content = world.arriving.content().clone();
    world.arriving = IncomingContents::open(&content).unwrap();
    world.comes(vec![], &[]).await;

    fs::remove_file(world.file()).unwrap();
    let ends = [1, 2, 3, 4].map(|it| it * 50_000);
    let mut cuts = vec![world.whole(ends[0])];
    cuts.extend(ends.windows(2).map(|it| world.rest(it[0], it[1])));
    let ranges = [None, Some(ends[0]), Some(ends[1]), Some(ends[2])];
    let why = world.fails(cuts, &ranges).await;
    assert!(why.contains("cannot be asked"), "{why}");
    world.arriving = IncomingContents::open(&content).unwrap();
    let rest = vec![world.rest(ends[3], BYTES)];
    world.comes(rest, &[Some(ends[3])]).await;
    // After an answer without progress there is no immediate retry.
    world.has(&world.bytes[..10]);
    let silent = vec![world.rest(10, 10), world.rest(10, BYTES)];
    let server = Server::start(silent).await;
    world.fetch(&server).await.unwrap_err();
    world.asked(&server, &[Some(10)]);
}

#[tokio::test]
async fn a_server_that_has_no_such_part_sends_all_of_it() {
    let world = World::new();
    let etag = world.etag();
    world.has(&world.bytes[..1_000]);
    // The server ignores the range.
    world.comes(vec![world.whole(BYTES)], &[Some(1_000)]).await;
    let part = |headers: String| answer("206 Partial Content", &headers, 299_000, &[0; 299_000]);
    let last = BYTES - 1;
    for other in [
        part(etag.clone()),
        part(format!("{etag}{}", range(0, last, BYTES))),
        part(format!("{etag}{}", range(999, last, BYTES))),
        part(format!("{etag}{}", range(1_000, last - 1, BYTES))),
        part(format!("{etag}{}", range(1_000, last, BYTES + 1))),
        part(format!("{etag}content-range: lines 1-2/3\r\n")),
        part(format!("{etag}content-range: \u{fc}\r\n")),
        part(format!("etag: \"x\"\r\n{}", range(1_000, last, BYTES))),
        part(format!("etag: W/\"x\"\r\n{}", range(1_000, last, BYTES))),
        answer("416 Range Not Satisfiable", "", 0, b""),
    ] {
        world.has(&world.bytes[..1_000]);
        let answers = vec![other, world.whole(BYTES)];
        world.comes(answers, &[Some(1_000), None]).await;
    }
    // A partial answer to a request without a range is an error.
    fs::remove_file(world.file()).unwrap();
    let why = world.fails(vec![world.rest(0, BYTES)], &[None]).await;
    assert!(why.contains("answers 206"), "{why}");
    let why = answer("416 Range Not Satisfiable", "", 0, b"");
    let why = world.fails(vec![why], &[None]).await;
    assert!(why.contains("answers 416"), "{why}");
}

#[tokio::test]
async fn lies_are_found_out_and_leave_nothing_behind() {
    let world = World::new();
    let (garbage, etag) = (vec![9; BYTES], world.etag());
    let is_empty = || assert_eq!(fs::read(world.file()).unwrap(), b"");
    let forged = answer("200 OK", &etag, BYTES, &garbage);
    let why = world.fails(vec![forged.clone()], &[None]).await;
    assert!(why.contains("came with the hash"), "{why}");
    is_empty();
    // The bytes from before may be the wrong ones, so the whole content is requested once.
    world.has(&world.bytes[..7]);
    let headers = format!("{etag}{}", range(7, BYTES - 1, BYTES));
    let lie = answer("206 Partial Content", &headers, BYTES - 7, &garbage[7..]);
    let why = world.fails(vec![lie.clone(), forged], &[Some(7), None]);
    assert!(why.await.contains("came with the hash"));
    is_empty();
    world.has(&world.bytes[..7]);
    let answers = vec![lie, world.whole(BYTES)];
    world.comes(answers, &[Some(7), None]).await;

    // Too many bytes, with or without a length, in a whole or partial answer.
    let more = [world.bytes.clone(), vec![0]].concat();
    for (has, much) in [
        (0, answer("200 OK", &etag, BYTES + 1, &more)),
        (0, endless("200 OK", &etag, &more)),
        (7, endless("206 Partial Content", &headers, &more[7..])),
    ] {
        world.has(&world.bytes[..has]);
        let ranges = [(has > 0).then_some(has)];
        let why = world.fails(vec![much], &ranges).await;
        assert!(why.contains("more than 300000 bytes"), "{why}");
        is_empty();
    }
    // A body without a length that is too short counts as broken off.
    world.has(b"");
    let little = endless("200 OK", &etag, &world.bytes[..50]);
    let answers = vec![little, world.rest(50, BYTES)];
    world.comes(answers, &[None, Some(50)]).await;
}

#[tokio::test]
async fn a_part_that_somebody_changed_is_begun_anew_and_nothing_else_is_written_to() {
    let world = World::new();
    world.has(&[9; 1_000]);
    let answers = vec![world.rest(1_000, BYTES), world.whole(BYTES)];
    world.comes(answers, &[Some(1_000), None]).await;
    // All of it, and wrong; more than there is.
    for bytes in [vec![9; BYTES], vec![9; BYTES + 1]] {
        world.has(&bytes);
        world.comes(vec![world.whole(BYTES)], &[None]).await;
    }
    // A link may lead to a file that is not a download.
    let other = world.directory.path().join("other");
    for hard in [false, true] {
        fs::write(&other, "1").unwrap();
        fs::remove_file(world.file()).unwrap();
        match hard {
            true => fs::hard_link(&other, world.file()).unwrap(),
            false => std::os::unix::fs::symlink(&other, world.file()).unwrap(),
        }
        world.comes(vec![world.whole(BYTES)], &[None]).await;
        assert_eq!(fs::read(&other).unwrap(), b"1");
    }
}

#[tokio::test]
async fn two_versions_that_want_the_same_get_it_once() {
    let world = World::new();
    let server = Server::start(vec![world.whole(BYTES)]).await;
    let remote = RemoteServer::new(server.url.clone(), world.tls.clone(), ServerCertnames::Host);
    let all = [world.wanted];
    let one = async {
        let _awaited = world.arriving.await_contents(&all).unwrap();
        fetch(&remote, &world.arriving, &world.wanted)
            .await
            .unwrap();
        world.arriving.move_into_store(&all).unwrap();
    };
    let other = async {
        let _awaited = world.arriving.await_contents(&all).unwrap();
        fetch(&remote, &world.arriving, &world.wanted)
            .await
            .unwrap();
        world.arriving.move_into_store(&all).unwrap();
    };
    tokio::join!(one, other);
    world.asked(&server, &[None]);
    let content = world.arriving.content();
    let kept = content.read(world.wanted.sha256, false).unwrap();
    assert!(kept == world.bytes);
    assert!(!world.file().exists());
}
