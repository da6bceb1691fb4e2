//! The modules that ship with Tutti, embedded in the program. Main function: [`write`].
//!
//! Invariant: the files equal those of `modules/` in the source tree, byte for byte.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};

macro_rules! shipped {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../../modules/", $path)))),+]
    };
}

const FILES: &[(&str, &[u8])] = shipped![
    "apply_helpers/files/apply_helper.rb",
    "apply_helpers/tasks/apply_catalog.json",
    "apply_helpers/tasks/apply_catalog.sh",
    "apply_helpers/tasks/custom_facts.json",
    "apply_helpers/tasks/custom_facts.sh",
    "apply_helpers/tasks/query_resources.json",
    "apply_helpers/tasks/query_resources.sh",
    "availability/lib/puppet/provider/http_service/http.rb",
    "availability/lib/puppet/provider/postgres_service/postgres.rb",
    "availability/lib/puppet/provider/tcp_service/tcp.rb",
    "availability/lib/puppet/type/http_service.rb",
    "availability/lib/puppet/type/postgres_service.rb",
    "availability/lib/puppet/type/tcp_service.rb",
    "availability/lib/puppet_x/availability/attributes.rb",
    "availability/lib/puppet_x/availability/check.rb",
    "availability/lib/puppet_x/availability/connection.rb",
    "availability/lib/puppet_x/availability/deadline.rb",
    "availability/lib/puppet_x/availability/failure.rb",
    "availability/lib/puppet_x/availability/http_probe.rb",
    "availability/lib/puppet_x/availability/postgres_authentication.rb",
    "availability/lib/puppet_x/availability/postgres_messages.rb",
    "availability/lib/puppet_x/availability/postgres_probe.rb",
    "availability/lib/puppet_x/availability/provider.rb",
    "availability/lib/puppet_x/availability/scram.rb",
    "availability/lib/puppet_x/availability/tcp_probe.rb",
    "availability/lib/puppet_x/availability/trust.rb",
    "bolt_shim/files/shim.py",
    "bolt_shim/tasks/command.json",
    "bolt_shim/tasks/command.py",
    "bolt_shim/tasks/download.json",
    "bolt_shim/tasks/download.py",
    "bolt_shim/tasks/script.json",
    "bolt_shim/tasks/script.py",
    "bolt_shim/tasks/upload.json",
    "bolt_shim/tasks/upload.py",
    "common/lib/puppet/provider/exec/again.rb",
    "common/lib/puppet_x/common/again/origin.rb",
    "common/lib/puppet_x/common/again/requester.rb",
    "common/lib/puppet_x/common/again/requests.rb",
    "common/lib/puppet_x/common/again/rerun.rb",
    "common/lib/puppet_x/common/again/store.rb",
    "common/lib/puppet_x/common/again/system.rb",
    "common/lib/puppet_x/common/again/waiter.rb",
    "common/manifests/again.pp",
    "common/manifests/again/delta.pp",
    "direct_puppet/lib/puppet/indirector/catalog/direct_puppet.rb",
    "exec/tasks/init.json",
    "exec/tasks/init.sh",
    "facts/tasks/init.json",
    "facts/tasks/init.py",
    "package/tasks/init.json",
    "package/tasks/init.sh",
    "python_task_helper/files/task_helper.py",
    "reboot/tasks/init.json",
    "reboot/tasks/init.sh",
    "service/tasks/init.json",
    "service/tasks/init.sh",
];

/// Mode of programs.
const EXECUTABLE: u32 = 0o755;

/// Writes every module below `directory`. Files that are there already stay as they are: catalogs that depend
/// on the modules are compiled again if one changes.
pub(crate) fn write(directory: &Path) -> Result<()> {
    for (path, content) in FILES {
        let file = directory.join(path);
        let context = || format!("cannot write {}", file.display());
        if is_written(&file, content) {
            continue;
        }
        std::fs::create_dir_all(file.parent().unwrap_or(directory)).with_context(context)?;
        std::fs::write(&file, content).with_context(context)?;
        if content.starts_with(b"#!") {
            let executable = std::fs::Permissions::from_mode(EXECUTABLE);
            std::fs::set_permissions(&file, executable).with_context(context)?;
        }
    }
    Ok(())
}

/// True if the file has this content, and the mode that belongs to it.
fn is_written(file: &Path, content: &[u8]) -> bool {
    let mode = std::fs::metadata(file).map(|it| it.permissions().mode() & 0o777);
    let has_mode = match content.starts_with(b"#!") {
        true => mode.is_ok_and(|mode| mode == EXECUTABLE),
        false => mode.is_ok(),
    };
    has_mode && std::fs::read(file).is_ok_and(|found| found == content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_file_of_the_source_tree_is_shipped() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../modules");
        let mut found = BTreeSet::new();
        let mut left = vec![root.clone()];
        while let Some(directory) = left.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    left.push(path);
                } else {
                    found.insert(
                        path.strip_prefix(&root)
                            .unwrap()
                            .to_str()
                            .unwrap()
                            .to_owned(),
                    );
                }
            }
        }
        let shipped: BTreeSet<_> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(shipped, found);
    }
    #[test]
    fn files_are_written_only_if_they_differ() {
        use std::os::unix::fs::MetadataExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("package/tasks/init.sh");
        write(directory.path()).unwrap();
        let changed = || {
            let metadata = std::fs::metadata(&path).unwrap();
            (metadata.ctime(), metadata.ctime_nsec())
        };
        let first = changed();
        write(directory.path()).unwrap();
        assert_eq!(changed(), first);
        std::fs::write(&path, "other").unwrap();
        write(directory.path()).unwrap();
        let shipped = FILES
            .iter()
            .find(|(path, _)| *path == "package/tasks/init.sh");
        assert_eq!(std::fs::read(&path).unwrap(), shipped.unwrap().1);
    }
}
