//! Which tools does the model see?

mod offer; // one tool as it is offered to a model

pub use offer::Offer;
