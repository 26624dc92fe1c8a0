//! What do calls see and change?

mod locate; //  what a path really is
mod files; //   the one door to the file system

pub use locate::locate;
