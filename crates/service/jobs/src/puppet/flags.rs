//! The options of a Puppet run as flags of `puppet agent`.
//!
//! Invariant of [`PuppetFlags`]: only flags that pxp-module-puppet accepts are made, and a value
//! that it would refuse (or take for a flag) is refused here, with the option's name.

use std::fmt;

/// Options of a Puppet run. The names are those of Puppet's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PuppetFlags {
    /// Only report changes, make none.
    pub noop: bool,
    /// Make changes even if `puppet.conf` sets noop.
    pub no_noop: bool,
    /// Log debug messages, too.
    pub debug: bool,
    /// Print stack traces on errors.
    pub trace: bool,
    /// Log each resource as it is evaluated.
    pub evaltrace: bool,
    /// Apply the last catalog instead of asking for one; `None`: as the node is configured.
    pub use_cached_catalog: Option<bool>,
    /// Apply the last catalog when there is no new one; `None`: as the node is configured.
    pub usecacheonfailure: Option<bool>,
    /// Puppet's `filetimeout`, in seconds; `None`: as the node is configured.
    pub filetimeout: Option<u64>,
    /// Puppet's `http_connect_timeout`, in seconds; `None`: as the node is configured.
    pub http_connect_timeout: Option<u64>,
    /// Puppet's `http_keepalive_timeout`, in seconds; `None`: as the node is configured.
    pub http_keepalive_timeout: Option<u64>,
    /// Puppet's `http_read_timeout`, in seconds; `None`: as the node is configured.
    pub http_read_timeout: Option<u64>,
    /// `manifest`, `title-hash` or `random`.
    pub ordering: Option<String>,
    /// Comma-separated tags: only resources with these tags are applied.
    pub tags: Option<String>,
    /// Comma-separated tags: resources with these tags are skipped.
    pub skip_tags: Option<String>,
}

/// An invalid option of a Puppet run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {problem}")]
pub struct PuppetFlagError {
    /// Name of the option in the request.
    pub option: &'static str,
    /// The problem with the option's value.
    pub problem: String,
}

const ORDERINGS: [&str; 3] = ["manifest", "title-hash", "random"];

// === impl PuppetFlags ===

impl PuppetFlags {
    /// The flags of a run that is to get a catalog of one version and apply no other.
    pub(crate) fn with_new_catalog_only(&self) -> Result<Self, PuppetFlagError> {
        let what = "contradicts code_id: the last catalog of a node may be of another version";
        if self.use_cached_catalog == Some(true) {
            return Err(flag_error("use_cached_catalog", what));
        }
        if self.usecacheonfailure == Some(true) {
            return Err(flag_error("usecacheonfailure", what));
        }
        Ok(Self {
            use_cached_catalog: Some(false),
            usecacheonfailure: Some(false),
            ..self.clone()
        })
    }

    /// The flags of a run that other nodes of its job wait for, or that waits for others: it fails if its catalog cannot
    /// be compiled, instead of applying an earlier one.
    pub(crate) fn without_earlier_catalog(&self) -> Result<Self, PuppetFlagError> {
        if self.usecacheonfailure == Some(true) {
            let what = "contradicts the order of applications, and runs that are repeated: a catalog that does not compile would \
                        count as a success";
            return Err(flag_error("usecacheonfailure", what));
        }
        Ok(Self {
            usecacheonfailure: Some(false),
            ..self.clone()
        })
    }

    /// The arguments for the command line. With `environment` `None`, each node uses its own;
    /// `enforced` makes the run fail if the server would use another one.
    pub(crate) fn to_arguments(
        &self,
        environment: Option<&str>,
        enforced: bool,
    ) -> Result<Vec<String>, PuppetFlagError> {
        if self.noop && self.no_noop {
            return Err(flag_error("no_noop", "contradicts noop; set one of them"));
        }
        let mut words = PuppetArguments::default();
        if let Some(environment) = environment {
            words.push_pair("environment", environment);
            words.push_flag("strict_environment_mode", enforced);
        }
        words.push_flag("noop", self.noop);
        words.push_flag("no-noop", self.no_noop);
        words.push_flag("debug", self.debug);
        words.push_flag("trace", self.trace);
        words.push_flag("evaltrace", self.evaltrace);
        words.push_choice("use_cached_catalog", self.use_cached_catalog);
        words.push_choice("usecacheonfailure", self.usecacheonfailure);
        for (name, seconds) in [
            ("filetimeout", self.filetimeout),
            ("http_connect_timeout", self.http_connect_timeout),
            ("http_keepalive_timeout", self.http_keepalive_timeout),
            ("http_read_timeout", self.http_read_timeout),
        ] {
            if let Some(seconds) = seconds {
                words.push_pair(name, seconds);
            }
        }
        if let Some(ordering) = &self.ordering {
            if !ORDERINGS.contains(&ordering.as_str()) {
                let which = ORDERINGS.join(", ");
                return Err(flag_error("ordering", format!("must be one of {which}")));
            }
            words.push_pair("ordering", ordering);
        }
        for (option, tags) in [("tags", &self.tags), ("skip_tags", &self.skip_tags)] {
            if let Some(tags) = tags {
                check_tags(option, tags)?;
                words.push_pair(option, tags);
            }
        }
        Ok(words.0)
    }
}

/// Checks that the tags have only characters that the module accepts.
fn check_tags(option: &'static str, tags: &str) -> Result<(), PuppetFlagError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_:,.-".contains(c);
    if tags.is_empty() {
        return Err(flag_error(option, "is empty; leave it away"));
    }
    if tags.starts_with('-') || !tags.chars().all(allowed) {
        let what = "may have letters, digits and _ : , . - only, and not begin with a dash; write \
                    several tags with commas and no blanks";
        return Err(flag_error(option, what));
    }
    Ok(())
}

fn flag_error(option: &'static str, problem: impl Into<String>) -> PuppetFlagError {
    PuppetFlagError {
        option,
        problem: problem.into(),
    }
}

#[derive(Default)]
struct PuppetArguments(Vec<String>);

impl PuppetArguments {
    fn push_flag(&mut self, name: &str, set: bool) {
        if set {
            self.0.push(format!("--{name}"));
        }
    }

    /// Adds a flag, or its opposite.
    fn push_choice(&mut self, name: &str, choice: Option<bool>) {
        match choice {
            Some(true) => self.push_flag(name, true),
            Some(false) => self.0.push(format!("--no-{name}")),
            None => {}
        }
    }

    /// Adds a flag and its value as two arguments: the module accepts no `=`.
    fn push_pair(&mut self, name: &str, value: impl fmt::Display) {
        self.0.extend([format!("--{name}"), value.to_string()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flags that pxp-module-puppet accepts, each also with `no-` in front.
    const ALLOWED: [&str; 23] = [
        "color",
        "configtimeout",
        "debug",
        "disable_warnings",
        "environment",
        "evaltrace",
        "filetimeout",
        "graph",
        "http_connect_timeout",
        "http_debug",
        "http_keepalive_timeout",
        "http_read_timeout",
        "log_level",
        "noop",
        "ordering",
        "pluginsync",
        "show_diff",
        "skip_tags",
        "splay",
        "strict_environment_mode",
        "tags",
        "trace",
        "use_cached_catalog",
    ];

    fn everything() -> PuppetFlags {
        PuppetFlags {
            noop: true,
            no_noop: false,
            debug: true,
            trace: true,
            evaltrace: true,
            use_cached_catalog: Some(true),
            usecacheonfailure: Some(false),
            filetimeout: Some(1),
            http_connect_timeout: Some(2),
            http_keepalive_timeout: Some(3),
            http_read_timeout: Some(4),
            ordering: Some("title-hash".to_owned()),
            tags: Some("a,b::c".to_owned()),
            skip_tags: Some("d.e-f".to_owned()),
        }
    }

    #[test]
    fn every_option_becomes_a_flag_that_the_module_lets_through() {
        let words = everything().to_arguments(Some("production"), true).unwrap();
        let expected = "--environment production --strict_environment_mode --noop --debug --trace \
            --evaltrace --use_cached_catalog --no-usecacheonfailure --filetimeout 1 \
            --http_connect_timeout 2 --http_keepalive_timeout 3 --http_read_timeout 4 \
            --ordering title-hash --tags a,b::c --skip_tags d.e-f";
        assert_eq!(words.join(" "), expected);
        for word in &words {
            let fine = |c: char| c.is_ascii_alphanumeric() || "_:,.-".contains(c);
            assert!(word.chars().all(fine), "{word}");
            let Some(flag) = word.strip_prefix("--") else {
                continue;
            };
            let flag = flag.strip_prefix("no-").unwrap_or(flag);
            let known = ALLOWED.contains(&flag) || flag == "usecacheonfailure";
            assert!(known, "{flag}");
        }
    }

    #[test]
    fn nothing_asked_is_no_flag_and_a_node_keeps_its_own_environment() {
        let none: [String; 0] = [];
        assert_eq!(
            PuppetFlags::default().to_arguments(None, false).unwrap(),
            none
        );
        let words = PuppetFlags::default()
            .to_arguments(Some("test"), false)
            .unwrap();
        assert_eq!(words, ["--environment", "test"]);
        let no_noop = PuppetFlags {
            no_noop: true,
            usecacheonfailure: Some(true),
            ..PuppetFlags::default()
        };
        let words = no_noop.to_arguments(None, false).unwrap();
        assert_eq!(words, ["--no-noop", "--usecacheonfailure"]);
    }

    #[test]
    fn what_the_module_would_refuse_or_misread_is_refused_by_name() {
        let refused = |flags: PuppetFlags| flags.to_arguments(None, false).unwrap_err().option;
        let with = |change: fn(&mut PuppetFlags)| {
            let mut flags = PuppetFlags::default();
            change(&mut flags);
            refused(flags)
        };
        let both = with(|flags| (flags.noop, flags.no_noop) = (true, true));
        assert_eq!(both, "no_noop");
        assert_eq!(
            with(|flags| flags.ordering = Some("up".to_owned())),
            "ordering"
        );
        for tags in [
            "", "-t", "--debug", "a b", "a=b", "a/b", "ä", "a\0", "$(id)", "a\nb",
        ] {
            let flags = PuppetFlags {
                tags: Some(tags.to_owned()),
                ..PuppetFlags::default()
            };
            assert_eq!(refused(flags), "tags", "{tags:?}");
            let flags = PuppetFlags {
                skip_tags: Some(tags.to_owned()),
                ..PuppetFlags::default()
            };
            assert_eq!(refused(flags), "skip_tags", "{tags:?}");
        }
    }
}
