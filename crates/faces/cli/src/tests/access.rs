//! The token file: got, shown, deleted.

use serde_json::json;

use super::fake::{Fake, TOKEN};

#[tokio::test]
async fn a_login_keeps_the_token_and_the_password_stays_out_of_sight() {
    let fake = Fake::start(vec![(
        "POST /rbac-api/v1/auth/token",
        200,
        json!({"token": "new"}),
    )])
    .await;
    let password = fake.file("password", "s3cret\n");
    let words = [
        "puppet-access",
        "login",
        "anna",
        "--lifetime",
        "4h",
        "--password-file",
        &password,
    ];
    let ran = fake.run(&words).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""));
    assert!(
        !ran.printed.contains("s3cret") && !ran.printed.contains("new"),
        "{}",
        ran.printed
    );
    assert_eq!(std::fs::read_to_string(fake.path("token")).unwrap(), "new");
    let body = fake.body("POST /rbac-api/v1/auth/token");
    assert_eq!(
        (&body["login"], &body["password"], &body["lifetime"]),
        (&json!("anna"), &json!("s3cret"), &json!("4h"))
    );
    assert_eq!(
        fake.asked()[0].token,
        None,
        "the old token does not go with it"
    );
}

#[tokio::test]
async fn a_token_that_is_printed_is_not_kept() {
    let fake = Fake::start(vec![(
        "POST /rbac-api/v1/auth/token",
        200,
        json!({"token": "new"}),
    )])
    .await;
    let password = fake.file("password", "s3cret");
    let words = [
        "tutti",
        "access",
        "login",
        "anna",
        "--print",
        "--password-file",
        &password,
    ];
    let ran = fake.run(&words).await;
    assert_eq!(ran.printed, "new\n");
    assert_eq!(std::fs::read_to_string(fake.path("token")).unwrap(), TOKEN);
}

#[tokio::test]
async fn a_service_url_of_puppet_enterprise_is_understood() {
    let fake = Fake::start(vec![(
        "POST /rbac-api/v1/auth/token",
        200,
        json!({"token": "new"}),
    )])
    .await;
    let (ca, token) = (fake.path("ca.pem"), fake.path("token"));
    let conf = json!({"service-url": format!("{}/rbac-api", fake.url), "token-file": token,
        "certificate-file": ca});
    let conf = fake.file("puppet-access.conf", &conf.to_string());
    let password = fake.file("password", "s3cret");
    let words = [
        "puppet-access",
        "login",
        "anna",
        "-c",
        &conf,
        "--password-file",
        &password,
    ];
    let ran = fake.run_alone(&words).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(token).unwrap(), "new");
}

#[tokio::test]
async fn the_token_file_is_shown_and_deleted() {
    let fake = Fake::start(Vec::new()).await;
    assert_eq!(
        fake.run(&["puppet-access", "show"]).await.printed,
        format!("{TOKEN}\n")
    );
    let deleted = fake.run(&["puppet-access", "delete-token-file"]).await;
    assert_eq!(deleted.code, 0);
    assert!(!fake.path("token").exists());
    let again = fake.run(&["tutti", "access", "delete-token-file"]).await;
    assert_eq!(again.code, 0, "there is none, as was asked");
    let shown = fake.run(&["tutti", "access", "show"]).await;
    assert_eq!(shown.code, 2);
    assert!(shown.error.contains("tutti login"), "{}", shown.error);
    assert!(fake.asked().is_empty());
}
