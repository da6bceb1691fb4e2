//! A primary server with scripted answers: [`Primary`].

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};

use pki::ca::{AltName, GenerateOptions, InitOptions};
use pki::{CertificateAuthority, ClientAuth, KeyType, ServerTls, TlsFiles};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// One answer: status line and headers without the last line, and the body.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) head: &'static str,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn ok(body: &[u8]) -> Self {
        Self {
            head: "HTTP/1.1 200 OK",
            body: body.to_vec(),
        }
    }

    pub(super) fn status(head: &'static str) -> Self {
        Self {
            head,
            body: Vec::new(),
        }
    }
}

#[derive(Debug, Default)]
struct Script {
    answers: VecDeque<Answer>,
    requests: Vec<String>,
    bodies: Vec<Vec<u8>>,
}

/// A primary server that requires client certificates, as a Puppet server does.
#[derive(Debug)]
pub(super) struct Primary {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
    _serving: JoinSet<()>,
}

/// Certificates for a server and an agent.
pub(super) struct Certificates {
    pub(super) server: TlsFiles,
    pub(super) agent: TlsFiles,
}

impl Certificates {
    pub(super) fn make(directory: &Path) -> Self {
        let options = InitOptions {
            common_name: "Puppet CA: test".into(),
            key_type: KeyType::EcP256,
        };
        let ca = CertificateAuthority::init(&directory.join("ca"), &options).unwrap();
        std::fs::write(directory.join("ca.pem"), ca.ca_bundle().unwrap()).unwrap();
        let files = |name: &str| {
            let alt_names = vec![AltName::Ip(IpAddr::V4(Ipv4Addr::LOCALHOST))];
            let options = GenerateOptions {
                alt_names,
                ..GenerateOptions::default()
            };
            let made = ca.generate(name, &options).unwrap();
            let files = TlsFiles {
                cert: directory.join(format!("{name}.pem")),
                key: directory.join(format!("{name}.key")),
                ca: directory.join("ca.pem"),
                crl: None,
            };
            std::fs::write(&files.cert, made.cert_pem).unwrap();
            std::fs::write(&files.key, made.key_pem).unwrap();
            files
        };
        Self {
            server: files("primary.example"),
            agent: files("node.example"),
        }
    }
}

impl Primary {
    /// Starts a server that gives these answers, repeating the last one.
    pub(super) async fn start(files: TlsFiles, answers: &[Answer]) -> Self {
        let tls = ServerTls::load(files, ClientAuth::Required).unwrap();
        let acceptor = TlsAcceptor::from(tls.current());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::new(Mutex::new(Script {
            answers: answers.iter().cloned().collect(),
            requests: Vec::new(),
            bodies: Vec::new(),
        }));
        let mut serving = JoinSet::new();
        let shared = Arc::clone(&script);
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((tcp, _)) = listener.accept().await {
                let (acceptor, script) = (acceptor.clone(), Arc::clone(&shared));
                connections.spawn(async move {
                    let Ok(mut stream) = acceptor.accept(tcp).await else {
                        return;
                    };
                    let mut request = Vec::new();
                    while !request.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else {
                            return;
                        };
                        request.push(byte);
                    }
                    let head = String::from_utf8(request).unwrap();
                    let mut body = vec![0; content_length(&head)];
                    if stream.read_exact(&mut body).await.is_err() {
                        return;
                    }
                    let line = head.lines().next().unwrap();
                    let answer = script.lock().unwrap().answer(line, body);
                    let length = answer.body.len();
                    let head = format!(
                        "{}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n",
                        answer.head
                    );
                    let _ = stream.write_all(head.as_bytes()).await;
                    let _ = stream.write_all(&answer.body).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self {
            address,
            script,
            _serving: serving,
        }
    }

    pub(super) fn uri(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The bodies of the requests so far.
    pub(super) fn bodies(&self) -> Vec<Vec<u8>> {
        self.script.lock().unwrap().bodies.clone()
    }

    /// The request lines so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.script.lock().unwrap().requests.clone()
    }
}

fn content_length(head: &str) -> usize {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let length = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    length.map_or(0, |(_, value)| value.trim().parse().unwrap())
}

impl Script {
    fn answer(&mut self, request: &str, body: Vec<u8>) -> Answer {
        self.requests.push(request.to_owned());
        self.bodies.push(body);
        if self.answers.len() > 1 {
            self.answers.pop_front().unwrap()
        } else {
            self.answers.front().unwrap().clone()
        }
    }
}
