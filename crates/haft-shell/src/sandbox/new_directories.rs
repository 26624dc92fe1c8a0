//! Directories that are made for a command just before it starts, because it was permitted to make and fill them.

use std::{
    fs,
    io::{self, ErrorKind},
    path::PathBuf,
};

/// Directories that were made for a process. Those that are empty in the end are removed.
#[derive(Debug)]
pub struct NewDirectories(Vec<PathBuf>);

impl NewDirectories {
    /// Makes them.
    ///
    /// # Errors
    /// A directory above one cannot be written.
    pub fn make(directories: Vec<PathBuf>) -> io::Result<NewDirectories> {
        let mut made = NewDirectories(Vec::new());
        for directory in directories {
            match fs::create_dir(&directory) {
                Ok(()) => made.0.push(directory),
                // What has come to be there since was not permitted, and a directory further up neither.
                Err(err) if matches!(err.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {}
                Err(err) => return Err(err),
            }
        }
        Ok(made)
    }

    /// Those that were made.
    pub fn paths(&self) -> &[PathBuf] {
        &self.0
    }
}

impl Drop for NewDirectories {
    fn drop(&mut self) {
        for directory in &self.0 {
            // One that is not empty stays.
            let _ = fs::remove_dir(directory);
        }
    }
}
