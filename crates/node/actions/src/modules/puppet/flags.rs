//! The options of `puppet agent` that a request may use: [`check`].
//!
//! The list is that of pxp-module-puppet, without its hole: there, every argument with a single
//! dash passes as if it were a value. Invariant: an argument is an option on the list, or the one
//! value of the option before it, in the form that the option accepts.

/// Value of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FlagValueForm {
    /// No value; the option also exists as `--no-…`.
    Switch,
    /// Seconds, or a number with a unit (`10m`).
    Duration,
    /// Names separated by commas.
    Names,
    /// The name of an environment.
    Environment,
    OneOf(&'static [&'static str]),
}

const LEVELS: &[&str] = &[
    "debug", "info", "notice", "warning", "err", "alert", "emerg", "crit", "verbose",
];
const ORDERINGS: &[&str] = &["manifest", "title-hash", "random"];
const COLORS: &[&str] = &["ansi", "console", "html", "true", "false", "yes", "no"];

/// The options, without their dashes.
const ALLOWED: [(&str, FlagValueForm); 25] = [
    ("color", FlagValueForm::OneOf(COLORS)),
    ("configtimeout", FlagValueForm::Duration),
    ("debug", FlagValueForm::Switch),
    ("disable_warnings", FlagValueForm::Names),
    ("environment", FlagValueForm::Environment),
    ("evaltrace", FlagValueForm::Switch),
    ("filetimeout", FlagValueForm::Duration),
    ("graph", FlagValueForm::Switch),
    ("http_connect_timeout", FlagValueForm::Duration),
    ("http_debug", FlagValueForm::Switch),
    ("http_keepalive_timeout", FlagValueForm::Duration),
    ("http_read_timeout", FlagValueForm::Duration),
    ("log_level", FlagValueForm::OneOf(LEVELS)),
    ("noop", FlagValueForm::Switch),
    ("ordering", FlagValueForm::OneOf(ORDERINGS)),
    ("pluginsync", FlagValueForm::Switch),
    ("show_diff", FlagValueForm::Switch),
    ("skip_tags", FlagValueForm::Names),
    ("splay", FlagValueForm::Switch),
    ("strict_environment_mode", FlagValueForm::Switch),
    ("tags", FlagValueForm::Names),
    ("trace", FlagValueForm::Switch),
    ("use_cached_catalog", FlagValueForm::Switch),
    ("usecacheonfailure", FlagValueForm::Switch),
    ("waitforcert", FlagValueForm::Duration),
];

/// Options that are allowed in this form only; every run has them anyway.
const FIXED: [&str; 3] = ["--onetime", "--no-daemonize", "--verbose"];

/// Longest value in bytes: far beyond any hand-written list of tags, far below the size of a
/// command line.
const MAX_VALUE_BYTES: usize = 4096;

/// Maximum number of arguments in a request.
const MAX_WORDS: usize = 128;

/// The arguments of `puppet agent`, including the fixed ones; an error names the wrong argument.
pub(super) fn check(flags: &[String], job: Option<&str>) -> Result<Vec<String>, String> {
    if flags.len() > MAX_WORDS {
        return Err(format!("`flags` has more than {MAX_WORDS} words"));
    }
    let mut words: Vec<String> = Vec::with_capacity(flags.len() + FIXED.len() + 4);
    let mut rest = flags.iter().map(|word| word.trim());
    while let Some(word) = rest.next() {
        let value = find_value_form(word)?;
        words.push(word.to_owned());
        if let Some(value) = value {
            let given = rest
                .next()
                .ok_or_else(|| format!("`flags`: {word} lacks its value"))?;
            if !value.accepts_value(given) {
                return Err(format!("`flags`: {given:?} is no value for {word}"));
            }
            words.push(given.to_owned());
        }
    }
    for fixed in FIXED {
        if !words.iter().any(|word| word == fixed) {
            words.push(fixed.to_owned());
        }
    }
    // The default makes output readable in a log and in a result; a request may change it.
    if !words
        .iter()
        .any(|word| word == "--color" || word == "--no-color")
    {
        words.extend(["--color".to_owned(), "false".to_owned()]);
    }
    if let Some(job) = job {
        if !is_job(job) {
            return Err(format!("`job` {job:?} is no job id"));
        }
        words.extend(["--job-id".to_owned(), job.to_owned()]);
    }
    Ok(words)
}

/// The value that an option takes; `None` for a switch.
fn find_value_form(word: &str) -> Result<Option<FlagValueForm>, String> {
    if FIXED.contains(&word) {
        return Ok(None);
    }
    let unknown = || {
        if word.starts_with('-') {
            format!("`flags`: {word:?} is not among the options that a request may give")
        } else {
            format!("`flags`: {word:?} is no option, and no option before it takes a value")
        }
    };
    let name = word.strip_prefix("--").ok_or_else(unknown)?;
    let find = |name: &str| {
        let found = ALLOWED.iter().find(|(allowed, _)| *allowed == name);
        found.map(|(_, value)| *value)
    };
    match find(name) {
        Some(FlagValueForm::Switch) => Ok(None),
        Some(value) => Ok(Some(value)),
        None => {
            let positive = name.strip_prefix("no-").ok_or_else(unknown)?;
            find(positive).map(|_| None).ok_or_else(unknown)
        }
    }
}

impl FlagValueForm {
    fn accepts_value(self, text: &str) -> bool {
        let plain = |text: &str| {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_:.-".contains(&byte);
            !text.is_empty() && !text.starts_with('-') && text.bytes().all(allowed)
        };
        if text.len() > MAX_VALUE_BYTES {
            return false;
        }
        match self {
            Self::Switch => false,
            Self::Duration => {
                let digits = text.trim_end_matches(['s', 'm', 'h', 'd', 'y']);
                text.len() - digits.len() <= 1
                    && (1..=10).contains(&digits.len())
                    && digits.bytes().all(|byte| byte.is_ascii_digit())
            }
            Self::Names => text.split(',').all(plain),
            Self::Environment => {
                let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
                !text.is_empty() && text.bytes().all(word)
            }
            Self::OneOf(words) => words.contains(&text),
        }
    }
}

fn is_job(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_:.-".contains(&byte);
    (1..=255).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(flags: &[&str]) -> Result<Vec<String>, String> {
        let flags: Vec<_> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        check(&flags, None)
    }

    #[test]
    fn the_fixed_options_are_added_once() {
        let fixed = [
            "--onetime",
            "--no-daemonize",
            "--verbose",
            "--color",
            "false",
        ];
        assert_eq!(words(&[]).unwrap(), fixed);
        assert_eq!(words(&fixed).unwrap(), fixed);
        assert_eq!(
            check(&[], Some("71")).unwrap()[5..],
            ["--job-id".to_owned(), "71".to_owned()]
        );
    }

    #[test]
    fn what_orchestrators_send_passes() {
        for good in [
            &["--noop"][..],
            &["--no-noop", "--environment", "dev_1"],
            &["--tags", "ntp,profile::base", "--skip_tags", "a.b"],
            &["--http_read_timeout", "600", "--filetimeout", "10m"],
            &["--use_cached_catalog", "--no-usecacheonfailure"],
            &[
                "--ordering",
                "title-hash",
                "--debug",
                "--trace",
                "--evaltrace",
            ],
            &[" --noop ", "--waitforcert", "0", "--no-environment"],
        ] {
            words(good).unwrap();
        }
    }

    #[test]
    fn nothing_gets_past_the_list() {
        for bad in [
            &["-t"][..],
            &["-D"],
            &["-l", "x.log"],
            &["--noop", "-t"],
            &["--tags", "-t"],
            &["--tags", "a,-t"],
            &["--tags=a"],
            &["--environment=dev"],
            &["--noop=true"],
            &["--noop", "true"],
            &["stray"],
            &["--"],
            &["-"],
            &[""],
            &["--daemonize"],
            &["--no-onetime"],
            &["--no-verbose"],
            &["--server", "evil.example.com"],
            &["--environment", "../x"],
            &["--environment", "a b"],
            &["--environment"],
            &["--environment", "--noop"],
            &["--logdest", "/etc/passwd"],
            &["--Noop"],
            &["--no-no-noop"],
            &["--noo"],
            &["--http_read_timeout", "1h2m"],
            &["--http_read_timeout", "$confdir"],
            &["--tags", "$vardir"],
            &["--tags", "a,,b"],
            &["--tags", "a\nb"],
            &["--tags", "a\0"],
            &["--prerun_command", "id"],
            &["--lastrunreport", "x"],
        ] {
            let error = words(bad).expect_err(&format!("{bad:?}"));
            assert!(error.starts_with("`flags`"), "{error}");
        }
        for bad in ["", "-t", "a b", "a=b", "../1", "1\0"] {
            assert!(check(&[], Some(bad)).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn every_word_that_passes_is_harmless(
            flags in proptest::collection::vec("(--(no-)?(noop|tags|environment|color)|[-a-z=/ $,]{0,6})", 0..6),
        ) {
            if let Ok(words) = check(&flags, None) {
                for word in &words {
                    prop_assert!(!word.contains(['=', '/', ' ', '$', '\0']), "{word:?}");
                    prop_assert!(!word.starts_with('-') || word.starts_with("--"), "{word:?}");
                }
            }
        }
    }
}
