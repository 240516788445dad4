// Package supervisor starts a switch and supervises its data plane.
//
// Start, as root, takes the interfaces, opens packet sockets and becomes the supervisor: another user that keeps
// CAP_NET_ADMIN alone. Supervise is that process. It runs the data plane (softswitch.Serve) as a process without any
// capability, serves metrics, has the data plane read the file again on SIGHUP, and restores the interfaces at the end.
package supervisor
