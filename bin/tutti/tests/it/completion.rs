//! Tab completion in real shells: names from the server after the static proposals, and the static
//! ones alone if it does not answer.

use std::path::PathBuf;

use tokio::process::Command;

use crate::world::World;

const NODES: [&str; 2] = ["anna.example.com", "ben.example.com"];

/// A user's home directory, with the shell's completion installed as in docs/cli.md.
struct Home {
    directory: PathBuf,
    service_url: String,
    cacert: PathBuf,
    token_file: PathBuf,
}

// === impl Home ===

impl Home {
    async fn set(world: &World) -> Self {
        world.tutti().await;
        let directory = world.root().join("home");
        std::fs::create_dir_all(directory.join("bin")).unwrap();
        for name in ["tutti", "puppet-job"] {
            let link = directory.join("bin").join(name);
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tutti"), link).unwrap();
        }
        let installation = &world.installation;
        let home = Self {
            directory,
            service_url: format!("https://localhost:{}", installation.api_port()),
            cacert: installation.ca_dir().join("ca_crt.pem"),
            token_file: world.root().join("token"),
        };
        for line in [
            "tutti completions bash > tutti.bash",
            "tutti completions bash --name puppet-job > puppet-job.bash",
            "mkdir -p functions && tutti completions zsh > functions/_tutti",
            "tutti completions fish > tutti.fish",
        ] {
            home.shell("bash", &["-c", line]).await;
        }
        home
    }

    async fn shell(&self, shell: &str, arguments: &[&str]) -> String {
        let path = format!("{}:/usr/bin:/bin", self.directory.join("bin").display());
        let mut command = Command::new(shell);
        command
            .args(arguments)
            .current_dir(&self.directory)
            .env_clear()
            .env("PATH", path)
            .env("HOME", &self.directory)
            .env("TERM", "dumb")
            .env("TUTTI_SERVICE_URL", &self.service_url)
            .env("TUTTI_CACERT", &self.cacert)
            .env("TUTTI_TOKEN_FILE", &self.token_file)
            .kill_on_drop(true);
        let output = command.output().await.unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "",
            "nothing is printed into the prompt"
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// The proposals of bash for a line when Tab is pressed at its end.
    async fn bash(&self, line: &str) -> Vec<String> {
        let script = r#"
            source tutti.bash; source puppet-job.bash
            COMP_LINE=$1 COMP_POINT=${#1}
            # As readline parts words.
            words=(); word=
            for ((i = 0; i < ${#1}; i++)); do
                c=${1:i:1}
                case $c in
                    ' ') [[ -n $word ]] && words+=("$word"); word= ;;
                    '=' | ':') [[ -n $word && $word != [=:]* ]] && { words+=("$word"); word=; }; word+=$c ;;
                    *) [[ $word == [=:]* ]] && { words+=("$word"); word=; }; word+=$c ;;
                esac
            done
            current=$word; [[ $word == [=:]* ]] && { words+=("$word"); current=; }
            COMP_WORDS=("${words[@]}" "$current"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            [[ $(complete -p "${words[0]}") =~ -F\ ([^ ]+) ]] || exit 1
            "${BASH_REMATCH[1]}" "${words[0]}" "$current" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\n' "${COMPREPLY[@]}"
        "#;
        lines(
            &self
                .shell("bash", &["--norc", "-c", script, "bash", line])
                .await,
        )
    }

    async fn fish(&self, line: &str) -> Vec<String> {
        let script = "source tutti.fish; complete -C $argv[1]";
        let printed = self
            .shell("fish", &["--no-config", "-c", script, line])
            .await;
        let words = lines(&printed).into_iter();
        words
            .map(|line| line.split('\t').next().unwrap_or_default().to_owned())
            .collect()
    }

    /// The proposals of zsh for a line, in a terminal of its own.
    async fn zsh(&self, line: &str) -> Vec<String> {
        let script = r#"
            zmodload zsh/zpty
            zpty shell 'PS1= zsh -f -i'
            zpty -w shell 'fpath=($HOME/functions $fpath); autoload -Uz compinit; compinit -u -D'
            zpty -w shell 'compadd() { local -a names; builtin compadd -O names "$@"; print -l -- "<${^names}>"; builtin compadd "$@" }'
            zpty -w shell 'TRAPEXIT() { }; show() { zle complete-word; print -- "<end>"; exit }; zle -N show; bindkey "^I" show; print -- "<ready>"'
            zpty -r shell text '*<ready>*<ready>*'
            zpty -n -w shell "$1"$'\t'
            zpty -r shell text '*<end>*'
            print -r -- "$text"
        "#;
        let printed = self.shell("zsh", &["-f", "-c", script, "zsh", line]).await;
        let found = printed.split('<').skip(1);
        let names = found.filter_map(|rest| rest.split_once('>').map(|(name, _)| name.to_owned()));
        names.filter(|name| name != "end").collect()
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

async fn world() -> World {
    let world = World::start(&NODES).await;
    let metadata = serde_json::json!({
        "description": "Deploys",
        "parameters": {
            "colour": {"type": "Enum[red, green]"},
            "nodes": {"type": "Optional[TargetSpec]"},
            "version": {"type": "String"},
        },
    });
    let script = "#!/bin/sh\n";
    world
        .installation
        .add_task("app", "init.sh", &metadata, script)
        .unwrap();
    world
}

#[tokio::test]
async fn bash_proposes_names_of_the_server_and_static_words_without_it() {
    let world = world().await;
    let mut home = Home::set(&world).await;
    world
        .job(
            "app",
            &[NODES[0]],
            serde_json::json!({"colour": "red", "version": "1"}),
        )
        .await;
    for (line, expected) in [
        ("tutti task ru", &["run"][..]),
        ("tutti task run ap", &["app"]),
        ("tutti task run app -t an", &[NODES[0]]),
        ("tutti task run app --targets=an", &[NODES[0]]),
        (
            "tutti task run app -t anna.example.com,b",
            &["anna.example.com,ben.example.com"],
        ),
        ("tutti task run app co", &["colour="]),
        ("tutti task run app colour=", &["red", "green"]),
        ("tutti task run app colour=red ver", &["version="]),
        ("tutti task run app nodes=be", &[NODES[1]]),
        ("tutti task run app -e pro", &["production"]),
        ("tutti job run --node-group All\\ No", &["All\\ Nodes"]),
        ("tutti job show ", &["1"]),
        ("puppet-job show ", &["1"]),
        ("tutti task run app --node-g", &["--node-group"]),
        ("tutti task run zz", &[]),
    ] {
        assert_eq!(home.bash(line).await, expected, "{line}");
    }
    // A server that does not answer: verbs and options alone, and quickly.
    home.service_url = "https://localhost:1".to_owned();
    assert_eq!(home.bash("tutti task sh").await, ["show"]);
    let files = home.bash("tutti task run app -t an").await;
    assert!(!files.contains(&NODES[0].to_owned()), "{files:?}");
    home.token_file = PathBuf::from("none");
    assert_eq!(home.bash("tutti job st").await, ["stop"]);
    home.bash("tutti job show ").await;
    world.stop().await;
}

#[tokio::test]
async fn fish_and_zsh_propose_the_same_names() {
    let world = world().await;
    let home = Home::set(&world).await;
    for (line, expected) in [
        ("tutti task run ap", "app"),
        ("tutti task run app -t an", NODES[0]),
        ("tutti task run app co", "colour="),
        ("tutti task run app colour=gr", "colour=green"),
        ("tutti task run app -e pro", "production"),
    ] {
        let fish = home.fish(line).await;
        assert!(
            fish.contains(&expected.to_owned()),
            "fish: {line}: {fish:?}"
        );
        let zsh = home.zsh(line).await;
        assert!(zsh.contains(&expected.to_owned()), "zsh: {line}: {zsh:?}");
    }
    assert!(
        home.fish("tutti task sh")
            .await
            .contains(&"show".to_owned())
    );
    world.stop().await;
}
