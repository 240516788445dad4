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

// PeerOffloads is what sends to a port from this machine: Linux then leaves checksums to a card that is not there, and
// a switch has to drop such frames.
type PeerOffloads struct {
	Kind string // of the port's interface
	// The other end of a veth pair, if it can be seen, and what to put before a command so that it is carried out there.
	Interface, Command string
	Sends              bool // without checksums
	hidden             string
}

// findPeer finds the other end of a port's interface.
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
		on, err := rtnl.Offloads(x)
		o.Interface, o.Sends = x, slices.Contains(on, "tx")
		return err
	}
	if i.PeerNamespace < 0 {
		if err := see(); err != nil {
			o.hidden = err.Error()
		}
		return o
	}
	o.hidden = "it is in a network namespace that no name and no process here leads to"
	if os.Geteuid() != 0 {
		o.hidden = "it is in another network namespace, which only root can look into"
		return o
	}
	for _, path := range netns.All() {
		if o.inside(conn, path, i.PeerNamespace, see) {
			break
		}
	}
	return o
}

// inside looks at the other end if a file leads to the namespace with that number.
func (o *PeerOffloads) inside(conn *rtnl.Conn, path string, number int, see func() error) bool {
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
	if err := netns.Inside(path, int(f.Fd()), see); err != nil {
		o.hidden = err.Error()
	}
	return true
}

// Help returns the command that has frames come with their checksums.
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
	return "ethtool -K IFACE tx off, where the frames come from on this machine"
}

// warnings are about frames without checksums, before any has come.
func (o *PeerOffloads) warnings(port softswitch.Port) []document.Warning {
	var w document.Warning
	switch {
	case o.Sends:
		w = document.Warn(warnChecksumsSent, document.Position{}, "port %s: %s, the other end of %s, leaves checksums to a "+
			"card that is not there: what it sends by TCP and UDP will be dropped; this helps: %s", port.Name,
			strings.TrimSpace(o.Interface), port.Interface, o.Help())
	case o.Kind == "veth" && o.Interface == "":
		w = document.Warn(warnChecksumsHidden, document.Position{},
			"port %s: whether the other end of %s sends frames without "+
				"checksums cannot be seen: %s; if it does, this helps: %s", port.Name, port.Interface, o.hidden, o.Help())
	case o.Kind == "tun":
		w = document.Warn(warnChecksumsTUN, document.Position{}, "port %s: whether what is behind %s sends frames without "+
			"checksums cannot be seen; if it does, this helps: %s", port.Name, port.Interface, o.Help())
	default:
		return nil
	}
	w.Port = port.Name
	return []document.Warning{w}
}
