//! Planning: a time in which nothing is changed, a plan that a person approves, and a look at what became of it.
//!
//! That nothing is changed is not these tools' doing. While a plan is open the session is in mode `plan`, and the policy
//! refuses every call that would change something, whatever rules, grants and hooks say.

mod enter; //  EnterPlanMode: from here on, only looking
mod exit; //   ExitPlanMode: shows the plan, and goes on if it is approved
mod steps; //  the steps of a plan, from what was written
mod line; //   what the end of a command line tells of a command in it
mod verify; // VerifyPlan: which steps were done, by what calls did
#[cfg(test)]
mod tests;

pub(crate) use enter::EnterPlanMode;
pub(crate) use exit::ExitPlanMode;
pub(crate) use verify::VerifyPlan;
