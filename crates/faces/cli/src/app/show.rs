//! `tutti app show`: the instances of applications.

use api_types::environments::{AbsentNodes, InstanceComponent, InstanceItem, InstanceList};

use super::absent_nodes::describe_absence;
use super::required_environment;
use crate::VerbResult;
use crate::client::ApiClient;
use crate::failure::usage;
use crate::present::OutputOptions;
use crate::terminal::{escape_control, escaped_name, style_heading};

/// Arguments of `tutti app show`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Application such as Lamp, for all its instances, or an instance such as 'Lamp[app1]' [default: all]
    #[arg(value_name = "APPLICATION")]
    application: Option<String>,
    /// Environment of the applications [default: that of orchestrator.conf]
    #[arg(long, short = 'e', value_name = "NAME")]
    environment: Option<String>,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let environment = required_environment(options.environment.as_ref(), client)?;
    let path = [
        "orchestrator",
        "v1",
        "environments",
        &environment,
        "instances",
    ];
    let mut list: InstanceList = client.get(&path, &[]).await?;
    if let Some(wanted) = &options.application {
        let wanted = &without_quotes(wanted);
        let is_wanted = |it: &InstanceItem| it.application == *wanted || reference(it) == *wanted;
        let all = list.items.len();
        list.items.retain(is_wanted);
        if list.items.is_empty() {
            return usage(format!(
                "the environment {} has no instance {} (`tutti app show` lists its {all} instances)",
                escape_control(&environment),
                escape_control(wanted),
            ));
        }
    }
    let format = options.shown.format;
    format.present(&list, |list| print(list, &environment))
}

/// `Lamp[app1]` for `Lamp['app1']`, as Puppet's code has it.
fn without_quotes(reference: &str) -> String {
    for quote in ['\'', '"'] {
        let (open, close) = (format!("[{quote}"), format!("{quote}]"));
        if let Some((application, rest)) = reference.split_once(&open)
            && let Some(title) = rest.strip_suffix(&close)
        {
            return format!("{application}[{title}]");
        }
    }
    reference.to_owned()
}

fn reference(instance: &InstanceItem) -> String {
    format!("{}[{}]", instance.application, instance.title)
}

fn print(list: &InstanceList, environment: &str) {
    if list.items.is_empty() {
        say!(
            "environment {} has no application instances",
            escape_control(environment)
        );
    }
    for (number, instance) in list.items.iter().enumerate() {
        if number > 0 {
            say!("");
        }
        say!("{}", style_heading(escape_control(&reference(instance))));
        for component in &instance.components {
            print_component(component, &list.absent_nodes);
        }
    }
}

fn print_component(component: &InstanceComponent, absent_nodes: &AbsentNodes) {
    let reference = format!("{}[{}]", component.component, component.title);
    let node = escaped_name(&component.node);
    let absence = describe_absence(&component.node, absent_nodes);
    say!("    {} => {node}{absence}", escape_control(&reference));
    for capability in &component.produces {
        say!("        + produces {}", escape_control(capability));
    }
    for capability in &component.consumes {
        say!("          consumes {}", escape_control(capability));
    }
}
