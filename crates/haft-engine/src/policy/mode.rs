//! How much is asked: the mode of a session.

use std::{error::Error, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// What happens to calls that no rule speaks of. Deny and ask rules hold in every mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Reading inside the workspace is free, the rest is asked.
    #[default]
    Default,
    /// Only reading; changes are refused.
    Plan,
    /// Like default, and edits inside the workspace are free.
    AcceptEdits,
    /// Like default; what would be asked is judged by a classifier first, where there is one.
    Auto,
    /// What would be asked is refused.
    DontAsk,
    /// What no rule denies or asks is allowed.
    Bypass,
}

impl Mode {
    /// All modes, in the order in which they are listed for people.
    pub const ALL: [Mode; 6] =
        [Mode::Default, Mode::Plan, Mode::AcceptEdits, Mode::Auto, Mode::DontAsk, Mode::Bypass];

    /// The name that people write.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Default => "default",
            Mode::Plan => "plan",
            Mode::AcceptEdits => "accept-edits",
            Mode::Auto => "auto",
            Mode::DontAsk => "dont-ask",
            Mode::Bypass => "bypass",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Mode, UnknownMode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == text).ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

/// A text that is no mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownMode(String);

impl fmt::Display for UnknownMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Mode::ALL.map(Mode::name).join(", ");
        write!(f, "there is no mode `{}`; the modes are {names}", self.0)
    }
}

impl Error for UnknownMode {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_its_name_everywhere() {
        for mode in Mode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.name());
        }
    }

    #[test]
    fn an_unknown_mode_is_told_the_modes() {
        let err = "yolo".parse::<Mode>().unwrap_err();
        assert_eq!(
            err.to_string(),
            "there is no mode `yolo`; the modes are default, plan, accept-edits, auto, dont-ask, bypass"
        );
    }
}
