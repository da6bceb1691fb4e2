//! Routes under `/rbac-api` for users of external directories: LDAP, and login through an identity
//! provider (OIDC).

use crate::TokenReply;
use crate::defaults::LOGIN_BODY_BYTES;
use crate::rbac::{
    DirectoryTest, LdapDelete, LdapId, LdapSettings, LdapTest, OidcFinish, OidcStart, OidcStarted,
};
use crate::route::Method::{Get, Post, Put};
use crate::route::{Policy, Route};
use crate::routes::permissions::may;

const EDIT: Policy = may("directory_service", "edit");
/// CA certificates are in it.
const SETTINGS_BYTES: usize = 512 * 1024;

super::group! {
    DS = Route::new(Get, "/rbac-api/v1/ds", "ds", EDIT,
        "The LDAP directory, or an empty object").reply::<LdapSettings>(200);
    DS_PUT = Route::new(Put, "/rbac-api/v1/ds", "ds_put", EDIT,
        "Set the LDAP directory; an empty object takes it away")
        .request::<LdapSettings>().reply::<LdapSettings>(200).max_body_bytes(SETTINGS_BYTES);
    DS_TEST = Route::new(Get, "/rbac-api/v1/ds/test", "ds_test", EDIT,
        "Whether the LDAP directory can be asked").reply::<DirectoryTest>(200);
    DS_TEST_PUT = Route::new(Put, "/rbac-api/v1/ds/test", "ds_test_put", EDIT,
        "Whether a directory with these settings can be asked")
        .request::<LdapSettings>().reply::<DirectoryTest>(200).max_body_bytes(SETTINGS_BYTES);
    DS_V2 = Route::new(Get, "/rbac-api/v2/ds", "ds_v2", EDIT, "The LDAP directories, in order")
        .reply::<Vec<LdapSettings>>(200);
    LDAP = Route::new(Get, "/rbac-api/v2/ldap", "ldap", EDIT, "The same")
        .reply::<Vec<LdapSettings>>(200);
    LDAP_ONE = Route::new(Get, "/rbac-api/v2/ldap/{directory}", "ldap_one", EDIT,
        "One LDAP directory").reply::<LdapSettings>(200);
    LDAP_CREATE = Route::new(Post, "/rbac-api/v1/command/ldap/create", "ldap_create", EDIT,
        "Add an LDAP directory").request::<LdapSettings>().reply::<LdapId>(201)
        .max_body_bytes(SETTINGS_BYTES);
    LDAP_UPDATE = Route::new(Post, "/rbac-api/v1/command/ldap/update", "ldap_update", EDIT,
        "Change an LDAP directory").request::<LdapSettings>().reply::<LdapId>(200)
        .max_body_bytes(SETTINGS_BYTES);
    LDAP_DELETE = Route::new(Post, "/rbac-api/v1/command/ldap/delete", "ldap_delete", EDIT,
        "Forget an LDAP directory; tokens of its users end").request::<LdapDelete>().nothing(204);
    LDAP_TEST = Route::new(Post, "/rbac-api/v1/command/ldap/test", "ldap_test", EDIT,
        "Whether an LDAP directory can be asked, and what it says of a user or group")
        .request::<LdapTest>().reply::<DirectoryTest>(200).max_body_bytes(SETTINGS_BYTES);
    OIDC_START = Route::new(Post, "/rbac-api/v1/auth/oidc/start", "oidc_start", Policy::Public,
        "Begin a login by the identity provider, for a program")
        .request::<OidcStart>().reply::<OidcStarted>(200).max_body_bytes(LOGIN_BODY_BYTES)
        .asks_only();
    OIDC_FINISH = Route::new(Post, "/rbac-api/v1/auth/oidc/finish", "oidc_finish", Policy::Public,
        "End it: a token").request::<OidcFinish>().reply::<TokenReply>(200)
        .max_body_bytes(LOGIN_BODY_BYTES).logs_in();
    OIDC_LOGIN = Route::new(Get, "/rbac-api/v1/auth/oidc/login", "oidc_login", Policy::Public,
        "Send a browser to the identity provider").nothing(303);
    OIDC_CALLBACK = Route::new(Get, "/rbac-api/v1/auth/oidc/callback", "oidc_callback",
        Policy::Public, "Where it comes back to: a token").reply::<TokenReply>(200)
        .query(&["code", "state", "iss", "error", "error_description"]).logs_in();
}
