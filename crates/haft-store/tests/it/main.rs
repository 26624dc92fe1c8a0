//! What every book promises, and what an engine with a journal does.

mod books; //  the same tests for every backend

mod undo; //   what calls changed is taken back
