//! Parsing of `environment.conf`, of which only `modulepath` is used here.
//!
//! [`resolve_modulepath`] follows Puppet: entries are separated by `:`, relative ones are below the
//! environment, and without the setting it is `modules:$basemodulepath`. Other settings are for
//! compilers and are ignored.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::defaults::ENVIRONMENT_CONF_BYTES;
use crate::{CodeError, EnvironmentName};

const DEFAULT_MODULEPATH: &str = "modules:$basemodulepath";

/// The directories and names that a modulepath may refer to.
pub(super) struct ModulepathContext<'a> {
    pub(super) codedir: &'a Path,
    pub(super) environment: &'a EnvironmentName,
    pub(super) directory: &'a Path,
    pub(super) basemodulepath: &'a [PathBuf],
}

/// The directories that contain the environment's modules, in the order in which they are searched.
pub(super) fn resolve_modulepath(
    surroundings: &ModulepathContext<'_>,
) -> Result<Vec<PathBuf>, CodeError> {
    let path = surroundings.directory.join("environment.conf");
    let text = read_modulepath_setting(&path)?;
    let setting = environment_conf_setting(&text, "modulepath");
    let (line, setting) = setting.unwrap_or((1, DEFAULT_MODULEPATH));
    expand(setting, surroundings).map_err(|problem| CodeError::EnvironmentConf {
        path,
        line,
        problem,
    })
}

fn read_modulepath_setting(path: &Path) -> Result<String, CodeError> {
    let io = |error| CodeError::io(path, error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(io(error)),
    };
    let mut bytes = Vec::new();
    file.take(ENVIRONMENT_CONF_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    let problem = |line, problem: String| CodeError::EnvironmentConf {
        path: path.to_owned(),
        line,
        problem,
    };
    if bytes.len() as u64 > ENVIRONMENT_CONF_BYTES {
        return Err(problem(
            1,
            format!("it has more than {ENVIRONMENT_CONF_BYTES} bytes"),
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        problem(line, "it is not UTF-8".to_owned())
    })
}

/// The first value of a setting of an `environment.conf`, without a quote at either end, with its line number,
/// counted from 1. As in Puppet, a `#` begins a comment only at the begin of a line.
#[must_use]
pub fn environment_conf_setting<'t>(text: &'t str, name: &str) -> Option<(usize, &'t str)> {
    text.lines().enumerate().find_map(|(index, line)| {
        let (key, value) = line.split_once('=')?;
        let value = value.trim();
        let value = value.strip_prefix(['\'', '"']).unwrap_or(value);
        let value = value.strip_suffix(['\'', '"']).unwrap_or(value);
        (key.trim() == name).then_some((index + 1, value))
    })
}

fn expand(setting: &str, surroundings: &ModulepathContext<'_>) -> Result<Vec<PathBuf>, String> {
    let mut directories: Vec<PathBuf> = Vec::new();
    let mut add = |directory: PathBuf| {
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    };
    for entry in setting
        .split(':')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
    {
        if matches!(entry, "$basemodulepath" | "${basemodulepath}") {
            surroundings
                .basemodulepath
                .iter()
                .cloned()
                .for_each(&mut add);
            continue;
        }
        if entry.contains('\0') {
            return Err("the modulepath contains a NUL".to_owned());
        }
        let entry = interpolate(entry, surroundings)?;
        add(surroundings.directory.join(entry));
    }
    Ok(directories)
}

fn interpolate(entry: &str, surroundings: &ModulepathContext<'_>) -> Result<String, String> {
    let codedir = surroundings.codedir.to_string_lossy();
    let known = [
        ("codedir", &*codedir),
        ("environment", surroundings.environment.as_str()),
    ];
    let mut text = entry.to_owned();
    for (name, value) in known {
        text = text
            .replace(&format!("${{{name}}}"), value)
            .replace(&format!("${name}"), value);
    }
    match text.find('$') {
        Some(at) => {
            let unknown: String = text[at..].chars().take_while(|c| *c != '/').collect();
            Err(format!(
                "`{unknown}` in the modulepath is not known; $basemodulepath, $codedir and \
                 $environment are"
            ))
        }
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(setting: &str) -> Result<Vec<PathBuf>, String> {
        let environment: EnvironmentName = "production".parse().unwrap();
        let basemodulepath = [PathBuf::from("/code/modules")];
        let surroundings = ModulepathContext {
            codedir: Path::new("/code"),
            environment: &environment,
            directory: Path::new("/code/environments/production"),
            basemodulepath: &basemodulepath,
        };
        expand(setting, &surroundings)
    }

    #[test]
    fn entries_are_relative_to_the_environment_and_known_names_are_replaced() {
        let paths = |texts: &[&str]| Ok(texts.iter().map(PathBuf::from).collect::<Vec<_>>());
        let in_environment = "/code/environments/production";
        assert_eq!(
            expanded(DEFAULT_MODULEPATH),
            paths(&[&format!("{in_environment}/modules"), "/code/modules"])
        );
        assert_eq!(
            expanded("site-modules: modules :/opt/m::modules"),
            paths(&[
                &format!("{in_environment}/site-modules"),
                &format!("{in_environment}/modules"),
                "/opt/m"
            ])
        );
        assert_eq!(
            expanded("$codedir/x:${environment}/y"),
            paths(&["/code/x", &format!("{in_environment}/production/y")])
        );
        assert!(
            expanded("$vardir/modules")
                .unwrap_err()
                .contains("`$vardir`")
        );
    }

    #[test]
    fn the_first_setting_counts_as_in_puppet_and_others_are_passed_over() {
        let text = "# x\n#modulepath = z\nmanifest = site.pp\nnonsense\n modulepath=\"b:c\"\nmodulepath = d\n";
        let setting = |name| environment_conf_setting(text, name);
        assert_eq!(setting("modulepath"), Some((5, "b:c")));
        assert_eq!(setting("manifest"), Some((3, "site.pp")));
        assert_eq!(setting("config_version"), None);
        assert_eq!(
            environment_conf_setting("a = b # c", "a"),
            Some((1, "b # c"))
        );
    }
}
