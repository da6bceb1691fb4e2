//! Scripts of `clap_complete` with an additional function that completes names. Main function:
//! [`with_names`].
//!
//! Invariant: where there are no names, the script proposes the same as without the function.

use std::fmt::Write as _;

use clap::Command;
use clap_complete::Shell;

use super::{VERB, kind};

/// The program that the scripts call.
const PROGRAM: &str = "tutti";

/// The script of `clap_complete` for the program `name`, with names. Elvish and PowerShell complete
/// verbs and options only.
pub(crate) fn with_names(shell: Shell, script: &str, command: &Command, name: &str) -> String {
    match shell {
        Shell::Bash => bash(script, name),
        Shell::Zsh => zsh(script, name),
        Shell::Fish => format!("{script}{}", fish(command, name)),
        _ => script.to_owned(),
    }
}

fn bash(script: &str, name: &str) -> String {
    let function = format!("_{}", name.replace('-', "_"));
    let names = BASH
        .replace("FUNCTION", &function)
        .replace("PROGRAM", PROGRAM)
        .replace("VERB", VERB);
    let begin = script
        .find("\nif [[ \"${BASH_VERSINFO[0]}\"")
        .unwrap_or(script.len());
    let (functions, registration) = script.split_at(begin);
    let registration = registration.replace(
        &format!("-F {function} "),
        &format!("-F {function}_with_names "),
    );
    format!("{functions}{names}{registration}")
}

const BASH: &str = r#"
FUNCTION_with_names() {
    FUNCTION "$@"
    [[ -n ${COMP_LINE-} ]] || return 0
    local line=${COMP_LINE:0:COMP_POINT} found candidate word before
    found=$(PROGRAM VERB --line "$line" 2>/dev/null) && [[ -n $found ]] || return 0
    # Bash parts words at = and : and completes the last part alone.
    word=${line##*[[:space:]]}
    before=${word%"$2"}
    COMPREPLY=()
    while IFS= read -r candidate; do
        candidate=${candidate%%$'\t'*}
        candidate=${candidate#"$before"}
        candidate=$(printf '%q' "$candidate")
        # Escaped without need.
        COMPREPLY+=("${candidate//\\,/,}")
    done <<<"$found"
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
    return 0
}
"#;

fn zsh(script: &str, name: &str) -> String {
    let static_function = script.replace(
        &format!("\n_{name}() {{"),
        &format!("\n_{name}_static() {{"),
    );
    let names = ZSH
        .replace("NAME", name)
        .replace("PROGRAM", PROGRAM)
        .replace("VERB", VERB);
    let begin = static_function
        .find("\nif [ \"$funcstack[1]\"")
        .unwrap_or(static_function.len());
    let (functions, registration) = static_function.split_at(begin);
    format!("{functions}{names}{registration}")
}

const ZSH: &str = r#"
_NAME() {
    local -a found names about more
    found=("${(@f)$(PROGRAM VERB -- "${(@Q)words[1,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
    if [[ -n ${found[1]-} ]]; then
        names=("${(@)found%%$'\t'*}")
        about=("${(@)found/$'\t'/  -- }")
        [[ ${#names} -eq 1 && ${names[1]} == *= ]] && more=(-S '')
        compadd -l -d about "${more[@]}" -- "${names[@]}"
        return
    fi
    _NAME_static "$@"
}
"#;

/// Fish completes the values of each option separately.
fn fish(command: &Command, name: &str) -> String {
    let function = format!("__{}_names", name.replace('-', "_"));
    let mut script = FISH
        .replace("FUNCTION", &function)
        .replace("PROGRAM", PROGRAM)
        .replace("VERB", VERB);
    // Writing to a String cannot fail.
    let _ = writeln!(script, "complete -c {name} -a '({function})'");
    for option in kind::name_options(command) {
        let _ = write!(script, "complete -c {name} -r -a '({function})'");
        for short in option.get_short_and_visible_aliases().unwrap_or_default() {
            let _ = write!(script, " -s {short}");
        }
        for long in option.get_long_and_visible_aliases().unwrap_or_default() {
            let _ = write!(script, " -l {long}");
        }
        script.push('\n');
    }
    script
}

const FISH: &str = r"
function FUNCTION
    PROGRAM VERB -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token --cut-at-cursor) 2>/dev/null
end
";
