//! `tutti webhook …`: webhooks that receive events. Main type: [`WebhookVerb`].

use api_types::{NewWebhook, Webhook, WebhookEdit, WebhookList, WebhookTest, WebhookWithSecret};
use clap::ValueEnum as _;
use secrecy::ExposeSecret as _;

use crate::access::login::first_line;
use crate::client::ApiClient;
use crate::output::{OutputOptions, json};
use crate::settings::ConnectionFlags;
use crate::terminal::{self, escape_control};
use crate::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, table};

/// Route of the API.
const WEBHOOKS: [&str; 3] = ["tutti", "v1", "webhooks"];

/// Verbs of `tutti webhook`.
#[derive(Debug, clap::Subcommand)]
pub enum WebhookVerb {
    /// List the webhooks
    #[command(after_long_help = "Example:\n  tutti webhook list")]
    List(OutputOptions),
    /// Show one webhook and the state of its deliveries
    #[command(after_long_help = "Example:
  tutti webhook show 6f1c2f6e-52a4-4f1d-9c1e-0d1d7c0f8a11")]
    Show(ShowOptions),
    /// Create a webhook that receives events; the signing key is shown once
    #[command(after_long_help = "Examples:
  tutti webhook create https://ci.example.com/tutti --event job_finished --event node_failed
  tutti webhook create https://hooks.slack.com/services/T0/B0/x --template slack --event job_finished")]
    Create(CreateOptions),
    /// Change a webhook, disable or enable it, or give it a new key
    #[command(after_long_help = "Examples:
  tutti webhook edit 6f1c2f6e-52a4-4f1d-9c1e-0d1d7c0f8a11 --disable
  tutti webhook edit 6f1c2f6e-52a4-4f1d-9c1e-0d1d7c0f8a11 --renew-secret")]
    Edit(EditOptions),
    /// Delete a webhook: nothing is sent any more
    #[command(after_long_help = "Example:
  tutti webhook delete 6f1c2f6e-52a4-4f1d-9c1e-0d1d7c0f8a11")]
    Delete(WebhookIdOptions),
    /// Send a test message now and report whether it was accepted
    #[command(after_long_help = "Example:
  tutti webhook test 6f1c2f6e-52a4-4f1d-9c1e-0d1d7c0f8a11")]
    Test(WebhookIdOptions),
}

/// Arguments of `tutti webhook delete` and `test`.
#[derive(Debug, clap::Args)]
pub struct WebhookIdOptions {
    /// Id of the webhook
    id: String,
}

/// Arguments of `tutti webhook show`.
#[derive(Debug, clap::Args)]
pub struct ShowOptions {
    /// Id of the webhook
    id: String,
    #[command(flatten)]
    shown: OutputOptions,
}

/// Arguments of `tutti webhook create`.
#[derive(Debug, clap::Args)]
pub struct CreateOptions {
    /// URL that receives the events
    url: String,
    /// Type of events, such as job_finished; may be given several times [default: all]
    #[arg(long = "event", value_name = "TYPE")]
    events: Vec<String>,
    /// Format of messages: the event as JSON for programs, or that of a chat tool
    #[arg(long, value_enum, default_value = "json", value_name = "FORM")]
    template: TemplateChoice,
    /// Free text that describes the webhook
    #[arg(long, default_value = "", hide_default_value = true)]
    description: String,
    /// File whose first line is the signing key (whsec_ and base64) [default: a new one]
    #[arg(long, value_name = "FILE")]
    secret_file: Option<std::path::PathBuf>,
}

/// The formats of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "lower")]
enum TemplateChoice {
    Json,
    Slack,
    Teams,
    Mattermost,
    RocketChat,
    Discord,
    Matrix,
}

/// Arguments of `tutti webhook edit`.
#[derive(Debug, clap::Args)]
pub struct EditOptions {
    /// Id of the webhook
    id: String,
    /// New URL
    #[arg(long)]
    url: Option<String>,
    /// Type of events; may be given several times; replaces all types set before
    #[arg(long = "event", value_name = "TYPE", conflicts_with = "all_events")]
    events: Vec<String>,
    /// Send events of every type
    #[arg(long)]
    all_events: bool,
    /// Format of messages
    #[arg(long, value_enum, value_name = "FORM")]
    template: Option<TemplateChoice>,
    /// Free text that describes the webhook
    #[arg(long)]
    description: Option<String>,
    /// Start sending again
    #[arg(long, conflicts_with = "disable")]
    enable: bool,
    /// Stop sending
    #[arg(long)]
    disable: bool,
    /// Make a new key and show it
    #[arg(long)]
    renew_secret: bool,
}

pub(crate) async fn run(
    verb: WebhookVerb,
    connection: &ConnectionFlags,
) -> Result<u8, CommandFailure> {
    let client = ApiClient::with_token(connection)?;
    match verb {
        WebhookVerb::List(shown) => list(&shown, &client).await,
        WebhookVerb::Show(options) => show(&options, &client).await,
        WebhookVerb::Create(options) => create(options, &client).await,
        WebhookVerb::Edit(options) => edit(options, &client).await,
        WebhookVerb::Delete(one) => {
            client.delete(&path(&one.id)).await?;
            say!("Deleted webhook {}", escape_control(&one.id));
            Ok(EXIT_SUCCESS)
        }
        WebhookVerb::Test(one) => test(&one, &client).await,
    }
}

async fn list(shown: &OutputOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let list: WebhookList = client.get(&WEBHOOKS, &[]).await?;
    if shown.format == OutputFormat::Json {
        json(&list);
        return Ok(EXIT_SUCCESS);
    }
    if list.items.is_empty() {
        say!("No webhooks yet; `tutti webhook create` makes one.");
        return Ok(EXIT_SUCCESS);
    }
    let rows = list.items.iter().map(|hook| {
        vec![
            terminal::style_name(escape_control(&hook.id)),
            state(hook),
            escape_control(&hook.url),
            events(hook),
            escape_control(&hook.template),
            hook.delivered.to_string(),
            escape_control(&hook.description),
        ]
    });
    let heading = [
        "ID",
        "STATE",
        "URL",
        "EVENTS",
        "TEMPLATE",
        "DELIVERED",
        "DESCRIPTION",
    ];
    table::print(&heading, rows.collect());
    Ok(EXIT_SUCCESS)
}

async fn show(options: &ShowOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let hook: Webhook = client.get(&path(&options.id), &[]).await?;
    if options.shown.format == OutputFormat::Json {
        json(&hook);
        return Ok(EXIT_SUCCESS);
    }
    let mut fields = vec![
        ("webhook", escape_control(&hook.id)),
        ("state", state(&hook)),
        ("url", escape_control(&hook.url)),
        ("events", events(&hook)),
        ("template", escape_control(&hook.template)),
        ("description", escape_control(&hook.description)),
        (
            "made",
            format!(
                "{} by {}",
                hook.created_timestamp,
                escape_control(&hook.created_by)
            ),
        ),
        ("delivered", hook.delivered.to_string()),
        ("given up", hook.given_up.to_string()),
    ];
    fields.extend(
        hook.failing_since
            .map(|time| ("failing since", time.to_string())),
    );
    fields.extend(
        hook.last_error
            .as_ref()
            .map(|why| ("last error", escape_control(why))),
    );
    table::fields(&fields);
    Ok(EXIT_SUCCESS)
}

async fn create(options: CreateOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let secret = options.secret_file.as_deref().map(first_line).transpose()?;
    let new = NewWebhook {
        url: options.url,
        events: options.events,
        template: Some(options.template.name()),
        description: options.description,
        secret: secret.map(|secret| secret.expose_secret().to_owned()),
    };
    let made: WebhookWithSecret = client.post(&WEBHOOKS, &new).await?;
    say!("Made webhook {}", escape_control(&made.webhook.id));
    print_secret(&made);
    Ok(EXIT_SUCCESS)
}

async fn edit(options: EditOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let events = options.all_events || !options.events.is_empty();
    let change = WebhookEdit {
        url: options.url,
        events: events.then_some(options.events),
        template: options.template.map(TemplateChoice::name),
        description: options.description,
        enabled: (options.enable || options.disable).then_some(options.enable),
        renew_secret: options.renew_secret,
    };
    let changed: WebhookWithSecret = client.put(&path(&options.id), &change).await?;
    say!("Changed webhook {}", escape_control(&changed.webhook.id));
    print_secret(&changed);
    Ok(EXIT_SUCCESS)
}

async fn test(one: &WebhookIdOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let [service, version, hooks, id] = path(&one.id);
    let path = [service, version, hooks, id, "test"];
    let outcome: WebhookTest = client.post_empty(&path).await?;
    say!("sent: {}", escape_control(&outcome.body));
    if outcome.delivered {
        say!(
            "{} the receiver accepted the message",
            terminal::style_success("✓")
        );
        return Ok(EXIT_SUCCESS);
    }
    let why = outcome
        .error
        .unwrap_or_else(|| "the reason is unknown".to_owned());
    say!(
        "{} the message was not accepted: {}",
        terminal::style_failure("✗"),
        escape_control(&why)
    );
    Ok(EXIT_NODES_FAILED)
}

// === impl Template ===

impl TemplateChoice {
    /// The name of the format in the API.
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

fn path(id: &str) -> [&str; 4] {
    let [service, version, hooks] = WEBHOOKS;
    [service, version, hooks, id]
}

fn print_secret(hook: &WebhookWithSecret) {
    if let Some(secret) = &hook.secret {
        say!(
            "Its key, which is not shown again: {}",
            escape_control(secret)
        );
    }
}

fn state(hook: &Webhook) -> String {
    match (hook.enabled, hook.failing_since) {
        (false, _) => terminal::style_warning("off"),
        (true, Some(_)) => terminal::style_failure("failing"),
        (true, None) => terminal::style_success("on"),
    }
}

fn events(hook: &Webhook) -> String {
    match hook.events.is_empty() {
        true => "all".to_owned(),
        false => escape_control(&hook.events.join(", ")),
    }
}
