// Package softswitch is the switch of weir switch, between interfaces of this machine: its file and its data plane.
// The switch, its programs and its queues are the same as in simulator and lab (dataplane, fabric, live.Bridge), and
// all that comes in goes on as it is, but for what a program changes. It is a bridge (IEEE 802.1Q) without spanning
// tree: what comes in at one of two ports leaves by the other, and more than two learn addresses.
//
// Its parts are packages. Package preflight looks at the interfaces. Package supervisor starts the switch: as root it
// switches the interfaces' offloads off, opens packet sockets, and becomes another user that keeps CAP_NET_ADMIN alone,
// to switch offloads on again. Then it has the metrics, reads the file again on SIGHUP, and runs the data plane (Serve)
// as a process without any capability, which carries frames on one thread. Package control is what the two processes
// have between them, and package frames parses frames and finds their users.
//
// The folder is worlds/switch; a package cannot have that name.
package softswitch
