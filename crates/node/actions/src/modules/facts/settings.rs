//! The environment that this node requests, from `puppet.conf`.

/// Paths of `puppet.conf` in Puppet's own packages and in Debian's.
const FILES: [&str; 2] = [
    "/etc/puppetlabs/puppet/puppet.conf",
    "/etc/puppet/puppet.conf",
];

/// The environment; `production` if none is set, as in Puppet.
pub(super) fn environment() -> String {
    let text = FILES
        .iter()
        .find_map(|file| std::fs::read_to_string(file).ok());
    text.and_then(|text| of(&text))
        .unwrap_or_else(|| "production".to_owned())
}

/// Reads the setting; `[agent]` takes precedence over `[main]`.
fn of(text: &str) -> Option<String> {
    let (mut section, mut agent, mut main) = ("main", None, None);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').trim();
        } else if let Some((name, value)) = line.split_once('=')
            && name.trim() == "environment"
        {
            let value = Some(value.trim().to_owned());
            match section {
                "agent" => agent = value,
                "main" => main = value,
                _ => {}
            }
        }
    }
    agent.or(main)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agents_section_comes_first() {
        let text = "# environment = no\n[main]\nenvironment = test\n[agent]\nenvironment=dev\n";
        assert_eq!(of(text).as_deref(), Some("dev"));
        assert_eq!(of("environment = test").as_deref(), Some("test"));
        assert_eq!(of("[server]\nenvironment = test"), None);
    }
}
