//! `user`, `role`, `group`, `token`: names become ids, and bodies are what the server takes.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::fake::{Answers, Fake, TOKEN};

const ANNA: &str = "11111111-0000-4000-8000-000000000001";
const BEN: &str = "11111111-0000-4000-8000-000000000002";
const GROUP: &str = "22222222-0000-4000-8000-000000000001";

fn user(id: &str, login: &str, roles: &[i64]) -> Value {
    json!({"id": id, "login": login, "email": format!("{login}@example.com"),
        "display_name": login.to_uppercase(), "role_ids": roles, "inherited_role_ids": [],
        "group_ids": [], "is_group": false, "is_remote": false, "is_superuser": false,
        "is_revoked": login == "ben", "last_login": null})
}

fn role() -> Value {
    let permission = |action: &str, instance: &str| json!({"object_type": "tasks", "action": action, "instance": instance});
    json!({"id": 101, "display_name": "Packages", "description": "installs",
        "permissions": [permission("run", "package"), permission("run_with_constraints", "*")],
        "user_ids": [ANNA], "group_ids": [GROUP]})
}

fn group() -> Value {
    json!({"id": GROUP, "login": "admins", "display_name": "Admins", "role_ids": [101],
        "user_ids": [BEN], "is_group": true, "is_remote": true, "is_superuser": false})
}

/// A server with two users, a role and a group; the token is Anna's.
fn answers() -> Answers {
    vec![
        (
            "GET /rbac-api/v1/users",
            200,
            json!([user(BEN, "ben", &[2]), user(ANNA, "anna", &[101])]),
        ),
        (
            "GET /rbac-api/v1/users/current",
            200,
            user(ANNA, "anna", &[101]),
        ),
        ("GET /rbac-api/v1/roles", 200, json!([role()])),
        ("GET /rbac-api/v1/groups", 200, json!([group()])),
    ]
}

async fn with(more: Answers) -> Fake {
    Fake::start([answers(), more].concat()).await
}

#[tokio::test]
async fn users_roles_and_groups_are_shown() {
    let fake = with(Vec::new()).await;
    let mut printed = String::new();
    for words in [
        &["tutti", "user", "list"][..],
        &["tutti", "user", "show"],
        &["tutti", "user", "show", "ben"],
        &["tutti", "role", "list"],
        &["tutti", "role", "show", "Packages"],
        &["tutti", "group", "list"],
        &["tutti", "group", "show", "admins"],
    ] {
        let ran = fake.run(words).await;
        assert_eq!((ran.code, ran.error.as_str()), (0, ""), "{words:?}");
        printed.extend(["$ ", &words.join(" "), "\n", &ran.printed, "\n"]);
    }
    assert_snapshot!("rbac", printed);
}

#[tokio::test]
async fn commands_name_ids() {
    let commands = [
        (
            "user revoke ben",
            "POST /rbac-api/v1/command/users/revoke",
            json!({"user_id": BEN}),
        ),
        (
            "user reinstate ben",
            "POST /rbac-api/v1/command/users/reinstate",
            json!({"user_id": BEN}),
        ),
        (
            "user add-role ben Packages",
            "POST /rbac-api/v1/command/users/add-roles",
            json!({"user_id": BEN, "role_ids": [101]}),
        ),
        (
            "user remove-role ben 101",
            "POST /rbac-api/v1/command/users/remove-roles",
            json!({"user_id": BEN, "role_ids": [101]}),
        ),
        (
            "role add-user Packages anna ben",
            "POST /rbac-api/v1/command/roles/add-users",
            json!({"role_id": 101, "user_ids": [ANNA, BEN]}),
        ),
        (
            "role remove-group 101 admins",
            "POST /rbac-api/v1/command/roles/remove-groups",
            json!({"role_id": 101, "group_ids": [GROUP]}),
        ),
        (
            "role add-permission 101 tasks:run:a::b",
            "POST /rbac-api/v1/command/roles/add-permissions",
            json!({"role_id": 101, "permissions": [
                {"object_type": "tasks", "action": "run", "instance": "a::b"}]}),
        ),
        (
            "token revoke --label ci --user ben --id x --this",
            "DELETE /rbac-api/v2/tokens",
            json!({"revoke_tokens": [TOKEN], "revoke_tokens_by_labels": ["ci"],
                "revoke_tokens_by_usernames": ["ben"], "revoke_tokens_by_ids": ["x"]}),
        ),
    ];
    for (line, what, body) in commands {
        let fake = with(vec![(what, 204, Value::Null)]).await;
        let words: Vec<_> = ["tutti"].into_iter().chain(line.split(' ')).collect();
        let ran = fake.run(&words).await;
        assert_eq!((ran.code, ran.error.as_str()), (0, ""), "{line}");
        assert_eq!(fake.body(what), body, "{line}");
        assert!(!ran.printed.contains(TOKEN), "{line}");
    }
}

#[tokio::test]
async fn a_user_is_made_with_roles_and_a_password_from_a_file() {
    let fake = with(vec![(
        "POST /rbac-api/v1/users",
        201,
        user(BEN, "carl", &[101]),
    )])
    .await;
    let password = fake.file("password", "s3cret\nmore");
    let words = [
        "tutti",
        "user",
        "create",
        "carl",
        "--role",
        "Packages",
        "--password-file",
        &password,
    ];
    let ran = fake.run(&words).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""));
    assert!(
        !ran.printed.contains("s3cret") && !ran.printed.contains("reset"),
        "{}",
        ran.printed
    );
    let body = json!({"login": "carl", "email": "", "display_name": "carl", "role_ids": [101],
        "password": "s3cret"});
    assert_eq!(fake.body("POST /rbac-api/v1/users"), body);
}

#[tokio::test]
async fn an_edit_keeps_what_is_not_named() {
    let what = "PUT /rbac-api/v1/users/11111111-0000-4000-8000-000000000002";
    let fake = with(vec![(what, 200, user(BEN, "ben", &[2]))]).await;
    fake.run(&["tutti", "user", "edit", "ben", "--name", "Benjamin"])
        .await;
    let body = fake.body(what);
    assert_eq!(
        (&body["login"], &body["display_name"]),
        (&json!("ben"), &json!("Benjamin"))
    );
    assert_eq!(
        (&body["email"], &body["role_ids"]),
        (&json!("ben@example.com"), &Value::Null)
    );
    let what = "PUT /rbac-api/v1/roles/101";
    let fake = with(vec![(what, 200, role())]).await;
    fake.run(&["tutti", "role", "edit", "Packages", "--description", "new"])
        .await;
    let mut expected = role();
    expected["description"] = "new".into();
    assert_eq!(fake.body(what), expected);
}

#[tokio::test]
async fn passwords_are_set_from_files() {
    let own = "PUT /rbac-api/v1/users/current/password";
    let reset = "POST /rbac-api/v1/users/11111111-0000-4000-8000-000000000002/password/reset";
    let set = "POST /rbac-api/v1/auth/reset";
    let fake = with(vec![
        (own, 204, Value::Null),
        (reset, 200, json!([])),
        (set, 200, Value::Null),
    ])
    .await;
    let (old, new) = (fake.file("old", "old\n"), fake.file("new", "new\n"));
    let words = [
        "tutti",
        "user",
        "password",
        "--current-password-file",
        &old,
        "--password-file",
        &new,
    ];
    assert_eq!(fake.run(&words).await.code, 0);
    assert_eq!(
        fake.body(own),
        json!({"current_password": "old", "password": "new"})
    );
    let ran = fake.run(&["tutti", "user", "reset", "ben"]).await;
    assert_eq!(ran.code, 2, "an array is no reset token");
    let words = [
        "tutti",
        "user",
        "set-password",
        "--reset-token-file",
        &old,
        "--password-file",
        &new,
    ];
    assert_eq!(fake.run(&words).await.code, 0);
    assert_eq!(fake.body(set), json!({"token": "old", "password": "new"}));
    assert_eq!(
        fake.asked().last().unwrap().token,
        None,
        "no login is needed"
    );
}

#[tokio::test]
async fn nobody_who_is_not_there_is_guessed() {
    let fake = with(Vec::new()).await;
    for line in [
        "user show ann",
        "user delete An",
        "role show packages",
        "role delete 10",
        "group show admin",
        "user add-role ben Package",
        "role add-user Packages anna bob",
    ] {
        let words: Vec<_> = ["tutti"].into_iter().chain(line.split(' ')).collect();
        let ran = fake.run(&words).await;
        assert_eq!((ran.code, ran.printed.as_str()), (2, ""), "{line}");
        assert!(
            ran.error.starts_with("there is no "),
            "{line}: {}",
            ran.error
        );
    }
    assert!(
        fake.asked()
            .iter()
            .all(|asked| asked.what.starts_with("GET "))
    );
}
