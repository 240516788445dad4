// Package softswitch is Weir's switch on its own, between interfaces of this machine: the
// switch, its programs and its queues are those of simulator and lab (dataplane, fabric,
// live.Bridge), and all that comes in goes on as it is, but for what a program changes. It
// is a bridge (IEEE 802.1Q) without spanning tree: what comes in at one of two ports leaves
// by the other, and more than two learn addresses.
//
// Three things run, one after the other and then two beside each other. Start, as root,
// looks at the interfaces, switches their offloads off, opens packet sockets, and becomes
// the supervisor, another user that keeps CAP_NET_ADMIN alone, to switch offloads on again.
// The supervisor (Supervise) reads the file anew on SIGHUP, has the metrics, and starts the
// data plane (Serve), which has no capability at all and does nothing but carry frames, on
// one thread. They share a page of memory with the counters.
package softswitch
