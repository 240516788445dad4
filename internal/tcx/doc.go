// Package tcx hides received frames from the layers above an interface's packet sockets: the kernel's bridge and
// its own protocols. It attaches a BPF program to the interface's ingress that drops every frame (bpf(2),
// BPF_LINK_CREATE with BPF_TCX_INGRESS, Linux 6.6). Packet sockets receive all frames, because they come before
// the program (netif_receive_skb_core). The program stays attached while a process holds the link's descriptor;
// the kernel detaches it when the last such process dies. Linux only.
package tcx
