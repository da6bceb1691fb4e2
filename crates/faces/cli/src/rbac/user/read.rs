//! `tutti user list` and `tutti user show`.

use api_types::User;

use crate::client::ApiClient;
use crate::present::Fields;
use crate::rbac::find::{self, RoleNames};
use crate::terminal::{escape_control, escaped_name, style_failure, style_warning};
use crate::values::or_never;
use crate::{EXIT_SUCCESS, OutputFormat, VerbResult, present};

pub(super) async fn list(format: OutputFormat, client: &ApiClient) -> VerbResult {
    let mut users = find::users(client).await?;
    users.sort_by(|one, other| one.login.cmp(&other.login));
    if format.print_json(&users) {
        return Ok(EXIT_SUCCESS);
    }
    let roles = RoleNames::read(client).await?;
    present::table(
        &users,
        &[
            ("LOGIN", &|user| escaped_name(&user.login)),
            ("STATE", &state),
            ("NAME", &|user| escape_control(&user.display_name)),
            ("ROLES", &|user| roles.join_names(&user.role_ids)),
            ("LAST LOGIN", &|user| or_never(user.last_login)),
            ("EMAIL", &|user| escape_control(&user.email)),
        ],
    );
    Ok(EXIT_SUCCESS)
}

pub(super) async fn show(
    called: Option<&str>,
    format: OutputFormat,
    client: &ApiClient,
) -> VerbResult {
    let user = find::user_or_self(client, called).await?;
    if format.print_json(&user) {
        return Ok(EXIT_SUCCESS);
    }
    let roles = RoleNames::read(client).await?;
    let inherited = Some(&user.inherited_role_ids).filter(|ids| !ids.is_empty());
    Fields::default()
        .text("login", &user.login)
        .text("id", &user.id)
        .text("name", &user.display_name)
        .text("email", &user.email)
        .value("state", state(&user))
        .value("roles", roles.join_names(&user.role_ids))
        .optional(
            "roles by groups",
            inherited.map(|ids| roles.join_names(ids)),
        )
        .value("last login", or_never(user.last_login))
        .print();
    Ok(EXIT_SUCCESS)
}

fn state(user: &User) -> String {
    match user {
        _ if user.is_revoked => style_failure("revoked"),
        _ if user.is_superuser => style_warning("superuser"),
        _ if user.is_remote => "of a directory".to_owned(),
        _ => "active".to_owned(),
    }
}
