// Package sockdiag reads TCP sockets and their state from the kernel. It uses sock_diag(7) over netlink
// (NETLINK_SOCK_DIAG, linux/inet_diag.h), which covers sockets of any process in a network namespace without
// touching them. Queries work on Linux only.
package sockdiag
