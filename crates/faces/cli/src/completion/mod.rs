//! Shell completion of names that only the server knows: tasks, plans, nodes and others. Main
//! function: [`program_name`].
//!
//! Verbs and options are completed by `clap_complete`'s scripts, which contact no server. Its
//! engine for values is not used: it is declared unstable, requires script and program of the same
//! version, starts the program for options too, and proposes nothing after the `=` and `:` at which
//! bash splits words. So the scripts get an additional function, which calls this module for the
//! value under the cursor.
//!
//! Invariant: nothing but names is ever printed, and the shell waits no longer than
//! [`COMPLETION_DEADLINE`].

mod cache;
mod cursor;
mod kind;
mod scripts;
mod source;
mod words;

use std::ffi::OsString;

use clap::Command;

use self::cache::NameCache;
use self::cursor::CompletionCursor;
use self::kind::NameKind;
use self::source::CompletionName;
use crate::client::ApiClient;
use crate::defaults::COMPLETION_DEADLINE;
use crate::program_name as program_names;
use crate::settings::ConnectionFlags;
use crate::terminal::escape_control;
use crate::values::first_line;

pub(crate) use scripts::with_names;

/// The verb that the scripts call.
pub const VERB: &str = "names-at-cursor";

/// The command line that is being typed.
#[derive(Debug, clap::Args)]
pub struct CompletionRequest {
    /// Command line up to the cursor
    #[arg(long, allow_hyphen_values = true)]
    line: Option<String>,
    /// Words of the command line, the one at the cursor last
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// The names that fit at the cursor, one per line, each with a tab and a description.
pub async fn names(request: CompletionRequest, mut command: Command) -> Vec<String> {
    let words = request.line.as_deref().map_or(request.words, words::split);
    let words = program_names::detect_program_name(words.into_iter().map(OsString::from)).1;
    let words: Vec<String> = words
        .into_iter()
        .filter_map(|word| word.into_string().ok())
        .collect();
    command.build();
    let Some(cursor) = cursor::find_cursor(&command, &words) else {
        return Vec::new();
    };
    let Some(kind) = kind::kind_of_argument(&cursor.verbs, cursor.argument.get_id().as_str())
    else {
        return Vec::new();
    };
    let found = tokio::time::timeout(COMPLETION_DEADLINE, proposals(kind, &cursor)).await;
    let found = found.ok().flatten().unwrap_or_default();
    let lines = found.iter().map(|name| line(&cursor.before, name));
    lines.collect()
}

fn line(before: &str, name: &CompletionName) -> String {
    let value = format!("{before}{}", name.value);
    let about = first_line(&name.about);
    match about.is_empty() {
        true => value,
        false => format!("{value}\t{}", escape_control(about)),
    }
}

/// The names of this kind that start with the typed text; `None` if there is no server to ask.
async fn proposals(kind: NameKind, cursor: &CompletionCursor<'_>) -> Option<Vec<CompletionName>> {
    match kind {
        NameKind::Nodes => {
            let (listed, typed) = split_last_item(&cursor.typed);
            let found = cached_names(kind, cursor, typed).await?;
            Some(complete_node_list(listed, found, typed))
        }
        NameKind::TaskParameters | NameKind::PlanParameters => parameters(kind, cursor).await,
        _ => {
            let found = cached_names(kind, cursor, &cursor.typed).await?;
            Some(complete_node_list("", found, &cursor.typed))
        }
    }
}

/// Splits a list of nodes after its last comma.
fn split_last_item(typed: &str) -> (&str, &str) {
    typed.split_at(typed.rfind(',').map_or(0, |at| at + 1))
}

/// The names that start with `typed` and are not listed yet, each with the list before it.
fn complete_node_list(
    listed: &str,
    found: Vec<CompletionName>,
    typed: &str,
) -> Vec<CompletionName> {
    let is_listed = |name: &CompletionName| listed.split(',').any(|one| one == name.value);
    let fits = |name: &CompletionName| {
        is_typeable(&name.value) && name.value.starts_with(typed) && !is_listed(name)
    };
    let with_list = |name: CompletionName| CompletionName {
        value: format!("{listed}{}", name.value),
        ..name
    };
    found.into_iter().filter(fits).map(with_list).collect()
}

/// True if a shell can take the name as printed; a name with control characters is not proposed.
fn is_typeable(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(char::is_control)
}

/// `name=` of a parameter that has no value yet, or a value for it.
async fn parameters(kind: NameKind, cursor: &CompletionCursor<'_>) -> Option<Vec<CompletionName>> {
    let found = cached_names(kind, cursor, "").await?;
    let Some((name, typed)) = cursor.typed.split_once('=') else {
        let given = |name: &CompletionName| {
            let mut pairs = cursor.values.iter().filter(|(id, _)| id == "pairs");
            pairs.any(|(_, pair)| pair.split('=').next() == Some(&name.value))
        };
        let free = found.into_iter().filter(|name| !given(name));
        let named = free.map(|name| CompletionName {
            value: format!("{}=", name.value),
            ..name
        });
        return Some(complete_node_list("", named.collect(), &cursor.typed));
    };
    let mut found = found.into_iter();
    let parameter = found.find(|parameter| parameter.value == name)?;
    let before = format!("{name}=");
    if parameter.about.contains("TargetSpec") {
        let (listed, typed) = split_last_item(typed);
        let found = cached_names(NameKind::Nodes, cursor, typed).await?;
        let listed = format!("{before}{listed}");
        return Some(complete_node_list(&listed, found, typed));
    }
    let values = values(&parameter.about).into_iter();
    let values = values.map(|value| CompletionName {
        value,
        about: String::new(),
    });
    Some(complete_node_list(&before, values.collect(), typed))
}

/// The values of a type: those of an `Enum` or a `Boolean`.
fn values(kind: &str) -> Vec<String> {
    if let Some((_, rest)) = kind.split_once("Enum[") {
        let listed = rest.split(']').next().unwrap_or_default();
        let values = listed.split(',');
        let values = values.map(|value| value.trim().trim_matches(['\'', '"']).to_owned());
        return values.filter(|value| !value.is_empty()).collect();
    }
    match kind.contains("Boolean") {
        true => vec!["false".to_owned(), "true".to_owned()],
        false => Vec::new(),
    }
}

/// The names of a kind, from the disk cache if it is recent enough.
async fn cached_names(
    kind: NameKind,
    cursor: &CompletionCursor<'_>,
    typed: &str,
) -> Option<Vec<CompletionName>> {
    let connection = ConnectionFlags::from_values(|id| cursor.value_of(id));
    let settings = connection.settings().ok()?;
    let client = ApiClient::with_token(&connection).ok()?;
    let environment = source::environment(cursor, &client);
    let name = cursor.value_of("task").or(cursor.value_of("plan"));
    let token = settings.token_file.display().to_string();
    let kind_name = format!("{kind:?}");
    // Nodes are requested by prefix, since there may be 50,000 of them.
    let begin = if kind == NameKind::Nodes { typed } else { "" };
    let key = [
        kind_name.as_str(),
        &settings.service_url,
        &token,
        &modified_at(&settings.token_file),
        &environment,
        name.unwrap_or_default(),
        begin,
    ];
    let cache = NameCache::open_for_user();
    if let Some(names) = cache.as_ref().and_then(|cache| cache.read(&key)) {
        return Some(names);
    }
    if let Some(cache) = &cache {
        // Until the response arrives, so that the next Tab does not wait for an unreachable server.
        cache.write(&key, &[]);
    }
    let names = source::request_names(kind, cursor, begin, &client).await;
    let names = names.ok()?;
    if let Some(cache) = &cache {
        cache.write(&key, &names);
    }
    Some(names)
}

/// The modification time of the token file: another user's names are another list.
fn modified_at(token_file: &std::path::Path) -> String {
    let changed = token_file.metadata().and_then(|found| found.modified());
    let since = changed
        .ok()
        .and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or_else(String::new, |since| since.as_nanos().to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::tests::Arguments;

    fn at(line: &str) -> Option<(String, Option<NameKind>, String, String)> {
        let mut command = Arguments::command();
        command.build();
        let words = words::split(line);
        let cursor = cursor::find_cursor(&command, &words)?;
        let id = cursor.argument.get_id().to_string();
        let kind = kind::kind_of_argument(&cursor.verbs, &id);
        Some((id, kind, cursor.before, cursor.typed))
    }

    #[test]
    fn the_argument_under_the_cursor_is_known() {
        for (line, id, kind, before, typed) in [
            ("tutti task run fa", "task", Some(NameKind::Tasks), "", "fa"),
            (
                "tutti task run facts -t an",
                "nodes",
                Some(NameKind::Nodes),
                "",
                "an",
            ),
            (
                "tutti task run facts -tan",
                "nodes",
                Some(NameKind::Nodes),
                "-t",
                "an",
            ),
            (
                "tutti task run facts --targets=a,b",
                "nodes",
                Some(NameKind::Nodes),
                "--targets=",
                "a,b",
            ),
            (
                "tutti task run -t a --noop ",
                "task",
                Some(NameKind::Tasks),
                "",
                "",
            ),
            (
                "tutti task run facts na",
                "pairs",
                Some(NameKind::TaskParameters),
                "",
                "na",
            ),
            (
                "tutti task run facts a=b -e t c=",
                "pairs",
                Some(NameKind::TaskParameters),
                "",
                "c=",
            ),
            ("tutti job show ", "job", Some(NameKind::Jobs), "", ""),
            ("tutti jobs show ", "job", Some(NameKind::Jobs), "", ""),
            (
                "tutti plan run x --node-group 'All N",
                "node_group",
                Some(NameKind::NodeGroups),
                "",
                "All N",
            ),
            ("tutti code deploy -t ", "token_file", None, "", ""),
            (
                "tutti code deploy a ",
                "environments",
                Some(NameKind::Environments),
                "",
                "",
            ),
            ("tutti task run --description ", "description", None, "", ""),
        ] {
            let expected = (id.to_owned(), kind, before.to_owned(), typed.to_owned());
            assert_eq!(at(line), Some(expected), "{line}");
        }
        for line in [
            "tutti",
            "tutti task run --no",
            "tutti task ",
            "tutti oops ",
            "tutti job list ",
        ] {
            assert_eq!(at(line), None, "{line}");
        }
    }

    #[test]
    fn lists_go_on_and_values_are_read_from_types() {
        assert_eq!(split_last_item("a,b"), ("a,", "b"));
        assert_eq!(split_last_item("a"), ("", "a"));
        let name = |value: &str| CompletionName {
            value: value.to_owned(),
            about: String::new(),
        };
        let found = vec![name("a"), name("ab"), name("b"), name("a\u{1b}[2J")];
        assert_eq!(complete_node_list("a,", found, "a"), [name("a,ab")]);
        assert_eq!(
            values("Optional[Enum[red, 'green',\"blue\"]]"),
            ["red", "green", "blue"]
        );
        assert_eq!(values("Boolean"), ["false", "true"]);
        assert_eq!(values("String[1]"), Vec::<String>::new());
    }
}
