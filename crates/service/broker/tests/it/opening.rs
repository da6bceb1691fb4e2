//! Connecting: certificates, paths, association, superseding (B1-B11, B33-B36, B43).

use serde_json::json;
use tokio_tungstenite::tungstenite::Error;

use crate::status::get;
use crate::support::{Client, Closed, TestBroker, V1Message, World, message, open_policy, text_of};

async fn refused_upgrade(world: &World, path: &str) -> u16 {
    let broker = world.broker(|_| {});
    match Client::try_at(&broker, "a.example", path).await {
        Err(Error::Http(response)) => response.status().as_u16(),
        Err(error) => panic!("{error}"),
        Ok(_) => 101,
    }
}

#[tokio::test]
async fn b01_without_certificate_4003() {
    let broker = World::shared().broker(|_| {});
    let tls = broker.world.anonymous_tls();
    let mut client = Client::over(broker.addr(), tls, "/pcp2/agent", &[])
        .await
        .unwrap();
    let expected = Closed::Frame(4003, "No client certificate.".to_owned());
    assert_eq!(client.closed().await, expected);
}

#[tokio::test]
async fn b02_type_server_4002() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::at(&broker, "a.example", "/pcp2/server").await;
    let expected = Closed::Frame(4002, "Association unsuccessful.".to_owned());
    assert_eq!(client.closed().await, expected);
}

#[tokio::test]
async fn b03_unknown_path_404() {
    assert_eq!(refused_upgrade(&World::shared(), "/pcp3/agent").await, 404);
}

#[tokio::test]
async fn b05_silent_on_connect() {
    let broker = World::shared().broker(|_| {});
    Client::connect(&broker, "a.example")
        .await
        .expect_silence()
        .await;
}

#[tokio::test]
async fn b06_to_b09_the_default_type_is_agent() {
    let broker = World::shared().broker(|_| {});
    // A slash at the end is ignored; in other brokers it makes a dead connection.
    for path in [
        "/pcp2",
        "/pcp2/",
        "/pcp2/agent/",
        "/pcp2?x=y",
        "/pcp2/agent?x=y",
    ] {
        let mut client = Client::at(&broker, "a.example", path).await;
        client
            .send(message(
                1,
                "test/self",
                "pcp://a.example/agent",
                json!(path),
            ))
            .await;
        let echo = client.recv().await;
        assert_eq!(echo["sender"], "pcp://a.example/agent", "{path}");
        assert_eq!(echo["data"], path);
        client.ws.close(None).await.unwrap();
        client.closed().await;
    }
}

#[tokio::test]
async fn b10_the_type_is_taken_raw() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::at(&broker, "a.example", "/pcp2/x%20y").await;
    client.expect_alive().await;
    assert_eq!(refused_upgrade(&World::shared(), "/pcp2/a/b").await, 101);
}

#[tokio::test]
async fn b11_the_common_name_counts_wherever_it_stands() {
    let broker = World::shared().broker(|_| {});
    let subject = [
        (rcgen::DnType::OrganizationName, "Some Org"),
        (rcgen::DnType::CommonName, "org.example"),
    ];
    let identity = broker.world.odd_identity("org-first", &subject);
    let tls = broker.world.client_tls(&identity);
    let mut client = Client::over(broker.addr(), tls, "/pcp2/agent", &[])
        .await
        .unwrap();
    client.uri = "pcp://org.example/agent".to_owned();
    client.expect_alive().await;
}

#[tokio::test]
async fn a_certname_that_is_not_ascii_can_be_addressed() {
    let broker = World::shared().broker(|_| {});
    let subject = [(rcgen::DnType::CommonName, "büro.example")];
    let identity = broker.world.odd_identity("not-ascii", &subject);
    let tls = broker.world.client_tls(&identity);
    let mut target = Client::over(broker.addr(), tls, "/pcp2/agent", &[])
        .await
        .unwrap();
    let mut sender = Client::connect(&broker, "a.example").await;
    sender
        .send(message(1, "test/x", "pcp://büro.example/agent", json!(1)))
        .await;
    assert_eq!(target.recv().await["target"], "pcp://büro.example/agent");
}

#[tokio::test]
async fn a_certname_that_could_be_a_path_is_refused() {
    let broker = World::shared().broker(|_| {});
    let subject = [(rcgen::DnType::CommonName, "../etc")];
    let identity = broker.world.odd_identity("path", &subject);
    let tls = broker.world.client_tls(&identity);
    let mut client = Client::over(broker.addr(), tls, "/pcp2/agent", &[])
        .await
        .unwrap();
    assert_eq!(client.close_code().await, 4002);
}

#[tokio::test]
async fn b33_associate_on_v2_is_answered() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    for _ in 0..2 {
        let request = message(
            7,
            "http://puppetlabs.com/associate_request",
            "pcp:///server",
            json!(null),
        );
        client.send(request.clone()).await;
        let answer = client.recv().await;
        assert_eq!(
            answer["message_type"],
            "http://puppetlabs.com/associate_response"
        );
        assert_eq!(answer["in_reply_to"], request["id"]);
        assert_eq!(answer["sender"], "pcp:///server");
        assert_eq!(
            answer["data"],
            json!({ "id": request["id"], "success": true })
        );
    }
}

#[tokio::test]
async fn b34_associate_with_another_type_is_refused_and_closed() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    let mut request = message(
        7,
        "http://puppetlabs.com/associate_request",
        "pcp:///server",
        json!(null),
    );
    request["sender"] = json!("pcp://a.example/other");
    client.send(request).await;
    let data = &client.recv().await["data"];
    assert_eq!(data["success"], false);
    assert_eq!(data["reason"], "Session already associated.");
    assert_eq!(client.close_code().await, 4002);
}

#[tokio::test]
async fn associate_for_somebody_else_is_refused_and_closed() {
    let broker = World::shared().broker(|_| {});
    let mut client = Client::connect(&broker, "a.example").await;
    let mut request = message(
        7,
        "http://puppetlabs.com/associate_request",
        "pcp:///server",
        json!(null),
    );
    request["sender"] = json!("pcp://b.example/agent");
    client.send(request).await;
    assert_eq!(
        client.recv().await["data"]["reason"],
        "Message not authenticated."
    );
    assert_eq!(client.close_code().await, 4002);
}

#[tokio::test]
async fn b35_b36_v1_associate_on_both_forms_of_the_path() {
    let broker = World::shared().broker(|_| {});
    for path in ["/pcp/", "/pcp/agent"] {
        let mut client = Client::at(&broker, "a.example", path).await;
        let envelope = V1Message::envelope(
            3,
            "http://puppetlabs.com/associate_request",
            "pcp://a.example/agent",
            &["pcp:///server"],
        );
        client.send_binary(V1Message::write(&envelope, &[])).await;
        let answer = client.recv_v1().await;
        assert_eq!(
            answer.envelope["message_type"],
            "http://puppetlabs.com/associate_response"
        );
        assert_eq!(answer.envelope["sender"], "pcp:///server");
        assert_eq!(
            answer.data,
            Some(json!({ "id": envelope["id"], "success": true })),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_policy_that_denies_association_closes_4002() {
    let deny = broker::AuthorizationPolicy::parse(
        r#"authorization: { version: 1, rules: [
            { name: deny, sort-order: 1, match-request: { type: path, path: "/" }, deny: "*" }
        ] }"#,
    )
    .unwrap();
    let broker = World::shared().broker(|config| config.policy = deny);
    let mut client = Client::connect(&broker, "a.example").await;
    assert_eq!(client.close_code().await, 4002);
    assert_eq!(broker.handle.connections(), 0);
}

#[tokio::test]
async fn b43_a_newer_connection_supersedes_with_a_close_frame() {
    let broker = World::shared().broker(|_| {});
    let mut old = Client::connect(&broker, "a.example").await;
    let mut new = Client::connect(&broker, "a.example").await;
    // Other brokers close the connection without a close frame.
    assert_eq!(old.close_code().await, 4001);
    new.expect_alive().await;
    assert_eq!(broker.handle.connections(), 1);
}

#[tokio::test]
async fn a_certname_that_supersedes_itself_again_and_again_is_slowed_down() {
    let broker = World::shared().broker(|_| {});
    let mut clients = Vec::new();
    for _ in 0..=broker::defaults::DUPLICATE_TOLERANCE {
        clients.push(Client::connect(&broker, "a.example").await);
    }
    let mut holder = clients.pop().unwrap();
    let identity = broker.world.identity("a.example");
    let tls = broker.world.client_tls(&identity);
    let newcomer = Client::over(broker.addr(), tls, "/pcp2/agent", &[]);
    tokio::select! {
        biased;
        _ = newcomer => panic!("the newcomer was not delayed"),
        () = holder.expect_alive() => {}
    }
}

/// Waits until the broker's metrics have all these lines.
async fn metrics_say(broker: &TestBroker, lines: &[String]) {
    loop {
        let (_, _, text) = get(broker, "GET /metrics").await;
        if lines.iter().all(|line| text.lines().any(|l| l == line)) {
            return;
        }
    }
}

#[tokio::test]
async fn of_a_slowed_certname_one_connection_waits_and_takes_nobodys_place() {
    let broker = World::shared().broker(|_| {});
    let mut clients = Vec::new();
    for _ in 0..=broker::defaults::DUPLICATE_TOLERANCE {
        clients.push(Client::connect(&broker, "a.example").await);
    }
    // Some that give up, until the delay is longer than this test.
    for times in 1..=4 {
        let waits = [format!("tutti_broker_duplicate_certnames_total {times}")];
        let seen = metrics_say(&broker, &waits);
        tokio::pin!(seen);
        loop {
            tokio::select! {
                // Refused while the broker has not noticed the end of the previous connection.
                _ = Client::connect(&broker, "a.example") => {}
                () = &mut seen => break,
            }
        }
    }
    let others = async {
        // The only half-open connection is the one that requests the metrics.
        let lines = [
            "tutti_broker_duplicate_certnames_total 5".to_owned(),
            "tutti_broker_half_open_connections 1".to_owned(),
        ];
        metrics_say(&broker, &lines).await;
        let mut third = Client::connect(&broker, "a.example").await;
        let reason = "A connection of this certname is waiting already.";
        let expected = Closed::Frame(1011, reason.to_owned());
        assert_eq!(third.closed().await, expected);
    };
    let mut newcomer = Box::pin(async {
        loop {
            let mut client = Client::connect(&broker, "a.example").await;
            // Refused as above; any other code would mean that the delay has ended.
            assert_eq!(client.close_code().await, 1011);
        }
    });
    tokio::select! {
        () = &mut newcomer => {}
        () = others => {}
    }
    let mut holder = clients.pop().unwrap();
    holder.expect_alive().await;
}

#[tokio::test]
async fn an_association_denied_to_one_is_nothing_to_others() {
    let policy = broker::AuthorizationPolicy::parse(
        r#"authorization: { version: 1, rules: [
            { name: all, sort-order: 1, match-request: { type: path, path: "/" },
              allow: "*", deny: "bad.example" }
        ] }"#,
    )
    .unwrap();
    let broker = World::shared().broker(|config| config.policy = policy);
    let mut bad = Client::connect(&broker, "bad.example").await;
    let mut good = Client::connect(&broker, "good.example").await;
    assert_eq!(bad.close_code().await, 4002);
    good.send(message(1, "test/x", "pcp://bad.example/agent", json!(1)))
        .await;
    assert_eq!(text_of(&good.recv().await), "Not connected.");
}

#[tokio::test]
async fn a_stopping_broker_says_1001() {
    let broker = World::shared().broker(|config| config.policy = open_policy());
    let mut client = Client::connect(&broker, "a.example").await;
    let crate::support::TestBroker { handle, .. } = &broker;
    let (closed, ()) = tokio::join!(client.closed(), handle.shutdown());
    assert_eq!(closed, Closed::Frame(1001, "Shutdown".to_owned()));
}
