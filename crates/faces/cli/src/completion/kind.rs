//! The kinds of names that arguments take. Main type: [`NameKind`].
//!
//! Invariant: an argument is identified by its id and its verbs. A test looks up every row of the
//! table in the command line, so that no row outlives its argument.

/// Names that the server can list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NameKind {
    Tasks,
    Plans,
    Environments,
    /// Certnames; several with commas between them.
    Nodes,
    NodeGroups,
    Jobs,
    PlanJobs,
    Schedules,
    Webhooks,
    /// `name=` and values of parameters of the task named before.
    TaskParameters,
    /// The same for the plan named before.
    PlanParameters,
}

/// Arguments with the same meaning under every verb.
const EVERYWHERE: [(&str, NameKind); 5] = [
    ("environment", NameKind::Environments),
    ("nodes", NameKind::Nodes),
    ("node_group", NameKind::NodeGroups),
    ("failed_of", NameKind::Jobs),
    ("unreached_of", NameKind::Jobs),
];

/// Arguments of single verbs.
const OF_VERBS: [(&[&str], &str, NameKind); 39] = [
    (&["task", "run"], "task", NameKind::Tasks),
    (&["task", "run"], "pairs", NameKind::TaskParameters),
    (&["task", "show"], "task", NameKind::Tasks),
    (&["schedule", "task"], "task", NameKind::Tasks),
    (&["schedule", "task"], "pairs", NameKind::TaskParameters),
    (&["schedule", "plan"], "plan", NameKind::Plans),
    (&["schedule", "plan"], "pairs", NameKind::PlanParameters),
    (&["schedule", "show"], "schedule", NameKind::Schedules),
    (&["schedule", "preview"], "schedule", NameKind::Schedules),
    (&["schedule", "delete"], "schedule", NameKind::Schedules),
    (&["plan", "run"], "plan", NameKind::Plans),
    (&["plan", "run"], "pairs", NameKind::PlanParameters),
    (&["plan", "show"], "plan", NameKind::Plans),
    (&["plan", "jobs"], "job", NameKind::PlanJobs),
    (&["plan", "events"], "job", NameKind::PlanJobs),
    (&["plan", "steps"], "job", NameKind::PlanJobs),
    (&["plan", "approve"], "job", NameKind::PlanJobs),
    (&["plan", "stop"], "job", NameKind::PlanJobs),
    (&["plan", "resume"], "job", NameKind::PlanJobs),
    (&["job", "show"], "job", NameKind::Jobs),
    (&["job", "stop"], "job", NameKind::Jobs),
    (&["job", "list"], "node", NameKind::Nodes),
    (&["node", "show"], "node", NameKind::Nodes),
    (&["report", "list"], "node", NameKind::Nodes),
    (&["report", "list"], "job", NameKind::Jobs),
    (&["catalog", "show"], "node", NameKind::Nodes),
    (&["catalog", "history"], "node", NameKind::Nodes),
    (&["catalog", "why"], "node", NameKind::Nodes),
    (&["enc"], "certname", NameKind::Nodes),
    (&["node-group", "show"], "group", NameKind::NodeGroups),
    (&["node-group", "edit"], "group", NameKind::NodeGroups),
    (&["node-group", "delete"], "group", NameKind::NodeGroups),
    (&["node-group", "pin"], "group", NameKind::NodeGroups),
    (&["node-group", "unpin"], "group", NameKind::NodeGroups),
    (&["node-group", "explain"], "node", NameKind::Nodes),
    (&["code", "deploy"], "environments", NameKind::Environments),
    (&["webhook", "show"], "id", NameKind::Webhooks),
    (&["webhook", "edit"], "id", NameKind::Webhooks),
    (&["webhook", "delete"], "id", NameKind::Webhooks),
];

/// The kind of names that an argument takes, if the server can list them.
pub(super) fn kind_of_argument(verbs: &[String], id: &str) -> Option<NameKind> {
    let is_verb = |of: &[&str]| verbs.iter().map(String::as_str).eq(of.iter().copied());
    let mut of_verbs = OF_VERBS.iter();
    let found = of_verbs.find(|(of, known, _)| *known == id && is_verb(of));
    let everywhere = || EVERYWHERE.iter().find(|(known, _)| *known == id);
    match found {
        Some((_, _, kind)) => Some(*kind),
        None => everywhere().map(|(_, kind)| *kind),
    }
}

/// Options that take names, for shells that complete the values of each option separately.
pub(super) fn name_options(command: &clap::Command) -> Vec<clap::Arg> {
    let mut found: Vec<clap::Arg> = Vec::new();
    collect(command, &mut Vec::new(), &mut found);
    found
}

fn collect(command: &clap::Command, verbs: &mut Vec<String>, found: &mut Vec<clap::Arg>) {
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let is_new = !found
            .iter()
            .any(|known| known.get_id() == argument.get_id());
        if argument.get_long().is_some() && is_new && kind_of_argument(verbs, id).is_some() {
            found.push(argument.clone());
        }
    }
    for verb in command.get_subcommands() {
        verbs.push(verb.get_name().to_owned());
        collect(verb, verbs, found);
        verbs.pop();
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Subcommand as _};

    use super::*;
    use crate::node_catalog::NodeCatalogVerb;
    use crate::tests::Arguments;

    #[test]
    fn every_argument_of_the_table_is_there() {
        // the program adds these verbs to its own of the same noun
        let catalog = NodeCatalogVerb::augment_subcommands(clap::Command::new("catalog"));
        let mut command = Arguments::command().subcommand(catalog);
        command.build();
        for (verbs, id, _) in OF_VERBS {
            let mut verb = &command;
            for name in verbs {
                verb = verb
                    .find_subcommand(name)
                    .unwrap_or_else(|| panic!("{verbs:?}"));
            }
            let is_there = verb.get_arguments().any(|argument| argument.get_id() == id);
            assert!(is_there, "{verbs:?} has no {id}");
        }
        let options = name_options(&command);
        for (id, _) in EVERYWHERE {
            assert!(
                options.iter().any(|option| option.get_id() == id),
                "no option {id}"
            );
        }
    }
}
