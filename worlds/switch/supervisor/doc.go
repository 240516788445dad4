// Package supervisor starts a switch and supervises its data plane.
//
// Start, as root, takes the interfaces, opens packet sockets and becomes the supervisor: another user with
// CAP_NET_ADMIN only. Supervise is that process. It runs the data plane (softswitch.Serve) as a process without
// capabilities, serves metrics, lets the data plane reload the file on SIGHUP, and restores the interfaces at the
// end.
package supervisor
