package preflight

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/internal/netns"
	"weir/internal/rtnl"
	softswitch "weir/worlds/switch"
)

// PeerOffloads describes the local sender to a port. Linux leaves its checksums to a network card that does not
// exist, and the switch must drop such frames.
type PeerOffloads struct {
	Kind string // of the port's interface
	// Other end of a veth pair, if visible, and a prefix for commands that must run there.
	Interface, Command string
	OmitsChecksums     bool // it sends frames without checksums
	hidden             string
}

// findPeer examines the other end of a port's interface i, as far as this process can see it; as root it also enters
// other network namespaces. Only a veth pair has another end.
func findPeer(conn *rtnl.Conn, name string, i rtnl.Interface) PeerOffloads {
	o := PeerOffloads{Kind: i.Kind}
	if i.Kind != "veth" {
		return o
	}
	see := func() error {
		x, err := interfaceName(i.Peer)
		if err != nil {
			return err
		}
		on, err := rtnl.ListOffloads(x)
		o.Interface, o.OmitsChecksums = x, slices.Contains(on, "tx")
		return err
	}
	if i.PeerNamespace < 0 {
		if err := see(); err != nil {
			o.hidden = err.Error()
		}
		return o
	}
	o.hidden = "it is in a network namespace without a name and without a process here"
	if os.Geteuid() != 0 {
		o.hidden = "it is in another network namespace, which only root can read"
		return o
	}
	for _, path := range netns.ListPaths() {
		if o.lookInside(conn, path, i.PeerNamespace, see) {
			break
		}
	}
	return o
}

// lookInside calls examine in the network namespace at path if that has the given number, and sets o.Command and
// o.hidden. It reports whether the numbers are equal.
func (o *PeerOffloads) lookInside(conn *rtnl.Conn, path string, number int, examine func() error) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // a process that has ended
	}
	defer f.Close()
	if n, err := conn.NamespaceNumber(int(f.Fd())); err != nil || n != number {
		return false
	}
	if o.hidden = ""; filepath.Dir(path) == netns.Dir {
		o.Command = "ip netns exec " + filepath.Base(path) + " "
	} else {
		o.Command = "nsenter --net=" + path + " "
	}
	if err := netns.DoAt(path, int(f.Fd()), examine); err != nil {
		o.hidden = err.Error()
	}
	return true
}

// Help returns a command that makes frames arrive with their checksums.
func (o *PeerOffloads) Help() string {
	if o.Interface != "" {
		return fmt.Sprintf("%sethtool -K %s tx off", o.Command, o.Interface)
	}
	switch o.Kind {
	case "veth":
		return "ethtool -K IFACE tx off, for the other end of the pair, in its network namespace"
	case "tun":
		return "ethtool -K IFACE tx off, inside the virtual machine"
	}
	return "ethtool -K IFACE tx off, at the source of the frames on this machine"
}

// listWarnings warns of possible frames without checksums at a port before any has arrived; nil without a reason.
func (o *PeerOffloads) listWarnings(port softswitch.Port) []document.Warning {
	var w document.Warning
	switch {
	case o.OmitsChecksums:
		w = document.Warn(warnChecksumsSent, document.Position{}, "port %s: %s, the other end of %s, leaves checksums "+
			"to hardware that does not exist: its TCP and UDP frames will be dropped; run: %s", port.Name,
			strings.TrimSpace(o.Interface), port.Interface, o.Help())
	case o.Kind == "veth" && o.Interface == "":
		w = document.Warn(warnChecksumsHidden, document.Position{},
			"port %s: it is unknown whether the other end of %s sends frames without checksums: %s; if it does, run: %s",
			port.Name, port.Interface, o.hidden, o.Help())
	case o.Kind == "tun":
		w = document.Warn(warnChecksumsTUN, document.Position{}, "port %s: it is unknown whether the sender behind %s "+
			"sends frames without checksums; if it does, run: %s", port.Name, port.Interface, o.Help())
	default:
		return nil
	}
	w.Port = port.Name
	return []document.Warning{w}
}
