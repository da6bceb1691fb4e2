//! The options of a run that asks for nothing special: [`PlainFlags`].
//!
//! Invariant: a run with an option that changes what Puppet does is not plain.

/// Options of `puppet agent` without a value that a plain run may have.
const SWITCHES: [&str; 4] = [
    "--onetime",
    "--no-daemonize",
    "--verbose",
    "--strict_environment_mode",
];

/// The options of a plain run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlainFlags<'f> {
    /// Number of the job; `None` if there is none.
    pub(super) job_id: Option<&'f str>,
}

impl<'f> PlainFlags<'f> {
    /// Reads checked options; `None` if one asks for something special, or for another environment.
    pub(super) fn read(flags: &'f [String], environment: &str) -> Option<Self> {
        let mut plain = Self { job_id: None };
        let mut rest = flags.iter().map(String::as_str);
        while let Some(flag) = rest.next() {
            match flag {
                "--color" => drop(rest.next()?),
                "--job-id" => plain.job_id = Some(rest.next()?),
                "--environment" if rest.next()? == environment => {}
                flag if SWITCHES.contains(&flag) => {}
                _ => return None,
            }
        }
        Some(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn only_a_run_without_options_of_its_own_is_plain() {
        let usual = flags("--onetime --no-daemonize --verbose --color false --job-id 7");
        let read = PlainFlags::read(&usual, "production");
        assert_eq!(read.unwrap().job_id, Some("7"));
        let enforced = flags("--environment production --strict_environment_mode");
        assert!(PlainFlags::read(&enforced, "production").is_some());
        assert!(PlainFlags::read(&enforced, "test").is_none());
        for special in [
            "--noop",
            "--tags x",
            "--no-use_cached_catalog",
            "--debug",
            "--job-id",
        ] {
            assert!(
                PlainFlags::read(&flags(special), "production").is_none(),
                "{special}"
            );
        }
    }
}
