//! Sockets, and messages that carry them.

use std::{
    ffi::{c_int, c_long},
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    ptr,
};

use super::{Answer, Errno, answer, bare, close, parcel, with_message};

pub(in super::super) fn socket(family: c_int, kind: c_int) -> Answer<RawFd> {
    let kind = (kind | libc::SOCK_CLOEXEC) as c_long;
    call!(SYS_socket, family as c_long, kind, 0 as c_long).map(|fd| fd as RawFd)
}

/// Binds a socket to an address as the kernel lays it out.
pub(in super::super) fn bind(socket: RawFd, address: &[u8]) -> Answer {
    let on: c_int = 1;
    // Connections of before may still be ending there. Datagrams need nothing of the kind, and are not harmed.
    let (level, option) = (libc::SOL_SOCKET as c_long, libc::SO_REUSEADDR as c_long);
    call!(SYS_setsockopt, socket as c_long, level, option, &raw const on, size_of::<c_int>())?;
    call!(SYS_bind, socket as c_long, address.as_ptr(), address.len()).map(drop)
}

pub(in super::super) fn listen(socket: RawFd) -> Answer {
    call!(SYS_listen, socket as c_long, 64 as c_long).map(drop)
}

pub(in super::super) fn connect(socket: RawFd, address: &[u8]) -> Answer {
    call!(SYS_connect, socket as c_long, address.as_ptr(), address.len()).map(drop)
}

/// Has the kernel add an address to an interface of this network: a whole message of its protocol for routes.
pub(in super::super) fn add_addresses(message: &[u8]) -> Answer {
    let socket = socket(libc::AF_NETLINK, libc::SOCK_RAW)?;
    let nowhere = ptr::null::<u8>();
    let (bytes, length) = (message.as_ptr(), message.len());
    let sent = call!(SYS_sendto, socket as c_long, bytes, length, 0 as c_long, nowhere, 0 as c_long);
    close(socket);
    sent.map(drop)
}

/// Reads what has been sent, or nothing at the end; does not wait.
pub(in super::super) fn receive(over: RawFd, bytes: &mut [u8]) -> Answer<usize> {
    let flags = libc::MSG_DONTWAIT as c_long;
    let nowhere = ptr::null::<u8>();
    let (start, length) = (bytes.as_mut_ptr(), bytes.len());
    call!(SYS_recvfrom, over as c_long, start, length, flags, nowhere, nowhere).map(|count| count as usize)
}

/// Sends all of it. A closed socket is an error, and no signal.
fn send(over: RawFd, bytes: &[u8]) -> Answer {
    let flags = libc::MSG_NOSIGNAL as c_long;
    let nowhere = ptr::null::<u8>();
    let (start, length) = (bytes.as_ptr(), bytes.len());
    let count = call!(SYS_sendto, over as c_long, start, length, flags, nowhere, 0 as c_long)?;
    if count as usize == length { Ok(()) } else { Err(Errno(libc::EIO)) }
}

/// Says in the place of a descriptor why there is none.
pub(in super::super) fn send_error(over: RawFd, errno: Errno) -> Answer {
    let number = u8::try_from(errno.0).unwrap_or(libc::EIO as u8);
    send(over, &[number])
}

/// The descriptor that was passed, or why there is none. Waits as long as the socket is set to.
pub(in super::super) fn receive_answer(over: RawFd) -> Answer<OwnedFd> {
    let (mut parcel, mut number) = (parcel(-1), 0);
    let flags = libc::MSG_CMSG_CLOEXEC as c_long;
    let count =
        with_message(&mut parcel, &mut number, |message| call!(SYS_recvmsg, over as c_long, message, flags))?;
    if count == 0 {
        return Err(Errno(libc::EPIPE));
    }
    if parcel.header.cmsg_type != libc::SCM_RIGHTS || parcel.fd < 0 {
        return Err(Errno(if number == 0 { libc::EBADMSG } else { number.into() }));
    }
    // SAFETY: the kernel made it for this message.
    Ok(unsafe { OwnedFd::from_raw_fd(parcel.fd) })
}

/// A copy of a descriptor of another process.
pub(in super::super) fn copy_descriptor(process: i32, number: RawFd) -> Answer<OwnedFd> {
    let process = super::pidfd(process)?;
    let copied = call!(SYS_pidfd_getfd, process as c_long, number as c_long, 0 as c_long);
    close(process);
    // SAFETY: it was just made, and nothing else owns it.
    copied.map(|fd| unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// A number that the kernel knows of a socket.
pub(in super::super) fn socket_option(socket: &OwnedFd, option: c_int) -> Answer<c_int> {
    let (mut value, mut length): (c_int, u32) = (0, size_of::<c_int>() as u32);
    let (socket, level) = (socket.as_raw_fd() as c_long, libc::SOL_SOCKET as c_long);
    call!(SYS_getsockopt, socket, level, option as c_long, &raw mut value, &raw mut length)?;
    Ok(value)
}

/// The process that listened at the other end of a connection.
pub(in super::super) fn peer_process(stream: &impl AsRawFd) -> Answer<i32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as u32;
    let (socket, level) = (stream.as_raw_fd() as c_long, libc::SOL_SOCKET as c_long);
    let option = libc::SO_PEERCRED as c_long;
    call!(SYS_getsockopt, socket, level, option, &raw mut peer, &raw mut length)?;
    Ok(peer.pid)
}
