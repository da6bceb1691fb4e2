//! The life of tokens, and the rights of their holders.

use rbac::{
    AuthSettings, AuthenticateError, IssueError, LoginError, RevokeError, TokenLabel,
    TokenLifetime, TokenRequest, TokenRevocation, UserIdentity,
};
use secrecy::ExposeSecret as _;
use sha2::{Digest as _, Sha256};
use store::NewTokenRow;

use crate::world::{PASSWORD, World};

testkit::both!(
    nonsense_is_no_token,
    a_token_ends_with_its_lifetime,
    a_token_that_is_remembered_ends_in_time_as_well,
    a_token_that_is_not_used_times_out,
    a_revoked_token_ends_at_once_and_others_stay,
    a_label_names_one_token_of_its_user,
    the_last_use_is_written_at_the_end_and_never_by_a_request,
    a_token_that_ended_under_way_begets_no_other,
    tokens_made_while_all_are_revoked_end_too,
    a_token_lives_no_longer_than_the_configured_maximum,
    a_token_cannot_create_one_that_outlives_it,
);

async fn nonsense_is_no_token() {
    let world = World::new().await;
    for token in ["", "x", "' OR 1=1 --", &"x".repeat(100_000)] {
        let refused = world.access.authenticate(token).await;
        assert!(matches!(refused, Err(AuthenticateError::Unknown)));
    }
}

async fn a_token_ends_with_its_lifetime() {
    let world = World::new().await;
    let request = TokenRequest {
        lifetime: TokenLifetime::parse("1s").unwrap(),
        ..TokenRequest::default()
    };
    let password = world.password().into();
    let login = world.access.login("admin", password, request, None);
    login.await.unwrap();
    let user = world.store.user_by_login("admin").await.unwrap().unwrap();
    let row = world.store.tokens_of(&user.id).await.unwrap().remove(0);
    assert_eq!(row.expires_ms, Some(row.created_ms + 1_000));
    // A token whose end is in the past, so that the test need not wait.
    let past = NewTokenRow {
        hash: Sha256::digest("past").into(),
        user_id: row.user_id,
        created_ms: row.created_ms - 10_000,
        expires_ms: Some(row.created_ms - 9_000),
        ..NewTokenRow::default()
    };
    world.store.insert_token(past).await.unwrap();
    let refused = world.access.authenticate("past").await;
    assert!(matches!(refused, Err(AuthenticateError::Expired)));
}

async fn a_token_that_is_remembered_ends_in_time_as_well() {
    let world = World::new().await;
    let admin = world.admin().await;
    let now = store::now_ms();
    let brief = NewTokenRow {
        hash: Sha256::digest("brief").into(),
        user_id: admin.user_id.clone(),
        created_ms: now,
        expires_ms: Some(now + 400),
        ..NewTokenRow::default()
    };
    world.store.insert_token(brief).await.unwrap();
    world.access.authenticate("brief").await.unwrap();
    let ended = async {
        while world.access.authenticate("brief").await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(std::time::Duration::from_secs(10), ended);
    in_time.await.expect("it ends");
}

async fn a_token_that_is_not_used_times_out() {
    let settings = AuthSettings {
        token_inactivity: Some(std::time::Duration::from_secs(60)),
        ..AuthSettings::default()
    };
    let world = World::with(settings).await;
    let admin = world.admin().await;
    let now = store::now_ms();
    let tokens = world.store.tokens_of(&admin.user_id).await.unwrap();
    assert_eq!(tokens[0].timeout_ms, Some(60_000));
    for (text, idle_ms, good) in [("fresh", 50_000, true), ("idle", 60_001, false)] {
        let token = NewTokenRow {
            hash: Sha256::digest(text).into(),
            user_id: admin.user_id.clone(),
            created_ms: now - idle_ms,
            timeout_ms: Some(60_000),
            ..NewTokenRow::default()
        };
        world.store.insert_token(token).await.unwrap();
        let used = world.access.authenticate(text).await;
        assert_eq!(used.is_ok(), good, "{text}");
        if let Err(error) = used {
            assert!(matches!(error, AuthenticateError::TimedOut));
        }
    }
}

async fn a_revoked_token_ends_at_once_and_others_stay() {
    let world = World::new().await;
    let admin = world.admin().await;
    let first = world.login("admin", &world.password()).await.unwrap();
    let second = world.login("admin", &world.password()).await.unwrap();
    world.access.authenticate(&first).await.unwrap();
    let revocation = || TokenRevocation {
        tokens: vec![first.clone()],
        ..TokenRevocation::default()
    };
    world.access.revoke(&admin, revocation()).await.unwrap();
    world.access.revoke(&admin, revocation()).await.unwrap();
    let refused = world.access.authenticate(&first).await;
    assert!(matches!(refused, Err(AuthenticateError::Revoked)));
    assert!(world.access.authenticate(&second).await.is_ok());
}

async fn a_label_names_one_token_of_its_user() {
    let world = World::new().await;
    let label = TokenLabel::parse("laptop").unwrap();
    let login = || {
        let request = TokenRequest {
            label: Some(label.clone()),
            ..TokenRequest::default()
        };
        let password = world.password().into();
        world.access.login("admin", password, request, None)
    };
    let token = login().await.unwrap();
    let token = secrecy::ExposeSecret::expose_secret(&token).to_owned();
    let taken = login().await;
    assert!(matches!(
        taken,
        Err(LoginError::Issue(IssueError::LabelTaken(_)))
    ));
    let identity = world.access.authenticate(&token).await.unwrap();
    let revocation = || TokenRevocation {
        labels: vec![label.clone()],
        ..TokenRevocation::default()
    };
    world.access.revoke(&identity, revocation()).await.unwrap();
    assert!(world.access.authenticate(&token).await.is_err());
    let again = world.access.revoke(&identity, revocation()).await;
    assert!(matches!(again, Err(RevokeError::Faults(_))));
    assert!(login().await.is_ok());
}

async fn the_last_use_is_written_at_the_end_and_never_by_a_request() {
    let mut world = World::new().await;
    let token = world.login("admin", &world.password()).await.unwrap();
    let admin = world.access.authenticate(&token).await.unwrap();
    let row = |world: &World| {
        let (store, id) = (world.store.clone(), admin.user_id.clone());
        async move { store.tokens_of(&id).await.unwrap().remove(0) }
    };
    // The creation counts as the first use; the test needs a later one.
    let created = row(&world).await.created_ms;
    let later = async {
        while store::now_ms() <= created {
            tokio::task::yield_now().await;
        }
    };
    later.await;
    world.access.authenticate(&token).await.unwrap();
    assert_eq!(row(&world).await.last_active_ms, None);
    let listed = world.access.list_tokens(&admin, &admin.user_id).await;
    assert!(listed.unwrap()[0].last_active_ms > created);
    world.reopen().await;
    assert!(row(&world).await.last_active_ms > Some(created));
}

async fn a_token_that_ended_under_way_begets_no_other() {
    let world = World::new().await;
    let admin = world.access.api_user();
    let fred = world.user("fred", &[]).await;
    // The caller is authenticated before the token ends, as in the server's guard.
    let caller = async || {
        let token = world.login("fred", PASSWORD).await.unwrap();
        (world.access.authenticate(&token).await.unwrap(), token)
    };
    let ask = async |by: &UserIdentity| {
        let asked = world.access.issue_for(by, TokenRequest::default()).await;
        asked.map(|_| ())
    };
    let (by, token) = caller().await;
    ask(&by).await.unwrap();
    world.access.revoke_one(&by, &token).await.unwrap();
    assert!(matches!(ask(&by).await, Err(IssueError::TokenEnded)));
    let (by, _) = caller().await;
    let all = TokenRevocation {
        usernames: vec!["fred".to_owned()],
        ..TokenRevocation::default()
    };
    world.access.revoke(&admin, all).await.unwrap();
    assert!(matches!(ask(&by).await, Err(IssueError::TokenEnded)));
    let (by, _) = caller().await;
    world.access.set_revoked(&admin, &fred, true).await.unwrap();
    assert!(matches!(ask(&by).await, Err(IssueError::UserChanged)));
    world.access.delete_user(&admin, &fred).await.unwrap();
    assert!(matches!(ask(&by).await, Err(IssueError::UserChanged)));
    assert!(matches!(ask(&admin).await, Err(IssueError::TokenEnded)));
    assert!(world.store.tokens_of(&fred).await.unwrap().is_empty());
}

async fn tokens_made_while_all_are_revoked_end_too() {
    let world = World::new().await;
    let admin = world.access.api_user();
    let fred = world.user("fred", &[]).await;
    let token = world.login("fred", PASSWORD).await.unwrap();
    let by = world.access.authenticate(&token).await.unwrap();
    let asking = (0..20).map(|_| {
        let (access, by) = (world.access.clone(), by.clone());
        tokio::spawn(async move { access.issue_for(&by, TokenRequest::default()).await.is_ok() })
    });
    let asking: Vec<_> = asking.collect();
    let all = TokenRevocation {
        usernames: vec!["fred".to_owned()],
        ..TokenRevocation::default()
    };
    world.access.revoke(&admin, all).await.unwrap();
    for asked in asking {
        asked.await.unwrap();
    }
    assert_eq!(world.store.count_tokens_of(&fred).await.unwrap(), 0);
}

fn lasting(lifetime: &str) -> TokenRequest {
    TokenRequest {
        lifetime: TokenLifetime::parse(lifetime).unwrap(),
        ..TokenRequest::default()
    }
}

/// Lifetime of a valid token from its creation, in seconds.
async fn lifetime_s(world: &World, token: &str) -> i64 {
    let token = world.access.session(token, false).await.unwrap().token;
    (token.expires_ms.unwrap() - token.created_ms) / 1_000
}

async fn a_token_lives_no_longer_than_the_configured_maximum() {
    let settings = AuthSettings {
        token_max_lifetime: Some(std::time::Duration::from_secs(600)),
        ..AuthSettings::default()
    };
    let world = World::with(settings).await;
    let login = async |request: TokenRequest| {
        let password = world.password().into();
        world.access.login("admin", password, request, None).await
    };
    for (wanted, seconds) in [
        (TokenRequest::default(), 600),
        (lasting("0"), 600),
        (lasting("10m"), 600),
        (lasting("5m"), 300),
    ] {
        let token = login(wanted).await.unwrap();
        assert_eq!(lifetime_s(&world, token.expose_secret()).await, seconds);
    }
    let refused = login(lasting("601s")).await;
    let Err(LoginError::Issue(IssueError::TooLong { most })) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(most.as_secs(), 600);
    // Tokens from a time with a longer maximum lifetime, or without one.
    let admin = world.admin().await;
    let now = store::now_ms();
    for (text, age_ms, expires_ms, good) in [
        ("young", 500_000, Some(i64::MAX), true),
        ("old", 600_001, Some(now + 1_000_000), false),
        ("old without an end", 600_001, None, false),
    ] {
        let token = NewTokenRow {
            hash: Sha256::digest(text).into(),
            id: text.to_owned(),
            user_id: admin.user_id.clone(),
            created_ms: now - age_ms,
            expires_ms,
            ..NewTokenRow::default()
        };
        world.store.insert_token(token).await.unwrap();
        let used = world.access.authenticate(text).await;
        assert_eq!(used.is_ok(), good, "{text}");
        let listed = world
            .access
            .list_tokens(&admin, &admin.user_id)
            .await
            .unwrap();
        let listed = listed.iter().find(|it| it.row.id == text);
        assert_eq!(listed.is_some(), good, "{text}");
        if let Some(listed) = listed {
            assert_eq!(listed.row.expires_ms, Some(now - age_ms + 600_000));
        }
    }
}

async fn a_token_cannot_create_one_that_outlives_it() {
    let world = World::new().await;
    let password = world.password().into();
    let login = world.access.login("admin", password, lasting("10m"), None);
    let mut token = login.await.unwrap();
    let end = world.access.session(token.expose_secret(), false).await;
    let end = end.unwrap().token.expires_ms;
    // The end stays, regardless of how often a token is used to create its successor.
    for _ in 0..3 {
        let by = world
            .access
            .authenticate(token.expose_secret())
            .await
            .unwrap();
        let refused = world.access.issue_for(&by, lasting("11m")).await;
        assert!(
            matches!(refused, Err(IssueError::OutlivesToken { left }) if left.as_secs() <= 600),
            "{refused:?}"
        );
        let short = world.access.issue_for(&by, lasting("1m")).await.unwrap();
        assert_eq!(lifetime_s(&world, short.expose_secret()).await, 60);
        for request in [TokenRequest::default(), lasting("0")] {
            token = world.access.issue_for(&by, request).await.unwrap();
            let made = world.access.session(token.expose_secret(), false).await;
            assert_eq!(made.unwrap().token.expires_ms, end);
        }
    }
}
