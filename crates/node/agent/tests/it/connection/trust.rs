//! Trusted peers, the agent's own identity, and the connection through a proxy.

use actions::PxpOutbox;
use agent::connection::{ConnectionConfig, ConnectionStatus, PcpVersion};
use pki::ServerCertnames;
use pki::ca::{AltName, SignOptions};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::support::{AGENT, FakeBroker, Site, TestAgent, config, controller, own};

/// Waits for two attempts of the agent that do not get beyond TLS.
async fn is_never_joined(broker: &FakeBroker) {
    for _ in 0..2 {
        match broker.accept_tls().await {
            Err(_) => {}
            // With TLS 1.3 the server has finished before the client has verified its certificate.
            Ok(mut stream) => {
                let read = tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 1]).await;
                assert!(
                    !matches!(read, Ok(n) if n > 0),
                    "the agent spoke to a stranger"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_broker_of_another_ca_is_not_joined() {
    let (site, other) = (Site::new(), Site::new());
    let broker = FakeBroker::start(&other).await;
    let _agent = TestAgent::start(config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")]));
    is_never_joined(&broker).await;
}

#[tokio::test]
async fn a_broker_of_another_name_is_not_joined() {
    let site = Site::new();
    let names = vec![AltName::Dns("elsewhere.example".into())];
    let broker = FakeBroker::with_files(site.files_for("broker.example", names)).await;
    let _agent = TestAgent::start(config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")]));
    is_never_joined(&broker).await;
}

/// Waits until an attempt failed, and returns the reason.
async fn failure(agent: &TestAgent) -> String {
    let mut status = agent.connection.status();
    let waiting = status.wait_for(|status| matches!(status, ConnectionStatus::Waiting { .. }));
    match &*waiting.await.expect("the task lives") {
        ConnectionStatus::Waiting { reason, .. } => reason.clone(),
        other => panic!("expected a wait, got {other:?}"),
    }
}

#[tokio::test]
async fn a_node_with_the_brokers_host_name_is_not_joined() {
    let site = Site::new();
    // Its alternative names include `localhost`, which the agent connects to.
    let node = FakeBroker::with_files(site.files("evil.example")).await;
    for expected in [
        ServerCertnames::default(),
        ServerCertnames::Listed(vec!["broker.example".to_owned()]),
    ] {
        let agent = TestAgent::start(ConnectionConfig {
            broker_certnames: expected,
            ..config(&site, PcpVersion::V2, &[node.uri("/pcp2/")])
        });
        is_never_joined(&node).await;
        let reason = failure(&agent).await;
        assert!(
            reason.contains("evil.example") && reason.contains("broker-certnames"),
            "{reason}"
        );
    }
    let _agent = TestAgent::start(ConnectionConfig {
        broker_certnames: ServerCertnames::Any,
        ..config(&site, PcpVersion::V2, &[node.uri("/pcp2/")])
    });
    node.accept().await.is_alive().await;
}

#[tokio::test]
async fn the_broker_is_the_one_of_the_address_where_no_other_is_named() {
    let site = Site::new();
    let broker = FakeBroker::with_files(site.files("localhost")).await;
    let _agent = TestAgent::start(ConnectionConfig {
        broker_certnames: ServerCertnames::default(),
        ..config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")])
    });
    broker.accept().await.is_alive().await;
}

#[tokio::test]
async fn a_certificate_that_was_signed_unasked_is_no_brokers() {
    let site = Site::new();
    let mut files = site.files("broker.example");
    let made = pki::csr::generate("localhost", pki::KeyType::EcP256).expect("a request");
    let submitted = site.ca.submit("localhost", made.request_pem.as_bytes());
    submitted.expect("a request that waits");
    let signed = site.ca.sign("localhost", &SignOptions::without_consent());
    files.cert = site.dir.path().join("unasked.pem");
    files.key = site.dir.path().join("unasked.key");
    std::fs::write(&files.cert, signed.expect("a certificate")).expect("a file");
    std::fs::write(&files.key, made.key_pem).expect("a file");
    let broker = FakeBroker::with_files(files).await;
    let agent = TestAgent::start(ConnectionConfig {
        broker_certnames: ServerCertnames::Any,
        ..config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")])
    });
    is_never_joined(&broker).await;
    let reason = failure(&agent).await;
    assert!(reason.contains("certificate"), "{reason}");
}

#[tokio::test]
async fn a_revoked_broker_is_joined_only_by_those_who_have_no_list() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    site.ca
        .revoke("broker.example")
        .expect("a certificate to revoke");
    let mut config = config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")]);
    config.tls.crl = Some(site.crl());
    let with_list = TestAgent::start(config.clone());
    is_never_joined(&broker).await;
    drop(with_list);

    config.tls.crl = None;
    let _without_list = TestAgent::start(config);
    broker.accept().await.is_alive().await;
}

#[tokio::test]
async fn a_connection_is_dropped_when_its_broker_is_revoked() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    site.files("other.example");
    let mut config = config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")]);
    config.tls.crl = Some(site.crl());
    let agent = TestAgent::start(config);
    let mut peer = broker.accept().await;
    agent.connected().await;
    let mut connected = agent.outbox.connected();

    site.ca.revoke("other.example").expect("a certificate");
    site.crl();
    agent.connection.revocations().send_replace(());
    peer.is_alive().await;

    site.ca.revoke("broker.example").expect("a certificate");
    site.crl();
    agent.connection.revocations().send_replace(());
    while peer.next().await.is_some() {}
    let down = connected.wait_for(|up| !*up).await;
    drop(down.expect("the outbox lives"));
    is_never_joined(&broker).await;
}

#[tokio::test]
async fn certificates_are_read_anew_at_every_attempt() {
    let (site, other) = (Site::new(), Site::new());
    let broker = FakeBroker::start(&site).await;
    let mut config = config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")]);
    let right_ca = std::fs::read(&config.tls.ca).expect("the CA's file");
    let ca = site.dir.path().join("replaced.pem");
    std::fs::write(&ca, other.ca.ca_bundle().expect("a CA certificate")).expect("a file");
    config.tls.ca = ca.clone();
    let _agent = TestAgent::start(config);
    is_never_joined(&broker).await;
    std::fs::write(&ca, right_ca).expect("a file");
    broker.accept().await.is_alive().await;
}

#[tokio::test]
async fn missing_files_are_waited_for() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let config = config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")]);
    let key = config.tls.key.clone();
    let away = site.dir.path().join("away.key");
    std::fs::rename(&key, &away).expect("a file to move");
    let agent = TestAgent::start(config);
    let mut status = agent.connection.status();
    let waiting = status
        .wait_for(|status| matches!(status, agent::connection::ConnectionStatus::Waiting { reason, .. } if reason.contains("node1.example.key")))
        .await;
    drop(waiting.expect("the task lives"));
    std::fs::rename(&away, &key).expect("a file to move");
    broker.accept().await.is_alive().await;
}

#[tokio::test]
async fn the_whole_chain_is_shown() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let config = config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")]);
    let mut chain = std::fs::read_to_string(&config.tls.cert).expect("the agent's file");
    chain.push_str(&site.ca.ca_bundle().expect("a CA certificate"));
    std::fs::write(&config.tls.cert, chain).expect("a file");
    let _agent = TestAgent::start(config);
    assert_eq!(broker.accept().await.chain_length, 2);
}

/// A proxy for one tunnel; returns the request line that it received.
async fn tunnel(listener: &TcpListener, answer: &str) -> String {
    let (mut client, _) = listener.accept().await.expect("a connection");
    let mut lines = BufReader::new(&mut client).lines();
    let request = lines.next_line().await.expect("text").expect("a request");
    while !lines
        .next_line()
        .await
        .expect("text")
        .expect("a header")
        .is_empty()
    {}
    drop(lines);
    client
        .write_all(answer.as_bytes())
        .await
        .expect("an open connection");
    if answer.contains(" 200 ") {
        let target = request.split(' ').nth(1).expect("a target").to_owned();
        tokio::spawn(async move {
            let mut server = TcpStream::connect(target).await.expect("the broker");
            // Ends when either side closes.
            let _ = copy_bidirectional(&mut client, &mut server).await;
        });
    }
    request
}

#[tokio::test]
async fn a_proxy_is_asked_for_a_tunnel_until_it_gives_one() {
    let site = Site::new();
    let broker = FakeBroker::start(&site).await;
    let proxy = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("http://{}", proxy.local_addr().expect("a bound socket"));
    let _agent = TestAgent::start(ConnectionConfig {
        proxy: Some(address.parse().expect("a proxy's address")),
        ..config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")])
    });
    let expected = format!("CONNECT localhost:{} HTTP/1.1", broker.port());
    for refusal in [
        "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n".to_owned(),
        "nonsense\r\n\r\n".to_owned(),
        format!("HTTP/1.1 200 OK\r\nX: {}\r\n", "x".repeat(9_000)).replace(" 200 ", " 502 "),
    ] {
        assert_eq!(tunnel(&proxy, &refusal).await, expected);
    }
    tunnel(
        &proxy,
        "HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n",
    )
    .await;
    let mut peer = broker.accept().await;
    peer.is_alive().await;
    assert_eq!(peer.path, "/pcp2/agent");
}

#[tokio::test]
async fn the_name_is_the_common_name_wherever_it_stands() {
    let site = Site::new();
    // A CA with another layout of the subject, which puts the organisation first.
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "Another CA");
    let other_ca = params.self_signed(&key).expect("a certificate");
    let issuer = rcgen::Issuer::new(params, key);
    let node_key = rcgen::KeyPair::generate().expect("a key");
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(rcgen::DnType::OrganizationName, "Some Org");
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, AGENT);
    let node = params.signed_by(&node_key, &issuer).expect("a certificate");

    let mut broker_files = site.files("broker.example");
    let both = site.dir.path().join("both.pem");
    let bundle = site.ca.ca_bundle().expect("a CA certificate") + &other_ca.pem();
    std::fs::write(&both, bundle).expect("a file");
    broker_files.ca = both;
    let broker = FakeBroker::with_files(broker_files).await;
    let config = config(&site, PcpVersion::V2, &[broker.uri("/pcp2/")]);
    std::fs::write(&config.tls.cert, node.pem()).expect("a file");
    std::fs::write(&config.tls.key, node_key.serialize_pem()).expect("a file");
    let agent = TestAgent::start(config);
    let mut peer = broker.accept().await;
    agent.connected().await;
    let body = pxp::PxpMessageBody::ProvisionalResponse {
        transaction_id: "t".parse().expect("a transaction id"),
    };
    agent
        .outbox
        .send(&controller(), body)
        .await
        .expect("a connection");
    assert_eq!(peer.message().await.sender, Some(own()));
}
