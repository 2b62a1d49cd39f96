package command

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// listenerTime bounds how long a keeper may take to set up its network.
const listenerTime = 20 * time.Second

// listenerSocket returns the two ends of a socket over which a keeper passes its listener; nil if the keeper has no
// network of its own.
func listenerSocket(address string) (ours, theirs *os.File, err error) {
	if address == "" {
		return nil, nil, nil
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	limit := unix.NsecToTimeval(int64(listenerTime))
	if err := unix.SetsockoptTimeval(fds[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return nil, nil, errors.Join(os.NewSyscallError("setsockopt", err), unix.Close(fds[0]), unix.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), "listener"), os.NewFile(uintptr(fds[1]), "listener"), nil
}

// passListener starts the loopback interface of this process's network, listens there, and passes the listener to
// Seatrial. A listener keeps the network in which it was made, so Seatrial accepts connections from a network that it
// is not in.
func passListener(address string) error {
	unix.CloseOnExec(fdListener)
	defer func() { _ = unix.Close(fdListener) }() // the packet is sent
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("loopback interface: %w", err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer closeAll(listener)
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer closeAll(file)
	return unix.Sendmsg(fdListener, []byte{0}, unix.UnixRights(int(file.Fd())), nil, 0)
}

// receiveListener returns the listener of a keeper; nil if the keeper ended without one, which its status explains.
func receiveListener(socket *os.File) (net.Listener, error) {
	about := make([]byte, unix.CmsgSpace(4))
	for {
		n, size, _, _, err := unix.Recvmsg(int(socket.Fd()), make([]byte, 1), about, unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return nil, fmt.Errorf("no network after %s", listenerTime)
		case err != nil:
			return nil, os.NewSyscallError("recvmsg", err)
		case n == 0:
			return nil, nil
		}
		messages, err := unix.ParseSocketControlMessage(about[:size])
		if err != nil || len(messages) != 1 {
			return nil, errors.Join(errors.New("the keeper passes no listener"), err)
		}
		fds, err := unix.ParseUnixRights(&messages[0])
		if err != nil || len(fds) != 1 {
			return nil, errors.Join(errors.New("the keeper passes no listener"), err)
		}
		file := os.NewFile(uintptr(fds[0]), "listener")
		defer closeAll(file)
		return net.FileListener(file)
	}
}
