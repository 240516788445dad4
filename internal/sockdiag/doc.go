// Package sockdiag reads TCP sockets and TCP's state of them from the kernel: by sock_diag(7) over netlink
// (NETLINK_SOCK_DIAG, linux/inet_diag.h), of any process in a network namespace, without touching the
// sockets. It queries on Linux only.
package sockdiag
