// Package tcx keeps frames from what is above an interface's packet sockets: the kernel's bridge and its own
// protocols. It does so by a BPF program at the interface's ingress that drops all (bpf(2), BPF_LINK_CREATE with
// BPF_TCX_INGRESS, Linux 6.6). Packet sockets see a frame before the program does (netif_receive_skb_core), so who has
// one has all frames. The program stays there while a process has the link's descriptor open, and no longer: however
// the last one dies, the kernel takes it off. Linux only.
package tcx
