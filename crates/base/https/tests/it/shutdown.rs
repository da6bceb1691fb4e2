//! Shutdown: running requests are finished, those that take too long are cut.

use std::time::Duration;

use https::Config;

use crate::site::Site;

#[tokio::test]
async fn a_running_request_is_finished_and_idle_connections_are_closed() {
    let site = Site::start(Config::default()).await;
    let client = site.client(None);
    let idle = site.client(None);
    idle.get(site.url("/who"))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let answer = tokio::spawn(client.get(site.url("/wait")).send());
    site.waiting.entered.notified().await;
    site.stop.cancel();
    site.waiting.go.notify_waiters();
    let answer = answer.await.unwrap().unwrap();
    assert_eq!(answer.text().await.unwrap(), "done");
    site.ended().await;
}

#[tokio::test]
async fn a_request_that_outlasts_the_deadline_is_cut() {
    let config = Config {
        drain_deadline: Duration::from_millis(50),
        ..Config::default()
    };
    let site = Site::start(config).await;
    let answer = tokio::spawn(site.client(None).get(site.url("/wait")).send());
    site.waiting.entered.notified().await;
    site.stop.cancel();
    let url = site.url("/who");
    let late = site.client(None);
    site.ended().await;
    assert!(answer.await.unwrap().is_err());
    assert!(late.get(url).send().await.is_err());
}
