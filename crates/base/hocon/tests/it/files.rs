//! Reading from disk: errors name the file.

use std::path::Path;

use hocon::{HoconFileError, read_file};

fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    file
}

#[test]
fn a_file_is_read() {
    let file = written(b"a = 1");
    assert_eq!(read_file(file.path()).unwrap()["a"], 1);
}

#[test]
fn errors_name_the_file() {
    let missing = Path::new("/nonexistent/x.conf");
    assert!(
        matches!(read_file(missing), Err(HoconFileError::Read { path, .. }) if path == missing)
    );
    let binary = written(b"a = \xff");
    assert!(matches!(
        read_file(binary.path()),
        Err(HoconFileError::NotUtf8 { at: 4, .. })
    ));
    let broken = written(b"a =");
    let error = read_file(broken.path()).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("{}: line 1", broken.path().display())),
        "{error}"
    );
    let huge = written(&vec![b'#'; hocon::defaults::MAX_BYTES + 1]);
    assert!(matches!(
        read_file(huge.path()),
        Err(HoconFileError::TooLarge { .. })
    ));
}
