//! What do calls see and change?
