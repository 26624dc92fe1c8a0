//! Who comes with which token.
//!
//! One token is one principal: what belongs to it, its sessions, the calls that wait for it, its large results and its tasks,
//! is found with that token and with no other, also where two tokens are for the same user.

use std::{fmt, sync::Arc};

use haft_tool::Caller;
use sha2::{Digest, Sha256};

use crate::upstream::Principal;

/// What a client has to show: `Authorization: Bearer …`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token. One that is empty would be shown by everybody.
    pub fn new(token: impl Into<String>) -> Option<Token> {
        let token = token.into();
        (!token.trim().is_empty()).then(|| Token(token.trim().to_owned()))
    }

    /// Takes as long for every wrong token.
    fn is(&self, shown: &str) -> bool {
        let (ours, theirs) = (Sha256::digest(&self.0), Sha256::digest(shown));
        ours.iter().zip(&theirs).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// A token, and who shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Badge {
    /// What is shown.
    pub token: Token,
    /// Who that is. `None`: whomever the door's sessions are for.
    pub caller: Option<Caller>,
}

impl Badge {
    /// A token of whomever the door's sessions are for.
    pub fn new(token: Token) -> Badge {
        Badge { token, caller: None }
    }

    /// The same for somebody else.
    #[must_use]
    pub fn of(self, caller: Caller) -> Badge {
        Badge { caller: Some(caller), ..self }
    }
}

/// Somebody who was let in.
#[derive(Debug)]
pub(in crate::server) struct Visitor {
    pub(in crate::server) principal: Principal,
    pub(in crate::server) caller: Option<Caller>,
}

/// Those who may come in.
pub(super) enum Visitors {
    /// Whoever reaches us is the same to us.
    Anybody(Arc<Visitor>),
    Known(Vec<(Token, Arc<Visitor>)>),
}

impl Visitors {
    pub(super) fn new(badges: Option<Vec<Badge>>) -> Visitors {
        let Some(badges) = badges else {
            let (principal, caller) = (Principal("anybody".into()), None);
            return Visitors::Anybody(Arc::new(Visitor { principal, caller }));
        };
        // Numbered: a principal's name is seen in more places than a token may be.
        let numbered = badges.into_iter().enumerate().map(|(number, Badge { token, caller })| {
            let principal = Principal(format!("token:{number}").into());
            (token, Arc::new(Visitor { principal, caller }))
        });
        Visitors::Known(numbered.collect())
    }

    /// Who shows this. All tokens are looked at, so that time does not tell which ones are nearly right.
    pub(super) fn who(&self, shown: Option<&str>) -> Option<Arc<Visitor>> {
        match (self, shown) {
            (Visitors::Anybody(visitor), _) => Some(visitor.clone()),
            (Visitors::Known(_), None) => None,
            (Visitors::Known(known), Some(shown)) => {
                let fits = known.iter().filter(|(token, _)| token.is(shown));
                fits.fold(None, |first, (_, visitor)| first.or_else(|| Some(visitor.clone())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(token: &str) -> Badge {
        let caller = Caller { user: Some(token.to_owned()), ..Caller::default() };
        Badge::new(Token::new(token).unwrap()).of(caller)
    }

    #[test]
    fn each_token_is_a_principal_and_no_principal_tells_its_token() {
        let visitors = Visitors::new(Some(vec![named("one"), named("two")]));
        let who = |shown: &str| visitors.who(Some(shown));
        let (one, two) = (who("one").unwrap(), who("two").unwrap());
        assert_ne!(one.principal, two.principal);
        assert!(!one.principal.0.contains("one") && !two.principal.0.contains("two"));
        assert_eq!(two.caller.as_ref().and_then(|caller| caller.user.as_deref()), Some("two"));
        assert!(who("three").is_none() && who("").is_none() && visitors.who(None).is_none());
    }

    #[test]
    fn an_empty_list_lets_nobody_in_and_no_list_everybody() {
        assert!(Visitors::new(Some(Vec::new())).who(Some("")).is_none());
        assert!(Visitors::new(None).who(None).is_some());
        assert!(Token::new(" ").is_none());
    }
}
