//! The proxy, spoken to as programs speak to it.

use std::{
    io::{Read, Write},
    net::SocketAddr,
    time::Duration,
};

use super::*;

/// A server that answers everybody with what it heard, and a proxy that may reach it.
fn start(hosts: &[&str]) -> (SocketAddr, SocketAddr, Proxy) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = server.accept() {
            let mut heard = [0; 512];
            let count = stream.read(&mut heard).unwrap_or(0);
            let _ = stream.write_all(&[b"heard: ", &heard[..count]].concat());
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let door = listener.local_addr().unwrap();
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    (address, door, serve(listener, Door::Proxy, &hosts))
}

/// A proxy with one listener.
fn serve(listener: TcpListener, door: Door, hosts: &[String]) -> Proxy {
    let state = ProxyState::new(Hosts::parse(hosts).unwrap(), None, None).unwrap();
    state.doors.add(listener, door).unwrap();
    state.start().unwrap()
}

/// Says this, and everything that comes back.
fn say(door: SocketAddr, words: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(door).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut answer = Vec::new();
    for word in words {
        stream.write_all(word).unwrap();
        let mut part = [0; 512];
        let count = stream.read(&mut part).unwrap();
        answer.extend_from_slice(&part[..count]);
    }
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn an_allowed_host_is_reached_by_tunnel_by_request_and_by_socks() {
    let (server, door, proxy) = start(&["127.0.0.1"]);
    let connect = format!("CONNECT {server} HTTP/1.1\r\n\r\n");
    assert!(say(door, &[connect.as_bytes(), b"hello"]).ends_with("heard: hello"));
    let get = format!("GET http://{server}/x HTTP/1.1\r\nHost: evil\r\n\r\n");
    assert!(
        say(door, &[get.as_bytes()]).starts_with(&format!("heard: GET /x HTTP/1.1\r\nHost: {server}\r\n"))
    );
    let socks = [&[5, 1, 0, 1, 127, 0, 0, 1][3..], &server.port().to_be_bytes()].concat();
    let socks = [&[5, 1, 0], &socks[..]].concat();
    assert!(say(door, &[&[5, 1, 0], &socks, b"hello"]).ends_with("heard: hello"));
    assert!(proxy.refused().is_empty());
}

#[test]
fn another_host_is_refused_and_remembered() {
    let (server, door, proxy) = start(&["example.com"]);
    let connect = format!("CONNECT {server} HTTP/1.1\r\n\r\n");
    assert!(say(door, &[connect.as_bytes()]).starts_with("HTTP/1.1 403 Forbidden"));
    let socks = [&[5, 1, 0, 3, 9], &b"localhost"[..], &server.port().to_be_bytes()].concat();
    assert!(say(door, &[&[5, 1, 0], &socks]).as_bytes().starts_with(&[5, 0, 5, 2]));
    let port = server.port();
    assert_eq!(proxy.refused(), [format!("127.0.0.1:{port}"), format!("localhost:{port}")]);
}

#[test]
fn a_name_with_something_hidden_in_it_is_no_name() {
    let (server, door, proxy) = start(&["example.com"]);
    let name = b"evil.org\0.example.com";
    let socks = [&[5, 1, 0, 3, name.len() as u8], &name[..], &server.port().to_be_bytes()].concat();
    assert!(say(door, &[&[5, 1, 0], &socks]).as_bytes().starts_with(&[5, 0, 5, 2]));
    assert_eq!(proxy.refused(), [format!("evil.org\0.example.com:{}", server.port())]);
}

#[test]
fn a_proxy_that_is_gone_ends_what_it_served() {
    let (server, door, proxy) = start(&["127.0.0.1"]);
    let mut stream = TcpStream::connect(door).unwrap();
    stream.write_all(format!("CONNECT {server} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
    stream.read_exact(&mut [0; 12]).unwrap();
    drop(proxy);
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let _ = stream.read_to_end(&mut Vec::new()).expect("an end, not a wait");
    let is_closed =
        TcpStream::connect(door).is_ok_and(|mut again| matches!(again.read(&mut [0; 1]), Ok(0) | Err(_)));
    assert!(is_closed || TcpStream::connect(door).is_err());
}

#[test]
fn a_granted_port_is_the_only_one_of_its_host() {
    let (server, door, proxy) = start(&["localhost:1"]);
    let connect = format!("CONNECT {server} HTTP/1.1\r\n\r\n");
    assert!(say(door, &[connect.as_bytes()]).starts_with("HTTP/1.1 403 Forbidden"));
    assert_eq!(proxy.refused(), [server.to_string()]);
}

/// A DNS server, and a question to it over a connection.
fn asked(hosts: &[&str], name: &str, kind: u8) -> (Vec<u8>, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let door = listener.local_addr().unwrap();
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let proxy = serve(listener, Door::Dns, &hosts);
    let labels = name.split('.').flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat());
    let labels: Vec<u8> = labels.collect();
    let message = [&[0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0], &labels[..], &[0, 0, kind, 0, 1]].concat();
    let mut stream = TcpStream::connect(door).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    doors::send_framed(&mut stream, &message).unwrap();
    let answer = doors::framed(&mut stream).unwrap().unwrap();
    (answer, proxy.refused())
}

#[test]
fn a_granted_name_gets_an_address_inside_and_others_do_not_exist() {
    // The machine's own address is reached only because it is in the list itself.
    let (answer, refused) = asked(&["ip6-localhost", "::1"], "ip6-localhost", 1);
    if answer[3] & 0xf == 0 {
        assert_eq!(answer[answer.len() - 4..], [127, 64, 0, 1]);
    }
    assert!(refused.is_empty());
    let (answer, refused) = asked(&["a.test"], "b.test", 1);
    assert_eq!((answer[3] & 0xf, refused), (3, vec!["b.test".to_owned()]));
    let (answer, _) = asked(&["a.test"], "a.test", 28);
    assert_eq!((answer[3] & 0xf, answer[7]), (0, 0));
    let (answer, refused) = asked(&[], "app.localhost", 1);
    assert_eq!(answer[answer.len() - 4..], [127, 0, 0, 1]);
    assert!(refused.is_empty());
}
