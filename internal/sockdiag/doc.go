// Package sockdiag asks the kernel for its TCP sockets and what TCP knows of them: by
// sock_diag(7) over netlink (NETLINK_SOCK_DIAG, linux/inet_diag.h), of any process in a
// network namespace, without touching the sockets. Asking is for Linux only.
package sockdiag
