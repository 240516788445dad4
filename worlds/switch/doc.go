// Package softswitch is the switch of weir switch between interfaces of this machine: its file and its data plane.
// Switch, programs and queues are the same as in simulator and lab (dataplane, fabric, live.Bridge). Frames pass
// unchanged unless a program changes them. The switch is a bridge (IEEE 802.1Q) without spanning tree. With two
// ports, frames received at one depart at the other; with more it learns addresses.
//
// Further packages are parts of it. Package preflight examines the interfaces. Package supervisor starts the
// switch as root: it disables the interfaces' offloads, opens packet sockets, and becomes another user with
// CAP_NET_ADMIN only, to enable offloads again. Then it serves metrics, reloads the file on SIGHUP, and runs the
// data plane (Serve) as a process without capabilities, which carries frames on one thread. Package control is the
// protocol of the two processes, and package frames parses frames and finds their users.
//
// The folder is worlds/switch; a package cannot have that name.
package softswitch
