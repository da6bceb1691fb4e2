//! `tutti token …`. Main type: [`TokenVerb`].

use api_types::rbac::{AuthenticateToken, NewToken, TokenFacts, TokenList};
use api_types::{RevokeTokens, TokenReply};
use reqwest::Method;
use secrecy::ExposeSecret as _;

use super::find::{self, RoleNames, route_v1};
use crate::client::{self, ApiClient};
use crate::present::{Fields, OutputOptions};
use crate::settings::ConnectionFlags;
use crate::terminal::{escape_control, escaped_name};
use crate::values::or_never;
use crate::{EXIT_SUCCESS, OutputFormat, VerbResult};

/// Verbs of `tutti token`.
#[derive(Debug, clap::Subcommand)]
pub enum TokenVerb {
    /// Create another token for yourself and print it; it expires no later than your current one
    #[command(after_long_help = "Examples:
  tutti token create --lifetime 10m --label ci > /run/secrets/tutti-token
  tutti login --lifetime 30d --label ci --print > /run/secrets/tutti-token")]
    Create(CreateOptions),
    /// List the tokens of a user; your own without a login
    #[command(after_long_help = "Examples:\n  tutti token list\n  tutti token list anna")]
    List(ListOptions),
    /// Show the owner, permissions and expiry of the token in the token file
    #[command(after_long_help = "Example:\n  tutti token show")]
    Show(OutputOptions),
    /// Revoke tokens; a revoked token can never be used again
    #[command(after_long_help = "Examples:
  tutti token revoke --label ci
  tutti token revoke --user anna
  tutti token revoke --this && tutti access delete-token-file")]
    Revoke(RevokeOptions),
}

/// Arguments of `tutti token create`.
#[derive(Debug, clap::Args)]
pub struct CreateOptions {
    /// Lifetime, such as 30m, 4h, 7d; 0 is the lifetime of your current token [default: 1h]
    #[arg(long, short = 'l', value_name = "TIME")]
    lifetime: Option<String>,
    /// Label, by which the token can be revoked
    #[arg(long)]
    label: Option<String>,
    /// Free text that describes the token
    #[arg(long)]
    description: Option<String>,
}

/// Arguments of `tutti token list`.
#[derive(Debug, clap::Args)]
pub struct ListOptions {
    /// Login or id of the user; yourself when absent
    user: Option<String>,
    #[command(flatten)]
    shown: OutputOptions,
}

/// Arguments of `tutti token revoke`. Tokens themselves are never arguments, which all users of the
/// machine could read.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
pub struct RevokeOptions {
    /// Id of a token; may be given several times
    #[arg(long = "id", value_name = "ID")]
    ids: Vec<String>,
    /// Label of a token of yours; may be given several times
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// All tokens of a user, by login; may be given several times
    #[arg(long = "user", value_name = "LOGIN")]
    users: Vec<String>,
    /// The token in the token file
    #[arg(long)]
    this: bool,
}

pub(crate) async fn run(verb: TokenVerb, connection: &ConnectionFlags) -> VerbResult {
    let client = ApiClient::with_token(connection)?;
    match verb {
        TokenVerb::Create(options) => create(options, &client).await,
        TokenVerb::List(options) => list(&options, &client).await,
        TokenVerb::Show(shown) => show(shown.format, &client, connection).await,
        TokenVerb::Revoke(options) => revoke(options, &client, connection).await,
    }
}

async fn create(options: CreateOptions, client: &ApiClient) -> VerbResult {
    let new = NewToken {
        lifetime: options.lifetime,
        label: options.label,
        description: options.description,
        client: Some(concat!("tutti/", env!("CARGO_PKG_VERSION")).to_owned()),
    };
    let reply: TokenReply = client.post(&route_v1(["tokens"]), &new).await?;
    say!("{}", reply.token);
    Ok(EXIT_SUCCESS)
}

async fn list(options: &ListOptions, client: &ApiClient) -> VerbResult {
    let user = find::user_or_self(client, options.user.as_deref()).await?;
    let path = route_v1(["users", &user.id, "tokens"]);
    let tokens: TokenList = client.get(&path, &[]).await?;
    let text = |text: &Option<String>| escape_control(text.as_deref().unwrap_or_default());
    options.shown.format.list(
        &tokens,
        &tokens.items,
        &format!("User {} has no tokens.", escape_control(&user.login)),
        &[
            ("ID", &|token| escaped_name(&token.id)),
            ("LABEL", &|token| text(&token.label)),
            ("ENDS", &|token| or_never(token.expiration_date)),
            ("LAST USED", &|token| token.last_active_date.to_string()),
            ("MADE", &|token| token.creation_date.to_string()),
            ("CLIENT", &|token| text(&token.client)),
            ("DESCRIPTION", &|token| text(&token.description)),
        ],
    )
}

async fn show(
    format: OutputFormat,
    client: &ApiClient,
    connection: &ConnectionFlags,
) -> VerbResult {
    let token = client::token(&connection.settings()?.token_file)?;
    let body = AuthenticateToken {
        token: token.expose_secret().to_owned(),
        update_last_activity: false,
    };
    let path = ["rbac-api", "v2", "auth", "token", "authenticate"];
    let facts: TokenFacts = client.post(&path, &body).await?;
    if format.print_json(&facts) {
        return Ok(EXIT_SUCCESS);
    }
    let roles = RoleNames::read(client).await?;
    Fields::default()
        .value("login", escaped_name(&facts.login))
        .value("roles", roles.join_names(&facts.role_ids))
        .text("id", &facts.id)
        .value("made", facts.creation)
        .value("ends", or_never(facts.expiration))
        .optional_text("label", facts.label.as_deref())
        .optional_text("description", facts.description.as_deref())
        .print();
    Ok(EXIT_SUCCESS)
}

async fn revoke(
    options: RevokeOptions,
    client: &ApiClient,
    connection: &ConnectionFlags,
) -> VerbResult {
    let mut body = RevokeTokens {
        revoke_tokens: Vec::new(),
        revoke_tokens_by_labels: options.labels,
        revoke_tokens_by_usernames: options.users,
        revoke_tokens_by_ids: options.ids,
    };
    if options.this {
        let token = client::token(&connection.settings()?.token_file)?;
        body.revoke_tokens.push(token.expose_secret().to_owned());
    }
    let path = ["rbac-api", "v2", "tokens"];
    client
        .send_without_content(Method::DELETE, &path, &body)
        .await?;
    say!("Revoked");
    Ok(EXIT_SUCCESS)
}
