//! A4: no user gets permissions that an authorized user did not intend to grant.

use rbac::defaults::TASK_TARGETS;
use rbac::{
    AuthSettings, CodeReach, GroupSpec, ManageError, MemberChange, PermissionGrant,
    RequestedPermission, RevokeError, RoleSpec, TaskScope, TaskTargetRecord, TokenRevocation,
    UnnamedEnvironmentScope, UserEdit, UserIdentity, UserSpec,
};
use store::TaskTargetRow;

use crate::world::{PASSWORD, World};

testkit::both!(
    a4_nobody_gives_himself_or_others_a_right_that_he_lacks,
    a4_nobody_becomes_a_user_with_more_rights,
    a4_without_the_right_to_it_nobody_changes_roles_users_or_groups,
    a4_an_edit_of_one_instance_is_no_edit_of_another,
    a4_default_roles_keep_their_permissions,
    a4_a_change_of_rights_counts_from_the_next_request,
    a4_tokens_of_others_are_nobodys_business,
    a4_a_right_to_run_code_is_for_the_nodes_of_its_environment,
    a4_a_task_target_permits_its_tasks_on_its_nodes_and_nothing_else,
    a5_names_are_data_and_nothing_else,
    a4_who_has_all_task_targets_makes_none_of_tasks_that_he_may_not_run,
    a4_a_task_target_that_a_role_names_stays_and_no_number_comes_back,
    there_are_as_many_task_targets_as_the_limit_says,
    a4_changes_of_a_role_at_once_lose_none_of_them,
);

const ADMINISTRATORS: i64 = 1;
const VIEWERS: i64 = 3;

/// All permissions on roles and users, and no others.
const CLERK: &[(&str, &str, &str)] = &[
    ("users", "create", "*"),
    ("users", "edit", "*"),
    ("users", "disable", "*"),
    ("users", "reset_password", "*"),
    ("user_groups", "import", "*"),
    ("user_roles", "create", "*"),
    ("user_roles", "edit", "*"),
    ("user_roles", "edit_members", "*"),
];

fn is_denied<T: std::fmt::Debug>(outcome: Result<T, ManageError>) -> bool {
    match outcome {
        Err(ManageError::Denied(_)) => true,
        other => panic!("not denied: {other:?}"),
    }
}

fn spec(name: &str, grants: &[(&str, &str, &str)]) -> RoleSpec {
    let grant = |(object_type, action, instance): &(&str, &str, &str)| {
        PermissionGrant::new(*object_type, *action, *instance)
    };
    RoleSpec {
        display_name: name.to_owned(),
        permissions: grants.iter().map(grant).collect(),
        ..RoleSpec::default()
    }
}

async fn a4_nobody_gives_himself_or_others_a_right_that_he_lacks() {
    let world = World::new().await;
    let access = &world.access;
    let (clerk, _) = world.with_rights("clerk", CLERK).await;
    let me = clerk.user_id.as_str();
    let other = world.user("other", &[]).await;
    let (own, run) = (clerk.role_ids[0], ("tasks", "run", "*"));
    // With an existing role, in each way to give one.
    for role in [ADMINISTRATORS, VIEWERS] {
        for user in [me, &other] {
            assert!(is_denied(
                access.change_user_roles(&clerk, user, &[role], &[]).await
            ));
            let members = MemberChange {
                add_users: vec![user.to_owned()],
                ..MemberChange::default()
            };
            assert!(is_denied(
                access.change_members(&clerk, role, members).await
            ));
            let mut whole = RoleSpec::from(access.role(role).await.unwrap());
            whole.user_ids.push(user.to_owned());
            assert!(is_denied(access.update_role(&clerk, role, whole).await));
        }
        let update = UserEdit {
            login: "clerk".to_owned(),
            display_name: "clerk".to_owned(),
            email: String::new(),
            role_ids: Some(vec![own, role]),
            is_revoked: None,
        };
        assert!(is_denied(access.update_user(&clerk, me, update).await));
        let accomplice = UserSpec {
            login: "accomplice".to_owned(),
            display_name: "x".to_owned(),
            role_ids: vec![role],
            ..UserSpec::default()
        };
        assert!(is_denied(access.create_user(&clerk, accomplice).await));
        let group = GroupSpec {
            login: "staff".to_owned(),
            role_ids: vec![role],
            ..GroupSpec::default()
        };
        assert!(is_denied(access.create_group(&clerk, group).await));
    }
    // With a new role, or by a change of the caller's own role.
    assert!(is_denied(
        access.create_role(&clerk, spec("new", &[run])).await
    ));
    let add = vec![PermissionGrant::new(run.0, run.1, run.2)];
    assert!(is_denied(
        access
            .change_permissions(&clerk, own, add.clone(), &[])
            .await
    ));
    let mut whole = RoleSpec::from(access.role(own).await.unwrap());
    whole.permissions.extend(add);
    assert!(is_denied(access.update_role(&clerk, own, whole).await));
    // A caller may grant permissions that the caller has.
    let lesser = spec("lesser", &[("users", "create", "*")]);
    let lesser = access.create_role(&clerk, lesser).await.unwrap();
    access
        .change_user_roles(&clerk, &other, &[lesser], &[])
        .await
        .unwrap();
    assert!(
        access
            .users()
            .await
            .unwrap()
            .iter()
            .all(|user| user.row.login != "accomplice")
    );
    assert!(access.groups().await.unwrap().is_empty());
}

async fn a4_nobody_becomes_a_user_with_more_rights() {
    let world = World::new().await;
    let access = &world.access;
    let (clerk, _) = world.with_rights("clerk", CLERK).await;
    let strong = world.user("strong", &[VIEWERS]).await;
    let weak = world.user("weak", &[]).await;
    assert!(is_denied(access.reset_token(&clerk, &strong).await));
    let renamed = UserEdit {
        login: "stronger".to_owned(),
        display_name: "strong".to_owned(),
        email: String::new(),
        role_ids: None,
        is_revoked: None,
    };
    assert!(is_denied(
        access.update_user(&clerk, &strong, renamed).await
    ));
    access.reset_token(&clerk, &weak).await.unwrap();
    for first in [rbac::ADMIN_ID, rbac::API_USER_ID] {
        let admin = access.api_user();
        for by in [&clerk, &admin] {
            // The server itself can restore the access of an administrator who lost the password.
            let by_server = by.user_id == rbac::API_USER_ID && first == rbac::ADMIN_ID;
            let reset = access.reset_token(by, first).await.map(|_| ());
            match by_server {
                true => reset.unwrap(),
                false => assert!(
                    matches!(reset, Err(ManageError::AdminImmutable)),
                    "{reset:?}"
                ),
            }
            let immutable = [
                access.set_revoked(by, first, true).await,
                access.delete_user(by, first).await,
                access.change_user_roles(by, first, &[], &[VIEWERS]).await,
            ];
            for outcome in immutable {
                assert!(
                    matches!(outcome, Err(ManageError::AdminImmutable)),
                    "{outcome:?}"
                );
            }
        }
    }
}

async fn a4_without_the_right_to_it_nobody_changes_roles_users_or_groups() {
    let world = World::new().await;
    let access = &world.access;
    // A user with permissions, but none of those that are required here.
    let (fred, _) = world
        .with_rights(
            "fred",
            &[("tasks", "run", "*"), ("orchestrator", "view", "*")],
        )
        .await;
    let other = world.user("other", &[]).await;
    let role = world.role("role", &[]).await;
    let members = MemberChange {
        add_users: vec![other.clone()],
        ..MemberChange::default()
    };
    let target = TaskTargetRecord {
        display_name: "x".to_owned(),
        ..TaskTargetRecord::default()
    };
    for outcome in [
        access.create_role(&fred, spec("x", &[])).await.map(|_| ()),
        access.update_role(&fred, role, spec("x", &[])).await,
        access.delete_role(&fred, role).await,
        access
            .change_permissions(&fred, role, Vec::new(), &[])
            .await,
        access.change_members(&fred, role, members).await,
        access.change_user_roles(&fred, &other, &[role], &[]).await,
        access.set_revoked(&fred, &other, true).await,
        access.delete_user(&fred, &other).await,
        access.reset_token(&fred, &other).await.map(|_| ()),
        access.list_tokens(&fred, &other).await.map(|_| ()),
        access.set_disclaimer(&fred, Some("x")).await,
        access.create_task_target(&fred, target).await.map(|_| ()),
        access
            .create_user(&fred, UserSpec::default())
            .await
            .map(|_| ()),
        access
            .create_group(&fred, GroupSpec::default())
            .await
            .map(|_| ()),
        access.delete_group(&fred, "x").await,
    ] {
        assert!(is_denied(outcome));
    }
}

async fn a4_an_edit_of_one_instance_is_no_edit_of_another() {
    let world = World::new().await;
    let (mine, others) = (
        world.role("mine", &[]).await,
        world.role("others", &[]).await,
    );
    let key = mine.to_string();
    let grants = [
        ("user_roles", "edit", &*key),
        ("user_roles", "edit_members", &*key),
    ];
    let (fred, _) = world.with_rights("fred", &grants).await;
    let access = &world.access;
    access
        .update_role(&fred, mine, spec("renamed", &[]))
        .await
        .unwrap();
    assert!(is_denied(
        access.update_role(&fred, others, spec("x", &[])).await
    ));
    assert!(is_denied(access.delete_role(&fred, others).await));
    let members = MemberChange {
        add_users: vec![fred.user_id.clone()],
        ..MemberChange::default()
    };
    assert!(is_denied(
        access.change_members(&fred, others, members).await
    ));
}

async fn a4_default_roles_keep_their_permissions() {
    let world = World::new().await;
    let access = &world.access;
    let admin = access.api_user();
    for role in 1..=5 {
        let add = vec![PermissionGrant::new("tasks", "run", "*")];
        let whole = RoleSpec::from(access.role(role).await.unwrap());
        let renamed = RoleSpec {
            display_name: "other".to_owned(),
            ..whole
        };
        for outcome in [
            access.change_permissions(&admin, role, add, &[]).await,
            access.update_role(&admin, role, renamed).await,
            access.delete_role(&admin, role).await,
        ] {
            assert!(
                matches!(outcome, Err(ManageError::DefaultRole)),
                "{outcome:?}"
            );
        }
        world.user(&format!("member of {role}"), &[role]).await;
    }
}

async fn a4_a_change_of_rights_counts_from_the_next_request() {
    let world = World::new().await;
    let access = &world.access;
    let admin = access.api_user();
    let (fred, token) = world.with_rights("fred", &[("tasks", "run", "*")]).await;
    let may = async || {
        let identity = access.authenticate(&token).await.unwrap();
        let run = RequestedPermission::on("tasks", "run", "package");
        access.authorize(&identity, run).is_ok()
    };
    let role = fred.role_ids[0];
    assert!(may().await);
    let grant = [PermissionGrant::new("tasks", "run", "*")];
    access
        .change_permissions(&admin, role, Vec::new(), &grant)
        .await
        .unwrap();
    assert!(!may().await);
    access
        .change_permissions(&admin, role, grant.to_vec(), &[])
        .await
        .unwrap();
    assert!(may().await);
    access
        .change_user_roles(&admin, &fred.user_id, &[], &[role])
        .await
        .unwrap();
    assert!(!may().await);
    let members = MemberChange {
        add_users: vec![fred.user_id.clone()],
        ..MemberChange::default()
    };
    access.change_members(&admin, role, members).await.unwrap();
    assert!(may().await);
    access.delete_role(&admin, role).await.unwrap();
    assert!(!may().await);
    access.delete_user(&admin, &fred.user_id).await.unwrap();
    assert!(access.authenticate(&token).await.is_err());
}

async fn a4_tokens_of_others_are_nobodys_business() {
    let world = World::new().await;
    let access = &world.access;
    let (fred, _) = world.with_rights("fred", &[("tasks", "run", "*")]).await;
    let token = world.login("admin", &world.password()).await.unwrap();
    let admin = access.authenticate(&token).await.unwrap();
    let id = access
        .list_tokens(&admin, &admin.user_id)
        .await
        .unwrap()
        .remove(0)
        .row
        .id;
    let others = TokenRevocation {
        usernames: vec!["admin".to_owned(), "no such user".to_owned()],
        ids: vec![id],
        ..TokenRevocation::default()
    };
    let Err(RevokeError::Faults(faults)) = access.revoke(&fred, others).await else {
        panic!("revoked");
    };
    assert_eq!(
        faults.not_permitted.len(),
        3,
        "who exists is not told: {faults:?}"
    );
    assert!(access.authenticate(&token).await.is_ok());
}

async fn a4_a_task_target_permits_its_tasks_on_its_nodes_and_nothing_else() {
    let world = World::new().await;
    let access = &world.access;
    let admin = access.api_user();
    let target = TaskTargetRecord {
        display_name: "web".to_owned(),
        tasks: Some(vec!["package".to_owned()]),
        nodes: vec!["a".to_owned()],
        node_groups: vec!["00000000-0000-4000-8000-000000000000".to_owned()],
        ..TaskTargetRecord::default()
    };
    let first = access
        .create_task_target(&admin, target.clone())
        .await
        .unwrap();
    let second = TaskTargetRecord {
        nodes: vec!["b".to_owned()],
        node_groups: Vec::new(),
        pql_query: Some("nodes { }".to_owned()),
        tasks: None,
        ..target
    };
    let second = access.create_task_target(&admin, second).await.unwrap();
    assert_eq!((first, second), (1, 2), "contiguous");
    let key = first.to_string();
    let constrained = ("tasks", "run_with_constraints", &*key);
    let (fred, _) = world.with_rights("fred", &[constrained]).await;
    let scope = async |by: &UserIdentity, task| {
        let right = access.task_right(by, task, "production").await.unwrap();
        right.scope
    };
    let TaskScope::Some {
        nodes,
        node_groups,
        pql_queries,
    } = scope(&fred, "package").await
    else {
        panic!("no scope");
    };
    assert_eq!(nodes.into_iter().collect::<Vec<_>>(), ["a"]);
    assert_eq!((node_groups.len(), pql_queries.len()), (1, 0));
    assert_eq!(scope(&fred, "service").await, TaskScope::None);
    assert_eq!(scope(&admin, "service").await, TaskScope::All);
    let both = ("tasks", "run_with_constraints", "*");
    let (both, _) = world.with_rights("both", &[both]).await;
    let TaskScope::Some { nodes, .. } = scope(&both, "package").await else {
        panic!("no scope");
    };
    assert_eq!(nodes.into_iter().collect::<Vec<_>>(), ["a", "b"]);
    // The permission to create targets gives no permission to run tasks on them.
    let (clerk, _) = world.with_rights("clerk", CLERK).await;
    let everything = TaskTargetRecord {
        display_name: "all".to_owned(),
        pql_query: Some("nodes { }".to_owned()),
        ..TaskTargetRecord::default()
    };
    let refused = access.create_task_target(&clerk, everything.clone());
    assert!(is_denied(refused.await), "he may not run what it permits");
    let made = access.create_task_target(&admin, everything).await.unwrap();
    let add = vec![PermissionGrant::new(
        "tasks",
        "run_with_constraints",
        made.to_string(),
    )];
    let own = clerk.role_ids[0];
    assert!(is_denied(
        access.change_permissions(&clerk, own, add, &[]).await
    ));
    assert_eq!(scope(&clerk, "package").await, TaskScope::None);
}

async fn a5_names_are_data_and_nothing_else() {
    let world = World::new().await;
    let access = &world.access;
    let admin = access.api_user();
    for name in [
        "'; DROP TABLE users; --",
        "\" OR \"\"=\"",
        "../../etc/passwd",
        "$(reboot)",
        "admin ",
        "%",
        "\u{202e}nimda",
    ] {
        let made = access.create_role(&admin, spec(name, &[])).await;
        let id = made.unwrap();
        assert_eq!(access.role(id).await.unwrap().display_name, name.trim());
        let user = UserSpec {
            login: format!("Łx1{}", name.trim()),
            display_name: name.to_owned(),
            password: Some(PASSWORD.into()),
            ..UserSpec::default()
        };
        let login = user.login.clone();
        access.create_user(&admin, user).await.unwrap();
        assert!(world.login(&login, PASSWORD).await.is_ok(), "{login}");
    }
    let user = |login: &str| UserSpec {
        login: login.to_owned(),
        display_name: "Someone".to_owned(),
        password: Some(PASSWORD.into()),
        ..UserSpec::default()
    };
    let trimmed = access.create_user(&admin, user("admin ")).await;
    assert!(matches!(trimmed, Err(ManageError::Conflict { .. })));
    // Such logins would be parsed as options or files on command lines.
    for login in ["-x", "--force", "@x", "_x", "'x", "\u{202e}nimda"] {
        let made = access.create_user(&admin, user(login)).await;
        assert!(matches!(made, Err(ManageError::Invalid { .. })), "{login}");
    }
    for name in ["", " \t", "a\0b", "a\u{1b}[31m", &"x".repeat(300)] {
        let made = access.create_role(&admin, spec(name, &[])).await;
        assert!(matches!(made, Err(ManageError::Invalid { .. })), "{name:?}");
    }
    assert_eq!(access.users().await.unwrap().len(), 2 + 7);
}

async fn a4_a_right_to_run_code_is_for_the_nodes_of_its_environment() {
    use CodeReach::{EveryNode, OwnEnvironment};
    let world = World::new().await;
    let access = &world.access;
    let grants = [
        ("tasks", "run", "package"),
        ("tasks", "run", "fix@hotfix"),
        ("plans", "run", "site"),
        ("plans", "run", "site@hotfix"),
    ];
    let mut clerk = CLERK.to_vec();
    clerk.extend(grants);
    let (fred, _) = world.with_rights("fred", &clerk).await;
    let right = async |task, environment| {
        let right = access.task_right(&fred, task, environment).await.unwrap();
        (right.scope != TaskScope::None).then_some(right.reach)
    };
    for (task, environment, reach) in [
        ("package", "production", Some(OwnEnvironment)),
        ("package", "evil", Some(OwnEnvironment)),
        ("fix", "hotfix", Some(EveryNode)),
        ("fix", "production", None),
        ("fix@hotfix", "production", None),
        ("service", "production", None),
    ] {
        assert_eq!(
            right(task, environment).await,
            reach,
            "{task} of {environment}"
        );
    }
    let plan = |plan, environment| access.authorize_plan(&fred, plan, environment).ok();
    assert_eq!(plan("site", "evil"), Some(OwnEnvironment));
    assert_eq!(plan("site", "hotfix"), Some(EveryNode));
    assert_eq!(plan("other", "hotfix"), None);
    // A permission for the code of another environment cannot be granted.
    for (instance, may) in [
        ("package", true),
        ("fix@hotfix", true),
        ("package@evil", false),
        ("package@*", false),
        ("fix", false),
    ] {
        let spec = RoleSpec {
            display_name: format!("role of {instance}"),
            permissions: vec![PermissionGrant::new("tasks", "run", instance)],
            ..RoleSpec::default()
        };
        let made = access.create_role(&fred, spec).await;
        assert_eq!(made.is_ok(), may, "{instance}: {made:?}");
    }
    let admin = access.api_user();
    let any = access.task_right(&admin, "package", "evil").await.unwrap();
    assert_eq!((any.scope, any.reach), (TaskScope::All, EveryNode));
    // A setting restores the behaviour of Puppet Enterprise.
    let settings = AuthSettings {
        unnamed_environment: UnnamedEnvironmentScope::Any,
        ..AuthSettings::default()
    };
    let world = World::with(settings).await;
    let (fred, _) = world.with_rights("fred", &grants).await;
    let any = world
        .access
        .task_right(&fred, "package", "evil")
        .await
        .unwrap();
    assert_eq!((any.scope, any.reach), (TaskScope::All, EveryNode));
    let none = world.access.task_right(&fred, "fix", "evil").await.unwrap();
    assert_eq!(none.scope, TaskScope::None);
}

async fn a4_who_has_all_task_targets_makes_none_of_tasks_that_he_may_not_run() {
    let world = World::new().await;
    let access = &world.access;
    let mut grants = CLERK.to_vec();
    grants.push(("tasks", "run_with_constraints", "*"));
    grants.push(("tasks", "run", "package"));
    let (fred, _) = world.with_rights("fred", &grants).await;
    let make = async |tasks: Option<&[&str]>| {
        let target = TaskTargetRecord {
            display_name: "mine".to_owned(),
            tasks: tasks.map(|tasks| tasks.iter().map(|&task| task.to_owned()).collect()),
            pql_query: Some("nodes { }".to_owned()),
            ..TaskTargetRecord::default()
        };
        access.create_task_target(&fred, target).await
    };
    assert!(is_denied(make(None).await), "all tasks everywhere");
    assert!(is_denied(make(Some(&["package", "service"])).await));
    assert!(access.task_targets().await.unwrap().is_empty());
    let scope = access
        .task_right(&fred, "service", "production")
        .await
        .unwrap()
        .scope;
    assert_eq!(scope, TaskScope::None);
    make(Some(&["package"])).await.unwrap();
}

async fn a4_a_task_target_that_a_role_names_stays_and_no_number_comes_back() {
    let world = World::new().await;
    let access = &world.access;
    let admin = access.api_user();
    let target = |name: &str, nodes: &[&str]| TaskTargetRecord {
        display_name: name.to_owned(),
        tasks: Some(vec!["package".to_owned(), "service".to_owned()]),
        nodes: nodes.iter().map(|&node| node.to_owned()).collect(),
        ..TaskTargetRecord::default()
    };
    let make = async |target| access.create_task_target(&admin, target).await.unwrap();
    let first = make(target("web", &["a", "b"])).await;
    let mut equal = target(" web", &["b", "a", "a"]);
    equal.tasks.as_mut().unwrap().reverse();
    assert_eq!(make(equal).await, first);
    let mut all = target("web", &["a", "b"]);
    all.tasks = None;
    let others = [target("web", &["a"]), target("www", &["a", "b"]), all];
    for (other, id) in others.into_iter().zip(2..) {
        assert_eq!(make(other).await, id, "another one");
    }
    let key = first.to_string();
    let (fred, _) = world
        .with_rights("fred", &[("tasks", "run_with_constraints", &*key)])
        .await;
    let (clerk, _) = world.with_rights("clerk", CLERK).await;
    assert!(is_denied(access.delete_task_target(&fred, first).await));
    let refused = access.delete_task_target(&clerk, first).await;
    let Err(ManageError::InUse { roles }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(roles, fred.role_ids);
    assert!(access.task_target(first).await.is_ok());
    access.delete_role(&admin, roles[0]).await.unwrap();
    access.delete_task_target(&clerk, first).await.unwrap();
    let gone = access.delete_task_target(&clerk, first).await;
    assert!(matches!(gone, Err(ManageError::Unknown { .. })));
    assert_eq!(
        make(target("web", &["a", "b"])).await,
        5,
        "a number of its own"
    );
}

async fn there_are_as_many_task_targets_as_the_limit_says() {
    let world = World::new().await;
    let access = &world.access;
    let admin = access.api_user();
    let make = async |i: usize| {
        let target = TaskTargetRecord {
            display_name: i.to_string(),
            ..TaskTargetRecord::default()
        };
        access.create_task_target(&admin, target).await
    };
    for i in 1..TASK_TARGETS {
        let row = TaskTargetRow {
            id: i64::try_from(i).unwrap(),
            display_name: format!("target {i}"),
            nodes: "[]".to_owned(),
            node_groups: "[]".to_owned(),
            ..TaskTargetRow::default()
        };
        world.store.insert_task_target(row).await.unwrap();
    }
    make(7).await.unwrap();
    let refused = make(TASK_TARGETS).await;
    assert!(matches!(refused, Err(ManageError::TooManyTaskTargets)));
    let again = make(7).await.unwrap();
    access.delete_task_target(&admin, again).await.unwrap();
    make(TASK_TARGETS).await.unwrap();
}

async fn a4_changes_of_a_role_at_once_lose_none_of_them() {
    let world = World::new().await;
    let admin = world.access.api_user();
    let role = world.role("many", &[]).await;
    let mut users = Vec::new();
    for n in 0..10 {
        users.push(world.user(&format!("user{n}"), &[role]).await);
    }
    let both = users.iter().enumerate().map(|(n, user)| {
        let (access, by, user) = (world.access.clone(), admin.clone(), user.clone());
        let (other_access, other) = (access.clone(), by.clone());
        let members = MemberChange {
            remove_users: vec![user],
            ..MemberChange::default()
        };
        let add = vec![PermissionGrant::new("tasks", "run", format!("task{n}"))];
        [
            tokio::spawn(async move { access.change_members(&by, role, members).await }),
            tokio::spawn(async move {
                other_access
                    .change_permissions(&other, role, add, &[])
                    .await
            }),
        ]
    });
    for change in both.flatten().collect::<Vec<_>>() {
        change.await.unwrap().unwrap();
    }
    let role = world.access.role(role).await.unwrap();
    assert_eq!(role.user_ids, Vec::<String>::new(), "removed and not back");
    assert_eq!(role.permissions.len(), 10);
}
