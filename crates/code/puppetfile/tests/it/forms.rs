//! All forms that r10k supports.

use puppetfile::{ForgeVersion, GitRef, ModuleSource};

use super::{one, read};

fn git(text: &str) -> (String, GitRef, Option<String>) {
    match one(text).source {
        ModuleSource::Git {
            remote,
            reference,
            default_branch,
        } => (remote, reference, default_branch),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn modules_of_the_forge() {
    let version = |text: &str| match one(text).source {
        ModuleSource::Forge(version) => version,
        other => panic!("{text}: {other:?}"),
    };
    let exact = |text: &str| ForgeVersion::Exact(text.to_owned());
    assert_eq!(version("mod 'puppetlabs/stdlib'"), ForgeVersion::Unpinned);
    assert_eq!(
        version("mod 'puppetlabs-stdlib', :latest"),
        ForgeVersion::Latest
    );
    assert_eq!(version("mod 'a/b', 'latest'"), ForgeVersion::Latest);
    assert_eq!(version("mod 'a/b', '1.2.3'"), exact("1.2.3"));
    assert_eq!(version("mod('a/b', \"1.2.3-rc.1\")"), exact("1.2.3-rc.1"));
    assert_eq!(version("mod 'a/b', version: '1.2.3'"), exact("1.2.3"));
    assert_eq!(
        version("mod 'a/b', type: 'forge', version: :latest"),
        ForgeVersion::Latest
    );
    assert_eq!(version("mod 'a/b', type: :forge"), ForgeVersion::Unpinned);
}

#[test]
fn repositories() {
    let remote = "https://example.com/x.git";
    for (options, reference) in [
        ("", GitRef::Unnamed),
        (", :ref => 'x'", GitRef::Any("x".to_owned())),
        (", branch: 'x/y'", GitRef::Branch("x/y".to_owned())),
        (", 'tag' => 'v1'", GitRef::Tag("v1".to_owned())),
        (", :commit => 'abc123'", GitRef::Commit("abc123".to_owned())),
        (", branch: :control_branch", GitRef::ControlBranch),
        (", ref: :control_branch", GitRef::ControlBranch),
    ] {
        let text = format!("mod 'x', :git => '{remote}'{options}");
        assert_eq!(git(&text), (remote.to_owned(), reference, None), "{text}");
    }
    let text = "mod 'x', type: 'git', source: 'u', version: 'main', default_branch: 'prod'";
    let default = Some("prod".to_owned());
    assert_eq!(
        git(text),
        ("u".to_owned(), GitRef::Any("main".to_owned()), default)
    );
    let text = "mod 'x', git: 'u', branch: :control_branch, default_branch: 'a',
                     default_branch_override: 'b'";
    assert_eq!(git(text).2.as_deref(), Some("b"));
}

#[test]
fn other_sources() {
    let source = |text: &str| one(text).source;
    assert_eq!(source("mod 'x', local: true"), ModuleSource::Local);
    assert_eq!(source("mod 'x', type: 'local'"), ModuleSource::Local);
    let svn = |revision: Option<&str>| ModuleSource::Svn {
        remote: "https://svn.example.com/x".to_owned(),
        revision: revision.map(str::to_owned),
        username: None,
        password: None,
    };
    assert_eq!(
        source("mod 'x', svn: 'https://svn.example.com/x'"),
        svn(None)
    );
    assert_eq!(
        source("mod 'x', :svn => 'https://svn.example.com/x', :rev => '12'"),
        svn(Some("12"))
    );
    let sum = "0123456789abcdef".repeat(4);
    let text = format!("mod 'x', type: 'tarball', source: 'https://e/x.tgz', version: '{sum}'");
    let tarball = ModuleSource::Tarball {
        location: "https://e/x.tgz".to_owned(),
        sha256: Some(sum),
    };
    assert_eq!(source(&text), tarball);
    assert_eq!(source(&text.replace("version", "checksum")), tarball);
}

#[test]
fn passwords_are_not_shown() {
    let module = one("mod 'x', svn: 'https://e/x', username: 'me', password: 'hunter2'");
    assert!(!format!("{module:?}").contains("hunter2"));
}

#[test]
fn where_modules_go() {
    let file = read(
        "moduledir 'thirdparty/'
         mod 'a/x'
         mod 'y', git: 'u', install_path: './site'
         mod 'z', git: 'u', exclude_spec: false",
    );
    let directories: Vec<String> = file
        .mods
        .iter()
        .map(|it| file.module_directory(it))
        .collect();
    assert_eq!(directories, ["thirdparty/x", "site/y", "thirdparty/z"]);
    assert_eq!(file.mods[2].exclude_spec, Some(false));
    assert_eq!(file.mods[1].at.line, 3);
}

#[test]
fn a_whole_file() {
    let file = read(
        "# frozen_string_literal: true
=begin
mod 'not/this', '1.0.0'
=end
forge 'https://forgeapi.puppet.com'
moduledir \"modules\"

base = 'https://git.example.com'.freeze
team = \"#{base}/team\"; defaults = 'main'

mod 'puppetlabs/stdlib', # with a comment
    '9.4.1'
mod 'profile',
  git:    \"#{team}/profile.git\",
  branch: :control_branch,
  default_branch: defaults
mod 'role', { :git => base + '/role' '.git', :tag => %q(v1.0) }
mod 'old', :git => 'git@example.com:old.git', \\
  :ref => 'abc'
exclusion 'some/module'
__END__
mod 'not/that', '1.0.0'
",
    );
    assert_eq!(file.forge.as_deref(), Some("https://forgeapi.puppet.com"));
    let names: Vec<String> = file.mods.iter().map(|it| it.name.to_string()).collect();
    assert_eq!(names, ["puppetlabs/stdlib", "profile", "role", "old"]);
    let ModuleSource::Git {
        remote,
        default_branch,
        ..
    } = &file.mods[1].source
    else {
        panic!("{file:?}");
    };
    assert_eq!(remote, "https://git.example.com/team/profile.git");
    assert_eq!(default_branch.as_deref(), Some("main"));
    let ModuleSource::Git {
        remote, reference, ..
    } = &file.mods[2].source
    else {
        panic!("{file:?}");
    };
    assert_eq!(remote, "https://git.example.com/role.git");
    assert_eq!(*reference, GitRef::Tag("v1.0".to_owned()));
}

#[test]
fn lines_of_other_systems() {
    assert_eq!(
        read("mod 'a/b', '1.0.0'\r\nmod 'a/c',\r\n '1.0.0'\r\n")
            .mods
            .len(),
        2
    );
    assert_eq!(read("\u{feff}mod 'a/b'").mods.len(), 1);
    assert_eq!(read("").mods.len(), 0);
    assert_eq!(read("mod 'a/b'; mod 'a/c'").mods.len(), 2);
}

#[test]
fn texts_as_ruby_reads_them() {
    let remote = |text: &str| git(&format!("mod 'x', git: {text}")).0;
    assert_eq!(remote(r"'a\'b\\c\n'"), r"a'b\c\n");
    assert_eq!(remote(r#""a\"b\\c\u00e4\u{41 42}\x43\s""#), "a\"b\\cäABC ");
    assert_eq!(remote("'a' \"b\" 'c'"), "abc");
    assert_eq!(remote("%q{a{b}c}"), "a{b}c");
    assert_eq!(remote("%Q<a\\tb>"), "a\tb");
    assert_eq!(remote("('a' + 'b')"), "ab");
}
