//! The loop, with a model that follows a script and real tools.
