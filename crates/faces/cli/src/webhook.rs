//! `tutti webhook …`: webhooks that receive events. Main type: [`WebhookVerb`].

use api_types::{NewWebhook, Webhook, WebhookEdit, WebhookList, WebhookTest, WebhookWithSecret};
use clap::ValueEnum as _;
use reqwest::Method;
use secrecy::ExposeSecret as _;

use crate::access::login::first_line;
use crate::client::{ApiClient, route};
use crate::present::{Fields, OutputOptions};
use crate::terminal::{escape_control, escaped_name, style_failure, style_success, style_warning};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, VerbResult};

/// Route of the API.
pub(crate) const WEBHOOKS: [&str; 3] = ["tutti", "v1", "webhooks"];

/// Verbs of `tutti webhook`.
#[derive(Debug, clap::Subcommand)]
pub enum WebhookVerb {
    /// List the webhooks
    #[command(after_long_help = "Example:\n  tutti webhook list")]
    List(OutputOptions),
    /// Show one webhook and the state of its deliveries
    #[command(after_long_help = "Example:
  tutti webhook show 6f1c2f6e-52a4-4f1d-9c1e-0d1d7c0f8a11")]
    Show {
        /// Id of the webhook
        id: String,
        #[command(flatten)]
        shown: OutputOptions,
    },
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
    Delete {
        /// Id of the webhook
        id: String,
    },
    /// Send a test message now and report whether it was accepted
    #[command(after_long_help = "Example:
  tutti webhook test 6f1c2f6e-52a4-4f1d-9c1e-0d1d7c0f8a11")]
    Test {
        /// Id of the webhook
        id: String,
    },
}

/// Arguments of `tutti webhook create`.
#[derive(Debug, clap::Args)]
pub struct CreateOptions {
    /// URL that receives the events
    url: String,
    /// Type of events, such as job_finished; may be given several times [default: all of jobs and plans]
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
    /// Send events of every type, except those of Puppet runs, which must be named
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

pub(crate) async fn run(verb: WebhookVerb, client: &ApiClient) -> VerbResult {
    match verb {
        WebhookVerb::List(shown) => list(shown.format, client).await,
        WebhookVerb::Show { id, shown } => show(&id, shown.format, client).await,
        WebhookVerb::Create(options) => create(options, client).await,
        WebhookVerb::Edit(options) => edit(options, client).await,
        WebhookVerb::Delete { id } => {
            client.delete(&route(WEBHOOKS, [&id])).await?;
            say!("Deleted webhook {}", escape_control(&id));
            Ok(EXIT_SUCCESS)
        }
        WebhookVerb::Test { id } => test(&id, client).await,
    }
}

async fn list(format: OutputFormat, client: &ApiClient) -> VerbResult {
    let list: WebhookList = client.get(&WEBHOOKS, &[]).await?;
    format.list(
        &list,
        &list.items,
        "No webhooks yet; `tutti webhook create` makes one.",
        &[
            ("ID", &|hook| escaped_name(&hook.id)),
            ("STATE", &state),
            ("URL", &|hook| escape_control(&hook.url)),
            ("EVENTS", &events),
            ("TEMPLATE", &|hook| escape_control(&hook.template)),
            ("DELIVERED", &|hook| hook.delivered.to_string()),
            ("DESCRIPTION", &|hook| escape_control(&hook.description)),
        ],
    )
}

async fn show(id: &str, format: OutputFormat, client: &ApiClient) -> VerbResult {
    let hook: Webhook = client.get(&route(WEBHOOKS, [id]), &[]).await?;
    format.present(&hook, |hook| {
        let by = escape_control(&hook.created_by);
        Fields::default()
            .text("webhook", &hook.id)
            .value("state", state(hook))
            .text("url", &hook.url)
            .value("events", events(hook))
            .text("template", &hook.template)
            .text("description", &hook.description)
            .value("made", format_args!("{} by {by}", hook.created_timestamp))
            .value("delivered", hook.delivered)
            .value("given up", hook.given_up)
            .optional("failing since", hook.failing_since)
            .optional_text("last error", hook.last_error.as_deref())
            .print();
    })
}

async fn create(options: CreateOptions, client: &ApiClient) -> VerbResult {
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

async fn edit(options: EditOptions, client: &ApiClient) -> VerbResult {
    let events = options.all_events || !options.events.is_empty();
    let change = WebhookEdit {
        url: options.url,
        events: events.then_some(options.events),
        template: options.template.map(TemplateChoice::name),
        description: options.description,
        enabled: (options.enable || options.disable).then_some(options.enable),
        renew_secret: options.renew_secret,
    };
    let changed: WebhookWithSecret = client.put(&route(WEBHOOKS, [&options.id]), &change).await?;
    say!("Changed webhook {}", escape_control(&changed.webhook.id));
    print_secret(&changed);
    Ok(EXIT_SUCCESS)
}

async fn test(id: &str, client: &ApiClient) -> VerbResult {
    let path = route(WEBHOOKS, [id, "test"]);
    let outcome: WebhookTest = client.send_for_reply(Method::POST, &path).await?;
    say!("sent: {}", escape_control(&outcome.body));
    if outcome.delivered {
        let mark = style_success("✓");
        say!("{mark} the receiver accepted the message");
        return Ok(EXIT_SUCCESS);
    }
    let why = outcome.error.as_deref().unwrap_or("the reason is unknown");
    let (mark, why) = (style_failure("✗"), escape_control(why));
    say!("{mark} the message was not accepted: {why}");
    Ok(EXIT_NODES_FAILED)
}

// === impl TemplateChoice ===

impl TemplateChoice {
    /// The name of the format in the API.
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

fn print_secret(hook: &WebhookWithSecret) {
    if let Some(secret) = &hook.secret {
        let secret = escape_control(secret);
        say!("Its key, which is not shown again: {secret}");
    }
}

fn state(hook: &Webhook) -> String {
    match (hook.enabled, hook.failing_since) {
        (false, _) => style_warning("off"),
        (true, Some(_)) => style_failure("failing"),
        (true, None) => style_success("on"),
    }
}

fn events(hook: &Webhook) -> String {
    match hook.events.is_empty() {
        true => "all".to_owned(),
        false => escape_control(&hook.events.join(", ")),
    }
}
