//! stub
use std::{io, net::TcpListener};
#[derive(Debug)]
pub(crate) struct Proxy;
impl Proxy {
    pub(crate) fn serve(_: TcpListener, _: &[String]) -> io::Result<Proxy> {
        Ok(Proxy)
    }
    pub(crate) fn refused(&self) -> Vec<String> {
        Vec::new()
    }
}
