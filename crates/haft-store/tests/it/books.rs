//! What every book promises. A backend adds a line to `every_book`.
